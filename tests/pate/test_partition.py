"""The part of a person: by the own id alone, whatever the ids of others are."""

import enum
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from privet import pate
from privet.errors import InvalidData

KEY = b"a public key"


def test_a_part_depends_on_the_own_id_alone():
    partition = pate.KeyedPartition(7, KEY)
    ids = np.arange(500)
    parts = partition.assign(ids)
    assert parts.min() >= 0
    assert parts.max() < 7
    assert np.bincount(parts, minlength=7).min() > 40
    shuffled = np.random.default_rng(0).permutation(500)
    assert np.array_equal(partition.assign(ids[shuffled]), parts[shuffled])
    assert np.array_equal(partition.assign(ids[:-1]), parts[:-1])
    assert np.array_equal(partition.assign(ids.astype(np.int32)), parts)
    assert not np.array_equal(pate.KeyedPartition(7, b"other").assign(ids), parts)
    assert partition.assign([]).tolist() == []


@pytest.mark.parametrize(
    "ids", [np.ones(2, bool), np.ones((2, 1), int), np.zeros(1, "M8[D]"), "ab", b"ab", {"a": 1}, 3, None]
)
def test_ids_are_whole_numbers_or_texts(ids):
    with pytest.raises(InvalidData, match="whole numbers or texts"):
        pate.KeyedPartition(3, KEY).assign(ids)


class Ward(enum.StrEnum):
    """A text of another class."""

    A = "a"


@pytest.mark.parametrize(
    "other", ["x", b"x", None, float("nan"), 2.5, True, 2**64, -1, Ward.A, ("a",), [1], object(), np.float32(4.0)]
)
@pytest.mark.parametrize("ids", [list(range(30)), [*"abcdef"], [b"a", b"a\0"], [2**63, -(2**63)]])
def test_one_id_does_not_change_how_others_are_read(ids, other):
    partition = pate.KeyedPartition(50, KEY)
    alone = partition.assign(ids)
    assert partition.assign([*ids, other])[:-1].tolist() == alone.tolist()
    held = np.empty(len(ids) + 1, dtype=object)
    held[:-1], held[-1] = ids, other
    assert partition.assign(held)[:-1].tolist() == alone.tolist()
    assert min(alone) >= 0


def test_whole_numbers_are_the_same_persons_in_a_column_with_gaps():
    partition = pate.KeyedPartition(50, KEY)
    whole = partition.assign(np.arange(20))
    assert partition.assign([*map(float, range(20)), None])[:-1].tolist() == whole.tolist()
    assert partition.assign(np.array([*range(20), np.nan])).tolist() == [*whole, -1]
    assert partition.assign(pd.Series([*range(20), None])).tolist() == [*whole, -1]
    assert partition.assign(pd.Series([*range(20), None], dtype="Int64")).tolist() == [*whole, -1]
    assert partition.assign(pd.Series(["a", "b"], dtype="category")).tolist() == partition.assign(["a", "b"]).tolist()


def test_columns_of_all_libraries_hold_the_same_persons():
    partition = pate.KeyedPartition(50, KEY)
    wanted = partition.assign([1, 2, None]).tolist()
    assert wanted[0] >= 0
    for library, make in (("pyarrow", "array"), ("polars", "Series")):
        assert partition.assign(getattr(pytest.importorskip(library), make)([1, 2, None])).tolist() == wanted
    with pytest.raises(InvalidData, match="whole numbers or texts"):
        partition.assign({1, 2})  # in no order


def test_a_huge_id_is_a_person_like_others():
    """Python writes no number of so many digits."""
    partition = pate.KeyedPartition(50, KEY)
    assert partition.assign([*range(9), 10**5_000])[:-1].tolist() == partition.assign(range(9)).tolist()
    parts = {int(partition.assign([sign * 10**5_000 + i])[0]) for i in range(40) for sign in (1, -1)}
    assert len(parts) > 20
    assert min(parts) >= 0
    assert partition.assign(pd.Series([1, 2, 1j])).tolist() == [*partition.assign([1, 2]), -1]


def test_equal_numbers_are_one_person_whatever_their_type():
    partition = pate.KeyedPartition(1000, KEY)
    wanted = partition.assign([1, 2, 3]).tolist()
    for kind in (Decimal, Fraction, float, np.longdouble, np.float32):
        assert partition.assign([kind(each) for each in (1, 2, 3)]).tolist() == wanted
    assert partition.assign([Decimal("1.00"), Decimal("2"), Decimal("0.3E+1")]).tolist() == wanted
    assert partition.assign(pd.Series([Decimal(1), 2.0, Fraction(3)], dtype=object)).tolist() == wanted
    assert partition.assign([Decimal("0E+999999999")]).tolist() == partition.assign([0]).tolist()
    assert partition.assign([Decimal("1E+400")]).tolist() == partition.assign([10**400]).tolist()
    nobody = [
        Decimal("1.5"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("1E+999999999"),
        Fraction(1, 3),
    ]
    assert partition.assign([*nobody, 1]).tolist() == [-1] * len(nobody) + wanted[:1]
    for library, make in (("pyarrow", "array"), ("polars", "Series")):
        held = getattr(pytest.importorskip(library), make)([Decimal("1.00"), Decimal("2.00"), Decimal("3.00")])
        assert partition.assign(held).tolist() == wanted


def test_identifiers_are_persons():
    partition = pate.KeyedPartition(1000, KEY)
    held = [UUID(int=i) for i in range(200)]
    parts = partition.assign(held)
    assert parts.min() >= 0
    assert len(set(parts.tolist())) > 150
    assert np.array_equal(partition.assign(pd.Series([UUID(str(each)) for each in held])), parts)
    assert partition.assign([*held, "x", 3])[:-2].tolist() == parts.tolist()
    assert (
        partition.assign([str(each) for each in held]).tolist() != parts.tolist()
    )  # as 17 and "17", which are not equal
