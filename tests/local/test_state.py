"""States from elsewhere: what n reports of the protocol cannot have is refused, and nothing is changed by it."""

import json

import numpy as np
import pytest

from privet import local, noise
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from tests.local.members import KINDS, made

MEANS = [kind(epsilon=1.0, bounds=(-1.0, 3.0)) for kind in (local.Duchi, local.Piecewise, local.Hybrid)]
PROTOCOLS = [*(made(kind) for kind in KINDS.values()), *MEANS]
ALL = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)


def counted(protocol):
    return protocol.new_state().add(protocol.privatize([0, 1, 1, 0], source=noise.Seeded(2)))


def written(protocol, /, **other):
    state = counted(protocol)
    return json.dumps(json.loads(state.to_json()) | other)


@ALL
def test_a_state_comes_back(protocol):
    state = counted(protocol)
    assert local.State.from_json(state.to_json()) == state
    assert local.State.from_json(written(protocol, dropped=7)).dropped == 7
    again = protocol.new_state().add_counts(state.table, state.n, dropped=np.int64(2))
    assert (again.n, again.dropped, again.table.tolist()) == (4, 2, state.table.tolist())


@ALL
@pytest.mark.parametrize(
    "forged",
    [{"n": 0}, {"n": "4"}, {"n": 4.0}, {"n": 4.7}, {"n": True}, {"n": None}, {"n": -1}, {"n": 2**62 + 1}, {"n": 2**70},
     {"dropped": -5}, {"dropped": 2.5}, {"dropped": True}, {"dropped": 2**63}, {"dropped": "0"}, {"privet": True},
     {"privet": 1.0}, {"privet": 2}, {"counts": 4}, {"counts": None}, {"counts": []}, {"counts": {"0": 4}}, {"protocol": 1},
     {"protocol": {}}, {"candidates": [0, 99]}, {"candidates": "a"}, {"candidates": [1.5]}, {"candidates": [[0], [0, 1]]}],
    ids=repr,
)  # fmt: skip
def test_a_forged_state_is_refused(protocol, forged):
    with pytest.raises(SerialisationError):
        local.State.from_json(written(protocol, **forged))


@ALL
def test_forged_counts_are_refused(protocol):
    told = json.loads(written(protocol))["counts"]
    for wrong in (1.5, True, -1, "1", None, 2**62, 2**63, 2**70, [1], 10**6):
        with pytest.raises(SerialisationError):
            local.State.from_json(written(protocol, counts=[wrong, *told[1:]]))
    for counts in ([2**62] * len(told), [*told, 0], told[:-1], [told]):
        with pytest.raises(SerialisationError):
            local.State.from_json(written(protocol, counts=counts))


@ALL
def test_counts_of_other_reports_are_refused_and_change_nothing(protocol):
    state = counted(protocol)
    before, table = state.to_json(), state.table.copy()
    for n, more in ((0, {}), (-1, {}), (4.0, {}), (True, {}), ("4", {}), (4, {"dropped": -5}), (4, {"dropped": 2.5}),
                    (4, {"dropped": True})):  # fmt: skip
        with pytest.raises(InvalidData):
            state.add_counts(table, n, **more)
    with pytest.raises(InvalidParameter, match="2\\^62"):
        state.add_counts(0 * table, 0, dropped=2**62 + 1)
    with pytest.raises(InvalidData):
        state.add_counts([[1], [1, 2]], 1)
    with pytest.raises((InvalidData, InvalidParameter)):
        state.add_counts(np.full(table.shape, 2**63, dtype=np.uint64), 4)
    assert state.to_json() == before


@ALL
def test_the_number_of_reports_is_known_where_each_is_counted_once(protocol):
    state = counted(protocol)
    known = protocol.coding == "value" or protocol in MEANS or protocol.name == "local_rappor"
    if known:
        with pytest.raises(SerialisationError):
            local.State.from_json(written(protocol, n=10**9))
        with pytest.raises(InvalidData, match="cannot be the counts"):
            protocol.new_state().add_counts(state.table, 5)
    else:
        assert local.State.from_json(written(protocol, n=10**9)).n == 10**9


def test_sums_do_not_wrap_before_the_reports_are_too_many():
    protocol = local.Piecewise(epsilon=1.0, bounds=(0.0, 1.0))
    largest = len(protocol.outcomes()) - 1
    n = 2**61 // largest
    state = protocol.new_state().add_counts(np.array([[n, n * largest]]), n)
    twice = state.merge(state)
    with pytest.raises(InvalidParameter, match="2\\^62"):
        twice.merge(state)
    assert twice.table.min() > 0


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, '{"mechanism":"local_rappor","k":4,"epsilon":"1","from_zero":"1/0"}',
     '{"mechanism":"local_rappor","k":4,"epsilon":"1","from_zero":"1e999999999"}', '{"mechanism":["local_krr"]}',
     '{"mechanism":"local_krr","k":4,"epsilon":"1e999"}', '{"mechanism":"local_krr","k":1e999,"epsilon":"1"}',
     '{"mechanism":"local_krr","k":4,"epsilon":"nan"}', '{"mechanism":"local_krr","k":4,"epsilon":"1","x":1}', "7", "null"],
    ids=lambda text: text[:70],
)  # fmt: skip
def test_texts_that_are_no_protocol_are_refused(text):
    with pytest.raises(SerialisationError):
        local.from_json(text)
    with pytest.raises(SerialisationError):
        local.State.from_json(text)
    with pytest.raises(SerialisationError):
        local.State.from_json('{"candidates":null,"counts":[],"dropped":0,"n":0,"privet":1,"protocol":' + text + "}")


def test_a_small_text_makes_no_large_table():
    text = '{"epsilon":"1","k":4,"mechanism":"local_flh","pool":1000000000,"cells":4}'
    with pytest.raises(SerialisationError):
        local.State.from_json('{"candidates":null,"counts":[],"dropped":0,"n":0,"privet":1,"protocol":' + text + "}")
