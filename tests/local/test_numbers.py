"""Means of numbers: exact channels, the figures of the papers, unbiased estimates, ends of the range, states."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import local
from privet.errors import InvalidData, InvalidParameter
from privet.local.families.number import Window
from privet.privacy.divergences import contraction
from privet.testing import g_test
from tests.local.members import log_of

KINDS = (local.Duchi, local.Piecewise, local.Hybrid)
EVERY = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def made(kind, *, epsilon=2.0, bounds=(-1.0, 1.0), cells=6):
    return kind(epsilon=epsilon, bounds=bounds, **({} if kind is local.Duchi else {"cells": cells}))


def probability_in(row):
    law = np.array([*(float(p) for p in row), 0.0])
    return lambda y: law[np.clip(y, -1, len(row))]


@EVERY
@pytest.mark.parametrize("epsilon", [0.01, 0.5, math.log(4.0), 2.0, 9.0, 50.0])
def test_the_exact_channel_has_the_price(kind, epsilon):
    protocol = made(kind, epsilon=epsilon)
    channel = protocol.channel()
    assert all(sum(row) == 1 for row in channel)
    assert local.epsilon_of(channel) <= protocol.loss.pure() <= epsilon
    assert protocol.loss.pure() == pytest.approx(local.epsilon_of(channel), rel=1e-12)
    for at in (0.0, 0.3 * epsilon, 0.9 * epsilon):
        assert local.delta_of(channel, at) == pytest.approx(float(protocol.loss.profile(at)), rel=1e-9, abs=1e-15)


@EVERY
@pytest.mark.parametrize("e", [4, 9])
def test_the_exact_ratio_is_e_and_the_contraction_there_is_zero(kind, e):
    protocol = made(kind, epsilon=log_of(e))
    channel = protocol.channel()
    assert max(max(column) / min(column) for column in zip(*channel, strict=True)) == e  # equality
    assert local.epsilon_of(channel) == log_of(e) == protocol.loss.pure()
    assert contraction(channel, Fraction(e)) == 0 < contraction(channel, Fraction(e) - Fraction(1, 10**6))


@EVERY
@pytest.mark.parametrize("epsilon", [1e-9, 650.0, 700.0, 800.0, 4000.0])
def test_a_tiny_and_a_huge_epsilon_have_a_price(kind, epsilon):
    protocol = kind(epsilon=epsilon, bounds=(-1.0, 3.0))
    assert 0.999 * epsilon <= protocol.loss.pure() <= epsilon
    assert 0.0 <= float(protocol.loss.profile(0.5 * epsilon)) <= 1.0
    assert protocol.new_state().add(protocol.privatize([-1.0, 0.0, 3.0])).n == 3


@EVERY
def test_reports_follow_the_channel(kind):
    protocol = made(kind, epsilon=1.5)
    finest = len(protocol.channel()) - 1
    for level in {0, finest // 2, finest}:
        reports = protocol.simulate(-1.0 + 2.0 * level / finest, 4000)
        assert g_test(np.asarray(reports).astype(int), probability_in(protocol.channel()[level])).p_value > 1e-6


def test_a_window_one_cell_too_wide_is_told_from_the_channel():
    """The broken twin: windows as wide, but the price of a narrower one."""
    wide = Window(6, 3, Window(6, 2, Fraction(2, 3)).inside)
    assert wide.odds != Window(6, 2, Fraction(2, 3)).odds
    cut = [row[:-1] for row in (wide.row(0), wide.row(6))]  # a cut end cell: rows no longer sum to one
    assert sum(cut[0]) != sum(cut[1])


@pytest.mark.parametrize(
    ("epsilon", "duchi", "piecewise", "hybrid"),
    [(1.0, 4.682694, 5.223597, 4.288992), (2.0, 1.724062, 1.227565, 1.042336), (4.0, 1.076022, 0.241354, 0.218979)],
)
def test_variances_of_the_papers(epsilon, duchi, piecewise, hybrid):
    fine = 2**23
    assert made(local.Duchi, epsilon=epsilon).variance(0.0) == pytest.approx(duchi, abs=6e-7)
    assert made(local.Piecewise, epsilon=epsilon, cells=fine).variance(1.0) == pytest.approx(piecewise, abs=1e-6)
    for x in (-1.0, 0.0, 0.7):
        assert made(local.Hybrid, epsilon=epsilon, cells=fine).variance(x) == pytest.approx(hybrid, abs=2e-6)


def test_below_its_threshold_the_hybrid_is_one_bit():
    assert made(local.Hybrid, epsilon=0.6).parts[0][0].levels == len(made(local.Hybrid, epsilon=0.6).parts) == 1
    assert len(made(local.Hybrid, epsilon=0.61).parts) == 2
    assert len(made(local.Hybrid, epsilon=60.0).parts) == 1  # hardly anybody would send one bit


@EVERY
def test_estimates_are_unbiased_with_the_variance_that_is_said(kind):
    protocol = made(kind, epsilon=1.5, bounds=(0.0, 10.0), cells=64)
    values = np.tile([0.0, 2.7, 10.0], 100)
    raw = [protocol.estimate(protocol.privatize(values)).value for _ in range(150)]
    variance = sum(protocol.variance(v) for v in (0.0, 2.7, 10.0)) / 3 / len(values)
    assert abs(np.mean(raw) - values.mean()) < 5.0 * math.sqrt(variance / 150)
    assert abs(np.var(raw) / variance - 1.0) < 0.6
    told = protocol.estimate(protocol.privatize(values))
    assert told.variance >= variance * (1.0 - 1e-9)
    assert told.interval[0] < told.value < told.interval[1]


@EVERY
def test_values_are_read_one_by_one_and_none_is_refused(kind):
    protocol = made(kind, bounds=(-1.0, 3.0))
    given = [-7.0, -1.0, 1.0, 3.0, 1e300, math.inf, -math.inf, math.nan, None, "text"]
    places = protocol._prepare(given)
    assert places.tolist() == [0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.0, 0.25, 0.25, 0.25]
    assert protocol._prepare(np.array(given[:8], dtype=float)).tolist() == places[:8].tolist()
    assert len(protocol.privatize(given)) == len(given)
    with pytest.raises(InvalidData):
        protocol.release(np.array(["three"]))


@EVERY
@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_the_ends_of_the_range_show_all_outputs(kind, end):
    protocol = made(kind, epsilon=1.0)
    seen = np.unique(protocol.simulate(end, 4000))
    assert seen.tolist() == protocol.outcomes().tolist()


@EVERY
def test_states_merge_and_are_kept_as_json(kind):
    protocol = made(kind)
    reports = protocol.privatize(np.linspace(-1.0, 1.0, 50))
    whole = protocol.new_state().add(reports)
    one, two = (protocol.new_state().add(part) for part in np.split(reports, [20]))
    assert one.merge(two) == two.merge(one) == whole
    assert local.State.from_json(whole.to_json()) == whole
    assert local.from_json(protocol.to_json()) == protocol
    assert np.array_equal(protocol.decode(protocol.encode(reports)), reports)
    assert protocol.estimate(whole).value == protocol.estimate(reports).value
    foreign = protocol.new_state().add(np.append(reports, 255))
    assert (foreign.n, foreign.dropped) == (50, 1)
    with pytest.raises(InvalidData, match="at least one report"):
        protocol.estimate(protocol.new_state())
    with pytest.raises(InvalidParameter, match="another protocol"):
        made(kind, epsilon=1.0).estimate(whole)


@EVERY
def test_bars_of_few_and_many_reports(kind):
    protocol = made(kind, cells=512)
    assert protocol.error(people=99).radius > protocol.error(people=100).radius
    value = protocol.estimate(protocol.privatize([0.5])).value
    assert abs(value - 0.5) <= protocol.error(people=1).radius


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0.0}, {"epsilon": 5000.0}, {"bounds": (1.0, 1.0)}, {"cells": 1}, {"cells": 2**25}]
)
def test_what_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        local.Piecewise(**{"epsilon": 1.0, "bounds": (0.0, 1.0), **wrong})
