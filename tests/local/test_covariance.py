"""Covariances and squared errors of raw estimates, for every protocol: beside reports of single people."""

import math

import numpy as np
import pytest

from privet import local
from privet.errors import InvalidParameter
from privet.local.families.hashes import hashed, third_collisions
from privet.workloads import AllRanges, MeasuredCells
from tests.local.members import KINDS, made

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
POPULATIONS = ([240, 120, 40, 0, 100], [0, 0, 500, 0, 0])  # in the second all hold the middle of evenly spaced values


def of_kind(kind, people):
    more = {local.RAPPOR: {"cohorts": 3, "width": 12}, local.CountMeanSketch: {"depth": 8},
            local.HadamardSketch: {"depth": 8}, local.FLH: {"pool": 16}}  # fmt: skip
    return made(kind, k=len(people), epsilon=1.5, **more.get(kind, {}))


def raw_of(protocol, people, runs: int):
    values = np.repeat(np.arange(len(people)), people)
    return np.array([protocol.estimate(each).raw for each in protocol._draw(values, runs, None)])


def farthest(raw, covariance) -> float:
    """How many of its standard errors an entry of the empirical covariance is off, the largest one."""
    centred = raw - raw.mean(axis=0)
    products = centred[:, :, None] * centred[:, None, :]
    errors = products.std(axis=0) / math.sqrt(len(raw))
    return float((np.abs(products.mean(axis=0) - covariance) / np.maximum(errors, 1e-12)).max())


def by_channel(protocol, shares):
    """Mean and covariance of one report's estimate, from the exact channel and the supports of every possible report."""
    p, q = float(protocol.own), float(protocol.other)
    states = [protocol.new_state().add(outcome[None]) for outcome in protocol.outcomes()]
    told = (np.array([protocol.supports(state, None) for state in states]) - q) / (p - q)
    channel = np.array([[float(mass) for mass in row] for row in protocol.channel()])
    means = channel @ told
    each = np.einsum("xy,yu,yv->xuv", channel, told, told) - means[:, :, None] * means[:, None, :]
    return shares @ means, np.tensordot(shares, each, axes=1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind not in (local.OLH, local.RAPPOR)])
@pytest.mark.parametrize("shares", [[0.5, 0.2, 0.1, 0.0, 0.2], [0.0, 0.0, 1.0, 0.0, 0.0]], ids=str)
def test_the_covariance_is_that_of_the_channel(kind, shares):
    shares = np.array([shares[0], 1.0 - shares[0]]) if kind is local.Warner else np.array(shares)
    protocol = of_kind(kind, shares)
    mean, covariance = by_channel(protocol, shares)
    assert protocol.covariance(shares, n=7) == pytest.approx(covariance / 7, abs=1e-9 * covariance.max())
    assert shares + protocol.bias(shares) == pytest.approx(mean, abs=1e-9)
    exact = covariance.diagonal() / 7 + (mean - shares) ** 2
    assert protocol.squared_error(shares, n=7) == pytest.approx(exact, rel=0.02)
    if protocol.shared_hashes is None:
        assert protocol.squared_error(shares, n=7) == pytest.approx(exact, rel=1e-9)
    else:
        plain = local.FrequencyProtocol._line(protocol, 7)[0]
        assert np.abs(protocol.covariance(shares, n=7) - plain * np.eye(len(shares))).max() > 0.1 * plain  # the twin


def check_by_reports(protocol, people, runs):
    n = int(people.sum())
    raw, shares = raw_of(protocol, people, runs), people / n
    assert farthest(raw, protocol.covariance(shares, n=n)) < 5.0
    off = raw.mean(axis=0) - shares - protocol.bias(shares)
    assert np.all(np.abs(off) < 5.0 * raw.std(axis=0) / math.sqrt(runs))
    errors = (raw - shares) ** 2
    gap = np.abs(errors.mean(axis=0) - protocol.squared_error(shares, n=n))
    assert np.all(gap < 5.0 * errors.std(axis=0) / math.sqrt(runs))
    return raw


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("people", POPULATIONS, ids=str)
def test_the_covariance_is_that_of_reports(kind, people):
    people = np.array(people[2:4]) + 30 if kind is local.Warner else np.array(people)
    raw = check_by_reports(of_kind(kind, people), people, 3000)
    assert raw.shape == (3000, len(people))


def test_hashes_that_are_drawn_anew_tie_evenly_spaced_values_together():
    """The twin takes hashes as independent in threes."""
    people, protocol = np.array(POPULATIONS[1]), local.OLH(k=5, epsilon=3.0, cells=8)
    raw = check_by_reports(protocol, people, 400)
    assert farthest(raw, np.diag(protocol.variance(people / 500, n=500))) > 6.0


def test_bits_of_a_filter_are_not_independent_of_each_other():
    """The twin takes them so, as if each report were about all people."""
    people = np.array(POPULATIONS[0])
    protocol = local.RAPPOR(k=5, epsilon=6.0, cohorts=3, width=12, seed=5)
    raw = check_by_reports(protocol, people, 400)
    decoder, p, q = protocol._whole[0], float(protocol.own), float(protocol.other)
    rates = np.einsum("x,cxb->cb", people / 500, protocol.bloom) * (p - q) + q
    twin = np.einsum("cub,cvb,cb->uv", decoder, decoder, rates * (1.0 - rates)) * 3 / (500 * (p - q) ** 2)
    assert farthest(raw, twin) > 6.0


def test_three_values_share_a_cell_as_often_as_is_said():
    """By all multipliers on a grid of the circle: values 0, 2 and 5, and 1, 2 and 3."""
    a = (np.arange(1 << 10, dtype=np.uint64) << np.uint64(54)) + np.uint64(1 << 53)
    starts = (np.arange(256, dtype=np.uint64) << np.uint64(56)) + np.uint64(1 << 55)
    for u, v, x, cells in ((0, 5, 2, 8), (1, 3, 2, 8), (0, 1, 2, 3), (4, 5, 0, 5)):
        places = [hashed(np.full((1, 1), y), a[:, None], starts[None, :], cells) for y in (u, v, x)]
        seen = np.mean((places[0] == places[1]) & (places[1] == places[2])) - 1.0 / cells**2
        shares = np.zeros(6)
        shares[x] = 1.0
        assert third_collisions(shares, cells)[u, v] == pytest.approx(seen, abs=5e-3)


def test_pools_of_hashes_widen_intervals_by_what_they_add():
    """With many reports an estimate is off by collisions alone; over pools the intervals cover all the same."""
    people = np.array([2_400, 1_600, 0, 0, 0, 0])
    for kind in (local.FLH, local.CountMeanSketch, local.HadamardSketch):
        inside, noise_alone = [], []
        for seed in range(40):
            size = {"pool": 4} if kind is local.FLH else {"depth": 4, "width": 8}
            protocol = kind(k=6, epsilon=2.0, seed=seed, **size)
            told = protocol.estimate(protocol.simulate_counts(people))
            low, high = told.interval
            inside.append((low <= people / 4_000) & (people / 4_000 <= high))
            radius = 1.96 * np.sqrt(protocol.variance(people / 4_000, n=4_000))
            noise_alone.append(np.abs(told.raw - people / 4_000) <= radius)
        assert np.mean(inside) > 0.91
        assert np.mean(noise_alone) < 0.7  # the twin: intervals of the noise alone


@EVERY
def test_ranges_of_shares_have_intervals(kind):
    people = np.array([60, 440]) if kind is local.Warner else np.array([240, 120, 40, 0, 100])
    protocol = of_kind(kind, people)
    inside = []
    for each in protocol._draw(np.repeat(np.arange(len(people)), people), 20, None):
        cells = protocol.histogram(protocol.estimate(each))
        told = cells.answers(AllRanges(len(people)))
        assert np.all(told.radius >= 0.0)
        low, high = cells.answer(0, 1).interval
        inside.append(low - 1e-9 <= people[:2].sum() / people.sum() <= high + 1e-9)
    assert np.mean(inside) > 0.7


def test_what_has_no_covariance_is_refused():
    protocol = local.KRR(k=4, epsilon=1.0)
    for wrong in ([0.5, 0.5], [math.nan] * 4, 1.0):
        for ask in (protocol.covariance, protocol.squared_error):
            with pytest.raises(InvalidParameter, match="4 numbers"):
                ask(wrong, n=10)
        with pytest.raises(InvalidParameter, match="4 numbers"):
            protocol.bias(wrong)
    with pytest.raises(InvalidParameter, match="not tabled"):
        local.UnaryEncoding(k=2**20, epsilon=1.0).covariance(np.zeros(2**20), n=5)
    with pytest.raises(InvalidParameter, match="all of its values"):
        protocol.histogram(protocol.estimate([0, 1, 2], candidates=[0, 1]))
    with pytest.raises(InvalidParameter, match="all of its values"):
        protocol.histogram(local.Duchi(epsilon=1.0, bounds=(0, 1)).estimate([0, 1]))


def test_measured_cells_answer_by_their_covariance():
    matrix = np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
    cells = MeasuredCells([10.0, 20.0, -5.0], matrix)
    told = cells.answer(0, 1, confidence=0.95)
    assert (told.value, round(told.radius, 6)) == (30.0, round(1.959963984540054 * math.sqrt(3.0), 6))
    assert cells.answer(2, 1).value == 0.0
    every = cells.answers(AllRanges(3))
    wide = cells.answers(AllRanges(3), simultaneous=True)
    assert every.value.shape == (6,)
    assert np.all(wide.radius > every.radius)
    for number in range(6):
        row = AllRanges(3).query(number)
        assert every.radius[number] == pytest.approx(1.959963984540054 * math.sqrt(row @ matrix @ row))
    for values, square in (
        ([1.0], matrix), ([1.0, math.nan], np.eye(2)), ([1.0, 2.0], np.array([[1.0, 0.0], [0.5, 1.0]])),
        ([1.0, 2.0], -np.eye(2)), ([], np.zeros((0, 0))), ("ab", np.eye(2)), ([[1.0]], np.eye(1)),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter):
            MeasuredCells(values, square)
    for query in ([1.0], "abc", [math.inf, 0.0, 0.0]):
        with pytest.raises(InvalidParameter, match="each cell"):
            cells.linear(query)
    with pytest.raises(InvalidParameter, match="over"):
        cells.answers(AllRanges(4))
    with pytest.raises(InvalidParameter, match="confidence"):
        cells.linear([1.0, 0.0, 0.0], confidence=1.0)
