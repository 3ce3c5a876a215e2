"""Noise within the steps, the exponential mechanism for optimisation, and private search: exact small cases."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from privet.accounting import PLD, Rdp
from privet.privacy import FinitePairLoss, FixedSampled, GaussianLoss, PoissonSampled, Repeated, Selected, Unit
from tests.learn.tries import best_of, generating, mean_of_tries, poisson, truncated_negative_binomial

REPLACE = Unit("replace")


# --- one record a step (PN-SGD) ---


def one_step(values, sigma, edges):
    """The law of a value drawn at random plus noise, on cells."""
    return np.mean([np.diff(ndtr((edges - value) / sigma)) for value in values], axis=0)


def test_one_step_lies_below_the_price_of_a_fixed_sample():
    """Three records, every place of the other two: slopes within 1, so that a replaced one moves by 2."""
    edges = np.concatenate(([-np.inf], np.linspace(-12.0, 12.0, 2001), [np.inf]))
    at, near = np.array([0.0, 0.1, 0.3, 0.6]), 0.0
    for sigma, others in product((0.8, 2.0), product((-1.0, 0.0, 1.0), repeat=2)):
        price = FixedSampled(GaussianLoss(sigma / 2.0, unit=REPLACE), m=1, n=3).profile(at)
        p, q = one_step([1.0, *others], sigma, edges), one_step([-1.0, *others], sigma, edges)
        for first, second in ((p, q), (q, p)):
            exact = np.maximum(first - np.exp(at)[:, None] * second, 0.0).sum(axis=1)
            assert np.all(exact <= price * (1.0 + 1e-9) + 1e-12)
            near = max(near, float((exact / price).max()))
    assert near > 0.98  # attained where the others sit on one side


def test_the_move_of_a_record_that_comes_or_goes_is_too_small_there():
    """A Poisson sample of the same rate, priced for a slope of length 1: a replaced record moves by 2."""
    sigma, at = 0.8, np.array([0.1, 0.3, 0.6])
    edges = np.concatenate(([-np.inf], np.linspace(-12.0, 12.0, 2001), [np.inf]))
    p, q = one_step([1.0, -1.0, -1.0], sigma, edges), one_step([-1.0, -1.0, -1.0], sigma, edges)
    exact = np.maximum(p - np.exp(at)[:, None] * q, 0.0).sum(axis=1)
    unaware = PoissonSampled(GaussianLoss(sigma), q=1.0 / 3.0).profile(at)
    assert (exact / unaware).max() > 1.5


PUBLISHED = [
    # n, delta, the lecture's noise over 2nL, the epsilon it has, the noise that is needed
    (100, 1e-5, 57.2991, 0.0508, 4.128),
    (1000, 1e-6, 70.5094, 0.0494, 4.626),
]


@pytest.mark.parametrize(("n", "delta", "lecture", "true", "needed"), PUBLISHED)
def test_published_noise_of_one_record_a_step(n, delta, lecture, true, needed):
    assert 4.0 * np.sqrt(np.log(2 * n / delta) * np.log(2 / delta)) == pytest.approx(lecture, rel=1e-5)

    def epsilon(noise):
        return PLD().epsilon(Repeated(FixedSampled(GaussianLoss(noise, unit=REPLACE), m=1, n=n), n * n), delta=delta)

    assert epsilon(lecture).upper == pytest.approx(true, abs=1e-4)
    assert epsilon(needed).upper == pytest.approx(1.0, abs=1e-3)
    assert epsilon(0.99 * needed).lower > 1.0


# --- the exponential mechanism over the line ---


def density(slopes, penalty, k, w):
    """Proportional to exp(-k F), F a sum of logistic or linear losses and a penalty."""
    value = 0.5 * penalty * w * w + sum(s * w if linear else np.logaddexp(0.0, s * w) for s, linear in slopes)
    law = np.exp(-k * (value - value.min()))
    return law / law.sum()


@pytest.mark.parametrize("linear", [False, True])
def test_sampling_from_a_strongly_convex_objective_is_gaussian_dp(linear):
    """Gopi, Lee & Liu 2022: L sqrt(k/Lambda), and twice that for a replaced record; attained by linear losses."""
    at, near = np.array([0.0, 0.3, 1.0]), 0.0
    for penalty, k in product((0.3, 2.0), (0.5, 3.0)):
        reach = 12.0 / np.sqrt(k * penalty) + 3.0 / penalty
        w = np.linspace(-reach, reach, 40_001)
        common = [(0.7, False), (-1.0, False)] if not linear else []
        laws = [density([*common, *more], penalty, k, w) for more in ([], [(1.0, linear)], [(-1.0, linear)])]
        for (p, q), times in (((laws[1], laws[0]), 1.0), ((laws[0], laws[1]), 1.0), ((laws[1], laws[2]), 2.0)):
            price = GaussianLoss(np.sqrt(penalty / k) / times).profile(at)
            exact = np.maximum(p - np.exp(at)[:, None] * q, 0.0).sum(axis=1)
            assert np.all(exact <= price * (1.0 + 1e-3) + 1e-9)
            near = max(near, float((exact / price).max()))
    assert near > 0.999 if linear else 0.3 < near < 0.9


def test_half_the_regulariser_is_caught():
    w = np.linspace(-40.0, 40.0, 40_001)
    p, q = density([(1.0, True)], 0.25, 1.0, w), density([], 0.25, 1.0, w)
    assert np.maximum(p - q, 0.0).sum() > 1.3 * float(GaussianLoss(np.sqrt(0.5)).profile(0.0))


# --- private search ---


TRIES = [(1.0, 0.1), (1.0, 0.02), (0.0, 0.02), (0.5, 0.05), (2.0, 0.2), (-0.5, 0.1)]


@pytest.mark.parametrize(("eta", "gamma"), TRIES)
def test_the_laws_of_the_number_of_tries(eta, gamma):
    law = truncated_negative_binomial(eta, gamma, 4000)
    k = np.arange(1, len(law) + 1)
    assert law.min() >= 0.0
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert k @ law == pytest.approx(mean_of_tries(eta, gamma), rel=1e-7)
    for x in (0.0, 0.3, 0.9):
        assert law @ x**k == pytest.approx(float(generating(eta, gamma, np.array(x))), abs=1e-12)
    if eta == 1.0:
        assert law[:5] == pytest.approx(gamma * (1.0 - gamma) ** np.arange(5))


def test_the_poisson_law_has_its_mean():
    law = poisson(10.0, 200)
    assert law.sum() == pytest.approx(1.0)
    assert np.arange(201) @ law == pytest.approx(10.0)


PUBLISHED_SEARCH = [
    ({"mean": 10.0, "eta": 1.0}, 1.8135),
    ({"mean": 50.0, "eta": 1.0}, 2.1356),
    ({"mean": 49.0 / np.log(50.0), "eta": 0.0}, 1.5434),
    ({"mean": 10.0, "poisson": True}, 1.6128),
]


@pytest.mark.parametrize(("law", "known"), PUBLISHED_SEARCH)
def test_published_prices_of_a_search(law, known):
    assert Rdp().epsilon(Selected(GaussianLoss(5.0), **law), delta=1e-6).upper == pytest.approx(known, abs=1e-3)


def renyi(p, q, order):
    return np.log(np.sum(p**order * q ** (1.0 - order))) / (order - 1.0)


BASES = [([0.5, 0.3, 0.2], [0.4, 0.35, 0.25]), ([0.9, 0.1], [0.95, 0.05]), ([0.97, 0.02, 0.01], [0.98, 0.015, 0.005])]


@pytest.mark.parametrize(("eta", "gamma"), TRIES)
def test_the_best_of_many_stays_below_its_price(eta, gamma):
    """Outputs in the order of their scores: the law of the best of K is exact by the generating function of K."""
    for p, q in BASES:
        price = Selected(FinitePairLoss(tuple(p), tuple(q)), mean=mean_of_tries(eta, gamma), eta=eta)
        best = [best_of(np.array(law), partial(generating, eta, gamma)) for law in (p, q)]
        assert best[0].sum() == pytest.approx(1.0)
        for order in (1.5, 3.0, 10.0):
            limit = price.rdp(np.array([order])).values[0]
            assert max(renyi(*best, order), renyi(*best[::-1], order)) <= limit * (1.0 + 1e-9)


def test_a_fixed_number_of_tries_is_caught():
    """Always 2000 tries, priced as a random number with that mean."""
    p, q = (0.99, 0.01), (0.989, 0.011)
    price = Selected(FinitePairLoss(p, q), mean=2000.0, eta=0.0).pure()
    fixed = [best_of(np.array(law), lambda x: x**2000.0) for law in (p, q)]
    assert np.abs(np.log(fixed[0] / fixed[1])).max() > 1.5 * price
    gamma = next(g for g in np.geomspace(1e-6, 1e-3, 2000) if mean_of_tries(0.0, g) < 2000.0)
    drawn = [best_of(np.array(law), partial(generating, 0.0, gamma)) for law in (p, q)]
    assert np.abs(np.log(drawn[0] / drawn[1])).max() <= price
