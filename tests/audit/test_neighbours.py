"""Families of neighbours: every pair is one unit apart, and the unlucky pairs are among them."""

from collections import Counter

import numpy as np
import pytest

from privet import audit, privacy
from privet.audit.neighbours import pairs_for
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import Unit

ADD, REPLACE = Unit(), Unit("replace")


def apart(left, right) -> tuple[int, int]:
    a, b = (Counter(map(repr, side)) for side in (left, right))
    return (a - b).total(), (b - a).total()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_tables_differ_by_one_unit_whatever_the_group(size):
    for left, right in pairs_for(audit.Tables([0, 1], rows=3), Unit(group_size=size)):
        assert apart(left, right) == (0, size)
    for left, right in pairs_for(audit.Tables([0, 1], rows=3), Unit("replace", size)):
        assert len(left) == len(right)
        assert 1 <= apart(left, right)[0] == apart(left, right)[1] <= size


def test_a_change_happens_in_every_place_and_in_every_order():
    pairs = list(audit.Tables([0, 1], rows=3).pairs("add_remove"))
    assert ([0, 1], [0, 0, 1]) in pairs
    assert ([0, 0], [1, 0, 0]) in pairs
    assert ([0, 0], [0, 1, 0]) in pairs
    assert ([], [0]) in pairs
    assert ([1, 1], [1, 1, 1]) in pairs
    orders = list(audit.Tables(list(range(4)), rows=4).pairs("add_remove"))
    assert any(list(right[: len(left)]) != left and sorted(right[: len(left)]) == left for left, right in orders)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("size", [1, 2])
def test_people_come_and_go_with_all_their_rows(relation, size):
    sizes = set()
    for left, right in audit.Persons([0, 1], most=3).pairs(relation, group_size=size):
        gone, come = (Counter(name for name, _ in side) for side in (left, right))
        changed = {name for name in gone | come if name.startswith("p")}
        assert len(changed) == size
        assert sorted(row for row in left if row[0] not in changed) == sorted(
            row for row in right if row[0] not in changed
        )
        sizes |= {come[name] for name in changed}
        assert max(come.values()) <= 3
    assert {1, 3} <= sizes
    assert next(audit.Persons([{"a": 1}], most=1).pairs("add_remove"))[1] == [{"person": "p1", "a": 1}]


def test_numbers_stand_where_types_end():
    pairs = list(audit.Numbers(1.0).pairs("add_remove"))
    for edge in (127.0, 255.0, 32_767.0, 2.0**31 - 1.0):
        assert (edge, edge + 1.0) in pairs
    assert (2.0**53, 2.0**53 - 1.0) in pairs
    assert all(0.0 < abs(right - left) <= 1.0 for left, right in pairs)
    whole = list(audit.Numbers(1, whole=True).pairs("add_remove"))
    assert (2**53, 2**53 + 1) in whole
    assert (2**63 - 1, 2**63) in whole
    assert all(isinstance(side, int) and abs(right - left) == 1 for left, right in whole for side in (left, right))
    assert all(abs(right - left) == 3 for left, right in audit.Numbers(1, whole=True).pairs("add_remove", group_size=3))
    with pytest.raises(InvalidParameter):
        next(audit.Numbers(0.5, whole=True).pairs("add_remove"))


@pytest.mark.parametrize("norm", ["each", "l1", "l2"])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_vectors_move_by_the_sensitivity_and_no_further(norm, length):
    distance = {"each": lambda d: np.abs(d).max(), "l1": lambda d: np.abs(d).sum(), "l2": np.linalg.norm}[norm]
    pairs = list(audit.Vectors(length, sensitivity=2.0, norm=norm).pairs("add_remove"))
    assert pairs
    for left, right in pairs:
        assert 1.99 < distance(np.subtract(right, left)) <= 2.0


def test_the_patterns_are_those_of_the_literature():
    moves = {tuple(np.sign(np.subtract(right, left))) for left, right in audit.Vectors(4).pairs("add_remove")}
    named = [
        (1, 0, 0, 0),
        (-1, 0, 0, 0),
        (1, -1, -1, -1),
        (-1, 1, 1, 1),
        (1, 1, -1, -1),
        (1, 1, 1, 1),
        (-1, -1, -1, -1),
    ]
    assert moves >= set(named)
    monotone = {
        tuple(np.sign(np.subtract(right, left))) for left, right in audit.Vectors(4, monotone=True).pairs("add_remove")
    }
    assert all(not {1, -1} <= set(move) for move in monotone)
    assert (1, 1, 1, 1) in monotone


SCHEMA = {"age": (0, 110), "weight": (0.5, 200.0), "ward": ["a", "b", "c"]}


def rows_of(frame) -> list[str]:
    return [repr(row) for row in zip(*frame.values(), strict=True)] if frame else []


@pytest.mark.parametrize("unit", [ADD, REPLACE, Unit(group_size=2), Unit(person="who"), Unit("replace", person="who")])
def test_frames_fit_the_schema_and_differ_by_the_unit(unit):
    pairs = list(pairs_for(audit.Frames(SCHEMA, unit=unit, most=2), unit))
    assert len(pairs) > 20
    per_unit = unit.group_size * (2 if unit.person else 1)
    assert any(not rows_of(left) for left, _ in pairs) or unit.relation == "replace"
    for left, right in pairs:
        alone = apart(rows_of(left), rows_of(right))
        assert alone == ((0, per_unit) if unit.relation == "add_remove" else (per_unit, per_unit))
        assert all(0 <= age <= 110 and isinstance(age, int) for age in right["age"])
        assert set(right["ward"]) <= {"a", "b", "c"}
    ages = {age for _, right in pairs for age in right["age"]}
    assert {0, 110} <= ages


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_of_other_libraries(kind):
    library = pytest.importorskip(kind)
    left, right = next(audit.Frames(SCHEMA, kind=kind).pairs("add_remove"))
    assert isinstance(left, library.DataFrame)
    assert (len(left), len(right)) == (0, 1)
    assert list(right.columns) == list(SCHEMA)


def test_frames_of_another_unit_are_refused():
    with pytest.raises(MixedUnits):
        next(audit.Frames(SCHEMA, unit=REPLACE).pairs("add_remove"))
    for schema in ({}, {"a": "text"}, {"a": [1]}, {"a": (3, 3)}):
        with pytest.raises(InvalidParameter):
            next(audit.Frames(schema).pairs("add_remove"))


# --- pairs by hand --------------------------------------------------------------------------------------------------


def listed(pair, unit):
    return list(pairs_for(audit.Pairs([pair]), unit))


@pytest.mark.parametrize(
    ("pair", "unit"),
    [
        (([1, 2], [1, 2, 3]), REPLACE),  # a record more, under replace
        (([1, 2], [1, 2, 3, 4]), ADD),  # two records more
        ((["a", "b"], ["a", "c"]), ADD),  # exchanged, under add/remove
        ((["a", "b"], ["c", "d"]), REPLACE),  # two exchanged
        (([1, 2, 3], [4, 5]), ADD),
        ((np.array([[1, 2]]), np.array([[1, 2], [3, 4], [5, 6]])), ADD),
    ],
)
def test_tables_that_are_no_neighbours_are_refused(pair, unit):
    with pytest.raises(MixedUnits, match="not what the claim speaks about"):
        listed(pair, unit)
    assert list(pairs_for(audit.Pairs([pair], checked=False), unit)) == [pair]
    assert list(pairs_for(audit.Pairs([pair]), Unit(unit.relation, 3, "who")))  # the rows of people: not for us to say


@pytest.mark.parametrize(
    ("pair", "unit"),
    [
        (([1, 2], [1, 2, 3]), ADD),
        (([1, 2], [1, 2, 3, 4]), Unit(group_size=2)),
        ((["a", "b"], ["a", "c"]), REPLACE),
        (((0.0, 0.0), (1.0, 1.0)), ADD),  # answers
        (({"a": 1}, {"a": 2}), ADD),
        ((0, 1), REPLACE),
    ],
)
def test_neighbours_pass(pair, unit):
    assert len(listed(pair, unit)) == 1


def test_a_family_that_knows_no_groups_says_so():
    class Old(audit.Neighbours):
        def pairs(self, relation):
            yield 0, 1

    assert list(pairs_for(Old(), ADD)) == [(0, 1)]
    with pytest.raises(MixedUnits, match="single records"):
        pairs_for(Old(), Unit(group_size=2))
    with pytest.raises(MixedUnits):
        audit.mechanism(lambda rows: 0, claim=privacy.PureLoss(1.0), neighbours=[([1], [1, 2, 3])], runs=10)
