"""Accuracy against epsilon: paid on private data, declared on public ones, and drawn as it was measured."""

import math

import numpy as np
import pytest

import privet as pv
from privet import report
from privet.errors import BudgetExceeded, InvalidParameter
from privet.learn import AccuracyCurve, LogisticRegression, accuracy_curve
from privet.learn.solvers import OutputPerturbation

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(600, 2))
LABELS = (ROWS[:, 0] + 0.3 * RNG.normal(size=600) > 0).astype(int)
DATA = (ROWS[:400], LABELS[:400], ROWS[400:], LABELS[400:])


def model(**more):
    plain = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "row_norm": 3.0,
        "classes": [0, 1],
        "solver": OutputPerturbation(strength=5.0),
    }
    return LogisticRegression(**{**plain, **more})


def test_on_public_data_nothing_is_paid_and_more_epsilon_helps():
    curve = accuracy_curve(model(), *DATA, epsilons=[0.02, 8.0], runs=4, public=True)
    assert curve.means[0] < curve.means[1] <= curve.exact + 0.05
    assert [len(row) for row in curve.scores] == [4, 4]
    assert len(set(curve.scores[0])) > 1  # new noise in every fit
    assert curve.deviations[0] == pytest.approx(np.std(curve.scores[0], ddof=1))
    assert curve.cost == pytest.approx(4 * 8.02)


def test_on_private_data_every_fit_is_paid():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-4))
    curve = accuracy_curve(model(ledger=ledger), *DATA, epsilons=[0.2, 1.0], runs=2)
    assert ledger.spent["basic epsilon"] == pytest.approx(curve.cost, rel=1e-9)
    assert curve.cost == pytest.approx(2.4)
    assert curve.exact is None  # a fit without privacy has no place here
    with ledger, pytest.raises(BudgetExceeded):
        accuracy_curve(model(), *DATA, epsilons=[2.5], runs=2)  # the second of them is one too many


@pytest.mark.parametrize(
    ("given", "knobs"),
    [
        (model(), {}),  # private, and nobody pays
        (model(rho=0.1, epsilon=None), {"public": True}),
        (model(), {"public": True, "epsilons": []}),
        (model(), {"public": True, "epsilons": [math.inf]}),
        (model(), {"public": True, "runs": 0}),
        ("model", {"public": True}),
    ],
    ids=str,
)
def test_refusals(given, knobs):
    with pytest.raises(InvalidParameter):
        accuracy_curve(given, *DATA, **knobs)


def test_public_data_are_not_charged_to_a_ledger():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-4))
    with ledger, pytest.raises(InvalidParameter, match="one is in force"):
        accuracy_curve(model(), *DATA, public=True)
    with pytest.raises(InvalidParameter, match="costs 22 in epsilon"):
        accuracy_curve(model(), *DATA)


def test_the_picture_shows_means_bars_and_the_fit_without_privacy():
    figure = report.accuracy_figure(AccuracyCurve((0.1, 1.0), ((0.5, 0.7), (0.8, 0.9)), 0.95, 2.2))
    (axes,) = figure.axes
    assert axes.lines[0].get_ydata().tolist() == pytest.approx([0.6, 0.85])
    bar = axes.collections[0].get_segments()[0]
    assert bar[:, 1].tolist() == pytest.approx([0.6 - 0.02**0.5, 0.6 + 0.02**0.5])
    assert any(np.allclose(line.get_ydata(), 0.95) for line in axes.lines)
    assert "cost 2.2" in "".join(text.get_text() for text in axes.texts)
    without = report.accuracy_figure(AccuracyCurve((0.1,), ((0.5,),), None, 0.1))
    assert not any(np.allclose(line.get_ydata(), 0.95) for line in without.axes[0].lines)


def test_bounds_and_measurements_lie_in_one_picture():
    facts = {"d": 2, "epsilon": 1.0, "delta": 1e-6, "radius": 3.0}
    measured = {"output_perturbation": {500: 0.3, 5_000: 0.1}, "dp_sgd": {500: 0.2, 5_000: 0.02}}
    figure = report.risk_figure(measured, dict.fromkeys(measured, facts))
    lines = figure.axes[0].get_lines()
    assert [len(line.get_xdata()) for line in lines] == [2, 2, 2]
    assert lines[2].get_ydata().tolist() == [0.3, 0.1]
    assert lines[0].get_ydata()[1] > lines[1].get_ydata()[1] > 0.1  # the lecture's constants, exact ones, measured
    with pytest.raises(InvalidParameter):
        report.risk_figure(measured, {"dp_sgd": facts})


def test_passes_have_a_line_for_each_method():
    lines = {"DP-CD": ([1, 2], [0.5, 0.1]), "DP-GD": ([1, 2, 3], [0.9, 0.8, 0.7])}
    figure = report.passes_figure({"balanced": lines, "lognormal": lines})
    assert [len(axes.get_lines()) for axes in figure.axes] == [2, 2]
    assert figure.axes[0].get_lines()[1].get_ydata().tolist() == [0.9, 0.8, 0.7]
    with pytest.raises(InvalidParameter):
        report.passes_figure({})
