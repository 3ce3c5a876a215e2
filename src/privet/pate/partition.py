"""Who is in which part: a keyed hash of each person's own id, and of nothing else."""

import hashlib
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Rational
from typing import Any, final
from uuid import UUID

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidData, InvalidParameter
from privet.pate.one_by_one import listed

NOBODY = -1  # the part of a row without an id
_MOST_PARTS = 10_000_000  # more teachers than anybody trains: they would end by filling the memory
_LONG = 2**1024  # beyond all doubles, and below the 4,300 digits from which on Python refuses decimals
_MOST_PLACES = 10_000  # of a Decimal that is read as a whole number: 1E+999999999 would fill the memory
_IDS = "ids are whole numbers or texts, one for each row"


@door
@final
@dataclass(frozen=True)
class KeyedPartition:
    """The part of each person, from 0 to `parts` - 1, by a keyed hash of the id: fixed for life, whoever else is there.

    A row that is added or removed changes one part and no other. All rows of a person lie in one part. Parts may be empty.
    What is no id (None, NaN, a fraction, a date) belongs to nobody, and is in no part: -1. Each id is read by itself, so
    that one of another kind does not change how the others are read. Numbers that are equal are one person, whatever their
    type (17, 17.0, `Decimal(17)`); 17 and "17" are two, and so are a `uuid.UUID` and its text. Where a data frame holds
    ids as floats because one is missing, those beyond 2^53 have lost digits before they come here: make them texts, or
    take a type with gaps (`Int64`).
    The key need not be secret; another key is another partition.

    >>> KeyedPartition(4, b"a public key").assign([17, 18, 17.0, None]).tolist()
    [0, 1, 0, -1]
    """

    parts: int
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if count("parts", self.parts, 1) > _MOST_PARTS:
            raise InvalidParameter(f"parts must be at most {_MOST_PARTS:,}: each is a teacher, empty or not")
        if not isinstance(self.key, bytes) or not 1 <= len(self.key) <= 64:
            raise InvalidParameter("key must be 1 to 64 bytes")

    def assign(self, ids: Any) -> Array:
        """The part of each id; -1 for what is none."""
        names = [_named(each) for each in _ids(ids)]
        known = {name: self._part(name) for name in set(names)}
        return np.array([known[name] for name in names], dtype=np.int64)

    def _part(self, name: tuple[bytes, bytes] | None) -> int:
        if name is None:
            return NOBODY
        digest = hashlib.blake2b(name[1], key=self.key, person=name[0], digest_size=16).digest()
        return int.from_bytes(digest, "big") % self.parts  # 128 bits: no part is larger by more than 2^-100


def _ids(ids: Any) -> list[Any]:
    """The ids one by one, as they came: an array of all would turn numbers into texts where one of them is a text."""
    if isinstance(ids, np.ndarray) and ids.size and ids.dtype.kind not in "iufUSO":
        raise InvalidData(_IDS)
    return listed(ids, _IDS)


def _named(value: object) -> tuple[bytes, bytes] | None:
    """The kind and the bytes of an id; None where it is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return b"bytes", bytes(value)
    if isinstance(value, str):
        return b"text", str.__str__(value).encode("utf-8", "surrogatepass")
    if isinstance(value, UUID):
        return b"uuid", value.bytes
    whole = _whole(value)
    if whole is None:
        return None
    digits = b"%d" if abs(whole) < _LONG else b"%x"  # Python writes no number of many thousands of digits
    return b"int", digits % whole


def _whole(value: object) -> int | None:
    """The whole number that a number of any type is, or None. Columns with gaps hold whole numbers as floats, and with
    one complex number all of them as such; those of databases hold Decimals."""
    if isinstance(value, complex) and value.imag == 0.0:
        value = value.real
    if isinstance(value, Decimal) and value.is_finite() and (not value or value.adjusted() <= _MOST_PLACES):
        return int(value) if value == value.to_integral_value() else None
    if isinstance(value, float | np.floating) and value.is_integer():
        return int(value)
    if isinstance(value, bool):
        return None
    return int(value.numerator) if isinstance(value, Rational) and value.denominator == 1 else None
