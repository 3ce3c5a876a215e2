"""Accounting against independent oracles: closed forms in mpmath, exact enumeration, quadrature.

Profiles of one release are compared as numbers (they have closed forms). Composed prices are certified intervals:
each must hold the oracle's value. Tolerances cover the rounding of a double evaluation, never an approximation.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import quad

from privet import accounting, privacy
from tests.oracles import brute_force, closed_forms, sampled_gaussian
from tests.oracles.asserts import assert_contains, assert_narrow

POINTS = np.array([-1.5, -0.4, -0.05, 0.0, 0.02, 0.1, 0.3, 0.7, 1.2, 2.0])
# A hockey-stick value is a difference of two probabilities: 1e-16 absolute, 1e-9 relative when it is not tiny.
RELATIVE, ABSOLUTE = 1e-9, 1e-14
DIRECTIONS = ("remove", "add")


def assert_profile(loss: privacy.PrivacyLoss, exact: Callable[[float], object], direction: str) -> None:
    """The whole curve in one array call, and one scalar call that must agree with it."""
    expected = [float(exact(e)) for e in POINTS]
    got = loss.profile(POINTS, direction=direction)
    np.testing.assert_allclose(got, expected, rtol=RELATIVE, atol=ABSOLUTE)
    assert float(loss.profile(0.1, direction=direction)) == pytest.approx(expected[5], rel=RELATIVE, abs=ABSOLUTE)


# --- curves of one release ----------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("z", [0.4, 1.0, 7.5])
def test_gaussian_curve(z: float, direction: str) -> None:
    assert_profile(
        privacy.GaussianLoss(noise_multiplier=z), lambda e: closed_forms.gaussian_delta(e, 1 / mp.mpf(z)), direction
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("q", "z"), [(0.01, 1.0), (0.3, 0.7), (0.9, 3.0), (1.0, 1.0)])
def test_sampled_gaussian_curve(q: float, z: float, direction: sampled_gaussian.Direction) -> None:
    loss = privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=z), q=q)
    assert_profile(loss, lambda e: sampled_gaussian.delta_one(e, q=q, z=z, direction=direction), direction)


def test_profile_without_direction_is_the_larger() -> None:
    loss = privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=0.7), q=0.3)
    both = [loss.profile(POINTS, direction=d) for d in DIRECTIONS]
    np.testing.assert_allclose(loss.profile(POINTS), np.maximum(*both), rtol=1e-12)
    assert np.max(np.abs(both[0] - both[1])) > 1e-2  # the directions really differ here


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("scale", [0.5, 2.0, 30.0])
def test_laplace_curve(scale: float, direction: str) -> None:
    assert_profile(privacy.LaplaceLoss(scale=scale), lambda e: closed_forms.laplace_delta(e, scale), direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("scale", "sensitivity"), [(1.3, 1), (2.0, 3)])
def test_discrete_laplace_curve(scale: float, sensitivity: int, direction: str) -> None:
    loss = privacy.DiscreteLaplaceLoss(scale=scale, sensitivity=sensitivity)
    assert_profile(loss, lambda e: closed_forms.discrete_laplace_delta(e, scale, sensitivity), direction)


def test_geometric_is_discrete_laplace_by_its_ratio() -> None:
    loss = privacy.GeometricLoss(ratio=0.5, sensitivity=1)
    assert_profile(loss, lambda e: closed_forms.discrete_laplace_delta(e, 1 / mp.log(2)), "remove")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("sigma", "sensitivity"), [(0.8, 1), (3.0, 2)])
def test_discrete_gaussian_curve(sigma: float, sensitivity: int, direction: str) -> None:
    loss = privacy.DiscreteGaussianLoss(sigma=sigma, sensitivity=sensitivity)
    assert_profile(loss, lambda e: closed_forms.discrete_gaussian_delta(e, sigma, sensitivity), direction)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_pure_losses_are_randomized_response(epsilon: float) -> None:
    losses = (
        privacy.PureLoss(epsilon),
        privacy.RandomizedResponseLoss(epsilon),
        privacy.AboveThresholdLoss(epsilon),
    )
    for loss in losses:
        assert_profile(loss, lambda e: closed_forms.pure_delta(e, epsilon), "remove")


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_exponential_curve(epsilon: float) -> None:
    loss = privacy.ExponentialLoss(epsilon)
    for at in (0.0, 0.1, 0.25):
        exact = float(closed_forms.exponential_delta(at, epsilon))
        assert float(loss.profile(at)) == pytest.approx(exact, rel=1e-9)


def test_approximate_loss_keeps_its_atom() -> None:
    loss = privacy.ApproxLoss(0.5, 1e-3)
    exact = [1e-3 + (1 - 1e-3) * float(closed_forms.pure_delta(e, 0.5)) for e in (0.0, 0.2, 0.5, 9.0)]
    np.testing.assert_allclose(loss.profile(np.array([0.0, 0.2, 0.5, 9.0])), exact, rtol=1e-10)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sampled_laplace_curve(direction: str) -> None:
    """Quadrature of (p - gamma q)_+ with p and q written out: no amplification formula."""
    q, scale = 0.2, 0.8
    loss = privacy.PoissonSampled(privacy.LaplaceLoss(scale=scale), q=q)

    def laplace(x: float, centre: float) -> float:
        return math.exp(-abs(x - centre) / scale) / (2 * scale)

    def integrand(x: float, gamma: float) -> float:
        with_record = (1 - q) * laplace(x, 0.0) + q * laplace(x, 1.0)
        pair = (with_record, laplace(x, 0.0)) if direction == "remove" else (laplace(x, 0.0), with_record)
        return max(pair[0] - gamma * pair[1], 0.0)

    for epsilon in (-0.3, 0.0, 0.05, 0.15):
        gamma = math.exp(epsilon)
        pieces = [(-40.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 41.0)]
        exact = sum(quad(integrand, a, b, args=(gamma,), limit=400, epsabs=1e-12)[0] for a, b in pieces)
        # the kink of (.)_+ limits the quadrature
        assert float(loss.profile(epsilon, direction=direction)) == pytest.approx(exact, abs=1e-8)


# --- Renyi curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("q", "z"), [(0.01, 1.0), (0.2, 2.0)])
def test_sampled_gaussian_renyi_at_real_orders(q: float, z: float) -> None:
    alphas = (1.3, 2.5, 7.25)
    with mp.workdps(20):
        exact = [
            max(float(sampled_gaussian.renyi(a, q=q, z=z, direction=d)) for d in DIRECTIONS)  # type: ignore[arg-type]
            for a in alphas
        ]
    loss = privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=z), q=q)
    got = loss.rdp(np.array(alphas)).values
    assert np.all(got >= np.array(exact) * (1 - 1e-9))
    # a real order may be bounded from neighbouring integers (log-convexity), hence the one-sided allowance
    np.testing.assert_allclose(got, exact, rtol=1e-8)


def test_renyi_of_pure_and_laplace_and_exponential() -> None:
    alphas = np.array([1.5, 3.0, 20.0])
    cases: tuple[tuple[privacy.PrivacyLoss, Callable[[float], object]], ...] = (
        (privacy.PureLoss(0.7), lambda a: closed_forms.pure_renyi(a, 0.7)),
        (privacy.LaplaceLoss(scale=1.5), lambda a: closed_forms.laplace_renyi(a, 1.5)),
        (privacy.ExponentialLoss(0.7), lambda a: closed_forms.bounded_range_renyi(a, 0.7)),
        (privacy.GaussianLoss(noise_multiplier=2.0), lambda a: a / 8),
    )
    for loss, exact in cases:
        np.testing.assert_allclose(loss.rdp(alphas).values, [float(exact(a)) for a in alphas], rtol=1e-8)


def test_given_renyi_curve_is_converted_at_its_own_orders() -> None:
    alphas = tuple(float(a) for a in np.linspace(1.1, 60.0, 2000))
    loss = privacy.RdpLoss(alphas, tuple(a * 0.1 for a in alphas))
    exact = float(closed_forms.zcdp_epsilon("0.1", "1e-6"))
    found = accounting.epsilon(loss, delta=1e-6, accountant=accounting.Rdp()).upper
    assert exact * (1 - 1e-10) <= found <= exact * (1 + 1e-4)  # the grid of orders is 0.03 wide


# --- composition --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("q", "z"), [(0.01, 1.0), (0.3, 0.8)])
def test_two_sampled_releases(q: float, z: float) -> None:
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=z), q=q), 2)
    with mp.workdps(18):
        for epsilon in (0.01, 0.2):
            exact = max(
                float(sampled_gaussian.delta_two(epsilon, q=q, z=z, direction=d))  # type: ignore[arg-type]
                for d in DIRECTIONS
            )
            bound = accounting.delta(loss, epsilon=epsilon, accountant=accounting.PLD(tol=1e-4))
            assert_contains(bound, exact, relative=1e-9)
            assert_narrow(bound, 0.05 * exact)


@pytest.mark.parametrize(("z", "count", "delta"), [(10.0, 50, 1e-5), (3.0, 4, 1e-10)])
def test_forced_pld_agrees_with_a_gaussian(z: float, count: int, delta: float) -> None:
    exact = float(closed_forms.gaussian_epsilon(delta, mp.sqrt(count) / z))
    loss = privacy.Repeated(privacy.GaussianLoss(noise_multiplier=z), count)
    bound = accounting.epsilon(loss, delta=delta, accountant=accounting.PLD(tol=1e-4))
    assert_contains(bound, exact)
    assert_narrow(bound, max(1e-5, 1e-4 * exact))
    direct = accounting.epsilon(loss, delta=delta, accountant=accounting.Gdp())
    assert exact * (1 - 1e-10) <= direct.upper <= exact * (1 + 1e-6)


def test_gdp_losses_add_in_squares() -> None:
    loss = privacy.Composed((privacy.GdpLoss(0.3), privacy.GdpLoss(0.4)))
    exact = float(closed_forms.gaussian_epsilon("1e-6", "0.5"))
    assert accounting.epsilon(loss, delta=1e-6).upper == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_finite_pairs_compose_exactly(seed: int) -> None:
    source = random.Random(seed)
    pairs = [tuple(brute_force.random_distribution(source, 3) for _ in range(2)) for _ in range(3)]
    loss = privacy.Composed(tuple(privacy.FinitePairLoss(*(tuple(map(float, side)) for side in p)) for p in pairs))
    for gamma in (Fraction(1), Fraction(3, 2), Fraction(4)):
        exact = max(
            brute_force.composed_hockey_stick(pairs, gamma),  # type: ignore[arg-type]
            brute_force.composed_hockey_stick([p[::-1] for p in pairs], gamma),  # type: ignore[arg-type]
        )
        bound = accounting.delta(loss, epsilon=math.log(gamma))
        assert_contains(bound, float(exact), relative=1e-9, absolute=1e-12)
        # a rounding of the loss by h moves delta by at most its slope times h; 2% is far above, a wrong curve is not
        assert_narrow(bound, 0.02 * float(exact) + 1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_repeated_pure_loss_holds_the_optimum(epsilon: float) -> None:
    loss = privacy.Repeated(privacy.PureLoss(epsilon), 12)
    for at in (0.0, 2 * epsilon, 5.5 * epsilon):
        exact = float(brute_force.optimal_composed_delta(at, budget=epsilon, slack=0, count=12))
        for accountant in (accounting.Optimal(), accounting.PLD(tol=1e-4)):
            assert_contains(accounting.delta(loss, epsilon=at, accountant=accountant), exact, relative=1e-9)


LOSSES: dict[str, Callable[[], privacy.PrivacyLoss]] = {
    "gaussian": lambda: privacy.GaussianLoss(noise_multiplier=4.0),
    "laplace": lambda: privacy.LaplaceLoss(scale=5.0),
    "pure": lambda: privacy.PureLoss(0.2),
    "approximate": lambda: privacy.ApproxLoss(0.2, 1e-9),
    "discrete laplace": lambda: privacy.DiscreteLaplaceLoss(scale=5.0, sensitivity=1),
    "discrete gaussian": lambda: privacy.DiscreteGaussianLoss(sigma=4.0, sensitivity=1),
    "exponential": lambda: privacy.ExponentialLoss(0.2),
    "randomized response": lambda: privacy.RandomizedResponseLoss(0.2),
    "k-ary response": lambda: privacy.KRRLoss(k=4, epsilon=0.2),
    "sampled": lambda: privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=1.0), q=0.05),
    "zcdp": lambda: privacy.ZcdpLoss(0.02),
}


@pytest.mark.parametrize("name", LOSSES)
def test_n_singles_are_one_n_fold(name: str) -> None:
    make, count = LOSSES[name], 7
    together = accounting.epsilon(privacy.Repeated(make(), count), delta=1e-6)
    singles = accounting.epsilon(privacy.Composed(tuple(make() for _ in range(count))), delta=1e-6)
    assert singles.upper == pytest.approx(together.upper, rel=1e-9)
    once = accounting.epsilon(make(), delta=1e-6)
    assert together.upper > once.upper * 1.3  # the count is not dropped (seven uses cost at least sqrt(7)/2 as much)


def test_parallel_costs_the_larger() -> None:
    loss = privacy.Parallel((privacy.PureLoss(0.5), privacy.PureLoss(0.2)))
    assert_profile(loss, lambda e: closed_forms.pure_delta(e, 0.5), "remove")


# --- sampling of finite pairs -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_poisson_sampling_of_a_finite_pair(seed: int) -> None:
    source = random.Random(100 + seed)
    p, q = (brute_force.random_distribution(source, 4) for _ in range(2))
    rate = Fraction(source.randint(1, 9), 10)
    table = brute_force.membership_table(3, 0, p, q)
    kept, dropped = (brute_force.poisson_sampled(table, d, rate) for d in (frozenset({0, 1, 2}), frozenset({1, 2})))
    loss = privacy.PoissonSampled(privacy.FinitePairLoss(tuple(map(float, p)), tuple(map(float, q))), q=float(rate))
    for gamma in (Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(11, 10), Fraction(2)):
        for direction, pair in (("remove", (kept, dropped)), ("add", (dropped, kept))):
            got = float(loss.profile(math.log(gamma), direction=direction))
            assert got == pytest.approx(float(brute_force.hockey_stick(*pair, gamma)), rel=1e-9, abs=1e-12)


def test_fixed_size_sampling_of_a_symmetric_pair_is_attained() -> None:
    p, q = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    table = brute_force.membership_table(5, 0, p, q)
    one, other = (brute_force.fixed_sampled(table, d, 2) for d in (frozenset({0, 1, 2, 3}), frozenset({1, 2, 3, 4})))
    base = privacy.FinitePairLoss((0.75, 0.25), (0.25, 0.75), unit=privacy.Unit("replace"))
    loss = privacy.FixedSampled(base, m=2, n=4)
    for gamma in (Fraction(1), Fraction(6, 5), Fraction(3, 2), Fraction(19, 10)):
        exact = max(brute_force.hockey_stick(one, other, gamma), brute_force.hockey_stick(other, one, gamma))
        assert float(loss.profile(math.log(gamma))) == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_fixed_size_sampling_dominates_random_mechanisms(seed: int) -> None:
    """A table whose every neighbouring pair of samples is 3:1 randomized response at worst."""
    source = random.Random(seed)
    rows = [Fraction(source.randint(1, 3), 4) for _ in range(32)]
    table = {s: (x, 1 - x) for s, x in zip(brute_force.subsets(frozenset(range(5))), rows, strict=True)}
    datasets = [s for s in table if len(s) == 4]
    base = privacy.FinitePairLoss((0.75, 0.25), (0.25, 0.75), unit=privacy.Unit("replace"))
    loss = privacy.FixedSampled(base, m=2, n=4)
    pairs = list(brute_force.replacements(datasets))
    for gamma in (Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(5, 4), Fraction(7, 4)):
        drawn = brute_force.worst_curve(lambda d: brute_force.fixed_sampled(table, d, 2), pairs, gamma)
        assert float(loss.profile(math.log(gamma))) >= float(drawn) - 1e-12


# --- trade-off and groups -----------------------------------------------------------------------------


def test_gaussian_tradeoff_curve() -> None:
    rates = np.array([1e-4, 0.01, 0.1, 0.5, 0.9])
    got = accounting.tradeoff(privacy.GaussianLoss(noise_multiplier=1.25), rates)
    exact = np.array([float(closed_forms.gaussian_tradeoff(a, "0.8")) for a in rates])
    assert np.all(got <= exact + 1e-12)
    np.testing.assert_allclose(got, exact, atol=1e-3)


def test_randomized_response_tradeoff() -> None:
    """Neyman-Pearson for a coin with odds 3:1: two straight lines through (1/4, 1/4)."""
    rates = np.array([0.0, 0.1, 0.25, 0.6, 1.0])
    exact = np.array([1.0, 0.7, 0.25, 0.4 / 3, 0.0])
    got = accounting.tradeoff(privacy.PureLoss(math.log(3.0)), rates)
    assert np.all(got <= exact + 1e-12)
    np.testing.assert_allclose(got, exact, atol=1e-3)


@pytest.mark.parametrize("size", [2, 5])
def test_groups_of_gaussian_pure_and_zcdp(size: int) -> None:
    gaussian = privacy.Grouped(privacy.GaussianLoss(noise_multiplier=6.0), size)
    assert_profile(gaussian, lambda e: closed_forms.gaussian_delta(e, mp.mpf(size) / 6), "remove")
    pure = accounting.epsilon(privacy.Grouped(privacy.PureLoss(0.1), size), delta=1e-12)
    assert pure.upper == pytest.approx(0.1 * size, rel=1e-6)
    zcdp = accounting.epsilon(privacy.Grouped(privacy.ZcdpLoss(0.01), size), delta=1e-6)
    exact = float(closed_forms.zcdp_epsilon(0.01 * size**2, "1e-6"))
    assert zcdp.upper == pytest.approx(exact, rel=1e-6)
