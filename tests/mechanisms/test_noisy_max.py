"""Report noisy max: its law for each noise, the factor of two, and twins that show too much."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from privet import noise, privacy
from privet.errors import InvalidParameter
from privet.mechanisms import Exponential, NoisyMax, PermuteAndFlip, Sensitivity
from privet.privacy import Unit
from tests.mechanisms.goodness import fits

SCORES = [8.0, 0.0]


def laplace_law(scores, scale):
    """Pr[r wins] = E[prod over i != r of F(score_r - score_i + Z)], by quadrature."""
    u = np.asarray(scores, dtype=float) / scale

    def cdf(x):
        return np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)

    def density(z, r):
        return np.exp(-abs(z)) / 2 * np.prod(cdf(np.delete(u[r] - u, r) + z))

    kinks = sorted({0.0, *(float(v - w) for v in u for w in u)})
    edges = [-50.0, *kinks, 50.0]
    pieces = list(pairwise(edges))
    return np.array([sum(quad(density, a, b, args=(r,), epsabs=1e-13)[0] for a, b in pieces) for r in range(len(u))])


@pytest.mark.parametrize(("epsilon", "chosen"), [(0.5, 0.76721485), (1.0, 0.90765438), (2.0, 0.98820859)])
def test_vaccine(epsilon, chosen):
    scale = NoisyMax.for_budget(epsilon=epsilon, sensitivity=1.0).scale
    assert laplace_law([10.0, 15.0], scale)[1] == pytest.approx(chosen, abs=5e-9)


@pytest.mark.parametrize(
    "kind", ["laplace", *(pytest.param(each, marks=pytest.mark.slow) for each in ("gumbel", "exponential"))]
)
def test_each_noise_has_its_law(kind):
    mechanism = NoisyMax.for_budget(epsilon=1.0, sensitivity=1.0, noise=kind)
    laws = {
        "laplace": laplace_law(SCORES, 2.0),
        "gumbel": Exponential.for_budget(epsilon=1.0, sensitivity=1.0).exact_probabilities(SCORES),
        "exponential": PermuteAndFlip.for_budget(epsilon=1.0, sensitivity=1.0).exact_probabilities(SCORES),
    }
    draws = mechanism.simulate(SCORES, 10_000)  # neighbouring laws are 6 standard errors apart, and 5 are noticed
    assert {name for name, law in laws.items() if fits(draws, law)} == {kind}


@pytest.mark.parametrize("factor", [pytest.param(2 / 3, marks=pytest.mark.slow), 3 / 2])
def test_sampler_of_another_scale_is_noticed(factor):
    other = NoisyMax(scale=2.0 * factor, sensitivity=1.0)
    # so many draws of such a scale have a p-value of about 1e-38
    assert not fits(other.simulate([0.0, 2.0, 3.0], 4_000), laplace_law([0.0, 2.0, 3.0], 2.0))


def test_prices():
    prices = {
        kind: NoisyMax(scale=4.0, sensitivity=1.0, noise=kind).loss for kind in ("laplace", "gumbel", "exponential")
    }
    assert prices["laplace"] == privacy.PureLoss(0.5)
    assert prices["gumbel"] == privacy.ExponentialLoss(0.5)
    assert prices["exponential"] == privacy.PermuteAndFlipLoss(0.5)
    assert NoisyMax(scale=4.0, sensitivity=1.0, monotonic=True).loss == privacy.PureLoss(0.25)
    with pytest.raises(InvalidParameter, match="noise must be one of"):
        NoisyMax(scale=4.0, sensitivity=1.0, noise="cauchy")


def test_one_teacher_moves_two_votes():
    gamma = 0.3
    teachers = NoisyMax(scale=1 / gamma, sensitivity=Sensitivity(1, norm="score", unit=Unit("replace")))
    assert teachers.loss.pure() == pytest.approx(2 * gamma)
    ratio = np.abs(np.log(laplace_law([20, 0], 1 / gamma) / laplace_law([19, 1], 1 / gamma))).max()
    assert 1.5 * gamma < ratio <= 2 * gamma


def test_twin_that_forgets_the_factor_of_two_is_caught():
    claimed = 1.0  # at noise of scale 1 for scores that move both ways
    ratio = np.abs(np.log(laplace_law([12, 0], 1.0) / laplace_law([11, 1], 1.0))).max()
    assert claimed < ratio <= 2 * claimed


def test_only_the_candidate_comes_out():
    release = NoisyMax.for_budget(epsilon=1.0, sensitivity=1.0).release([3.0, 500.0])
    assert type(release.value) is int
    assert release.value == 1


def test_twin_that_shows_the_noisy_maximum_is_caught():
    """Two runs on neighbours: the value of the maximum alone tells them apart more often than epsilon allows."""
    epsilon, runs, source = 1.0, 40_000, noise.Seeded(11)
    scale = NoisyMax.for_budget(epsilon=epsilon, sensitivity=1.0, noise="exponential").scale
    step = 2.0**-10

    def shown(scores):
        draws = noise.geometric(scale=scale / step, size=(runs, len(scores)), source=source) * step
        return (draws + np.asarray(scores)).max(axis=1)

    left, right = shown([0.0, 0.0]), shown([1.0, 1.0])
    assert (left < 0.5).mean() > 0.02  # exponential noise is never negative: this event is impossible for the neighbour
    assert (right < 0.5).sum() == 0


def test_laplace_error_is_the_union_bound_and_holds():
    mechanism = NoisyMax.for_budget(epsilon=1.0, sensitivity=1.0)
    assert mechanism.error(0.95, candidates=1).radius == 0.0
    for total in (2, 5):
        gap = mechanism.error(0.95, candidates=total).radius
        miss = 1 - laplace_law([gap] + [0.0] * (total - 1), mechanism.scale)[0]
        assert 0.03 < miss <= 0.05 + 1e-9
    assert mechanism.error(0.95, candidates=2).radius / mechanism.scale == pytest.approx(
        next(x for x in np.arange(0, 20, 1e-4) if (2 + x) * np.exp(-x) / 4 <= 0.05), abs=2e-4
    )
