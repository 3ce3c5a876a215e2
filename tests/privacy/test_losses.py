"""Traps of single losses and combinators, each with the number that goes wrong when one falls into it."""

import math

import mpmath
import numpy as np
import pytest

from privet import accounting, privacy
from privet.errors import InvalidParameter, MixedUnits, NoGuarantee
from privet.privacy import Unit

REPLACE = Unit("replace")


def exact_laplace_renyi(scale: float, order: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, a = 1 / mpmath.mpf(scale), mpmath.mpf(order)
        mean = a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
        return mpmath.log(mean) / (a - 1)


def exact_pure_renyi(epsilon: float, order: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        return mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))) / (a - 1)


@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 8.0, 200.0])
@pytest.mark.parametrize("scale", [0.01, 0.5, 2.0, 1e3, 1e6, 1e10, 1e15, 1e17])
def test_laplace_renyi_is_never_below_the_exact_value(scale, order):
    """Cancellation must not make a small price free: a million million releases would add up to nothing."""
    value = float(privacy.LaplaceLoss(scale).rdp(np.array([order])).values[0])
    exact = exact_laplace_renyi(scale, order)
    assert value >= exact * (1 - mpmath.mpf("1e-9"))
    assert value <= exact * (1 + mpmath.mpf("1e-3")) or scale > 1e6


@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 8.0, 200.0])
@pytest.mark.parametrize("epsilon", [1e-17, 1e-9, 0.1, 2.0, 50.0, 600.0])
def test_pure_renyi_is_never_below_the_exact_value(epsilon, order):
    value = float(privacy.PureLoss(epsilon).rdp(np.array([order])).values[0])
    assert value >= exact_pure_renyi(epsilon, order) * (1 - mpmath.mpf("1e-9"))


@pytest.mark.parametrize("epsilon", [1e-17, 1e-16, 1e-12, 1e-8, 1e-3, 1.0, 30.0])
def test_mu_of_a_pure_loss_is_never_below_the_exact_value(epsilon):
    with mpmath.workdps(60):
        corner = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        exact = -2 * mpmath.sqrt(2) * mpmath.erfinv(2 * corner - 1)
    assert privacy.PureLoss(epsilon).gdp() >= exact * (1 - mpmath.mpf("1e-9"))


def test_many_tiny_losses_are_not_free():
    """10^36 releases of 10^-17 are about ten standard deviations, not nothing."""
    for accountant in (accounting.Gdp(), accounting.Zcdp(), accounting.Rdp()):
        try:
            bound = accountant.epsilon(privacy.Repeated(privacy.PureLoss(1e-17), 10**36), 1e-5)
        except (InvalidParameter, NoGuarantee):
            continue
        assert bound.upper > 10.0


def test_delta_of_an_approximate_loss_is_never_lost():
    loss = privacy.ApproxLoss(0.5, 1e-6)
    wraps = [
        loss,
        privacy.Repeated(loss, 1),
        privacy.Composed((loss, privacy.GaussianLoss(2.0))),
        privacy.Parallel((loss, privacy.GaussianLoss(2.0))),
        privacy.Grouped(loss, 1),
        privacy.PoissonSampled(loss, q=1.0),
    ]
    for wrapped in wraps:
        assert wrapped.zcdp().delta0 >= 1e-6
        assert wrapped.rdp(np.array([2.0])).delta0 >= 1e-6
        for accountant in (accounting.Rdp(), accounting.Zcdp()):
            with pytest.raises(NoGuarantee):
                accountant.epsilon(wrapped, 1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 300.0, 699.0, 800.0, 5000.0])
def test_a_group_of_an_approximate_loss_grows_delta_for_every_epsilon(epsilon):
    group = privacy.Grouped(privacy.ApproxLoss(epsilon, 1e-6), 2).approximate()
    assert group.epsilon == 2 * epsilon
    assert group.delta == pytest.approx(min(1.0, 1e-6 * (1 + math.exp(min(epsilon, 600.0)))))


@pytest.mark.parametrize("q", [1e-25, 1e-9, 0.5])
@pytest.mark.parametrize("epsilon", [599.0, 601.0, 800.0, 5000.0])
def test_amplification_of_a_large_epsilon_stays_positive_and_below_it(q, epsilon):
    """ln(1 + q (e^eps - 1)) is not eps + ln q where that is negative."""
    with mpmath.workdps(60):
        exact = mpmath.log1p(mpmath.mpf(q) * mpmath.expm1(mpmath.mpf(epsilon)))
    try:
        pure = privacy.PoissonSampled(privacy.PureLoss(epsilon), q)
        approximate = privacy.PoissonSampled(privacy.ApproxLoss(epsilon, 1e-9), q)
    except InvalidParameter:
        return
    for value in (pure.pure(), approximate.approximate().epsilon):
        assert value >= exact * (1 - mpmath.mpf("1e-12"))
        assert value <= max(exact * (1 + mpmath.mpf("1e-9")), mpmath.mpf("1e-12"))


def test_multiplier_is_relative_to_the_sensitivity_of_the_relation():
    """Clip norm C: sensitivity C under add_remove, 2C under replace; converting doubles mu."""
    single = privacy.GaussianLoss(2.0)
    assert privacy.to_replace(single).gdp() == 2.0 * single.gdp()
    assert privacy.GaussianLoss(2.0, unit=REPLACE).gdp() == single.gdp()
    assert privacy.to_replace(single).unit == REPLACE


def test_fixed_size_sampling_counts_the_dearer_direction():
    """Under replace both orders of the neighbours exist: a skewed pair sampled has no cheap side."""
    skewed = privacy.FinitePairLoss((0.6, 0.3, 0.1), (0.2, 0.3, 0.5), unit=REPLACE)
    turned = privacy.FinitePairLoss((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), unit=REPLACE)
    epsilons = np.array([0.0, 0.1, 0.2, 0.4])
    one, other = (privacy.FixedSampled(loss, 1, 4).profile(epsilons) for loss in (skewed, turned))
    assert np.allclose(one, other, atol=1e-9)
    assert np.all(one >= 0.25 * skewed.profile(np.log1p(4 * np.expm1(epsilons))) - 1e-12)


def test_a_stand_in_pair_claims_no_lower_bound():
    """Where a simpler pair stands in for the exact one, it must not certify a lower end."""
    loss = privacy.DiscreteLaplaceLoss(200_001.0, sensitivity=200_001)
    bound = accounting.delta(loss, epsilon=0.5)
    truth = float(privacy.LaplaceLoss(1.0).profile(0.5))  # the continuous limit, to six digits
    assert bound.lower <= truth * (1 + 1e-4)
    assert bound.upper >= truth * (1 - 1e-4)


def test_a_moving_record_touches_two_blocks():
    blocks = (privacy.PureLoss(0.5), privacy.PureLoss(0.25))
    assert privacy.to_replace(privacy.Parallel(blocks)).pure() == 1.0
    with pytest.raises(MixedUnits):
        privacy.Parallel([privacy.PureLoss(0.5, unit=REPLACE)] * 2)


def test_a_fixed_number_of_runs_costs_that_many():
    """Selection among a random number of runs costs three; among ten fixed ones, ten."""
    base = privacy.PureLoss(0.5)
    assert privacy.Selected(base, mean=10.0).pure() == 1.5
    assert privacy.Repeated(base, 10).pure() == 5.0


def test_sampling_a_fixed_size_is_not_poisson():
    with pytest.raises(MixedUnits):
        privacy.PoissonSampled(privacy.GaussianLoss(1.0, unit=REPLACE), q=0.1)
    with pytest.raises(MixedUnits):
        privacy.FixedSampled(privacy.GaussianLoss(1.0), m=1, n=10)


def test_poisson_inside_fixed_size_does_not_multiply():
    """Rates multiply only when both samplings are Poisson and independent."""
    outer = privacy.PoissonSampled(privacy.Composed((privacy.PoissonSampled(privacy.PureLoss(1.0), 0.5),) * 2), 0.5)
    inner = privacy.Repeated(privacy.PoissonSampled(privacy.PureLoss(1.0), 0.25), 2)
    assert outer != inner


def test_an_infinite_loss_is_capped_at_one():
    many = privacy.Repeated(privacy.ApproxLoss(0.0, 0.01), 1000)
    assert many.approximate().delta <= 1.0
    assert 0.99 < accounting.delta(many, epsilon=0.0).upper <= 1.0
