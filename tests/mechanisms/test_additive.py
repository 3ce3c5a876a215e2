"""Additive noise: calibration to the last digit, error bars, bad input, and laws of the discrete twins."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privet import noise, privacy
from privet.errors import InvalidData, InvalidParameter, NoGuarantee, PrivetError
from privet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Geometric,
    Laplace,
    Sensitivity,
    counts_sensitivity,
    least_noise,
)
from privet.mechanisms.gaussian import analytic_noise_multiplier
from privet.privacy import Guarantee, Unit

EPSILONS = (0.1, 0.5, 1, 2, 3, 5, 8, 10)
SIGMAS = {
    1e-5: "30.7495661320 7.0318266756 3.7306316348 1.9938124456 1.3905934567 0.8918682650 0.6002290722 0.4998886197",
    1e-6: "36.3046904262 8.0576184807 4.2246788893 2.2304762712 1.5438614178 0.9800490003 0.6529353844 0.5410868318",
    1e-9: "50.2098182630 10.6738968151 5.4952661572 2.8445470735 1.9437242635 1.2117124661 0.7922370498 0.6502469190",
}
ALPHA = 1e-6  # false-alarm probability of a statistical test here


def close(a, b, tolerance=1e-10):
    return abs(a - b) <= tolerance * max(1.0, abs(b))


@pytest.mark.parametrize("delta", SIGMAS)
def test_analytic_sigma(delta):
    found = [Gaussian.for_budget(epsilon=e, delta=delta, sensitivity=1.0).sigma for e in EPSILONS]
    assert np.allclose(found, np.array(SIGMAS[delta].split(), dtype=float), rtol=0, atol=6e-11)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1.0, 1e-5), (0.1, 1e-9), (10.0, 1e-6), (1.0, 1e-300), (700.0, 1e-12), (1e-3, 1e-12), (3.0, 0.3)],
)
def test_analytic_sigma_is_on_the_safe_side_by_a_hair(epsilon, delta):
    sigma = analytic_noise_multiplier(epsilon, delta)
    from mpmath import mp, mpf

    with mp.workdps(60):
        e = mpf(epsilon)

        def exact(s):
            mu = 1 / mpf(s)
            # the complement keeps its digits where the normal tail is 1e-300
            return mp.erfc((e / mu - mu / 2) / mp.sqrt(2)) / 2 - mp.exp(e) * mp.erfc((e / mu + mu / 2) / mp.sqrt(2)) / 2

        assert exact(sigma) <= delta
        assert exact(sigma * (1 - 1e-11)) > delta


def test_a_calibration_on_the_unsafe_side_would_be_seen():
    twin = analytic_noise_multiplier(1.0, 1e-5) * (1 - 1e-6)  # a bisection that returns its lower end
    assert not Guarantee(1.0, 1e-5).covers(privacy.GaussianLoss(twin))


@pytest.mark.parametrize(
    ("epsilon", "sigma", "delta"), [(0.5, 9.6896105252, 1.6079e-8), (1.0, 4.8448052626, 4.1137e-8)]
)
def test_classic_sigma_and_its_true_delta(epsilon, sigma, delta):
    if epsilon < 1.0:
        assert close(Gaussian.classic(epsilon=epsilon, delta=1e-5, sensitivity=1.0).sigma, sigma)
    assert abs(float(privacy.GaussianLoss(sigma).profile(epsilon)) / delta - 1) < 1e-4


@pytest.mark.parametrize("epsilon", [1.0, 1.5, 10.0])
def test_the_classic_formula_is_refused_beyond_its_theorem(epsilon):
    with pytest.raises(InvalidParameter, match="proved"):
        Gaussian.classic(epsilon=epsilon, delta=1e-5, sensitivity=1.0)


@pytest.mark.parametrize(("delta", "sigma", "true"), [(1e-5, 0.4844805263, 2.2654e-5), (1e-6, 0.5298802527, 1.9022e-6)])
def test_the_classic_formula_is_broken_at_ten(delta, sigma, true):
    assert close(math.sqrt(2 * math.log(1.25 / delta)) / 10, sigma, 1e-9)
    found = float(privacy.GaussianLoss(sigma).profile(10.0))
    assert found > delta
    assert abs(found / true - 1) < 1e-4


def test_gaussian_error_bars_are_the_exact_joint_quantile():
    unit = Gaussian(scale=1.0, sensitivity=1.0)
    cases = {
        (1, 0.05): (1.95996, 2.4477, 1.7308),
        (10, 0.05): (2.79963, 3.2552, 2.3018),
        (1000, 0.01): (4.41609, 4.7985, 3.3931),
    }
    for (k, beta), (exact, corrected, printed) in cases.items():
        radius = unit.error(1 - beta, dimension=k).radius - unit.step / 2
        assert abs(radius - exact) < 1e-5
        assert abs(math.sqrt(2 * math.log(k / beta)) - corrected) < 1e-4
        assert abs(math.sqrt(math.log(k / beta)) - printed) < 1e-4
        assert printed < radius < corrected


def test_the_tail_bound_of_the_lecture_fails_as_printed():
    # sigma sqrt(ln(K/beta)) is missed too often, the corrected sigma sqrt(2 ln(K/beta)) is not
    def missed(threshold, k):
        return 1 - math.erf(threshold / math.sqrt(2)) ** k

    assert abs(missed(math.sqrt(math.log(1 / 0.05)), 1) - 0.0835) < 1e-4 > 0
    assert abs(missed(math.sqrt(math.log(1000 / 0.01)), 1000) - 0.499) < 1e-3
    assert missed(math.sqrt(2 * math.log(1000 / 0.01)), 1000) < 0.01


def test_laplace_error_bars_are_the_exact_joint_quantile():
    unit = Laplace(scale=1.0, sensitivity=1.0)
    cases = {(1, 0.05): 2.995732, (4, 0.05): 4.362894, (10, 0.05): 5.275344, (1000, 0.01): 11.507910}
    for (k, beta), exact in cases.items():
        bar = unit.error(1 - beta, dimension=k)
        assert abs(bar.radius - unit.step / 2 - exact) < 1e-6
        assert bar.radius - unit.step / 2 <= math.log(k / beta) + 1e-12
        assert bar.expected == k


def test_laplace_curve():
    loss = Laplace.for_budget(epsilon=1.0, sensitivity=7.0).loss
    deltas = (0.3934693403, 0.3127107212, 0.2211992169, 0.0487705755)
    assert np.allclose(loss.profile(np.array([0, 0.25, 0.5, 0.9])), deltas, atol=1e-10)
    assert np.allclose(loss.rdp(np.array([2.0, 8.0])).values, (0.6191236300, 0.9101988012), atol=1e-10)


@pytest.mark.parametrize(
    ("epsilon", "geometric", "laplace"), [(0.1, 199.8334, 200), (1, 1.841347, 2), (2, 0.362031, 0.5)]
)
def test_geometric_noise_has_less_variance_than_laplace(epsilon, geometric, laplace):
    mechanism = Geometric.for_budget(epsilon=epsilon)
    k = np.arange(-4000, 4001)
    law = np.diff(mechanism.exact_cdf(0, k), prepend=0.0)
    assert abs(float(np.sum(law * k.astype(float) ** 2)) / geometric - 1) < 1e-6
    assert close(Laplace.for_budget(epsilon=epsilon, sensitivity=1).standard_deviation ** 2, laplace)


@pytest.mark.parametrize(
    ("sigma", "epsilon", "exact", "continuous"),
    [(1, 1, 0.141351339406, 0.126936737507), (2, 1, 0.00724877684595, 0.00682959498311)],
)
def test_the_discrete_gaussian_has_its_own_price(sigma, epsilon, exact, continuous):
    loss = DiscreteGaussian(scale=sigma, sensitivity=1).loss
    assert close(float(loss.profile(epsilon)), exact, 1e-11)
    assert close(float(privacy.GaussianLoss(sigma).profile(epsilon)), continuous, 1e-11)


def test_a_discrete_gaussian_priced_by_the_continuous_curve_would_be_seen():
    continuous = Gaussian.for_budget(epsilon=1.0, delta=0.126936737507, sensitivity=1.0).sigma
    assert not Guarantee(1.0, 0.126936737507).covers(DiscreteGaussian(scale=continuous, sensitivity=1).loss)
    assert DiscreteGaussian.for_budget(epsilon=1.0, delta=0.126936737507, sensitivity=1).sigma > continuous * 1.01


def test_several_coordinates_of_discrete_gaussian_noise_have_the_zcdp_line_only():
    vector = DiscreteGaussian.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1, dimension=2)
    assert vector.loss.kind == "zcdp"
    assert vector.sigma > DiscreteGaussian.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1).sigma
    with pytest.raises(InvalidData, match="dimension"):
        DiscreteGaussian.for_budget(rho=0.5, sensitivity=1).release([1, 2])


def pmf(mechanism, value, points):
    return np.diff(mechanism.exact_cdf(value, points), prepend=0.0)


def test_truncated_geometric_attains_its_claim_and_no_more():
    for epsilon, top in ((0.5, 4), (1.0, 1), (2.0, 7)):
        mechanism = Geometric.for_budget(epsilon=epsilon, bounds=(0, top))
        laws = np.array([pmf(mechanism, value, np.arange(top + 1)) for value in range(top + 1)])
        assert np.allclose(laws.sum(axis=1), 1.0)
        worst = np.abs(np.diff(np.log(laws), axis=0)).max()
        assert close(worst, mechanism.loss.pure(), 1e-10)


def test_truncated_geometric_in_rationals():
    # with a = exp(-1/scale) = 1/2: every ratio of neighbours is exactly 1/2 or 2
    top, a = 5, Fraction(1, 2)

    def law(value):
        ends = {0, top}
        return [a ** abs(k - value) / (1 + a) * (1 if k in ends else 1 - a) for k in range(top + 1)]

    ratios = {p / q for value in range(top) for p, q in zip(law(value), law(value + 1), strict=True)}
    assert ratios == {a, 1 / a}
    assert all(sum(law(value)) == 1 for value in range(top + 1))
    mechanism = Geometric(scale=1 / math.log(2), sensitivity=1, bounds=(0, top))
    assert np.allclose(pmf(mechanism, 2, np.arange(top + 1)), [float(p) for p in law(2)], rtol=1e-12)


def test_noise_that_is_clamped_before_it_is_added_would_be_seen():
    # saturating the noise instead of the sum shows the value: some outputs become impossible for a neighbour
    width = 3
    support = [{value + k for k in range(-width, width + 1)} for value in (0, 1)]
    assert support[0] != support[1]
    clamped = [{min(max(value + k, 0), 5) for k in range(-50, 51)} for value in (0, 1)]
    assert clamped[0] == clamped[1]


SAMPLED = [
    DiscreteLaplace.for_budget(epsilon=0.5, sensitivity=1),
    DiscreteGaussian(scale=2.0, sensitivity=1),
    Geometric.for_budget(epsilon=1.0, bounds=(0, 6)),
]


def g_test(draws, mechanism, value):
    """p-value of the likelihood-ratio test against the mechanism's own law, with pooled tails."""
    from scipy.stats import chi2

    edges = np.arange(-8, 9) + value
    law = np.diff(mechanism.exact_cdf(value, edges), prepend=0.0, append=1.0)
    seen = np.bincount(np.searchsorted(edges, draws), minlength=len(law))
    kept = law * len(draws) > 5
    law, seen = np.append(law[kept], law[~kept].sum()), np.append(seen[kept], seen[~kept].sum())
    full = law > 0
    assert not seen[~full].any()
    expected = law[full] * len(draws)
    statistic = 2 * np.sum(np.where(seen[full] > 0, seen[full] * np.log(np.maximum(seen[full], 1) / expected), 0.0))
    return float(chi2.sf(statistic, full.sum() - 1))


@pytest.mark.parametrize("mechanism", SAMPLED, ids=lambda mechanism: mechanism.name)
def test_the_sampled_law_is_the_priced_law(mechanism):
    draws = mechanism.simulate(3, 20_000, source=noise.Seeded(11))
    assert g_test(draws, mechanism, 3) > ALPHA


@pytest.mark.parametrize("mechanism", SAMPLED, ids=lambda mechanism: mechanism.name)
@pytest.mark.parametrize("factor", [2 / 3, 3 / 2])
def test_a_wrong_scale_is_rejected(mechanism, factor):
    wrong = replace(mechanism, scale=mechanism.scale * factor)
    draws = wrong.simulate(3, 20_000, source=noise.Seeded(11))
    assert g_test(draws, mechanism, 3) < ALPHA


@pytest.mark.parametrize(
    "mechanism",
    [Laplace.for_budget(epsilon=0.3, sensitivity=2), Gaussian.for_budget(rho=0.1, sensitivity=1), *SAMPLED[:2]],
    ids=lambda mechanism: mechanism.name,
)
@pytest.mark.parametrize("nobody", [0, [0] * 4, [[0, 0], [0, 0]], np.zeros(4, dtype=np.int64)], ids=repr)
def test_error_bars_cover_as_often_as_they_say(mechanism, nobody):
    """Whatever container the value comes in: each has a way of its own to the noise."""
    if mechanism.name == "discrete_gaussian":
        mechanism = replace(mechanism, dimension=int(np.size(nobody)))
    n, bar = 40_000, mechanism.error(0.9)
    drawn = np.asarray(mechanism.simulate(nobody, n // np.size(nobody), source=noise.Seeded(5)))
    inside = int(np.sum(np.abs(drawn) <= bar.radius))
    least = 0.9
    if mechanism.name not in ("laplace", "gaussian"):  # an integer bar covers more, and how much is known
        least = float(mechanism.exact_cdf(0, bar.radius) - mechanism.exact_cdf(0, -bar.radius - 1))
        assert least >= 0.9
    assert abs(inside - least * n) <= 5.3 * math.sqrt(n * least * (1 - least))  # a false alarm: below 1e-6


@pytest.mark.parametrize("dimension", [1, 5, 100])
@pytest.mark.parametrize("mechanism", SAMPLED[:2], ids=lambda mechanism: mechanism.name)
def test_integer_quantiles_are_the_least(mechanism, dimension):
    r = mechanism.error(0.95, dimension=dimension).radius
    inside = [float(mechanism.exact_cdf(0, k) - mechanism.exact_cdf(0, -k - 1)) ** dimension for k in (r, r - 1)]
    assert inside[0] >= 0.95 - 1e-12
    assert inside[1] < 0.95


def test_large_discrete_gaussian_bars_hold():
    big = DiscreteGaussian(scale=5e4, sensitivity=1)
    assert 1.95996 * 5e4 <= big.error(0.95).radius <= 1.95997 * 5e4 + 1
    assert abs(float(big.exact_cdf(0, np.array([0]))[0]) - 0.5) < 1e-5


def test_group_privacy():
    for epsilon, delta, k, expected in (
        (0.5, 1e-6, 3, 5.367003099e-6),
        (1, 1e-5, 2, 3.718281828e-5),
        (0.1, 1e-6, 10, 1.633799400e-5),
    ):
        grouped = privacy.Grouped(privacy.ApproxLoss(epsilon, delta), k).approximate()
        assert abs(grouped.delta / expected - 1) < 1e-9
    laplace = Laplace.for_budget(epsilon=0.5, sensitivity=1).loss
    gaussian = Gaussian.for_budget(mu=0.25, sensitivity=1).loss
    assert close(privacy.Grouped(laplace, 3).pure(), 1.5)
    assert close(privacy.Grouped(gaussian, 3).gdp(), 0.75)
    assert close(privacy.Grouped(gaussian, 3).zcdp().rho, 9 * 0.25**2 / 2)


BMI = [(1, 0, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 0, 0)]  # what one person adds to the four counts
CELLS = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]  # under, normal, over and obese: disjoint


@pytest.mark.parametrize(("patterns", "relation", "answers", "error"), [
    (4, "add_remove", 4, 128), (BMI, "add_remove", 4, 32), (CELLS, "add_remove", 6, 12), (CELLS, "replace", 6, 48),
])  # fmt: skip
def test_bmi_total_squared_error(patterns, relation, answers, error):
    # naively every count gets Lap(4/epsilon); disjoint cells are summed up: answers adds up the cells in all four sums
    l1 = counts_sensitivity(patterns, norm="l1", unit=Unit(relation))
    for epsilon in (0.5, 2.0):
        variance = Laplace.for_budget(epsilon=epsilon, sensitivity=l1).standard_deviation ** 2
        assert close(answers * variance * epsilon**2, error)


def test_least_noise_takes_the_smaller_bar():
    for epsilon, delta, k in ((1.0, 0.0, 5), (1.0, 1e-6, 2), (1.0, 1e-6, 200), (3.0, 1e-3, 20)):
        best = least_noise(epsilon=epsilon, delta=delta, l1=k, l2=math.sqrt(k), dimension=k)
        rivals = [Laplace.for_budget(epsilon=epsilon, delta=delta, sensitivity=k)]
        rivals += [Gaussian.for_budget(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(k))] if delta else []
        assert best.error(dimension=k).radius == min(rival.error(dimension=k).radius for rival in rivals)


ADDITIVE = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, Geometric)
BAD = [math.nan, math.inf, -1.0, 0.0, 1e-320, "1", True, None]


@pytest.mark.parametrize("kind", ADDITIVE)
@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("name", ["epsilon", "rho", "mu"])
def test_bad_budgets_are_refused(kind, value, name):
    with pytest.raises(PrivetError):
        kind.for_budget(**{name: value}, sensitivity=1)


@pytest.mark.parametrize("kind", ADDITIVE)
@pytest.mark.parametrize("delta", [-1e-9, 1.0, 1.5, math.nan, "0"], ids=repr)
def test_bad_deltas_are_refused(kind, delta):
    with pytest.raises(PrivetError):
        kind.for_budget(epsilon=1.0, delta=delta, sensitivity=1)


@pytest.mark.parametrize("kind", ADDITIVE)
@pytest.mark.parametrize("sensitivity", [0, -1, math.nan, math.inf, "1", True, None], ids=repr)
def test_bad_sensitivities_are_refused(kind, sensitivity):
    with pytest.raises(PrivetError):
        kind.for_budget(epsilon=1.0, delta=1e-6, sensitivity=sensitivity)


def test_the_wrong_norm_is_refused():
    with pytest.raises(InvalidParameter, match="l1"):
        Laplace.for_budget(epsilon=1.0, sensitivity=Sensitivity(1, norm="l2"))
    with pytest.raises(InvalidParameter, match="l2"):
        Gaussian.for_budget(epsilon=1.0, delta=1e-6, sensitivity=Sensitivity(1, norm="l1"))
    with pytest.raises(InvalidParameter, match="contradicts"):
        Laplace.for_budget(epsilon=1.0, sensitivity=Sensitivity(1, norm="l1"), unit=Unit("replace"))


def test_what_has_no_guarantee_is_refused():
    with pytest.raises(NoGuarantee):
        Gaussian.for_budget(epsilon=1.0, sensitivity=1)
    with pytest.raises(NoGuarantee):
        DiscreteGaussian.for_budget(mu=1.0, sensitivity=1)
    with pytest.raises(InvalidParameter, match="whole"):
        DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=Fraction(5, 2))


@pytest.mark.parametrize("kind", [Laplace, DiscreteLaplace, Geometric])
def test_very_large_and_small_epsilon(kind):
    assert close(kind.for_budget(epsilon=700.0, sensitivity=1).loss.pure(), 700.0)
    assert close(kind.for_budget(epsilon=1e-9, sensitivity=1).loss.pure(), 1e-9)


@pytest.mark.parametrize("value", ["12", None, [[1], [2, 3]], {"a": 1}, 1j, {1, 2}, np.array(["a"])], ids=repr)
@pytest.mark.parametrize("kind", ADDITIVE)
def test_values_without_a_meaning_are_refused(kind, value):
    with pytest.raises(InvalidData):
        kind.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1).release(value)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 1e300, 5e-324, 10**400, Fraction(1, 3**900)], ids=repr
)
@pytest.mark.parametrize("kind", ADDITIVE)
def test_nothing_is_refused_because_of_a_value(kind, value):
    """By itself where the type allows it, and in a list, where types are data."""
    mechanism = kind.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1)
    inputs = [[value]] + ([value] if kind in (Laplace, Gaussian) or isinstance(value, int) else [])
    for data in inputs:
        mechanism.check(data)
        assert np.all(np.isfinite(float(min(abs(np.asarray(mechanism.release(data).value).item()), 2**1000))))


@pytest.mark.parametrize("value", [2**70, -(2**70), np.uint64(2**64 - 1), np.uint8(255), True], ids=repr)
@pytest.mark.parametrize("kind", [DiscreteLaplace, Geometric])
def test_a_single_integer_has_any_size(kind, value):
    release = kind.for_budget(epsilon=1.0, sensitivity=1).release(value)
    assert type(release.value) is int
    assert abs(release.value - int(value)) < 100
    assert release.error is not None


@pytest.mark.parametrize(
    "value", [[2**62, -(2**62)], [2**70, 0], np.array([2**63], dtype=np.uint64), [10**400, None]], ids=repr
)
@pytest.mark.parametrize("kind", [DiscreteLaplace, Geometric])
def test_several_integers_saturate_and_say_so(kind, value):
    release = kind.for_budget(epsilon=1.0, sensitivity=1).release(value)
    assert release.value.dtype == np.int64
    clipped = [min(max(int(item or 0), -(2**62)), 2**62) for item in value]
    assert np.all(np.abs(release.value - np.array(clipped)) < 100)
    assert release.error is None
    assert "saturated" in release.provenance


def test_floats_are_no_integers():
    with pytest.raises(InvalidData, match="integer"):
        DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=1).release(3.0)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0,), 5, (0.5, 2), (True, 3), (None, 1)], ids=repr)
def test_bad_bounds_of_the_geometric_are_refused(bounds):
    with pytest.raises(InvalidParameter):
        Geometric.for_budget(epsilon=1.0, bounds=bounds)


def test_release_twice_is_two_releases():
    mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1)
    first, second = mechanism.release(0.0), mechanism.release(0.0)
    assert first.value != second.value
    assert first.loss == second.loss == mechanism.loss


class Silent(Laplace):
    """Laplace whose noise is zero: what remains is the arithmetic around it."""

    def _noisy(self, center, scale, source, *, size=None):
        shape = np.shape(center) if size is None else size
        return np.broadcast_to(np.floor(np.asarray(center, dtype=float) + 0.5).astype(np.int64), shape)


@pytest.mark.parametrize("scale", [1e-60, 1e-7, 0.3, 1.0, 1e5, 2.0**40, 1e17, 2.0**100])
@pytest.mark.parametrize("value", [0.0, 1e6, -1e6, 1e200, 1 / 3, 5e-324, 7, -(2**52) - 1, 2**40 + 1])
def test_nothing_but_rounding_to_the_grid_happens_around_the_noise(scale, value):
    mechanism = Silent(scale=scale, sensitivity=1)
    found = Fraction(mechanism.release(value).value)
    assert abs(found - Fraction(value)) <= max(Fraction(mechanism.step) / 2, abs(Fraction(value)) / 2**53)


@pytest.mark.parametrize("scale", [1e17, 2.0**90])
def test_large_integers_under_large_noise_are_exact(scale):
    mechanism = Silent(scale=scale, sensitivity=1)
    for value in (2**61 + 12345, -(2**62)):
        assert abs(Fraction(mechanism.release(value).value) - value) <= Fraction(mechanism.step) / 2 + 2**9


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_a_scale_that_cannot_be_drawn_is_refused_when_the_mechanism_is_made(kind):
    assert np.isfinite(kind(scale=2.0**100, sensitivity=1).release(0.0).value)
    with pytest.raises(InvalidParameter, match="larger units"):
        kind(scale=1e31, sensitivity=1)
