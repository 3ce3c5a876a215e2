"""Edges, over every registered protocol: what lies there is defined, or refused in one sentence."""

import json
import math
import re

import numpy as np
import pytest

from privet import local, noise
from privet.errors import InvalidData, InvalidParameter, PrivetError
from privet.local.families.population import one_by_one
from privet.mechanisms import registered_mechanisms
from tests.local.members import KINDS, made

EVERY = {name: kind for name, kind in registered_mechanisms().items() if issubclass(kind, local.Protocol)}
MEANS = {name: kind for name, kind in EVERY.items() if issubclass(kind, local.NumberProtocol)}
ALL = pytest.mark.parametrize("kind", EVERY.values(), ids=EVERY)
SHARES = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
LARGE = (local.KRR, local.OLH, local.FLH, local.CountMeanSketch, local.HadamardSketch)  # take 2^32 values


def small(kind, *, epsilon=1.0, k=5):
    return kind(epsilon=epsilon, bounds=(0.0, 4.0)) if kind in MEANS.values() else made(kind, epsilon=epsilon, k=k)


def one_sentence(problem) -> bool:
    said = str(problem.value)
    return 20 < len(said) < 160 and "\n" not in said and not re.search(r"\bNone\b", said)


def told(protocol, values, **how):
    """The estimate of these people, checked: finite, ends in order, and the same by bytes and by JSON."""
    reports = protocol.privatize(values, source=noise.Seeded(5))
    state = protocol.new_state().add(protocol.decode(protocol.encode(reports)))
    assert (state.n, state.dropped) == (len(values), 0)
    found = protocol.estimate(local.State.from_json(state.to_json()), **how)
    low, high = found.interval
    assert np.all(np.isfinite(found.raw))
    assert np.all(np.isfinite(found.variance))
    assert np.all(low <= high)
    return found


def test_every_protocol_is_here():
    assert {*KINDS, *MEANS} == set(EVERY)
    assert len(EVERY) >= 13


@ALL
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-300, 4001.0, 10**400, "1", None, True])
def test_an_epsilon_that_says_nothing_or_everything_is_refused(kind, epsilon):
    with pytest.raises(InvalidParameter, match="epsilon"):
        small(kind, epsilon=epsilon)


@ALL
@pytest.mark.parametrize("epsilon", [1e-50, 1e-17, 50.0, 800.0])
def test_a_tiny_and_a_large_epsilon_are_defined(kind, epsilon):
    protocol = small(kind, epsilon=epsilon)
    assert 0.999 * epsilon <= protocol.loss.pure() <= epsilon
    assert local.from_json(protocol.to_json()) == protocol
    values = [1] * 60
    found = told(protocol, values)
    if epsilon >= 50.0 and kind in MEANS.values():
        assert found.value == pytest.approx(1.0, abs=3 * 4.0 / 60**0.5 if kind is local.Duchi else 0.02)
    elif epsilon >= 50.0 and kind not in (local.CountMeanSketch, local.HadamardSketch, local.HadamardResponse):
        assert np.argmax(found.raw) == 1  # sketches and Hadamard columns keep noise that no epsilon takes away


@SHARES
def test_one_possible_value_is_refused(kind):
    for wrong in ({"k": 1}, {"labels": ("only",)}, {}):
        if wrong or kind is not local.Warner:  # which has two without being told
            with pytest.raises(InvalidParameter):
                kind(epsilon=1.0, **wrong)


@pytest.mark.parametrize("kind", MEANS.values(), ids=MEANS)
def test_bounds_with_nothing_between_are_refused(kind):
    for wrong in ((1.0, 1.0), (2.0, 1.0), (0.0, math.inf), (math.nan, 1.0), None, (0.0,), "01"):
        with pytest.raises(InvalidParameter):
            kind(epsilon=1.0, bounds=wrong)


@SHARES
@pytest.mark.parametrize("k", [2, 3, 6, 7, 8, 15, 16, 17, 63, 64, 65])
def test_every_number_of_values_is_taken(kind, k):
    """Powers of two, one less, one more."""
    if kind is local.RAPPOR:
        protocol = local.RAPPOR(k=k, epsilon=3.0, width=128, cohorts=2)
    else:
        protocol = made(kind, k=k, epsilon=3.0)
    found = told(protocol, list(range(protocol.size)) * 4)
    assert found.raw.shape == (protocol.size,)


@ALL
def test_nothing_was_reported_yet(kind):
    protocol = small(kind)
    empty = protocol.new_state()
    with pytest.raises(InvalidData, match="at least one report") as problem:
        protocol.estimate(empty)
    assert one_sentence(problem)
    nobody = protocol.privatize([])
    assert protocol.rows(nobody).shape == (0, *protocol.report_shape)
    assert protocol.encode(nobody).shape == (0, protocol.report_bytes)
    for road in ([], local.to_arrow(protocol, nobody), local.to_packets(protocol, nobody)):
        assert local.read_packets(protocol.new_state(), road) == empty
    assert empty.merge(protocol.new_state()) == local.State.from_json(empty.to_json()) == empty


@ALL
def test_unlike_states_are_not_merged(kind):
    protocol = small(kind)
    state = protocol.new_state().add(protocol.privatize([0, 1]))
    before = state.to_json()
    others = [small(other) for other in EVERY.values() if other is not kind]
    for other in [*(each.new_state() for each in others), small(kind, epsilon=1.5).new_state(), None, 7, before]:
        with pytest.raises(InvalidParameter, match="only states of one protocol"):
            state.merge(other)
    if kind in KINDS.values():
        with pytest.raises(InvalidParameter, match="only states of one protocol"):
            state.merge(protocol.new_state(candidates=[0, 1]))
    assert state.to_json() == before


@ALL
def test_one_person_alone(kind):
    protocol = small(kind, k=2)
    if kind is local.RAPPOR:
        protocol = local.RAPPOR(k=2, epsilon=1.0, cohorts=1, width=6)  # one cohort: one report tells all values apart
    found = told(protocol, [1])
    assert found.n == 1
    if kind in KINDS.values():
        assert all(np.all((end >= 0.0) & (end <= 1.0)) for end in found.interval)
        told(protocol, [1], simultaneous=True)


@ALL
@pytest.mark.parametrize("value", [0, 1])
def test_all_people_alike(kind, value):
    """Shares 0 and 1: within six standard deviations, what a public pool of hashes adds included; never cut."""
    protocol = small(kind, epsilon=2.0)
    found = told(protocol, [value] * 4000)
    if kind in MEANS.values():
        assert abs(found.value - value) < 6.0 * math.sqrt(protocol.variance(value, n=4000))
        return
    truth = np.eye(protocol.size)[value]
    assert np.all(np.abs(found.raw - truth) < 6.0 * np.sqrt(protocol.squared_error(truth, n=4000)) + 1e-9)


@ALL
def test_values_outside_missing_and_strange_are_somebodys(kind):
    """Each counts as a value of the protocol, alone and in a list, and refuses nobody: unknown, NaN, lists, huge."""
    protocol = small(kind)
    last = 4.0 if kind in MEANS.values() else protocol.size - 1
    first = [-1, -(2**70), -math.inf, math.nan, None, "red", [1], [], (1, 2), [[0]], {"a": 1}, object(), b"1", 1j]
    for strange, like in [
        *((each, 0) for each in first),
        *((each, last) for each in (last + 1, 2**32, 2**70, math.inf)),
    ]:
        if not isinstance(strange, list | tuple | dict) and not (strange == math.inf and kind in KINDS.values()):
            assert protocol._prepare(strange) == protocol._prepare(like)
        given = protocol._prepare([1, strange, 1])
        if not (strange == math.inf and kind in KINDS.values()):
            assert given.tolist() == protocol._prepare([1, like, 1]).tolist()
        assert protocol.new_state().add(protocol.privatize([1, strange])).n == 2


@SHARES
def test_unknown_categories_count_as_the_first(kind):
    names = ("no", "yes") if kind is local.Warner else ("red", "green", "blue")
    protocol = kind(epsilon=1.0, labels=names)
    for strange in ("unknown", "", names[1].upper(), None, math.nan, 1, ["red"], b"red", object()):
        assert protocol._prepare([names[1], strange]).tolist() == [1, 0]
        assert protocol.new_state().add(protocol.privatize([names[1], strange])).n == 2


@SHARES
def test_ids_up_to_2_to_the_32(kind):
    """They are hashed, or refused by the number that is the most; beyond, the last one is meant."""
    if kind not in LARGE:
        with pytest.raises(InvalidParameter, match="at most") as problem:
            kind(k=2**32, epsilon=1.0)
        assert one_sentence(problem)
        return
    protocol = made(kind, k=2**32)
    ids = [0, 2**31, 2**32 - 1, 2**32, 2**63]
    assert protocol._prepare(ids).tolist() == [*ids[:3], 2**32 - 1, 2**32 - 1]
    reports = protocol.privatize(ids)
    assert np.array_equal(protocol.rows(protocol.decode(protocol.encode(reports))), protocol.rows(reports))
    if kind is local.KRR:
        with pytest.raises(InvalidParameter, match=r"2\^28"):
            protocol.estimate(reports)
    else:
        assert protocol.estimate(reports, candidates=[0, 2**32 - 1]).raw.shape == (2,)
        with pytest.raises(InvalidParameter, match="candidates"):
            protocol.estimate(reports)
    with pytest.raises(InvalidParameter, match="at most"):
        made(kind, k=2**32 + 1)


@ALL
def test_a_report_that_comes_twice_counts_twice(kind):
    """Reports carry no sender: who must not vote twice is kept out before the reports arrive."""
    protocol = small(kind)
    report = protocol.privatize([1], source=noise.Seeded(2))
    once, twice = protocol.new_state().add(report), protocol.new_state().add(report).add(report)
    assert twice.n == 2
    assert twice == once.merge(once)
    packet = [bytes(row) for row in local.to_packets(protocol, report)]
    assert local.read_packets(protocol.new_state(), packet * 2) == twice


@SHARES
def test_populations_at_their_ends(kind):
    protocol = small(kind)
    nobody = protocol.simulate_counts(np.zeros(protocol.size, dtype=int))
    assert nobody.n == 0
    alone = protocol.simulate_counts(np.eye(protocol.size, dtype=int)[1])
    assert alone.n == 1
    wrong = [[each] * protocol.size for each in (-1, 0.5, 2**40, 2**62, 2**70, math.nan, True)]
    for counts in [*wrong, [1], None, "ab", [[1], [1, 2]]]:
        with pytest.raises(InvalidParameter, match=r"whole numbers|people"):
            protocol.simulate_counts(counts)


def test_people_who_are_drawn_one_by_one_come_in_pieces(monkeypatch):
    monkeypatch.setattr("privet.local.families.population._PIECE", 7)
    sure = local.KRR(k=4, epsilon=800.0)
    assert one_by_one(sure, [5, 0, 12, 1], None).table.tolist() == [5, 0, 12, 1]
    for kind in (local.FLH, local.HadamardSketch):
        assert made(kind, k=3).simulate_counts([5, 0, 12]).n == 17
        with pytest.raises(InvalidParameter, match=r"2\^32"):
            made(kind, k=3).simulate_counts([2**33, 0, 0])


@ALL
def test_what_an_estimate_does_not_take_is_refused(kind):
    protocol = small(kind)
    state = protocol.new_state().add(protocol.privatize([0, 1, 1, 0] * 5, source=noise.Seeded(2)))
    wrong = [{"conf": 0.9}, {"confidence": 1.0}, {"confidence": None}, {"confidence": math.nan}]
    if kind in KINDS.values():
        wrong += [{"consistency": "NormSub"}, {"consistency": local.NormSub}, {"simultaneous": 1}, {"candidates": [99]}]
    for how in wrong:
        with pytest.raises(PrivetError) as problem:
            protocol.estimate(state, **how)
        assert one_sentence(problem)
    for reports in ([[1, 2], [3]], ["a"], [0.5], [None], None, {"a": 1}, [2**70]):
        with pytest.raises(InvalidData):
            protocol.new_state().add(reports)


@SHARES
def test_a_share_is_a_number_from_0_to_1(kind):
    protocol = small(kind)
    assert protocol.variance([0.0, 1.0]).shape == (2,)
    for wrong in (-0.1, 1.1, math.nan, "x", None, [0.5, 2.0], ["x"], [None], [[0.5], [0.1, 0.2]]):
        with pytest.raises(InvalidParameter, match="share"):
            protocol.variance(wrong)
    for wrong in (None, "x", [None] * protocol.size, [[0.5], [0.1, 0.2]]):
        with pytest.raises(InvalidParameter, match="numbers"):
            protocol.squared_error(wrong, n=5)


@ALL
def test_what_is_too_large_to_list_or_to_count_is_said(kind):
    """No bare MemoryError: a channel of 2^22 entries, a state of 2^28 counts."""
    if kind in MEANS.values():
        large = kind(epsilon=1.0, bounds=(0.0, 1.0), **({} if kind is local.Duchi else {"cells": 2**20}))
    else:
        large = kind(epsilon=1.0, **({} if kind is local.Warner else {"k": 2**12}))
    if kind in (local.Warner, local.Duchi):
        assert len(large.channel()) == 2
    elif kind is local.OLH:
        assert len(large.channel()) == 2**12
    else:
        with pytest.raises(InvalidParameter, match="not listed") as problem:
            large.channel()
        assert one_sentence(problem)


def test_what_is_no_protocol_is_refused():
    for wrong in (7, None, "krr", local.KRR):
        for ask in (
            local.State, local.header_of, lambda given: local.required_n(given, radius=0.1), local.Memo,
            lambda given: local.AllQuestions({"a": given}),
        ):  # fmt: skip
            with pytest.raises(InvalidParameter):
                ask(wrong)
    with pytest.raises(InvalidParameter, match="shares"):
        local.required_n(local.Duchi(epsilon=1.0, bounds=(0, 1)), radius=0.1)
    for channel in ("ab", 7, None, [None], [["a"]], [[0.5, 0.6]], [[math.nan]]):
        for ask in (local.epsilon_of, lambda given: local.delta_of(given, 1.0)):
            with pytest.raises(InvalidParameter):
                ask(channel)
    with pytest.raises(InvalidParameter, match=r"2\^26"):
        local.FLH(k=5, epsilon=1.0, pool=10**9)
    assert local.best(k=2, epsilon=1e-50).epsilon == 1e-50
    assert json.loads(local.OLH(k=5, epsilon=1e-50).to_json())["cells"] == 2
