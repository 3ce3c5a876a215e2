"""What a hunt for wrong ends found, one minimal reproduction each. The test stays when a defect is mended."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf

from privet import accounting, privacy
from privet.accounting import PLD
from privet.accounting.pld.mesh import lattice_places
from privet.accounting.pld.rounding import lower_law
from privet.errors import MixedUnits, NoGuarantee
from privet.privacy import PrivacyLoss, Unit
from privet.privacy.families.normal import enclose_gaussian
from tests.accounting import hunt
from tests.oracles import brute_force, closed_forms, sampled_gaussian

LOPSIDED = (Fraction(1, 10), Fraction(9, 10)), (Fraction(1, 2), Fraction(1, 2))


def upper_delta(loss: PrivacyLoss, epsilon: float) -> float:
    return accounting.delta(loss, epsilon=epsilon).upper


# --- upper ends that are too low ----------------------------------------------------------------------


def test_fixed_size_sampling_takes_the_worse_direction():
    loss = privacy.FixedSampled(privacy.FinitePairLoss(*LOPSIDED, unit=Unit("replace")), m=1, n=4)
    sampled = brute_force.mix(LOPSIDED[0], LOPSIDED[1], Fraction(1, 4)), LOPSIDED[0]  # neither record: the first law
    epsilon = math.log(1.5)
    assert upper_delta(loss, epsilon) >= hunt.curve_of(sampled)(epsilon)


def test_releases_under_replace_may_point_opposite_ways():
    loss = privacy.Repeated(privacy.FinitePairLoss(*LOPSIDED, unit=Unit("replace")), 2)
    p, q = LOPSIDED
    crossed = tuple(a * b for a, b in product(p, q)), tuple(a * b for a, b in product(q, p))
    epsilon = 1.3
    with contextlib.suppress(MixedUnits, NoGuarantee):
        assert upper_delta(loss, epsilon) >= hunt.curve_of(crossed)(epsilon)


def test_poisson_sampling_of_groups_is_refused_or_costly():
    try:
        loss = privacy.PoissonSampled(privacy.GaussianLoss(0.1, unit=Unit(group_size=2)), q=0.1)
    except MixedUnits:
        return
    assert upper_delta(loss, 0.0) >= 0.19 - 1e-6


def test_gaussian_tradeoff_at_tiny_rates():
    with mp.workdps(60):
        truth = closed_forms.gaussian_tradeoff("1e-20", 10)
    assert accounting.tradeoff(privacy.GaussianLoss(0.1), 1e-20) <= truth


@pytest.mark.parametrize(
    ("q", "mu", "alpha"),
    [(0.01, 0.25, 150.0), (1e-4, 0.5, 75.0), pytest.param(0.01, 15.0, 4.5, marks=pytest.mark.slow)],
)
def test_sampled_gaussian_renyi_at_high_orders(q: float, mu: float, alpha: float):
    value = float(privacy.PoissonSampled(privacy.GaussianLoss(1.0 / mu), q=q).rdp(np.array([alpha])).values[0])
    with mp.workdps(30):
        assert value >= sampled_gaussian.renyi(alpha, q=q, z=1 / mpf(mu), direction="remove") * (1 - mpf("1e-9"))


@pytest.mark.parametrize(("epsilon", "alpha"), [(1e-3, 1.000001), (1e-6, 2.0), (1e-8, 1.01)])
def test_renyi_of_small_pure_losses(epsilon: float, alpha: float):
    value = float(privacy.PureLoss(epsilon).rdp(np.array([alpha])).values[0])
    with mp.workdps(60):
        assert value >= closed_forms.pure_renyi(alpha, epsilon) * (1 - mpf("1e-12"))


@pytest.mark.parametrize(("scale", "alpha"), [(1e8, 1.5), (1e17, 2.0)])
def test_renyi_of_wide_laplace_noise(scale: float, alpha: float):
    value = float(privacy.LaplaceLoss(scale).rdp(np.array([alpha])).values[0])
    with mp.workdps(80):
        assert value >= closed_forms.laplace_renyi(alpha, scale) * (1 - mpf("1e-12"))


@pytest.mark.parametrize("mu", [1e-8, 1e-12])
def test_gaussian_delta_for_tiny_mu(mu: float):
    bound = accounting.Gdp().delta(privacy.GdpLoss(mu), 0.5 * mu)
    with mp.workdps(60):
        assert bound.lower <= closed_forms.gaussian_delta(0.5 * mu, mu) <= bound.upper


def test_gdp_of_a_tiny_pure_loss():
    assert privacy.PureLoss(1e-17).gdp() >= 1.25e-17


def test_optimal_composition_of_many_steps():
    at = 100_000 * 0.01 * math.tanh(0.005) + 0.04 * math.sqrt(100_000)
    bound = accounting.Optimal().delta(privacy.Repeated(privacy.PureLoss(0.01), 100_000), at)
    with mp.workdps(40):
        assert bound.lower <= _binomial_delta(mpf(0.01), 100_000, mpf(at)) <= bound.upper


def _binomial_delta(epsilon: mpf, steps: int, at: mpf) -> mpf:
    k = int(mp.floor((steps + at / epsilon) / 2))
    log_choose = mp.loggamma(steps + 1) - mp.loggamma(k + 1) - mp.loggamma(steps - k + 1)
    term, total = mp.exp(log_choose + k * epsilon - steps * mp.log1p(mp.exp(epsilon))), mpf(0)
    while k <= steps and (total == 0 or term > total * mpf("1e-30")):
        total += term * max(mpf(0), -mp.expm1(at - (2 * k - steps) * epsilon))
        term *= mpf(steps - k) / (k + 1) * mp.exp(epsilon)
        k += 1
    return total


def test_infinite_mass_is_rounded_up():
    leaky = (Fraction(1, 100), Fraction(49, 100), Fraction(1, 2)), (Fraction(0), Fraction(1, 2), Fraction(1, 2))
    with mp.workdps(60):
        truth = hunt.curve_of(brute_force.product_pair([leaky] * 4))(0.7)
        assert PLD(1e-2).delta(privacy.Repeated(privacy.FinitePairLoss(*leaky), 4), 0.7).upper >= truth


# --- lower ends that are too high ---------------------------------------------------------------------


def test_the_lower_end_of_a_group_of_pure_losses():
    worst = privacy.GeometricLoss(math.exp(-1.0), 2)  # its trade-off is that of randomized response, chained
    geometric = accounting.epsilon(worst, delta=0.1).upper
    assert accounting.epsilon(privacy.Grouped(privacy.PureLoss(1.0), 2), delta=0.1).lower <= geometric


def test_the_lower_end_of_discrete_laplace_with_a_large_shift():
    bound = accounting.epsilon(privacy.DiscreteLaplaceLoss(1e6, 300_000), delta=0.01)
    assert bound.lower <= accounting.epsilon(privacy.LaplaceLoss(10 / 3), delta=0.01).upper + 1e-6


def test_the_lower_end_of_a_narrow_discrete_gaussian():
    assert PLD().delta(privacy.DiscreteGaussianLoss(0.02), 2000.0).lower <= 1e-300  # the largest likely loss is 1250


@pytest.mark.parametrize("step", [0.1, 1.0])
def test_the_lower_law_far_out_is_dominated(step: float):
    law = lower_law(privacy.GaussianLoss(0.03), "remove", step, 1e-20)
    losses = law.losses()
    for epsilon in np.linspace(500.0, 850.0, 36):
        above = losses > epsilon
        claimed = float((law.mass[above] * -np.expm1(epsilon - losses[above])).sum())
        assert claimed <= closed_forms.gaussian_delta(float(epsilon), 1 / mpf(0.03)) * (1 + mpf("1e-9"))


# --- crashes and needless refusals --------------------------------------------------------------------


def test_an_approximate_loss_at_its_own_delta():
    assert accounting.epsilon(privacy.ApproxLoss(0.5, 1e-6), delta=1e-6).upper == pytest.approx(0.5)


def test_one_common_outcome():
    assert upper_delta(privacy.FinitePairLoss((1, 0), ("1/2", "1/2")), 0.0) == pytest.approx(0.5, rel=1e-3)


def test_two_lopsided_pairs_are_not_priced_at_one():
    assert upper_delta(privacy.Repeated(privacy.FinitePairLoss(*LOPSIDED), 2), 1.0) <= 0.24


def test_very_little_noise_is_priced():
    truth = closed_forms.gaussian_epsilon(1e-20, mp.sqrt(7) / mpf(0.0372))
    assert PLD(1e-2).epsilon(privacy.Repeated(privacy.GaussianLoss(0.0372), 7), 1e-20).upper >= truth


@pytest.mark.slow
def test_hardly_any_noise_does_not_crash():
    truth = closed_forms.gaussian_epsilon(1e-55, mp.sqrt(2) / mpf(0.029267270048535316))
    with contextlib.suppress(NoGuarantee):
        assert PLD(1e-2).epsilon(privacy.Repeated(privacy.GaussianLoss(0.029267270048535316), 2), 1e-55).upper >= truth


@pytest.mark.slow
def test_one_finite_pair_is_priced_tightly():
    p = ("4502537423/5566516420", "4634597/5566516420", "23835080/278325821", "29132140/278325821")
    q = ("17000/18917", "17/18917", "1700/18917", "200/18917")
    bound = PLD(1e-2).epsilon(privacy.FinitePairLoss(p, q), 1e-9)
    assert bound.upper <= 1.01 * bound.lower


def test_a_delta_too_small_for_a_float_is_not_zero():
    bound = accounting.Rdp().delta(privacy.PoissonSampled(privacy.GaussianLoss(700.0), q=0.1), 0.5)
    assert 0.0 < bound.upper <= 1e-290


@pytest.mark.slow
def test_losses_at_the_size_of_rounding_do_not_crash():
    bound = PLD().delta(privacy.Repeated(privacy.GaussianLoss(1e12), 2), 0.0)
    truth = closed_forms.gaussian_delta(0, mp.sqrt(2) / mpf(10) ** 12)
    assert bound.lower <= truth <= bound.upper


@pytest.mark.parametrize("mu", [1e3, 1e7, 1e9, 3e11])
def test_normal_noise_far_below_its_sensitivity_has_its_curve(mu):
    """The mass of a far tail and e^epsilon cancelled in logarithms as large as mu^2: delta was 0 where it is .98."""
    for z in np.linspace(-11.0, 11.0, 45):
        with mp.workdps(50):
            m = mp.mpf(mu)
            epsilon = mp.mpf(float(m * m / 2 + mp.mpf(z) * m))
            below, above = epsilon / m - m / 2, epsilon / m + m / 2
            # Mills' ratio: the second term is a density over `above`, which is far out
            exact = mp.erfc(below / mp.sqrt(2)) / 2 - mp.npdf(below) / above * (1 - 1 / above**2)
        low, high = enclose_gaussian(mu, float(epsilon))
        assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)
    bound = accounting.epsilon(privacy.GaussianLoss(1.0 / mu), delta=1e-12)
    assert bound.lower <= bound.upper
    assert bound.upper == pytest.approx(mu * mu / 2 + 7.0345 * mu, rel=1e-5)


def test_laws_without_mass_between_their_ends_fit_into_memory():
    """Two billion places of a lattice were listed for the space between the ends of a law."""
    asked = privacy.Repeated(privacy.Composed((privacy.LaplaceLoss(1e-9),)), 2)
    for delta in (1e-280, 1e-5):
        assert accounting.epsilon(asked, delta=delta).upper == pytest.approx(2e9, rel=1e-9)
    assert len(lattice_places(-(10**9), 10**9, 1.0, 0.0, np.array([-1e9, 1e9]), np.zeros(1), 0.0)) < 2**19


@pytest.mark.parametrize(("noise", "steps", "times"), [(0.5, 2, 1), (0.8, 3, 1), (0.7, 2, 5)])
def test_the_curve_of_a_random_allocation_is_not_trivial(noise, steps, times):
    """Its long ends lay outside the window of the curve, whose bound became delta <= 1: an attack without any error."""
    loss = privacy.Repeated(privacy.RandomAllocation(privacy.GaussianLoss(noise), steps=steps), times)
    tangents = [(accounting.delta(loss, epsilon=e), math.exp(e)) for e in (0.0, 1.0)]
    rates = np.array([0.01, 0.1, 0.3])
    found = accounting.tradeoff(loss, rates)
    for delta, slope in tangents:
        assert (found >= 1.0 - delta.upper - slope * rates - 1e-3).all()
    assert (found > 0.0).all()
    assert (found < 1.0 - rates).all()  # nobody hides so well at so little noise
