"""Permute-and-flip: golden values, the exact worst ratio, two samplers of one law, and why composition prefers the
exponential mechanism."""

import itertools
import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privet import privacy
from privet.mechanisms import Exponential, PermuteAndFlip
from tests.firsts import ends
from tests.mechanisms.goodness import fits


def rational_law(scores, base):
    """The integral of the definition, term by term: base stands for exp(1/scale)."""
    p = [Fraction(base) ** (score - max(scores)) for score in scores]
    law = []
    for r in range(len(p)):
        polynomial = [Fraction(1)]  # prod over i != r of (1 - p_i s)
        for i in set(range(len(p))) - {r}:
            lower, upper = [*polynomial, Fraction(0)], [Fraction(0), *polynomial]
            polynomial = [a - p[i] * b for a, b in zip(lower, upper, strict=True)]
        law.append(p[r] * sum(c / (power + 1) for power, c in enumerate(polynomial)))
    return law


def by_enumeration(scores, base):
    """The same law from the algorithm itself: all orders, one flip after the other."""
    p = [Fraction(base) ** (score - max(scores)) for score in scores]
    law = [Fraction(0)] * len(p)
    orders = list(itertools.permutations(range(len(p))))
    for order in orders:
        left = Fraction(1, len(orders))
        for candidate in order:
            law[candidate] += left * p[candidate]
            left *= 1 - p[candidate]
    return law


def both_laws(scores):
    choices = Exponential, PermuteAndFlip
    return [choice.for_budget(epsilon=1.0, sensitivity=1.0).exact_probabilities(scores) for choice in choices]


@pytest.mark.parametrize(("epsilon", "chosen"), [(0.5, 0.85674760), (1.0, 0.95895750), (2.0, 0.99663103)])
def test_vaccine(epsilon, chosen):
    law = PermuteAndFlip.for_budget(epsilon=epsilon, sensitivity=1.0).exact_probabilities([10.0, 15.0])
    assert law[1] == pytest.approx(chosen, abs=5e-9)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "law"),
    [
        (1.0, 4.1, (0.31828625, 0.45412969, 0.22758406)),
        (10.0, 4.1, (0.05551291, 0.94034711, 0.00413997)),
        (1.0, 1.0, (0.19364411, 0.74485957, 0.06149632)),
    ],
)
def test_pricing(epsilon, sensitivity, law):
    mechanism = PermuteAndFlip.for_budget(epsilon=epsilon, sensitivity=sensitivity)
    assert mechanism.exact_probabilities([2.1, 3.9, 0.0]) == pytest.approx(law, abs=6e-9)


def test_integral_is_the_algorithm():
    for scores in ([0, 1, 2], [2, 2, 0, 1], [0, 0, 0], [5]):
        assert rational_law(scores, Fraction(8, 5)) == by_enumeration(scores, Fraction(8, 5))
        mechanism = PermuteAndFlip(scale=1 / math.log(1.6), sensitivity=1.0)
        assert mechanism.exact_probabilities(scores) == pytest.approx([float(x) for x in rational_law(scores, 1.6)])


def worst(reach):
    base, grid = Fraction(8, 5), list(itertools.product(range(3), repeat=3))  # base = exp(epsilon/2)
    laws = {scores: rational_law(scores, base) for scores in grid}
    steps = [(u, v) for u in grid for v in grid if all(a - b in reach for a, b in zip(u, v, strict=True))]
    return base, max(p / q for u, v in steps for p, q in zip(laws[u], laws[v], strict=True))


def test_worst_ratio_on_a_small_domain_is_exactly_epsilon():
    base, ratio = worst(reach=(-1, 0, 1))
    assert ratio == base**2


def test_worst_ratio_of_monotonic_scores_is_exactly_half():
    base, up = worst(reach=(0, 1))
    assert up == worst(reach=(-1, 0))[1] == base


def test_never_below_the_exponential_mechanism():
    rng = np.random.default_rng(5)
    for _ in range(200):
        scores = rng.normal(0.0, 3.0, size=6)
        em, pf = (
            m.for_budget(epsilon=1.0, sensitivity=1.0).exact_probabilities(scores)
            for m in (Exponential, PermuteAndFlip)
        )
        assert pf @ scores >= em @ scores - 1e-12


def test_no_bounded_range_so_it_is_priced_as_pure():
    mechanism = PermuteAndFlip.for_budget(epsilon=1.0, sensitivity=1.0)
    assert mechanism.loss == privacy.PermuteAndFlipLoss(1.0)
    left, right = (mechanism.exact_probabilities(scores) for scores in ([0.844, 0.0], [-0.156, 1.0]))
    divergence = float(left @ np.log(left / right))  # a lower bound on rho, at order 1
    assert divergence > 0.125  # what the exponential mechanism would pay at most


@pytest.mark.parametrize("shift", ends([0, 2**52, -(2**60)]))
@pytest.mark.parametrize("scores", [[0.0, 1.0, 3.0, -8.0], [5], [0, 0, 0], [1e300, -1e300, 1e300]])
def test_the_sampler_fits_the_law(scores, shift):
    mechanism = PermuteAndFlip.for_budget(epsilon=1.0, sensitivity=1.0)
    moved = [Fraction(score) + shift for score in scores]
    assert fits(mechanism.simulate(moved, 3_000), mechanism.exact_probabilities(scores))


def test_time_does_not_grow_with_the_scores():
    """Two thousand candidates of scores near 2^52 used to take 200 times as long as near 0."""
    mechanism = PermuteAndFlip.for_budget(epsilon=1.0, sensitivity=1.0)
    near = np.random.default_rng(1).integers(0, 50, 2_000).astype(float)

    def seconds(scores):
        start = time.process_time()
        for _ in range(20):
            mechanism.release(scores)
        return time.process_time() - start

    small, large = (min(seconds(near + shift) for _ in range(3)) for shift in (0.0, 2.0**52))
    assert large < 20.0 * small + 0.1  # hardly any more; a machine may pause now and then


def test_stopping_early_is_gone():
    with pytest.raises(TypeError):
        PermuteAndFlip.for_budget(epsilon=1.0, sensitivity=1.0, early_stop=True)


@pytest.mark.parametrize("factor", [2 / 3, 3 / 2])
def test_sampler_of_another_scale_is_noticed(factor):
    mechanism = PermuteAndFlip.for_budget(epsilon=1.0, sensitivity=1.0)
    other = replace(mechanism, scale=factor * mechanism.scale)
    assert not fits(other.simulate([0.0, 2.0, 3.0], 8_000), mechanism.exact_probabilities([0.0, 2.0, 3.0]))


def test_twin_that_draws_with_replacement_is_the_exponential_mechanism():
    rng = np.random.default_rng(3)
    accept = np.exp((np.array([0.0, 2.0, 3.0]) - 3.0) / 2.0)

    def with_replacement():
        while True:
            candidate = rng.integers(3)
            if rng.random() < accept[candidate]:
                return candidate

    draws = [with_replacement() for _ in range(12_000)]
    laws = [
        m.for_budget(epsilon=1.0, sensitivity=1.0).exact_probabilities([0.0, 2.0, 3.0])
        for m in (Exponential, PermuteAndFlip)
    ]
    assert [fits(draws, law) for law in laws] == [True, False]
