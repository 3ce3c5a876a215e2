"""Intervals, covariances and data frames of estimates."""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

from privet import local
from privet.errors import InvalidParameter
from privet.local.families.intervals import at_least, exact_interval, needs_exact_law, score_interval, tail_of
from tests.firsts import ends, slow


def law_of(m: int, n: int, p: float, q: float):
    """Bin(m, p) + Bin(n - m, q), by convolution."""
    return np.convolve(binom.pmf(np.arange(m + 1), m, p), binom.pmf(np.arange(n - m + 1), n - m, q))


@pytest.mark.parametrize(("m", "n"), [(0, 5), (3, 5), (5, 5), (40, 90)])
def test_the_tail_of_two_binomials(m, n):
    law = law_of(m, n, 0.7, 0.2)
    for count in (0, 1, n // 2, n, n + 1):
        assert at_least(count, m, n, 0.7, 0.2) == pytest.approx(law[count:].sum(), abs=1e-12)


def covered(interval, law, f) -> float:
    low, high = interval
    return float(law[(low <= f + 1e-12) & (f <= high + 1e-12)].sum())


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.12), (0.88, 0.12), (0.0072, 0.00097), (0.982, 0.5)])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_the_exact_interval_never_covers_less_than_it_says(p, q, n):
    counts = np.arange(n + 1)
    for confidence in (0.8, 0.95):
        interval = exact_interval(counts, n, p, q, 1.0 - confidence)
        for m in {0, n // 10, n // 2, n}:
            assert covered(interval, law_of(m, n, p, q), m / n) >= confidence


@lru_cache(maxsize=2)  # one for the interval as it is, and again for the one that is cut
def intervals(protocol, n, f, among):
    """The interval of every count that may be seen, the law of these counts, and whether that law made the interval."""
    p, q, m = float(protocol.own), float(protocol.other), round(n * f)
    law = law_of(m, n, p, q)
    seen = np.flatnonzero(law > 1e-11)
    raw = (seen / n - q) / (p - q)
    tail = tail_of(0.95, among=among)
    by_law = needs_exact_law(n, p, q, tail)
    if by_law:
        interval = exact_interval(seen, n, p, q, tail_of(0.95, among=among, exact=True))
    else:
        interval = score_interval(raw, *protocol._line(n), tail)
    if among == 1:
        some = slice(None, None, 1 + len(seen) // 16)
        same = protocol._interval(seen[some], raw[some], n, 0.95, False)
        assert all(np.array_equal(one, two[some]) for one, two in zip(same, interval, strict=True))
    return interval, law[seen], by_law


def shares_covered(protocol, n, f, *, cut: bool, among: int = 1) -> tuple[float, bool]:
    """The coverage of the interval of a share by the exact law of its count, and whether that law made the interval."""
    interval, law, by_law = intervals(protocol, n, f, among)
    if cut:
        interval = tuple(np.clip(end, 0.0, 1.0) for end in interval)
    return covered(interval, law, round(n * f) / n), by_law


def protocols(epsilon: float) -> list:
    return [
        local.Warner(epsilon=epsilon), local.KRR(k=10, epsilon=epsilon), local.UnaryEncoding(k=9, epsilon=epsilon),
        local.UnaryEncoding(k=9, epsilon=epsilon, symmetric=True), local.SubsetSelection(k=20, epsilon=epsilon),
    ]  # fmt: skip


def check_coverage(n, f, epsilons) -> None:
    """By the exact law of counts: 94% to 96% where the score interval is used, never below 95% where the exact one is."""
    for epsilon in epsilons:
        for protocol in protocols(epsilon):
            share, by_law = shares_covered(protocol, n, f, cut=False)
            assert share >= 0.95 - 1e-9 if by_law else 0.94 <= share <= 0.96, (protocol, share)
            if f > 0.0:  # what is cut off at 0 and 1 holds no share but these
                assert shares_covered(protocol, n, f, cut=True)[0] == pytest.approx(share, abs=1e-12)


# Of 200 people at four epsilons both kinds of intervals are met; shares of 1000 that somebody has take longest.
@pytest.mark.parametrize(
    ("f", "n"),
    [
        (f, n) if f == 0.0 or (n == 200 and f >= 0.5) else slow((f, n))
        for f in (0.0, 0.01, 0.1, 0.5, 0.9)
        for n in (200, 1000)
    ],
)
def test_intervals_cover_what_they_say(n, f):
    check_coverage(n, f, (0.5, 1.0, 2.0, 4.0) if n == 200 else (1.0, 4.0))


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 500, 1000, 2000, 5000, 20_000])
@pytest.mark.parametrize("f", [0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_intervals_cover_what_they_say_everywhere(n, f):
    check_coverage(n, f, (0.5, 1.0, 2.0, 4.0))


def test_an_interval_that_is_cut_covers_an_absent_value_more_often():
    """Where all that is left is 0, the interval holds the share of an absent value: its lower tail misses nothing."""
    protocol = local.UnaryEncoding(k=9, epsilon=1.0)
    assert 0.94 < shares_covered(protocol, 1000, 0.0, cut=False)[0] < 0.96
    assert 0.97 < shares_covered(protocol, 1000, 0.0, cut=True)[0] < 0.98


@pytest.mark.parametrize(("n", "epsilon"), [(200, 1.0), (500, 2.0), (1000, 2.0), (5000, 4.0), (5000, 2.0)])
@pytest.mark.parametrize("k", ends([3, 10, 100, 1024]))
def test_intervals_hold_together_as_often_as_they_say(n, epsilon, k):
    """Bits of unary encoding are independent: all hold with the product of what each does."""
    protocol = local.UnaryEncoding(k=k, epsilon=epsilon)
    for f in (0.0, 1 / k):
        share, by_law = shares_covered(protocol, n, f, cut=False, among=k)
        assert share**k >= 0.95 - 1e-9 if by_law else 0.94 <= share**k <= 0.96


def test_a_single_threshold_for_all_tails_would_be_noticed():
    """The twin takes the normal law of a thousand intervals at once where it takes that of one."""
    protocol, n, k = local.UnaryEncoding(k=1024, epsilon=2.0), 500, 1024
    p, q = float(protocol.own), float(protocol.other)
    assert not needs_exact_law(n, p, q)
    assert needs_exact_law(n, p, q, tail_of(0.95, among=k))
    counts = np.arange(n + 1)
    interval = score_interval((counts / n - q) / (p - q), *protocol._line(n), tail_of(0.95, among=k))
    assert covered(interval, law_of(0, n, p, q), 0.0) ** k < 0.93
    told = protocol.estimate(protocol.simulate_counts(np.array([n, *[0] * (k - 1)])), simultaneous=True)
    assert np.all(np.isclose(told.interval[1] * n, np.round(told.interval[1] * n)))  # ends of the exact law are m/n


@pytest.mark.parametrize("protocol", [local.Warner(epsilon=1.0), local.KRR(k=2, epsilon=1.0)], ids=repr)
def test_two_shares_that_add_up_to_one_are_one_interval(protocol):
    state = protocol.simulate_counts(np.array([700, 300]))
    one, both = (protocol.estimate(state, simultaneous=flag).interval for flag in (False, True))
    assert np.array_equal(one, both)
    unary = local.UnaryEncoding(k=2, epsilon=1.0)
    wider = unary.estimate(unary.simulate_counts(np.array([700, 300])), simultaneous=True)
    alone = unary.estimate(unary.simulate_counts(np.array([700, 300])))
    assert np.all(wider.error.radius > alone.error.radius)  # these have noise of their own


def test_a_wald_interval_would_be_noticed():
    """The twin takes the variance at f = 0 everywhere."""
    protocol = local.KRR(k=4, epsilon=4.0)
    n, f = 20_000, 0.9
    p, q = float(protocol.own), float(protocol.other)
    counts, law = np.arange(n + 1), law_of(round(n * f), n, p, q)
    raw = (counts / n - q) / (p - q)
    a, b = protocol._line(n)
    assert 0.94 < covered(score_interval(raw, a, b, 0.05), law, f) < 0.96
    assert covered(score_interval(raw, a, 0.0, 0.05), law, f) < 0.94


def test_simultaneous_intervals_of_randomized_response_hold_together():
    """400 populations, 8 values that people hold: all at once in 95% of them (4 standard errors are 4.4%)."""
    protocol = local.KRR(k=8, epsilon=2.0)
    people = np.array([4000, 2000, 1000, 500, 250, 150, 60, 40])
    together = []
    for _ in range(400):
        state = protocol.simulate_counts(people)
        low, high = protocol.estimate(state, simultaneous=True).interval
        together.append(np.all((low <= people / 8000) & (people / 8000 <= high)))
    single = protocol.estimate(state).interval
    assert np.all(high - low >= single[1] - single[0])
    assert 0.905 < np.mean(together) < 0.995
    assert tail_of(0.95, among=8) == pytest.approx(1 - 0.95 ** (1 / 8))
    assert tail_of(0.95, among=8, exact=True) == pytest.approx(0.05 / 8)


def test_intervals_at_the_ends_and_for_one_report():
    protocol = local.KRR(k=3, epsilon=1.0)
    for reports in ([0], [0] * 5000, [1] * 5000):
        told = protocol.estimate(reports)
        low, high = told.interval
        assert np.all((low >= 0.0) & (low <= high) & (high <= 1.0))
        assert told.error.interval(told.raw)[0].shape == (3,)
    told = protocol.estimate([0] * 5000)
    assert told.raw[0] > 1.0  # never clipped
    assert told.raw[1] < 0.0


def test_sums_and_differences_have_the_variance_of_the_covariance():
    protocol = local.KRR(k=5, epsilon=1.5)
    people = np.array([4000, 3000, 2000, 1000, 0])
    weights = np.array([1.0, 1.0, -1.0, 0.0, 0.0])
    found, bars = [], []
    for _ in range(150):
        told = protocol.combined(protocol.estimate(protocol.simulate_counts(people)), weights)
        found.append(told.value)
        bars.append(told.interval)
    exact = float(weights @ protocol.covariance(people / 10_000, n=10_000) @ weights)
    assert abs(np.mean(found) - 0.5) < 5 * math.sqrt(exact / 150)
    assert abs(np.var(found) / exact - 1.0) < 0.6
    inside = [low <= 0.5 <= high for low, high in bars]
    assert 0.88 < np.mean(inside) <= 1.0
    everybody = protocol.combined(protocol.estimate(protocol.simulate_counts(people)), np.ones(5))
    assert everybody.value == pytest.approx(1.0)
    assert everybody.variance == pytest.approx(0.0, abs=1e-9)  # all shares together are certain
    with pytest.raises(InvalidParameter, match="5 finite numbers"):
        protocol.combined(protocol.estimate([0, 1]), [1.0])


def test_estimates_become_data_frames():
    told = local.KRR(labels=("a", "b", "c"), epsilon=1.0).estimate([0, 1, 2, 2])
    frame = told.to_pandas()
    assert list(frame.columns) == ["label", "value", "raw", "variance", "low", "high"]
    assert frame["label"].tolist() == ["a", "b", "c"]
    assert told.to_polars().shape == (3, 6)
    assert told.to_arrow().column("raw").to_pylist() == told.raw.tolist()
