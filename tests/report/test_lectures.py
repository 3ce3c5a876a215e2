"""The lectures' figures, their formulas and what is true of the same runs."""

import math

import pytest

from privet import accounting, privacy
from privet.errors import InvalidParameter
from privet.report.lectures import (
    Rung,
    amplify,
    ladder,
    noisy_gd_price,
    noisy_gd_sigma,
    pn_sgd_prices,
    pn_sgd_sigma,
)


@pytest.fixture(scope="module")
def rungs() -> dict[str, Rung]:
    return {rung.name: rung for rung in ladder()}


@pytest.mark.parametrize(
    ("name", "claimed", "formula", "sound", "delta"),
    [
        ("per step", 1.2, 1.199631, 0.926342, 1e-5),
        ("naive", 12_000.0, 11_996.3, 11_996.3, 0.1),
        ("advanced", 360.0, 407.04, 28_393.8, 0.10001),
        ("advanced, sharp drift", None, None, 7_016.7, 0.10001),
        ("amplified", 10.0, 8.1409, 16.316, 0.00101),
        ("amplified, sharp drift", None, None, 13.628, 0.00101),
        ("moments", 1.25, 2.39926, 1.258575, 1e-5),
        ("RDP today", None, None, 1.035490, 1e-5),
        ("tight", None, None, 0.946868, 1e-5),
    ],
)
def test_the_ladder_of_the_slides(rungs, name, claimed, formula, sound, delta):
    rung = rungs[name]
    assert rung.claimed == claimed
    assert (rung.as_formula is None) == (formula is None)
    assert formula is None or rung.as_formula == pytest.approx(formula, rel=2e-5)
    assert rung.sound.upper == pytest.approx(sound, rel=1.5e-4)
    assert rung.delta == pytest.approx(delta, rel=1e-12)


def test_the_sound_values_are_ordered_where_they_share_a_delta(rungs):
    tight, rdp, moments = (rungs[name].sound for name in ("tight", "RDP today", "moments"))
    assert tight.lower < 0.946868 < tight.upper < rdp.upper <= 1.035490 < moments.upper
    assert moments.method.endswith("order 20")
    assert "violated" in rungs["advanced"].note
    assert "0.0229242" in rungs["amplified"].note


def test_printed_figures_belong_to_the_parameters_of_the_slides():
    for changed in ({"q": 0.02}, {"steps": 9_999}, {"delta": 1e-6}, {"noise_multiplier": 4.5}):
        assert all(rung.claimed is None for rung in ladder(**changed))
    assert [rung.claimed for rung in ladder(4, q=0.01, steps=10_000.0, delta=1e-5)][:2] == [1.2, 12_000.0]


def test_formulas_of_the_slides_are_no_bounds():
    """With little noise the same formulas fall below what an attacker reaches: the lower end of the interval."""
    rungs = {rung.name: rung for rung in ladder(0.5, q=0.001, steps=100)}
    assert rungs["per step"].as_formula < rungs["per step"].sound.lower
    for name in ("amplified", "moments"):
        assert rungs[name].as_formula < 1.0 < 2.0 < rungs["tight"].sound.lower
        assert rungs[name].sound.upper > rungs["tight"].sound.upper
    assert rungs["naive"].sound.upper > rungs["naive"].as_formula


def test_the_edges_of_the_ladder():
    everything = {rung.name: rung for rung in ladder(q=1.0, steps=10)}
    assert everything["tight"].sound.method == "GDP (exact)"
    assert everything["amplified"].sound.upper == everything["advanced"].sound.upper
    nothing = {rung.name: rung for rung in ladder(q=0.0)}
    assert nothing["tight"].sound.upper == 0.0
    widened = {rung.name: rung for rung in ladder(20.0, q=0.001)}["moments"]
    assert int(widened.sound.method.rpartition(" ")[2]) > 256  # the best order is not clipped at a list's end


# --- amplification ----------------------------------------------------------------------------------------


def test_amplification_by_sampling():
    epsilon, delta = amplify(math.sqrt(2.0 * math.log(1e5)) / 4.0, 1e-5, 0.01)
    assert epsilon == pytest.approx(0.0229242, abs=5e-8)
    assert delta == pytest.approx(1e-7)
    assert amplify(0.7, 1e-5, 1.0) == (pytest.approx(0.7), 1e-5)
    assert amplify(0.7, 1e-5, 0.0) == (0.0, 0.0)
    assert amplify(599.9, 0.0, 0.1).epsilon < amplify(600.1, 0.0, 0.1).epsilon == pytest.approx(600.1 + math.log(0.1))


def test_amplification_is_a_bound_on_the_exact_curve():
    for q in (0.01, 0.3):
        base = privacy.ApproxLoss(1.0, 1e-4)
        epsilon, delta = amplify(1.0, 1e-4, q)
        exact = float(privacy.PoissonSampled(base, q=q).profile(epsilon))
        assert delta * (1.0 - 1e-9) <= exact <= delta * (1.0 + 1e-9)


def test_the_simplification_holds_up_to_one_and_a_quarter_only():
    for q in (1e-6, 0.01):
        assert amplify(1.2564, 0.0, q).epsilon <= 2.0 * q * 1.2564 * (1.0 + 1e-4)
        assert amplify(1.3, 0.0, q).epsilon > 2.0 * q * 1.3


# --- PN-SGD -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "z", "needed", "truth"), [(1.0, 61.0973, 4.139, 0.9980), (0.5, 122.19, 7.446, 0.4989)]
)
def test_pn_sgd_needs_far_less_noise_than_the_lecture(epsilon, z, needed, truth):
    sigma = pn_sgd_sigma(1000, lipschitz=1.0, epsilon=epsilon, delta=1e-5)
    assert sigma == pytest.approx(122_194.5 / epsilon, rel=1e-6)
    lecture = pn_sgd_prices(1000, sigma, lipschitz=1.0, delta=1e-5)
    assert lecture.noise_multiplier == pytest.approx(z, rel=1e-4)
    assert lecture.lecture == pytest.approx(epsilon, rel=1e-9)  # it keeps its own promise
    enough = pn_sgd_prices(1000, needed * 2000.0, lipschitz=1.0, delta=1e-5)
    assert enough.pld.upper == pytest.approx(truth, abs=1e-4)
    assert enough.pld.upper < enough.rdp.upper < enough.lecture


def test_what_the_noise_of_the_lecture_truly_costs():
    prices = pn_sgd_prices(1000, 122_194.5, lipschitz=1.0, delta=1e-5)
    assert prices.pld.lower <= 0.04734 + 5e-6
    assert prices.pld.upper >= 0.04734 - 5e-6
    assert prices.pld.upper == pytest.approx(0.04734, rel=1e-3)
    assert prices.pld.unit == privacy.Unit("replace")


def test_pn_sgd_scales_with_the_sensitivity_and_the_steps():
    base = pn_sgd_prices(200, 1_600.0, lipschitz=1.0, delta=1e-5)
    scaled = pn_sgd_prices(200, 4_800.0, lipschitz=3.0, delta=1e-5)
    assert scaled.noise_multiplier == pytest.approx(base.noise_multiplier)
    assert scaled.pld.upper == pytest.approx(base.pld.upper, rel=1e-9)
    assert pn_sgd_prices(200, 1_600.0, lipschitz=1.0, delta=1e-5, steps=40_000) == base
    assert pn_sgd_prices(200, 1_600.0, lipschitz=1.0, delta=1e-5, steps=10_000).pld.upper < base.pld.upper


def test_twin_that_forgets_the_factor_two_of_replacing_is_caught():
    sigma = pn_sgd_sigma(1000, lipschitz=1.0, epsilon=1.0, delta=1e-5)
    right = pn_sgd_prices(1000, sigma, lipschitz=1.0, delta=1e-5)
    step = privacy.GaussianLoss(sigma / 1000.0, unit=privacy.Unit("replace"))
    twin = accounting.epsilon(privacy.Repeated(privacy.FixedSampled(step, m=1, n=1000), 10**6), delta=1e-5)
    assert twin.upper < 0.6 * right.pld.lower


# --- noisy gradient descent -------------------------------------------------------------------------------


@pytest.mark.parametrize(("sensitivity", "steps", "n"), [(1.0, 1, 1), (1.0, 100, 1000), (2.5, 7, 31)])
def test_noisy_gradient_descent_costs_a_third_of_what_it_says(sensitivity, steps, n):
    sigma = noisy_gd_sigma(sensitivity, steps=steps, n=n, epsilon=1.0, delta=1e-6)
    assert sigma**2 == pytest.approx(8.0 * sensitivity**2 * steps * math.log(1e6) / n**2)
    price = noisy_gd_price(sigma, sensitivity=sensitivity, steps=steps, n=n, delta=1e-6)
    assert price.upper == pytest.approx(0.376187, abs=6e-7)
    assert price.lower == pytest.approx(price.upper, rel=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ladder(0.0),
        lambda: ladder(q=1.5),
        lambda: ladder(steps=0),
        lambda: ladder(delta=0.0),
        lambda: amplify(-1.0, 0.0, 0.5),
        lambda: amplify(1.0, 2.0, 0.5),
        lambda: amplify(1.0, 0.0, math.nan),
        lambda: pn_sgd_sigma(0, lipschitz=1.0, epsilon=1.0, delta=1e-5),
        lambda: pn_sgd_sigma(10, lipschitz=1.0, epsilon=0.0, delta=1e-5),
        lambda: pn_sgd_prices(10, -1.0, lipschitz=1.0, delta=1e-5),
        lambda: pn_sgd_prices(10, 1.0, lipschitz=1.0, delta=1e-5, steps=0),
        lambda: noisy_gd_sigma(0.0, steps=1, n=1, epsilon=1.0, delta=1e-5),
        lambda: noisy_gd_sigma(1.0, steps=1.5, n=1, epsilon=1.0, delta=1e-5),
        lambda: noisy_gd_price(0.0, sensitivity=1.0, steps=1, n=1, delta=1e-5),
        lambda: noisy_gd_price(1.0, sensitivity=1.0, steps=1, n=1, delta=1.0),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(InvalidParameter):
        call()
