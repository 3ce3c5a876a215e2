"""The numbers by which the array engine puts the groups of a person in order: what `Emitter` writes as SQL."""

import hashlib
from datetime import date
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.tables.columns import EPOCH
from privet.tables.mix import FOLD, LIMIT, MISSING, P, fifth_power


def priority(ids: Array, keys: Array, salts: tuple[int, ...]) -> Array:
    """The priority of each (person, key) pair, both given as numbers below 2^60.

    >>> salts = (12345, 67890, 13579, 24680, 11111)
    >>> priority(np.array([0, 1, 0, 123456789012]), np.array([0, 0, 1, 42]), salts).tolist()
    [412679524, 1832205603, 305673327, 2062259226]
    """
    h = np.full(len(ids), salts[0] % P, dtype=np.int64)
    for limb, salt in zip((ids % P, ids // P % P, keys % P, np.zeros_like(keys)), salts[1:], strict=True):
        h = fifth_power((h + limb + salt) % P)
    return h


def number_of(value: Any) -> int:
    """A value as a number below 2^60: a whole number there is itself, a day counts from 1970, and anything else is 60
    bits of the MD5 of its text.

    >>> number_of(7), number_of("abc"), number_of(None) == MISSING
    (7, 648541476951500027, True)
    """
    if value is None:
        return MISSING
    if isinstance(value, date):
        value = value.toordinal() - EPOCH
    if not isinstance(value, str) and 0 <= value < LIMIT:
        return int(value)
    text = value if isinstance(value, str) else str(int(value))
    return int(hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:15], 16)


def folded(numbers: list[Array], size: int) -> Array:
    """The numbers of several key columns as one.

    >>> folded([np.array([7])], 1).tolist(), folded([], 1).tolist()
    ([7], [0])
    """
    if not numbers:
        return np.zeros(size, dtype=np.int64)
    total = numbers[0]
    for each in numbers[1:]:
        total = (total % P * FOLD + each % P) % P
    return total
