"""Permute-and-flip, enumerated over all orders, beside its price."""

import math
from itertools import permutations

import numpy as np
import pytest

from privet import accounting, privacy

EPSILONS = np.array([0.0, 0.1, 0.3, 0.7, 0.99, 1.4])


def law(utilities, epsilon):
    """Output probabilities of permute-and-flip with sensitivity 1, over every order of the candidates."""
    flips = np.exp(epsilon * (np.array(utilities) - max(utilities)) / 2.0)
    chosen = np.zeros(len(utilities))
    orders = list(permutations(range(len(utilities))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            chosen[candidate] += reached * flips[candidate] / len(orders)
            reached *= 1.0 - flips[candidate]
    return chosen


def noisy_maximum(utilities, epsilon):
    """The same by exponential noise: the winner among those above the best utility is any of them."""
    flips = np.exp(epsilon * (np.array(utilities) - max(utilities)) / 2.0)
    chosen = np.zeros(len(utilities))
    for heads in range(1, 2 ** len(utilities)):
        inside = np.array([heads >> i & 1 for i in range(len(utilities))], dtype=bool)
        chosen[inside] += np.prod(np.where(inside, flips, 1.0 - flips)) / inside.sum()
    return chosen


def excess(p, q, epsilons, allowed):
    values = np.array([np.maximum(p - math.exp(e) * q, 0.0).sum() for e in epsilons])
    return float(np.max(values - allowed))


def neighbours(rng, count):
    utilities = rng.choice([0.0, 0.5, 1.0, 1.7, 3.0, 6.0], count)
    return utilities, utilities + rng.choice([-1.0, 1.0, 1.0, 0.3], count)


def test_it_is_a_noisy_maximum():
    rng = np.random.default_rng(3)
    for _ in range(20):
        utilities = rng.uniform(0.0, 4.0, 4)
        assert law(utilities, 1.3) == pytest.approx(noisy_maximum(utilities, 1.3), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_pair_of_neighbours_exceeds_the_price(epsilon):
    allowed = privacy.PermuteAndFlipLoss(epsilon).profile(epsilon * EPSILONS)
    rng = np.random.default_rng(5)
    for _ in range(400):
        left, right = (law(side, epsilon) for side in neighbours(rng, int(rng.integers(2, 5))))
        assert excess(left, right, epsilon * EPSILONS, allowed) <= 1e-13


def test_two_candidates_attain_the_total_variation():
    left, right = law((1.0, 0.0), 1.0), law((0.0, 1.0), 1.0)
    assert float(np.abs(left - right).sum()) / 2.0 == pytest.approx(float(privacy.PermuteAndFlipLoss(1.0).profile(0.0)))


def test_the_price_of_the_exponential_mechanism_would_be_too_low():
    allowed = privacy.ExponentialLoss(1.0).profile(EPSILONS)
    left, right = law((1.0, 0.0), 1.0), law((0.0, 1.0), 1.0)
    assert excess(left, right, EPSILONS, allowed) > 0.1


def test_many_selections_cost_less_than_pure_ones():
    bound = accounting.epsilon(privacy.Repeated(privacy.PermuteAndFlipLoss(0.1), 100), delta=1e-6)
    assert bound.upper == pytest.approx(4.6927, abs=2e-3)
    assert bound.lower == 0.0
    pure = accounting.epsilon(privacy.Repeated(privacy.PureLoss(0.1), 100), delta=1e-6)
    assert bound.upper < 0.99 * pure.upper
