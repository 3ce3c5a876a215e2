"""Exact channels: what a protocol costs is the largest ratio in its table, and its sampler draws from it."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from privet import local, noise
from privet.errors import InvalidParameter
from privet.local.families.hashes import hashed
from privet.mechanisms import registered_mechanisms
from privet.privacy.divergences import contraction
from tests.local.members import KINDS, PLAIN, log_of, made
from tests.mechanisms import goodness

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def fits(reports, channel_row, outcomes) -> bool:
    """The G-test of reports against a row; a report that is no outcome refutes by itself."""
    index = {outcome: place for place, outcome in enumerate(outcomes)}
    if any(each not in index or not channel_row[index[each]] for each in reports):
        return False
    return goodness.fits([index[each] for each in reports], [float(mass) for mass in channel_row])


def keys(protocol, reports, x):
    rows = protocol.rows(reports)
    if isinstance(protocol, local.OLH):  # its hashes are all different: how far the cell is from the true one stays
        g = protocol.cells
        away = (rows[:, 2] + np.uint64(g) - hashed(np.full(len(rows), x), rows[:, 0], rows[:, 1], g)) % np.uint64(g)
        shown = protocol.outcomes()
        rows = shown[((hashed(np.array([x]), shown[0, 0], shown[0, 1], g) + away) % np.uint64(g)).astype(int)]
    return [tuple(row) if rows.ndim > 1 else int(row) for row in rows.tolist()]


@EVERY
@pytest.mark.parametrize("e", [4, 9])
def test_the_exact_ratio_is_e_and_the_contraction_there_is_zero(kind, e):
    for k in (2, 3, 6):
        protocol = made(kind, k=k, epsilon=log_of(e))
        channel = protocol.channel()
        assert all(sum(row) == 1 for row in channel)
        ratios = [max(column) / min(column) for column in zip(*channel, strict=True) if max(column)]
        assert max(ratios) == e  # equality, not approximation
        assert local.epsilon_of(channel) == log_of(e) == protocol.loss.pure()
        assert contraction(channel, Fraction(e)) == 0
        assert contraction(channel, Fraction(e) - Fraction(1, 10**6)) > 0


@pytest.mark.parametrize("kind", PLAIN.values(), ids=PLAIN)
def test_supports_are_read_off_the_channel(kind):
    """`own`, `other` and `pair_supports` are sums over the channel's columns."""
    protocol = made(kind, k=4)
    every = range(protocol.size)
    outcomes = protocol.outcomes()
    marks = np.array([protocol.supports(protocol.new_state().add([each]), None) for each in outcomes]) > 0
    for x, row in enumerate(protocol.channel()):
        for v in range(protocol.size):
            total = sum((mass for mass, mark in zip(row, marks, strict=True) if mark[v]), Fraction(0))
            assert total == (protocol.own if v == x else protocol.other)
        for u, v in ((u, v) for u in every for v in every if u != v and kind is not local.HadamardResponse):
            total = sum((mass for mass, mark in zip(row, marks, strict=True) if mark[u] and mark[v]), Fraction(0))
            assert total == protocol.pair_supports[0 if x in (u, v) else 1]


@pytest.mark.parametrize("k", [3, 4, 7, 8])
def test_covariances_of_hadamard_response_are_those_of_its_channel(k):
    protocol = local.HadamardResponse(k=k, epsilon=1.0)
    signs = np.array([protocol.supports(protocol.new_state().add([y]), None) for y in protocol.outcomes()], dtype=float)
    shares = np.arange(1, k + 1) / (k * (k + 1) / 2)
    exact = np.zeros((k, k))
    for share, row in zip(shares, protocol.channel(), strict=True):
        law = np.array([float(mass) for mass in row])
        mean = law @ signs
        exact += share * ((signs * law[:, None]).T @ signs - np.outer(mean, mean))
    gap = float(protocol.own - protocol.other)
    assert np.allclose(protocol.covariance(shares, n=10), exact / (10 * gap * gap))


@EVERY
def test_the_sampler_draws_from_its_channel(kind):
    protocol = made(kind, k=4, epsilon=1.2)
    outcomes = [tuple(each) if np.ndim(each) else int(each) for each in protocol.outcomes()]
    for x in (0, protocol.size - 1):
        reports = keys(protocol, protocol.simulate(np.full(20_000, x), 1)[0], x)
        assert fits(reports, protocol.channel()[x], outcomes)
        assert not fits(reports, protocol.channel()[1 if x == 0 else 0], outcomes)
        assert not fits(reports, made(kind, k=4, epsilon=0.9).channel()[x], outcomes)


@EVERY
def test_the_price_is_the_profile_of_the_channel(kind):
    """delta of the price is the contraction of the channel, at every epsilon, or more."""
    protocol = made(kind, k=4, epsilon=1.2)
    for epsilon in (0.0, 0.3, 0.9, 1.1999):
        exact = local.delta_of(protocol.channel(), epsilon)
        if kind is local.OLH:  # the channel is that of a hash which tells the values apart: one in `cells` does not
            exact *= 1 - 1 / protocol.cells
        priced = float(protocol.loss.profile(epsilon))
        assert exact <= priced * (1 + 1e-9) + 1e-12


def test_epsilon_and_delta_of_channels():
    coin = (("3/4", "1/4"), ("1/4", "3/4"))
    assert local.epsilon_of(coin) == log_of(3)
    assert local.delta_of(coin, 0.0) == 0.5
    assert local.delta_of(coin, log_of(3)) <= 1e-15
    assert local.delta_of(coin, 2.0) == 0.0
    assert local.epsilon_of(((1, 0), (0, 1))) == math.inf
    assert local.epsilon_of(((0.2, 0.8), (0.2, 0.8))) == 0.0
    assert local.delta_of(((1, 0), (0, 1)), 5.0) == 1.0
    for wrong in (((0.5, 0.6),), "ab", ((1,), ("1/2", "1/2"))):
        with pytest.raises(InvalidParameter):
            local.epsilon_of(wrong)


@cache
def broken() -> tuple[tuple[Fraction, ...], ...]:
    """k-RR whose lie may be the truth."""
    truth = local.KRR(k=4, epsilon=log_of(4)).own
    lie = (1 - truth) / 4
    return tuple(tuple(truth + lie if x == y else lie for y in range(4)) for x in range(4))


def test_a_lie_that_may_be_the_truth_is_caught_by_both_checks():
    assert local.epsilon_of(broken()) > log_of(4)
    assert contraction(broken(), Fraction(4)) > 0
    reports = noise.uniform_int(bound=4, size=20_000, source=noise.Seeded(1)).tolist()
    protocol = local.KRR(k=4, epsilon=log_of(4))
    assert not fits(reports, protocol.channel()[0], list(range(4)))


def single_examples() -> list:
    """Examples of one person's value whose channel is listed: the others are many people, or fine grids."""
    found = [
        each
        for kind in registered_mechanisms().values()
        if issubclass(kind, local.Protocol)
        for each in kind.examples()
    ]
    return [each for each in found if np.ndim(each.left) == 0 and getattr(each.mechanism, "cells", 2) <= 64]


@pytest.mark.parametrize("example", single_examples(), ids=lambda example: example.mechanism.name)
def test_neighbours_of_an_example_are_told_apart_by_its_channel(example):
    """Two values in the same cells of all hashes have one law, and no audit of them would ever refute anything."""
    protocol = example.mechanism
    pair = [protocol.channel()[int(protocol._prepare(value))] for value in (example.left, example.right)]
    at = example.detects * protocol.loss.pure()
    assert local.delta_of(pair, at) >= 0.25 * float(protocol.loss.profile(at))


def test_two_values_in_the_same_cells_would_be_noticed():
    blind = local.HadamardSketch(k=3, epsilon=2.0, depth=2, width=4, seed=0)
    assert local.delta_of(blind.channel()[:2], 0.5) == 0.0
