"""Index samplers: each index by its own coin, or a fixed number of them; both exact, both compared with broken twins."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from privet import noise
from privet.errors import InvalidParameter
from privet.noise import Seeded, subsets

LEVEL = 1e-7


def p_value(counts, chances, total):
    """Of the G-test: how often each outcome was seen, against its chance."""
    seen = np.array([counts.get(outcome, 0) for outcome in chances], dtype=float)
    wanted = np.array(list(chances.values())) * total
    assert seen.sum() == total
    statistic = 2.0 * float(np.sum(seen * np.log(np.maximum(seen, 1e-300) / wanted)))
    return float(special.chdtrc(len(wanted) - 1, max(statistic, 0.0)))


def all_subsets(n):
    return [picked for size in range(n + 1) for picked in itertools.combinations(range(n), size)]


def poisson_p_value(draw, q, n=4, total=5_000):
    counts = Counter(tuple(draw(n, q, seed).tolist()) for seed in range(total))
    chances = {picked: q ** len(picked) * (1 - q) ** (n - len(picked)) for picked in all_subsets(n)}
    rare = [picked for picked in chances if chances[picked] * total < 10]
    merged = {picked: chance for picked, chance in chances.items() if picked not in rare}
    if rare:
        merged["rest"] = sum(chances[picked] for picked in rare)
        counts["rest"] = sum(counts.pop(picked, 0) for picked in rare)
    return p_value(counts, merged, total)


def sound(n, q, seed):
    return noise.poisson_subset(n, q=q, source=Seeded(seed))


@pytest.mark.parametrize("q", [0.05, 0.3])
def test_every_subset_has_its_probability(q):
    """Both ways of drawing: by gaps for small rates, by a coin for each index else."""
    assert poisson_p_value(sound, q) > LEVEL


@pytest.mark.parametrize(
    "broken",
    [
        lambda n, q, seed: sound(n, 1.3 * q, seed),
        lambda n, q, seed: sound(n + 1, q, seed)[1:],  # the first is left out
        lambda n, q, seed: noise.fixed_subset(n, m=1, source=Seeded(seed)) if seed % 5 == 0 else np.empty(0, int),
    ],
)
def test_broken_twins_are_rejected(broken):
    def clipped(n, q, seed):
        drawn = broken(n, q, seed)
        return drawn[drawn < n]

    assert poisson_p_value(clipped, 0.05) < LEVEL


def test_gaps_follow_their_law():
    q = Fraction(1, 20)
    gaps = subsets._gaps(Seeded(3).stream(), 100_000, q, 10**6)
    counts = Counter(np.minimum(gaps, 100).tolist())
    chances = {k: 0.05 * 0.95**k for k in range(100)} | {100: 0.95**100}
    assert p_value(counts, chances, 100_000) > LEVEL
    assert p_value(Counter(np.minimum(gaps + (gaps > 50), 100).tolist()), chances, 100_000) < LEVEL


@pytest.mark.parametrize("q", [Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 3**40)])
def test_the_exact_gap_is_the_quick_one(q):
    """The words decide, whichever way they are read."""
    n = 10**9
    words = np.array(Seeded(5).stream().words(60))
    quick = subsets._gaps(Seeded(5).stream(), 60, q, n)
    for word, gap in zip(words.tolist(), quick.tolist(), strict=True):
        u = subsets.Refined(Seeded(9).stream(), word, 64)
        assert subsets._exact_gap(u, q, n, 0) == gap


def test_powers_are_enclosed():
    for base, exponent in ((Fraction(19, 20), 7), (Fraction(10**6 - 1, 10**6), 10**7), (Fraction(1, 3), 0)):
        low, high = subsets.power(base, exponent, 80)
        exact = math.exp(exponent * math.log(base)) if exponent > 100 else float(base**exponent)
        assert low <= exact * 2**80 * (1 + 1e-8)
        assert high >= exact * 2**80 * (1 - 1e-8)
        assert 0 <= high - low <= 2
        if exponent < 100:
            assert low <= base**exponent * 2**80 <= high


@pytest.mark.parametrize("m", [2, 3])
def test_every_set_of_m_is_equally_likely(m):
    """Drawn, and left out: m of 5 on either side of a half."""
    sets = list(itertools.combinations(range(5), m))
    drawn = Counter(tuple(noise.fixed_subset(5, m=m, source=Seeded(seed)).tolist()) for seed in range(4_000))
    assert p_value(drawn, dict.fromkeys(sets, 1 / len(sets)), 4_000) > LEVEL


def test_a_repaired_sample_with_replacement_is_rejected():
    """A twin that moves a repeated index to the next free one."""

    def repaired(seed):
        drawn = sorted(np.asarray(noise.uniform_int(bound=5, size=2, source=Seeded(seed))).tolist())
        return tuple(sorted({drawn[0], drawn[1] if drawn[0] != drawn[1] else (drawn[1] + 1) % 5}))

    sets = list(itertools.combinations(range(5), 2))
    assert p_value(Counter(map(repaired, range(4_000))), dict.fromkeys(sets, 1 / 10), 4_000) < LEVEL


def test_ends_and_sizes():
    assert noise.poisson_subset(0, q=0.5).tolist() == []
    assert noise.poisson_subset(7, q=1).tolist() == list(range(7))
    assert noise.poisson_subset(10**15, q=0).tolist() == []
    assert noise.fixed_subset(6, m=0).tolist() == []
    assert noise.fixed_subset(6, m=6).tolist() == list(range(6))
    for drawn, n in (
        (noise.poisson_subset(2**62, q=Fraction(1, 2**58)), 2**62),
        (noise.poisson_subset(10**9, q=1e-7), 10**9),
        (noise.poisson_subset(10**6, q=0.01), 10**6),
        (noise.poisson_subset(200_000, q=0.2), 200_000),
        (noise.fixed_subset(10**18, m=1000), 10**18),
        (noise.fixed_subset(10**5, m=99_000), 10**5),
    ):
        assert drawn.dtype == np.int64
        assert np.all(np.diff(drawn) > 0)
        assert 0 <= drawn[0] <= drawn[-1] < n
    assert len(noise.fixed_subset(1_000, m=400)) == 400
    assert len(noise.fixed_subset(1_000, m=700)) == 700
    assert abs(len(noise.poisson_subset(10**6, q=0.01)) - 10_000) < 800  # eight standard deviations
    assert noise.poisson_subset(50, q=1e-300).tolist() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: noise.poisson_subset(-1, q=0.5),
        lambda: noise.poisson_subset(2.5, q=0.5),
        lambda: noise.poisson_subset(10, q=1.5),
        lambda: noise.poisson_subset(10, q=float("nan")),
        lambda: noise.poisson_subset(2**63, q=0.5),
        lambda: noise.fixed_subset(3, m=4),
        lambda: noise.fixed_subset(3, m=-1),
        lambda: noise.fixed_subset(True, m=0),
    ],
)
def test_what_is_no_sample_is_refused(call):
    with pytest.raises(InvalidParameter):
        call()
