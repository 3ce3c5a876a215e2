"""Laws of the samplers' parts that need a handful of seeded draws: a planted bug is noticed within seconds."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.noise import Seeded, argmax
from privet.noise.families import rounded
from tests.firsts import slow


def off(counts, expected):
    """Pearson's statistic in standard deviations of its own law."""
    counts, expected = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    freedom = len(counts) - 1
    return (float(np.sum((counts - expected) ** 2 / expected)) - freedom) / np.sqrt(2 * freedom)


@pytest.mark.parametrize("bound", [3, 5, 6, 11])
def test_single_uniform_numbers(bound):
    source = Seeded(1)
    drawn = Counter(noise.uniform_int(bound=bound, source=source) for _ in range(3_000))
    assert set(drawn) <= set(range(bound))
    assert off([drawn[i] for i in range(bound)], [3_000 / bound] * bound) < 7
    remainder = Counter(i % bound for i in range(2 ** (bound - 1).bit_length()))  # the twin: bits modulo the bound
    share = 3_000 / 2 ** (bound - 1).bit_length()
    assert off([share * remainder[i] for i in range(bound)], [3_000 / bound] * bound) > 20


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_order_is_as_likely(n):
    source, orders = Seeded(2), list(itertools.permutations(range(n)))
    drawn = Counter(tuple(noise.permutation(n, source=source).tolist()) for _ in range(3_000))
    assert set(drawn) <= set(orders)
    assert off([drawn[order] for order in orders], [3_000 / len(orders)] * len(orders)) < 7


def test_equal_keys_are_ordered_by_further_bits():
    class Few:
        """A stream whose words are one of two."""

        def __init__(self):
            self.rng = np.random.default_rng(3)

        def words(self, count):
            return self.rng.integers(0, 2, count).astype(np.uint64)

    stream, orders = Few(), list(itertools.permutations(range(3)))
    drawn = Counter(tuple(noise.permutation.__globals__["_permute"](stream, 3).tolist()) for _ in range(3_000))
    assert off([drawn[order] for order in orders], [500] * 6) < 7


def test_sums_saturate_and_not_the_noise():
    ends, most = rounded.SATURATION, rounded._NOISE
    rng = np.random.default_rng(4)
    values = np.concatenate((rng.integers(-most, most, 200), [most, -most, ends // 2, 5]))
    for whole in (0, 7, 2**60, -(2**60), 2**59 + 1):  # centres lie within 2^60
        wanted = [min(max(whole + int(value), -ends), ends) for value in values]
        assert rounded._shift(whole, values, saturate=True).tolist() == wanted
        assert rounded._shift(np.full(len(values), whole), values, saturate=True).tolist() == wanted


def test_nobody_who_may_win_is_left_out():
    rng = np.random.default_rng(5)
    for size in (2, 3, 10):
        for _ in range(100):
            scores, low = rng.normal(size=size), rng.exponential(size=size)
            high = low + rng.exponential(scale=0.2, size=size)
            best = np.max(scores + 2.0 * low)
            may_win = set(np.flatnonzero(scores + 2.0 * high >= best).tolist())
            found = set(argmax._contenders(scores, 2.0, low, high))
            assert may_win <= found
            assert len(found) <= len(may_win) + 1
    assert argmax._contenders(np.zeros(2), 1.0, np.array([0.1, 0.1]), np.array([0.4, 0.3])) == [0, 1]


def test_close_candidates_are_settled_exactly():
    """Half of the mass where floats cannot tell: equal scores win alike."""
    source = Seeded(6)
    wins = sum(noise.argmax_gumbel([Fraction(1), Fraction(1)], scale=1.0, source=source) for _ in range(1_000))
    assert abs(wins - 500) < 110


@pytest.mark.parametrize(
    ("name", "wins"),
    [
        ("argmax_gumbel", math.e / (1.0 + math.e)),
        ("argmax_laplace", 1.0 - 0.75 / math.e),
        ("argmax_exponential", 1.0 - 0.5 / math.e),
        ("argmax_gaussian", 0.5 + 0.5 * math.erf(0.5)),
    ],
)
@pytest.mark.parametrize("scale", [1.0, slow(3.0)])
def test_a_lead_of_one_scale_wins_as_often_as_the_law_says(name, wins, scale):
    draw, source = getattr(noise, name), Seeded(7)
    found = np.mean([draw([0.0, scale], scale=scale, source=source) for _ in range(1_500)])
    assert abs(found - wins) < 6.0 * math.sqrt(wins * (1.0 - wins) / 1_500)
