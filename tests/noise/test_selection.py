"""Coins, uniform integers, permutations, and selection by weight or by noisy maximum."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import scipy.special
from mpmath import mp

from privet import noise, testing
from privet.noise.families import coins
from privet.noise.families.enclosure import exp_neg, rational
from privet.noise.families.refined import Refined
from tests.firsts import ends
from tests.noise.helpers import Scripted, module

argmax = module("argmax")


def check_law(samples, chances):
    chances = np.asarray(chances, dtype=float)
    testing.check_samples(
        np.asarray(samples),
        lambda k: np.where((k >= 0) & (k < len(chances)), chances[np.clip(k, 0, len(chances) - 1)], 0),
    )


@pytest.mark.parametrize("p", [0, 1, 0.5, 0.1, Fraction(1, 3), 2.0**-20, 1 - 2.0**-53])
def test_bernoulli(p):
    heads = noise.bernoulli(p=p, size=200_000)
    assert heads.dtype == bool
    check_law(heads.astype(int), [1 - p, p])
    check_law(np.array([noise.bernoulli(p=p) for _ in range(2000)]).astype(int), [1 - p, p])


@pytest.mark.parametrize("x", [0, 1e-6, 0.1, 1, Fraction(7, 3), 20])
def test_bernoulli_exp(x):
    chances = [-math.expm1(-x), math.exp(-x)]
    check_law(noise.bernoulli_exp(x=x, size=200_000).astype(int), chances)
    check_law(noise.bernoulli_exp(x=np.full((400, 500), float(x))).astype(int), chances)
    check_law(np.array([noise.bernoulli_exp(x=x) for _ in range(2000)]).astype(int), chances)


def test_wrong_coins_are_rejected():
    with pytest.raises(AssertionError):
        check_law(noise.bernoulli(p=0.52, size=50_000).astype(int), [0.5, 0.5])


def test_long_integers_as_exponents_keep_their_digits():
    assert not noise.bernoulli_exp(x=np.array([2**63 - 1, 700], dtype=np.int64)).any()


@pytest.mark.parametrize("probability", [rational, exp_neg])
def test_a_coin_on_the_edge_looks_closer(probability):
    """Words whose first 16, then 64 bits equal those of p: only the following bits can decide."""
    p = lambda bits: probability(1, 3, bits)  # noqa: E731
    word = p(64)[0]
    low = word % 2**48 << 16
    for tail, heads in ((0, True), (2**64 - 1, False)):
        assert coins.flip(Scripted([word >> 48, low, tail]), 1, p)[0] == heads
        assert Refined(Scripted([tail]), word, 64).below(p) == heads


def twin_by_remainder(bound, size):
    return noise.Secure().stream().words(size) % np.uint64(bound)


def test_no_modulo_bias():
    """Bound 3 * 2^62: a remainder would hit the lowest third half of the time."""
    bound = 3 * 2**61
    thirds = noise.uniform_int(bound=bound, size=100_000) // 2**61
    check_law(thirds, [1 / 3] * 3)
    check_law([noise.uniform_int(bound=3 * 2**62) // 2**62 for _ in range(3000)], [1 / 3] * 3)
    with pytest.raises(AssertionError):
        check_law((twin_by_remainder(3 * 2**62, 100_000) // np.uint64(2**62)).astype(int), [1 / 3] * 3)


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 200, 256, 257, 1000])
def test_uniform(bound):
    check_law(noise.uniform_int(bound=bound, size=100_000), [1 / bound] * bound)


def test_permutations_are_uniform(monkeypatch):
    orders = {order: i for i, order in enumerate(permutations(range(4)))}
    check_law([orders[tuple(noise.permutation(4).tolist())] for _ in range(6000)], [1 / 24] * 24)
    # Keys of two bits collide all the time, and ties are broken by further keys.
    words = type(noise.Secure().stream()).words
    monkeypatch.setattr("privet.noise.entropy.Stream.words", lambda self, n: words(self, n) >> np.uint64(62))
    check_law([orders[tuple(noise.permutation(4).tolist())] for _ in range(6000)], [1 / 24] * 24)
    assert noise.permutation(0).tolist() == []


SCORES = np.array([0.0, 1.0, 2.0, 2.0, -1.0])


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


@pytest.mark.parametrize("logs", [SCORES, SCORES * 30, SCORES + 1e6, [5.0], [0.0] * 7, [-np.inf, 0.0, -np.inf, 1.0]])
def test_choice_by_weights(logs):
    logs = np.asarray(logs)
    draws = noise.choice_log(logs, size=100_000)
    assert draws.dtype == np.int64
    check_law(draws, softmax(logs - logs.max()))


def test_wrong_weights_are_rejected():
    with pytest.raises(AssertionError):
        check_law(noise.choice_log(SCORES * 1.05, size=100_000), softmax(SCORES))


def test_choice_with_counts_and_scale():
    counts = np.array([5, 1, 0, 2, 3])
    weights = counts * np.exp(SCORES / 2.5)
    check_law(noise.choice_exp(SCORES, scale=2.5, counts=counts, size=100_000), weights / weights.sum())


def many(select, **more):
    return np.array([select(SCORES, **more) for _ in range(5_000)])


def test_gumbel_is_the_choice_by_weights():
    check_law(many(noise.argmax_gumbel, scale=1.5), softmax(SCORES / 1.5))


def maximum(values, density, cdf, x):
    """Pr[the i-th value plus noise is the largest], by integration over the winner's noise."""
    below = [np.prod([cdf(x + v - w) for j, w in enumerate(values) if j != i], axis=0) for i, v in enumerate(values)]
    return [np.trapezoid(density(x) * others, x) for others in below]


def test_exponential_is_permute_and_flip():
    """Two implementations: a noisy maximum, and coins in random order."""
    gaps = (SCORES.max() - SCORES) / 1.5
    chances = maximum(
        -gaps, lambda x: np.exp(-x), lambda x: -np.expm1(-np.maximum(x, 0.0)), np.linspace(0, 50, 250_001)
    )
    check_law(many(noise.argmax_exponential, scale=1.5), chances)
    orders = (noise.permutation(len(gaps)) for _ in range(5_000))
    check_law([next(i for i in order if noise.bernoulli_exp(x=float(gaps[i]))) for order in orders], chances)


def test_laplace_maximum():
    def cdf(x):
        tail = 0.5 * np.exp(-np.abs(x))
        return np.where(x < 0, tail, 1 - tail)

    chances = maximum(SCORES / 1.5, lambda x: 0.5 * np.exp(-np.abs(x)), cdf, np.linspace(-50, 50, 500_001))
    check_law(many(noise.argmax_laplace, scale=1.5), chances)


def test_gaussian_maximum():
    def density(x):
        return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)

    chances = maximum(SCORES / 1.5, density, scipy.special.ndtr, np.linspace(-30, 30, 300_001))
    check_law(many(noise.argmax_gaussian, scale=1.5), chances)
    with pytest.raises(AssertionError):
        check_law(many(noise.argmax_gaussian, scale=1.0), chances)


@pytest.mark.parametrize("cell", ends([0, 1, 2**10, 2**44, 2**62 + 12345, 2**63 - 1], also=[2**44]))
@pytest.mark.parametrize("length", [64, 192])
def test_exact_normal_quantiles_enclose_those_of_sixty_digits(cell, length):
    wide = cell << length - 64
    near, far = argmax._normal(wide, length)
    with mp.workdps(120):

        def quantile(mass):
            return mp.sqrt(2) * mp.erfinv(1 - 2 * mass)

        ends = [
            quantile(mp.mpf(wide + 1) / mp.mpf(2) ** length),
            quantile(mp.mpf(wide) / mp.mpf(2) ** length) if wide else None,
        ]
        # a step of the grid, and what 64 bits beyond the cell leave open where the tail is a few cells wide
        step = mp.mpf(2) ** -length + mp.mpf(2) ** -62 / max(wide, 1)
        assert 0 <= ends[0] - mp.mpf(near.numerator) / near.denominator <= 2 * step
        assert (far is None) == (wide == 0)
        if far is not None:
            assert 0 <= mp.mpf(far.numerator) / far.denominator - ends[1] <= 2 * step


@pytest.mark.parametrize("name", ["_Gumbel", "_Exponential", "_Laplace", "_Gaussian"])
def test_float_intervals_enclose_exact_ones(name):
    """End words and ordinary ones; the refined interval lies inside."""
    words = [0, 1, 2**20, 2**44, 2**63, 2**64 - 2, 2**64 - 1, *noise.Seeded(3).stream().words(40).tolist()]
    law = getattr(argmax, name)(Scripted(words), len(words))
    lo, hi = law.floats()
    for place in range(len(words)):
        low, high = law.ends(law.start(place), place)
        assert lo[place] == -math.inf or Fraction(lo[place]) <= low
        assert hi[place] == math.inf or Fraction(hi[place]) >= high


def test_ties_in_floats_are_settled_by_refinement():
    """Equal scores and equal words: the float intervals coincide, and the next bits decide, both ways."""
    for name in ("_Gumbel", "_Exponential", "_Laplace", "_Gaussian"):
        winners = set()
        for seed in range(20):
            law = getattr(argmax, name)(Scripted([2**62, 2**62, 0]), 2)
            law._stream = noise.Seeded(seed).stream()
            assert len(argmax._contenders(np.zeros(2), 1.0, *law.floats())) == 2
            winners.add(argmax._settle(law, {0: Fraction(0), 1: Fraction(0)}, Fraction(1)))
        assert winners == {0, 1}


def test_scores_far_apart_and_far_out():
    for select in (noise.argmax_gumbel, noise.argmax_exponential, noise.argmax_laplace, noise.argmax_gaussian):
        assert select([0.0, 1e308, -1e308], scale=1.0) == 1
        assert select([1e16, 1e16 + 2], scale=1e-3) == 1
        assert select([7.0], scale=1.0) == 0
        assert select([0.0, 5e-324], scale=Fraction(1, 10**400)) == 1
        assert {select([0.0, 5e-324], scale=2**1000) for _ in range(60)} == {0, 1}
