"""Golden values: numbers known to ten digits or more from `tests.oracles`, and the accuracy promised for them.

Constants named "contour" come from `composition_reference` with refine=1.5; its own error budget is below 1e-11
relative unless a line says otherwise, and `tests/oracles/test_oracles.py` derives a few of them again. Constants
named "exact" come from `closed_forms` or `brute_force` at 30 digits. "Peer" values are what dp-accounting 0.6.0
returns (upper bounds on its own orders and grid): we may be below them, never below the exact value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from privet import accounting, privacy
from tests.oracles.asserts import assert_contains, assert_narrow, assert_upper

REPLACE = "replace"


def sampled(q: float, noise_multiplier: float, count: int) -> privacy.PrivacyLoss:
    """A Poisson-sampled Gaussian, repeated."""
    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=noise_multiplier), q=q), count)


def drawn(m: int, n: int, noise_multiplier: float, count: int) -> privacy.PrivacyLoss:
    """A Gaussian on m of n records drawn without replacement, repeated; replace relation."""
    base = privacy.GaussianLoss(noise_multiplier=noise_multiplier, unit=privacy.Unit(REPLACE))
    return privacy.Repeated(privacy.FixedSampled(base, m=m, n=n), count)


@dataclass(frozen=True)
class Row:
    """One golden case: parameters, the contour value of epsilon, the printed point and its last digit."""

    name: str
    q: float
    z: float
    count: int
    delta: float
    contour: float
    printed: float
    digit: float
    width: float  # promised relative width of the certified interval

    @property
    def loss(self) -> privacy.PrivacyLoss:
        """The loss that is priced."""
        return sampled(self.q, self.z, self.count)


# Contour values (remove direction, the larger one in every row). The printed points are those of a grid engine,
# "good to about the last digit shown": A is 1.2 and E 2.6 units of that digit too high, the z=.3 row 2 units.
ROWS = (
    Row("A", 0.01, 4.0, 10_000, 1e-5, 0.946866800764, 0.946868, 1e-6, 1e-3),
    Row("B", 0.01, 1.0, 1_000, 1e-5, 1.828236666517, 1.8282367, 1e-7, 1e-3),
    Row("C", 0.001, 0.8, 100_000, 1e-6, 2.914478334989, 2.91447, 1e-5, 1e-3),
    Row("D", 256 / 60_000, 1.1, 14_062, 1e-5, 2.381596921424, 2.38160, 1e-5, 1e-3),
    Row("E", 0.1, 20.0, 1_000, 1e-8, 0.800654404163, 0.800657, 1e-6, 1e-3),
    Row("F", 1.0, 100.0, 5_000, 1e-6, 3.307600722613, 3.3076007, 1e-7, 1e-3),  # exact: one Gaussian
    Row("B 1e-12", 0.01, 1.0, 1_000, 1e-12, 3.914298156037, 3.914298, 1e-6, 1e-3),
    Row("B 1e-14", 0.01, 1.0, 1_000, 1e-14, 4.543701988593, 4.543702, 1e-6, 1e-3),
    Row("B 1e-15", 0.01, 1.0, 1_000, 1e-15, 4.854537750605, 4.854538, 1e-6, 1e-3),
    Row("B 1e-20", 0.01, 1.0, 1_000, 1e-20, 6.361700204079, 6.361700, 1e-6, 2e-3 / 6.36),
    Row("B 1e-50", 0.01, 1.0, 1_000, 1e-50, 15.209761496476, 15.209762, 1e-6, 2e-3 / 15.2),
    Row("small z", 0.01, 0.3, 1_000, 1e-5, 69.815710713001, 69.81573, 1e-5, 1e-3),
    Row("many steps", 0.001, 0.8, 10_000_000, 1e-6, 47.235685690481, 47.2357, 1e-4, 1e-3),
    # abscissa=8; two abscissas and two refinements agree to 1e-11 absolute
    Row("small q", 1e-5, 1.0, 1_000_000, 1e-8, 0.0590999666543, 0.05910, 1e-5, 1e-2),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_interval_holds_the_contour_value(row: Row) -> None:
    bound = accounting.epsilon(row.loss, delta=row.delta)
    assert_contains(bound, row.contour, relative=1e-10)
    assert_narrow(bound, max(1e-4, row.width * row.contour))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_interval_holds_the_printed_point(row: Row) -> None:
    bound = accounting.epsilon(row.loss, delta=row.delta)
    assert_contains(bound, row.printed, relative=0.0, absolute=3 * row.digit)


@pytest.mark.parametrize("row", ROWS[:5], ids=lambda row: row.name)
def test_a_finer_tolerance_is_honoured(row: Row) -> None:
    bound = accounting.epsilon(row.loss, delta=row.delta, accountant=accounting.PLD(tol=1e-4))
    assert_contains(bound, row.contour, relative=1e-10)
    assert_narrow(bound, max(1e-5, 1e-4 * row.contour))


def test_small_noise_is_within_a_hundredth_of_a_percent() -> None:
    row = next(r for r in ROWS if r.name == "small z")
    bound = accounting.epsilon(row.loss, delta=row.delta, accountant=accounting.PLD(tol=1e-4))
    assert_contains(bound, row.contour, relative=1e-10)
    assert_narrow(bound, 1e-4 * row.contour)


def test_bound_reads_as_its_upper_end() -> None:
    bound = accounting.epsilon(ROWS[1].loss, delta=1e-5)
    assert float(bound) == bound.upper
    assert isinstance(bound.method, str)
    assert bound.method
    assert bound.slack >= 0.0


# (row, best real order by `composition_reference.renyi_epsilon`, peer on its own orders)
RENYI = (
    ("A", 1.0353840019, 1.0354900660),
    ("B", 2.1013221318, 2.1013665254),
    ("C", 3.1873868382, 3.1878046638),
    ("D", 2.5965419685, 2.5965558698),
    ("E", 0.8495459430, 0.8495601520),
    ("F", 3.5422913004, 3.5423612316),
    ("B 1e-20", 6.8122938186, 6.8127),
    ("small z", 78.3747440138, 79.4013),
    ("small q", 0.6695168119, 0.68536),
)


@pytest.mark.parametrize(("name", "best", "peer"), RENYI)
def test_renyi_accountant_is_optimal_over_orders(name: str, best: float, peer: float) -> None:
    row = next(r for r in ROWS if r.name == name)
    bound = accounting.epsilon(row.loss, delta=row.delta, accountant=accounting.Rdp())
    assert_upper(bound, exact=best, at_most=min(peer, best * (1 + 1e-4)))
    assert bound.lower <= row.contour * (1 + 1e-10)


# `sampled_gaussian.renyi_integer` at 30 digits, q=.01, orders 2, 4, 8, 16, 32
RENYI_PER_STEP = {
    4.0: (6.44942509419921e-6, 1.29156941783972e-5, 2.58991230124043e-5, 5.20720970057986e-5, 1.05263606590817e-4),
    1.0: (1.71813422074548e-4, 3.63154048910757e-4, 8.93643907606032e-4, 3.08785078369624, 11.2462759370481),
}


@pytest.mark.parametrize("z", RENYI_PER_STEP)
def test_renyi_curve_of_one_step(z: float) -> None:
    loss = privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=z), q=0.01)
    values = loss.rdp(np.array([2.0, 4.0, 8.0, 16.0, 32.0])).values
    # a sum of q^2-sized terms beside 1: doubles keep about 1e-16 / 1e-5 of the smallest value
    np.testing.assert_allclose(values, RENYI_PER_STEP[z], rtol=1e-9)


# contour values of delta, the larger direction; (loss index in ROWS, epsilon, remove, add)
DELTAS = (
    ("A", 0.0, 0.10099338471937, 0.10099338471937),
    ("A", 0.5, 0.00302759365084, 0.00293400519782),
    ("A", 1.0, 4.243484252482e-06, 3.529865524932e-06),
    ("B", 0.0, 0.16101761969793, 0.16101761969793),
    ("B", 0.5, 0.03056802434707, 0.02393193415837),
    ("B", 1.0, 0.00261242057863, 0.00079459017357),
)


@pytest.mark.parametrize(("name", "epsilon", "remove", "add"), DELTAS)
def test_delta_interval(name: str, epsilon: float, remove: float, add: float) -> None:
    row = next(r for r in ROWS if r.name == name)
    bound = accounting.delta(row.loss, epsilon=epsilon)
    assert_contains(bound, max(remove, add), relative=1e-9)
    # a width of 1e-3 epsilon at the solution is about 1e-3 * |dln(delta)/dln(epsilon)| < 2e-2 of delta here
    assert_narrow(bound, 2e-2 * remove)


def test_delta_at_fifty_zeros() -> None:
    row = next(r for r in ROWS if r.name == "B 1e-50")
    bound = accounting.delta(row.loss, epsilon=row.contour)
    # epsilon is known to 5e-13 and the slope of ln(delta) is about -8: 1e-11 relative, taken with a margin
    assert_contains(bound, 1e-50, relative=1e-10)
    assert_narrow(bound, 2e-3 * 7.91 * 1e-50)  # a gap of 2e-3 in epsilon, times the slope (contour: -7.908)


# exact dual of the contour curve (`composition_reference.tradeoff`, the worse direction), and the printed bound
TRADEOFF = (
    ("A", 1e-3, 0.9977118216, 0.99771),
    ("A", 1e-2, 0.9808578832, 0.98085),
    ("A", 1e-1, 0.8478705365, 0.84785),
    ("B", 1e-3, 0.9959315521, 0.99593),
    ("B", 1e-2, 0.9708609054, 0.97086),
    ("B", 1e-1, 0.8057988684, 0.80575),
)


@pytest.mark.parametrize(("name", "fpr", "exact", "printed"), TRADEOFF)
def test_tradeoff(name: str, fpr: float, exact: float, printed: float) -> None:
    row = next(r for r in ROWS if r.name == name)
    value = float(accounting.tradeoff(row.loss, fpr))
    assert printed - 1e-4 <= value <= exact + 1e-8  # the exact dual is known to 1e-9


# --- closed forms -------------------------------------------------------------------------------------

ANALYTIC_SIGMA = (  # exact
    (0.1, 1e-5, 30.74956613198),
    (0.5, 1e-6, 8.057618480725),
    (1.0, 1e-5, 3.730631634816),
    (1.0, 1e-6, 4.224678889327),
    (3.0, 1e-5, 1.390593456675),
    (8.0, 1e-5, 0.600229072199),
)


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), ANALYTIC_SIGMA)
def test_analytic_gaussian(epsilon: float, delta: float, sigma: float) -> None:
    found = accounting.calibrate(lambda s: privacy.GaussianLoss(noise_multiplier=s), epsilon=epsilon, delta=delta)
    # never less noise than needed; at most what makes epsilon 1e-4 too good (|dln(eps)/dln(sigma)| >= 1)
    assert sigma * (1 - 1e-10) <= found <= sigma * (1 + 1e-4)


def test_gaussian_profile() -> None:
    exact = (0.382924922548, 0.2384217081349, 0.1269367375066, 0.02092363582111, 0.001537185369401)
    got = privacy.GaussianLoss(noise_multiplier=1.0).profile(np.array([0.0, 0.5, 1.0, 2.0, 3.0]))
    np.testing.assert_allclose(got, exact, rtol=1e-10)


def test_gaussian_epsilon_and_tradeoff() -> None:
    loss = privacy.GaussianLoss(noise_multiplier=1.0)
    assert_upper(accounting.epsilon(loss, delta=1e-5), exact=4.377178095681, at_most=4.37718)
    assert 0.9076 <= float(accounting.tradeoff(loss, 0.01)) <= 0.9076377519264


@pytest.mark.parametrize(
    ("rho", "delta", "exact"),
    [(0.1, 1e-6, 2.141938928385), (0.5, 1e-6, 5.22153444453), (1.0, 1e-5, 7.077196695806)],
)
def test_zcdp_conversion(rho: float, delta: float, exact: float) -> None:
    bound = accounting.epsilon(privacy.ZcdpLoss(rho), delta=delta, accountant=accounting.Zcdp())
    assert_upper(bound, exact=exact, at_most=exact * (1 + 1e-6))


@pytest.mark.parametrize(
    ("levels", "exact", "renyi"),
    [(4, 1.765648170321, 1.897376424642), (7, 2.399029363051, 2.573783471333), (10, 2.921600590427, 3.131055680764)],
)
def test_tree_of_gaussians(levels: int, exact: float, renyi: float) -> None:
    loss = privacy.Repeated(privacy.GaussianLoss(noise_multiplier=5.0), levels)
    assert_upper(accounting.epsilon(loss, delta=1e-6), exact=exact, at_most=exact * (1 + 1e-6))
    assert_upper(accounting.epsilon(loss, delta=1e-6, accountant=accounting.Rdp()), exact=renyi, at_most=renyi * 1.0001)


# --- composition and discrete -------------------------------------------------------------------------

OPTIMAL = (  # exact: `brute_force.optimal_composed_delta`
    (0.1, 0.0, 100, 1e-6, 4.77456758810799),
    (0.5, 0.0, 20, 1e-6, 9.98679786964016),
    (1.0, 0.0, 10, 1e-5, 9.99977063453494),
    (0.1, 1e-9, 100, 1e-6, 4.78772376081163),
)


@pytest.mark.parametrize(("budget", "slack", "count", "delta", "exact"), OPTIMAL)
def test_optimal_composition(budget: float, slack: float, count: int, delta: float, exact: float) -> None:
    base = privacy.ApproxLoss(budget, slack) if slack else privacy.PureLoss(budget)
    loss = privacy.Repeated(base, count)
    # a sum of at most 101 positive terms in doubles: 1e-13; delta - slack cancels to 1e-10 at worst
    optimal = accounting.epsilon(loss, delta=delta, accountant=accounting.Optimal())
    assert_upper(optimal, exact=exact, at_most=exact * (1 + 1e-8))
    assert_contains(accounting.epsilon(loss, delta=delta), exact, relative=1e-10)


@pytest.mark.parametrize(
    ("scale", "count", "delta", "exact"), [(50.0, 100, 1e-5, 0.714572399585), (2.0, 10, 1e-6, 4.998978089447)]
)
def test_composed_laplace(scale: float, count: int, delta: float, exact: float) -> None:
    bound = accounting.epsilon(privacy.Repeated(privacy.LaplaceLoss(scale=scale), count), delta=delta)
    assert_contains(bound, exact, relative=1e-10)  # exact: `closed_forms.laplace_composed_epsilon`, 160 digits
    assert_narrow(bound, max(1e-4, 1e-3 * exact))


def test_mixed_composition() -> None:
    loss = privacy.Composed(
        (
            privacy.Repeated(privacy.LaplaceLoss(scale=50.0), 100),
            privacy.Repeated(privacy.GaussianLoss(noise_multiplier=30.0), 50),
            sampled(0.01, 1.0, 1_000),
        )
    )
    bound = accounting.epsilon(loss, delta=1e-5)
    assert_contains(bound, 2.208959236399, relative=1e-10)  # contour
    assert_narrow(bound, 1e-3 * 2.21)
    renyi = accounting.epsilon(loss, delta=1e-5, accountant=accounting.Rdp())
    assert_upper(renyi, exact=2.466049047, at_most=2.46616)


def test_laplace_curve() -> None:
    loss = privacy.LaplaceLoss(scale=2.0)
    assert float(loss.profile(0.0)) == pytest.approx(0.2211992169286, rel=1e-12)
    np.testing.assert_allclose(loss.rdp(np.array([2.0, 10.0])).values, (0.2003038961736, 0.4286903864673), rtol=1e-11)


@pytest.mark.parametrize(("count", "exact"), [(5, 6.93146421182062), (20, 27.7225564247148)])
def test_k_randomized_response_is_a_trinomial(count: int, exact: float) -> None:
    loss = privacy.Repeated(privacy.KRRLoss(k=3, epsilon=math.log(4.0)), count)
    bound = accounting.epsilon(loss, delta=1e-6)
    assert_contains(bound, exact, relative=1e-10)
    assert_narrow(bound, 1e-3 * exact)


def test_wide_randomized_response_barely_distinguishes() -> None:
    loss = privacy.KRRLoss(k=1024, epsilon=2.0)
    assert float(loss.profile(0.0)) == pytest.approx(0.00620062495919718, rel=1e-12)


def test_exponential_single_call() -> None:
    loss = privacy.ExponentialLoss(1.0)
    assert float(loss.profile(0.0)) == pytest.approx(0.2449186624037, rel=1e-11)
    assert_upper(accounting.epsilon(loss, delta=1e-5), exact=0.9949652666088, at_most=0.99497)


@pytest.mark.parametrize(
    ("budget", "count", "common_t", "best_sound"),
    # common_t: a real (non-adaptive) family, so no sound price is below it; best_sound: bounded-range Renyi bound
    [(1.0, 10, 7.10496, 7.244710944423), (0.1, 100, 1.98863, 2.151704286419)],
)
def test_exponential_many_calls(budget: float, count: int, common_t: float, best_sound: float) -> None:
    bound = accounting.epsilon(privacy.Repeated(privacy.ExponentialLoss(budget), count), delta=1e-5)
    assert_upper(bound, exact=common_t, at_most=best_sound * (1 + 1e-3))
    assert bound.lower <= best_sound


# --- sampling without replacement ---------------------------------------------------------------------

FIXED = (  # contour values; the third digit of the printed intervals agrees
    (256, 60_000, 1.1, 14_062, 3.068505593619),
    (10, 1_000, 1.0, 1_000, 2.198909948873),
    (10, 100, 2.0, 500, 6.291464148636),
    (1, 1_000, 122_194.5392379245 / 2_000, 1_000_000, 0.0473442429395),
    (1, 1_000, 4.139, 1_000_000, 0.998037273225),
    (1, 1_000, 7.446, 1_000_000, 0.498917191458),
)


@pytest.mark.parametrize(("m", "n", "z", "count", "exact"), FIXED)
def test_fixed_size_sampling(m: int, n: int, z: float, count: int, exact: float) -> None:
    bound = accounting.epsilon(drawn(m, n, z, count), delta=1e-5)
    assert_contains(bound, exact, relative=1e-10)
    assert_narrow(bound, max(1e-4, 1e-3 * exact))


# --- groups, advanced composition, selection, calibration ---------------------------------------------


@pytest.mark.parametrize(
    ("budget", "slack", "size", "exact"), [(0.5, 1e-6, 3, 5.367003099159e-6), (1.0, 1e-5, 2, 3.718281828459e-5)]
)
def test_group_of_an_approximate_loss(budget: float, slack: float, size: int, exact: float) -> None:
    # the formula is attained by a chain of binary laws (see tests/oracles/test_oracles.py), so nothing below is sound
    bound = accounting.delta(privacy.Grouped(privacy.ApproxLoss(budget, slack), size), epsilon=size * budget)
    assert_upper(bound, exact=exact, at_most=exact * (1 + 1e-6))


def test_group_of_a_gaussian_is_a_gaussian() -> None:
    loss = privacy.Grouped(privacy.GaussianLoss(noise_multiplier=4.0), 3)
    bound = accounting.delta(loss, epsilon=3.182105586985)
    # epsilon is given to 13 digits and |dln(delta)/d epsilon| < 10: 1e-11; the generic bound would say 1.223e-5
    assert_upper(bound, exact=8.182317615813e-6, at_most=8.1824e-6)


def test_advanced_composition() -> None:
    loss = privacy.Repeated(privacy.PureLoss(0.1), 100)
    bound = accounting.epsilon(loss, delta=1e-6, accountant=accounting.Advanced())
    # between the form with the exact drift (5.7561) and the textbook form (6.3082)
    assert_upper(bound, exact=5.756105519336, at_most=6.308230950514)


def test_basic_composition_of_the_seed_case() -> None:
    step = math.sqrt(2 * math.log(1e5)) / 4
    loss = privacy.Repeated(privacy.ApproxLoss(step, 1e-5), 10_000)
    bound = accounting.epsilon(loss, delta=0.1 * (1 + 1e-9), accountant=accounting.Basic())
    assert_upper(bound, exact=11_996.31478047, at_most=11_996.3148)


# (kind, exact optimum over real orders, peer on its own orders); base Gaussian z=5, delta=1e-6
SELECTION = (
    ({"mean": 10, "eta": 1}, 1.813467151174, 1.813569),
    ({"mean": 10, "eta": 0}, 1.512850239762, 1.513252),
    ({"mean": 100, "eta": 0}, 1.782008402541, 1.782165),
    # lower value: delta-hat from the exact Gaussian curve; the peer takes it from the Renyi curve (1.980126 at best)
    ({"mean": 10, "poisson": True}, 1.612816354288, 1.980404),
)


@pytest.mark.parametrize(("kind", "best", "peer"), SELECTION)
def test_repeat_and_select(kind: dict[str, float | bool], best: float, peer: float) -> None:
    loss = privacy.Selected(privacy.GaussianLoss(noise_multiplier=5.0), **kind)
    assert_upper(accounting.epsilon(loss, delta=1e-6), exact=best, at_most=peer)


# contour root of epsilon(z) = target in case D, and the slope there; the peer's 2.02515 is 2.9e-4 too much noise
CALIBRATION = ((1.0, 2.0248584110, 0.6166), (3.0, 0.9684079236, 5.987), (8.0, 0.6557081639, 39.05))


@pytest.mark.parametrize(("target", "exact", "slope"), CALIBRATION)
def test_calibrate_noise(target: float, exact: float, slope: float) -> None:
    found = accounting.calibrate(lambda z: sampled(256 / 60_000, z, 14_062), epsilon=target, delta=1e-5)
    # Never less noise than needed, and at most what 1e-4 of the target costs: the slope turns it into noise (+5% for
    # its curvature).
    assert exact * (1 - 1e-9) <= found <= exact + 1.05 * 1e-4 * target / slope


# --- the lectures' small examples ---------------------------------------------------------------------


def test_profile_is_not_the_tail_of_the_loss() -> None:
    loss = privacy.FinitePairLoss((0.5, 0.5), (1 / 3, 2 / 3))
    assert float(loss.profile(0.0)) == pytest.approx(1 / 6, rel=1e-12)


def test_disjoint_supports_are_not_private() -> None:
    loss = privacy.FinitePairLoss((0.5, 0.5, 0.0, 0.0), (0.0, 0.0, 0.5, 0.5))
    assert float(loss.profile(0.0)) == pytest.approx(1.0, rel=1e-12)


def test_fair_coin_randomized_response() -> None:
    loss = privacy.RandomizedResponseLoss(math.log(3.0))
    assert float(loss.profile(0.0)) == pytest.approx(0.5, rel=1e-12)
    assert accounting.epsilon(loss, delta=1e-12).upper == pytest.approx(1.0986122886681098, rel=1e-9)
