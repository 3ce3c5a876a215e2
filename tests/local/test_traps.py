"""The traps of the handbook's page that concern frequencies: each was a fault of somebody's code."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import local
from privet.errors import InvalidData, InvalidParameter
from privet.local.families.hashes import hashed, pool
from privet.local.families.intervals import tail_of
from privet.local.families.words import bit_sums, unpacked
from privet.mechanisms.families.odds import chance_for
from tests.local.members import KINDS, made


def test_trap_1_a_lie_is_one_of_the_others_and_extreme_epsilons_work():
    krr = local.KRR(k=2, epsilon=1.3)
    warner = local.Warner(epsilon=1.3)
    assert (krr.own, krr.other) == (warner.own, warner.other)
    sure = local.KRR(k=5, epsilon=800.0)
    assert sure.privatize(np.full(1000, 3)).tolist() == [3] * 1000
    assert sure.loss.pure() <= 800.0
    tiny = local.KRR(k=5, epsilon=1e-9)
    lies = np.bincount(tiny.privatize(np.full(50_000, 3)), minlength=5) / 50_000
    assert np.abs(lies - 0.2).max() < 0.012
    for k, epsilon in ((1, 1.0), (5, 0.0)):
        with pytest.raises(InvalidParameter):
            local.KRR(k=k, epsilon=epsilon)


@pytest.mark.parametrize("symmetric", [False, True])
def test_trap_2_unary_bits_flip_both_ways_and_end_at_k(symmetric):
    protocol = local.UnaryEncoding(k=70, epsilon=1.0, symmetric=symmetric)
    reports = protocol.privatize(np.full(20_000, 69))
    bits = unpacked(reports, 128)
    assert bits[:, 70:].sum() == 0
    rates = bits.mean(axis=0)[:70]
    assert abs(rates[69] - float(protocol.own)) < 0.02  # ones become zeros
    assert np.abs(rates[:69] - float(protocol.other)).max() < 0.02  # zeros become ones
    beyond = reports.copy()
    beyond[:, 1] |= np.uint64(1 << 6)
    assert protocol.new_state().add(beyond).dropped == 20_000


@pytest.mark.parametrize("epsilon", np.linspace(0.05, 6.0, 60).tolist())
def test_trap_3_fractions_are_rounded_to_the_private_side(epsilon):
    from mpmath import mp, mpf

    with mp.workdps(60):
        for others in (1, 7, Fraction(902, 122)):
            p = chance_for(epsilon, others)
            odds = p / (1 - p) * others
            assert mpf(odds.numerator) / odds.denominator <= mp.exp(mpf(epsilon))
    for kind in KINDS.values():
        assert made(kind, epsilon=epsilon).loss.pure() <= epsilon


def test_trap_4_hashes_collide_as_seldom_as_they_should():
    a, b = pool(11, 60_000)
    for values in ([1, 3], [0, 5], [2, 4], [1000, 2000], [2**31, 2**32 - 1]):
        left, right = (hashed(np.uint64(x), a, b, 8) for x in values)
        assert abs(np.mean(left == right) * 8 - 1.0) < 0.06
    without = [hashed(np.uint64(x), a, np.uint64(0), 8) for x in (1, 3)]
    assert np.mean(without[0] == without[1]) * 8 > 1.2  # the twin without b: seen
    assert set(hashed(np.uint64(0), a, np.uint64(0), 8).tolist()) == {0}


def test_trap_4_absent_items_stay_absent_under_optimised_local_hashing():
    protocol = local.OLH(k=8, epsilon=2.0)
    raw = protocol.estimate(protocol.privatize(np.full(60_000, 1))).raw
    sd = math.sqrt(protocol.variance(0.0, n=60_000))
    assert np.abs(np.delete(raw, 1)).max() < 5.0 * sd
    assert abs(raw[1] - 1.0) < 5.0 * math.sqrt(protocol.variance(1.0, n=60_000))


@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 15, 16])
def test_trap_5_hadamard_leaves_row_0_out_whatever_k(k):
    protocol = local.HadamardResponse(k=k, epsilon=1.0)
    assert protocol.order > k
    assert protocol.order & (protocol.order - 1) == 0
    half = Fraction(1, 2)
    for row in protocol.channel():
        assert len(set(row)) == 2
        assert sum(mass for mass in row if mass == max(row)) == protocol.own
        assert row.count(max(row)) == protocol.order * half
    told = protocol.estimate(protocol.simulate_counts(np.bincount([k - 1], minlength=k) * 40_000))
    assert abs(told.raw[k - 1] - 1.0) < 0.06
    assert np.abs(told.raw[: k - 1]).max() < 0.08


def test_trap_5_subsets_have_at_least_one_value_and_never_all():
    assert local.SubsetSelection(k=3, epsilon=10.0).chosen == 1
    assert local.SubsetSelection(k=2, epsilon=0.1).chosen == 1
    for wrong in (0, 3, 4):
        with pytest.raises(InvalidParameter):
            local.SubsetSelection(k=3, epsilon=1.0, chosen=wrong)
    protocol = local.SubsetSelection(k=9, epsilon=0.5, chosen=8)
    assert np.all(np.bitwise_count(protocol.privatize(np.arange(9)))[:, 0] == 8)


def test_trap_6_sums_of_bits_are_exact_over_block_borders():
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 3, 2047, 2048, 2049, 5000):
        words = rng.integers(0, 2**63, (n, 2), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        assert np.array_equal(bit_sums(words, 100), unpacked(words, 100).sum(axis=0))


def test_trap_6_counts_do_not_wrap():
    protocol = local.KRR(k=2, epsilon=1.0)
    state = protocol.new_state().add_counts(np.array([2**61, 2**61]), 2**62)
    with pytest.raises(InvalidParameter, match="2\\^62"):
        state.merge(protocol.new_state().add([0]))
    with pytest.raises(InvalidParameter, match="2\\^62"):
        state.add([0])


def test_trap_7_what_is_cut_off_is_refused_in_constant_words():
    protocol = local.OLH(k=5, epsilon=1.0)
    payload = protocol.encode(protocol.privatize([1, 2])).tobytes()
    said = set()
    for wrong in (payload[:-1], payload + b"x", payload[:3]):
        with pytest.raises(InvalidData) as caught:
            protocol.decode(wrong)
        said.add(str(caught.value))
    assert len(said) == 1


def test_trap_9_simultaneous_intervals_count_all_values():
    protocol = local.KRR(k=40, epsilon=2.0)
    state = protocol.simulate_counts(np.full(40, 5000))
    one = protocol.estimate(state).interval
    many = protocol.estimate(state, simultaneous=True).interval
    ratio = (many[1] - many[0]).mean() / (one[1] - one[0]).mean()
    from scipy.stats import norm

    assert ratio == pytest.approx(norm.isf(tail_of(0.95, among=40) / 2) / norm.isf(0.025), rel=0.05)


def test_trap_15_a_poisoned_batch_changes_nothing_but_the_count_of_dropped_reports():
    protocol = local.FLH(k=100, epsilon=1.0, pool=10)
    good = protocol.privatize(np.arange(100)).astype(np.int64)
    state = protocol.new_state().add(np.concatenate([good, [-1, 10 * protocol.cells, 2**40]]))
    assert (state.n, state.dropped) == (100, 3)
    assert np.array_equal(state.table, protocol.new_state().add(good).table)


def test_ids_up_to_2_to_the_32_are_hashed():
    protocol = local.OLH(k=2**32, epsilon=2.0)
    ids = np.full(20_000, 2**32 - 1)
    told = protocol.estimate(protocol.privatize(ids), candidates=[2**32 - 1, 2**31, 0])
    assert abs(told.raw[0] - 1.0) < 0.08
    assert np.abs(told.raw[1:]).max() < 0.06
    with pytest.raises(InvalidParameter):
        local.OLH(k=2**32 + 1, epsilon=2.0)
    with pytest.raises(InvalidParameter, match="candidates"):
        protocol.new_state()
