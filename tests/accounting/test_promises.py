"""What filters and odometers promise, beside numbers that are known otherwise."""

import math

import pytest
from scipy.stats import norm

from privet import accounting, privacy
from privet.accounting.filters import AnyOf, BasicFilter, Odometer, ZcdpFilter
from privet.errors import NoGuarantee


def test_any_of_several_rules_promises_the_largest_epsilon_and_all_deltas():
    """A request may be granted by any of them: only the largest epsilon holds whichever it was."""
    either = AnyOf((BasicFilter(1.0, delta=1e-6), ZcdpFilter(2.0, delta=3e-6)))
    assert either.epsilon == 2.0
    assert either.delta == pytest.approx(4e-6, rel=1e-12)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 3.0, 50.0])
def test_an_odometer_is_above_the_loss_of_one_normal_release(rho: float):
    """Whose loss is normal with mean rho and variance 2 rho: at most delta of it may lie above what is shown."""
    delta = 1e-6
    shown = Odometer(first_rho=rho, delta=delta).start().charge(privacy.GaussianLoss(1.0 / math.sqrt(2.0 * rho)))
    assert norm.sf(shown.epsilon.upper, loc=rho, scale=math.sqrt(2.0 * rho)) <= delta
    assert shown.epsilon.upper <= 1.5 * (rho + math.sqrt(4.0 * rho * math.log(1.0 / delta)))


def test_parts_that_fail_more_often_than_delta_have_no_epsilon():
    """Two releases that fail with probability 1/4 each, 7/16 together."""
    loss = privacy.Repeated(privacy.ApproxLoss(1.0, 0.25), 2)
    assert accounting.Optimal().epsilon(loss, 0.4375).upper == 2.0
    sampled = privacy.Repeated(privacy.PoissonSampled(privacy.ApproxLoss(1.0, 0.25), q=0.5), 2)  # each with 1/8
    for parts, delta in ((loss, 0.43), (sampled, 0.2)):
        with pytest.raises(NoGuarantee):
            accounting.Optimal().epsilon(parts, delta)


@pytest.mark.parametrize("blocks", [(1.0, 20.0), (20.0, 1.0)], ids=str)
def test_the_costliest_block_decides_wherever_it_stands(blocks: tuple[float, float]):
    loss = privacy.Parallel([privacy.LaplaceLoss(scale) for scale in blocks])
    alone = accounting.epsilon(privacy.LaplaceLoss(1.0), delta=1e-6)
    assert accounting.epsilon(loss, delta=1e-6).upper >= alone.lower
    assert accounting.delta(loss, epsilon=0.5).upper >= accounting.delta(privacy.LaplaceLoss(1.0), epsilon=0.5).lower


@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.3])
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_no_attack_on_a_normal_release_does_better_than_is_said(rate: float, mu: float):
    best = norm.cdf(norm.ppf(rate) + mu)
    assert best * (1.0 - 1e-9) <= accounting.tpr_at(privacy.GaussianLoss(1.0 / mu), rate) <= best * (1.0 + 1e-6)
