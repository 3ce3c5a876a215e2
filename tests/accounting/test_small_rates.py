"""True-positive rates at tiny false-positive rates, against the exact test of one release."""

import math

import pytest
from scipy.special import ndtr, ndtri

from privet import accounting, privacy

RATES = (1e-9, 1e-12, 1e-15, 1e-30)


def best_test(q, z, rate):
    """The likelihood-ratio test of a sampled Gaussian release, in the direction that serves the attacker."""
    mu = 1.0 / z
    removed = (1.0 - q) * rate + q * ndtr(ndtri(rate) + mu)
    low, high = -40.0, 10.0  # the null hypothesis is the mixture: reject small outcomes
    for _ in range(200):
        middle = 0.5 * (low + high)
        if (1.0 - q) * ndtr(middle) + q * ndtr(middle - mu) < rate:
            low = middle
        else:
            high = middle
    return max(float(removed), float(ndtr(low)))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("q", "z"), [(0.1, 1.0), (0.01, 0.7), (0.5, 3.0)])
def test_one_sampled_release(q, z, rate):
    found = accounting.tpr_at(privacy.PoissonSampled(privacy.GaussianLoss(z), q=q), rate)
    assert 1.0 <= found / best_test(q, z, rate) < 1.001


@pytest.mark.parametrize("rate", RATES)
def test_a_composition_that_is_gaussian_after_all(rate):
    """Two unlike Gaussian parts inside a sampling of rate one are a Gaussian; a third part makes the engine work."""
    parts = privacy.Composed((privacy.GaussianLoss(2.0), privacy.LaplaceLoss(1.0)))
    found = accounting.tpr_at(parts, rate)
    least = float(ndtr(ndtri(rate) + 0.5))  # the Gaussian part alone
    assert least * 1.5 < found < least * math.e * 1.001  # the other part adds at most its pure epsilon, 1


def test_pure_prices_multiply_the_rate():
    for rate in RATES:
        assert accounting.tpr_at(privacy.PureLoss(1.0), rate) == pytest.approx(math.e * rate, rel=1e-9)
    assert accounting.tpr_at(privacy.PureLoss(1.0), 0.0) == 0.0


def test_a_difference_from_one_would_be_seen():
    """The way that was: one minus a curve that is good to 1e-9."""
    loss = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1)
    assert 1.0 - accounting.tradeoff(loss, 1e-15) > 10.0 * best_test(0.1, 1.0, 1e-15)


SHARP = privacy.PureLoss(800.0)


@pytest.mark.parametrize(
    ("loss", "rate"),
    [(SHARP, 5e-324), (SHARP, 1e-310), (SHARP, 1e-304), (SHARP, 1e-302), (privacy.LaplaceLoss(1.0 / 900.0), 1e-310)],
)
def test_the_slope_of_a_line_is_no_smaller_than_it_is(loss, rate):
    """exp(e) stopped at e^700: beyond, a certified false-negative rate of .99999 stood where attacks have none."""
    log_of_all = math.log(rate) + loss.pure() - 2.0  # both reach nearly as much as their epsilon allows
    assert log_of_all > 0.0
    assert accounting.tradeoff(loss, rate) < 1e-6
    assert accounting.tpr_at(loss, rate) > 0.5


def test_a_rate_that_is_hardly_a_double_is_answered():
    """The quotient of a bound and such a rate is beyond doubles: a search from 0 to infinity asked at NaN."""
    loss = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=1e-9)
    assert 0.0 < accounting.tpr_at(loss, 5e-324) < 1e-250


@pytest.mark.slow
def test_ends_too_long_for_fine_nodes_get_coarse_ones():
    """Losses up to 1,250 at a rate of 1e-3: the curve was delta <= 1, an attack without any error."""
    found = accounting.tradeoff(privacy.PoissonSampled(privacy.GaussianLoss(0.02), q=1e-3), 0.1)
    assert 0.89 < found <= 0.9 * (1.0 - 1e-3)
