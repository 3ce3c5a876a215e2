"""Pictures show the certified numbers, and are written where asked."""

import math

import numpy as np
import pytest

from privet import accounting, privacy, report
from privet.errors import InvalidParameter, MissingExtra, NoGuarantee, PrivetError
from privet.report import Step
from privet.report.profile import profile_points

LAPLACE = privacy.LaplaceLoss(scale=2.0)

STEPS = (
    Step("per step", 1.2, 1.2, 0.926, 1e-5, "", whole=False),
    Step("naive", 12_000.0, 11_996.3, 11_996.3, 0.1, ""),
    Step("nothing", None, None, None, 1.0, ""),
    Step("tight", None, None, 0.947, 1e-5, ""),
)


def texts(figure):
    axes = figure.axes[0]
    return [axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_files_are_written_in_their_format(tmp_path, suffix):
    path = report.save_figure(report.ladder_figure(STEPS), tmp_path / f"ladder{suffix}")
    start = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)
    assert path.stat().st_size > 5_000


def test_a_missing_library_is_named_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"matplotlib.*pip install 'privet\[plot\]'"):
        report.ladder_figure(STEPS)


def test_a_picture_that_cannot_be_written_says_so(tmp_path):
    with pytest.raises(PrivetError, match="cannot write the picture"):
        report.save_figure(report.ladder_figure(STEPS), tmp_path / "no such folder" / "x.png")


def test_the_profile_is_the_exact_curve_of_laplace_noise():
    epsilons, deltas = profile_points(LAPLACE)
    exact = LAPLACE.profile(np.array(epsilons[:-1]))
    assert np.all(np.array(deltas[:-1]) >= exact * (1.0 - 1e-9))
    assert np.allclose(deltas[:-1], exact, rtol=2e-3, atol=1e-9)
    assert (epsilons[-1], deltas[-1]) == (pytest.approx(0.5, rel=1e-3), 1e-12)


def test_the_profile_of_a_price_with_its_own_delta_ends_level():
    epsilons, deltas = profile_points(privacy.ApproxLoss(0.5, 1e-6))
    assert epsilons[-1] > 0.5
    assert deltas[-1] == pytest.approx(1e-6, rel=1e-6)


def test_a_profile_shows_all_its_losses_and_its_mark():
    losses = {"Laplace": LAPLACE, "Gaussian": privacy.GaussianLoss(2.0)}
    figure = report.profile_figure(losses, mark=[(2.1, 1e-5)])
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == ["Gaussian", "Laplace"]  # costly first, as the curves lie
    assert "ε ≤ 2.1  at  δ = 1e-05" in texts(figure)


def test_a_profile_of_nothing_is_refused():
    with pytest.raises(InvalidParameter, match="at least one loss"):
        report.profile_figure({})


def test_the_tradeoff_picture_draws_the_certified_curve():
    loss = privacy.GaussianLoss(1.0)
    figure = report.tradeoff_figure(loss, name="Gaussian", fpr=0.01)
    diagonal, curve, point = figure.axes[0].lines[:3]
    assert np.allclose(diagonal.get_xdata() + np.array(diagonal.get_ydata()), 1.0)
    rates, missed = np.array(curve.get_xdata()), np.array(curve.get_ydata())
    assert np.allclose(missed, accounting.tradeoff(loss, rates))
    assert point.get_ydata()[0] == pytest.approx(0.907638, abs=1e-5)
    title = texts(figure)[0]
    shown = float(title.split("At most ")[1].split()[0])
    assert 38.29 < shown <= 38.4  # total variation 0.382925, in points and rounded up


def test_the_ladder_draws_whole_runs_on_a_log_scale():
    figure = report.ladder_figure(STEPS)
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
    assert ends == pytest.approx([11_996.3, 0.947])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["naive (δ = 0.1)", "tight"]
    assert any("slides: 12,000" in text for text in texts(figure))


def test_a_short_ladder_starts_at_zero():
    steps = [Step("basic", None, None, 2.0, 1e-6, ""), Step("PLD", None, None, 1.774, 1e-6, "")]
    axes = report.ladder_figure(steps).axes[0]
    assert axes.get_xscale() == "linear"
    assert axes.get_xlim()[0] == 0.0


def test_an_empty_ladder_is_refused():
    with pytest.raises(InvalidParameter, match="at least one method"):
        report.ladder_figure(STEPS[:1])


def test_a_loss_without_any_price_has_no_profile():
    class Nothing(privacy.PrivacyLoss):
        kind = "nothing"

        def to_dict(self):
            return {"kind": "nothing", "unit": {}}

    with pytest.raises(NoGuarantee, match="no accountant proves"):
        profile_points(Nothing())


# --- ladders and quotes -----------------------------------------------------------------------------------------------


def test_the_ladder_of_a_generic_loss_falls_and_ends_at_the_tightest():
    loss = privacy.Repeated(privacy.LaplaceLoss(10.0), 20)
    steps = report.ladder_of(loss, 1e-6)
    values = [step.sound for step in steps]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(accounting.epsilon(loss, delta=1e-6).upper, rel=1e-3)


def test_the_ladder_of_the_slides_keeps_what_each_analysis_claims():
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000)
    steps = {step.name: step for step in report.ladder_of(loss, 1e-5, as_lectured=True)}
    assert [step.claimed for step in steps.values() if step.claimed] == [1.2, 12_000.0, 360.0, 10.0, 1.25]
    assert 0.9468 < steps["tight"].sound < 0.9472
    assert not steps["per step"].whole


def test_a_price_does_not_speak_of_slides():
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000)
    steps = report.ladder_of(loss, 1e-5)
    assert [step.name for step in steps] == [step.name for step in report.ladder_of(loss, 1e-5, as_lectured=True)]
    assert {step.claimed for step in steps} == {step.formula for step in steps} == {None}
    assert "slides say" not in [column.header for column in report.ladder_table(steps, delta=1e-5).columns]


def test_a_method_whose_delta_reaches_one_proves_nothing():
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 1_000_000)
    steps = {step.name: step for step in report.ladder_of(loss, 1e-5)}
    assert steps["naive"].sound is None


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_quote_knows_epsilon_and_delta_either_way(delta):
    priced = report.quote(privacy.PureLoss(0.5), delta=delta)
    assert priced.delta == delta
    assert priced.epsilon == pytest.approx(0.5, rel=1e-5)
    back = report.quote(privacy.PureLoss(0.5), epsilon=priced.epsilon)
    assert back.epsilon == priced.epsilon
    assert back.delta <= delta + 1e-12
    assert math.isclose(back.meaning.odds_factor, math.exp(back.epsilon))
