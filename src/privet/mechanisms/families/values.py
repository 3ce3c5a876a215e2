"""An exact value, as a mechanism that adds noise takes it: one number, a list of numbers, or an array of one dtype.

A number is the rational that it is, whatever its type. A list is read element by element, an array by its dtype: which
path is taken, and how long it takes, follows from the container and never from a value. What is missing or no number
counts as 0; infinity is a very large number here, and `noise.steps` saturates it at the end of the grid.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array, exact_ratio
from privet.errors import InvalidData
from privet.mechanisms.families.columns import admit_column, is_number, is_typed, read_column

_ZERO = (0, 1)
_SCALAR: tuple[int, ...] = ()
_RAGGED = "a list of lists must have rows of one length: pass an array, or a list of numbers"


@final
@dataclass(frozen=True)
class Numbers:
    """Exact numbers and the shape they were given in: ratios of integers, or an array whose dtype is that of the input
    (one of the two is None). Equal numbers are equal whichever way they are held.

    >>> Numbers(((1, 4),), None, ()) == read_value(0.25) == read_value(Fraction(1, 4))
    True
    """

    ratios: tuple[tuple[int, int], ...] | None
    array: Array | None
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of numbers."""
        return math.prod(self.shape)

    def fractions(self) -> list[Fraction]:
        """The numbers themselves, in one list."""
        if self.ratios is not None:
            return [Fraction(*ratio) for ratio in self.ratios]
        assert self.array is not None
        return [Fraction(*(exact_ratio(item) or _ZERO)) for item in self.array.reshape(-1).tolist()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and self.shape == other.shape and self.fractions() == other.fractions()

    __hash__ = None  # type: ignore[assignment]


def admit_value(value: Any) -> None:
    """Refuse what is neither a number nor a container of numbers, by type, dtype and shape alone.

    >>> admit_value([1, 2.5]), admit_value(3)
    (None, None)
    """
    if is_number(value):
        return
    admit_column(value, labels=False)
    if not is_typed(value) and isinstance(value, list | tuple):
        _shape(value)


def read_value(value: Any) -> Numbers:
    """The numbers in a value that `admit_value` let pass.

    >>> read_value([[1, 2**60 + 1], [None, 0.5]]).ratios == ((1, 1), (2**60 + 1, 1), (0, 1), (1, 2))
    True
    """
    if is_number(value):
        return Numbers((exact_ratio(value) or _ZERO,), None, _SCALAR)
    if is_typed(value):
        array, absent = read_column(value)
        if array.dtype.itemsize <= 8:  # wider floats are read one by one: arrays are worked on in doubles
            if absent is not None:
                array = np.where(absent, array.dtype.type(0), array)
            return Numbers(None, array, array.shape)
        shape = array.shape
        items: Iterable[Any] = np.where(absent, 0, array).flat if absent is not None else array.flat
    else:
        value = value if isinstance(value, list | tuple) else list(value)
        shape = _shape(value)
        items = value
        for _ in shape[1:]:
            items = [item for row in items for item in row]
    return Numbers(tuple(exact_ratio(item) or _ZERO for item in items), None, shape)


def size_of(value: Any) -> int | None:
    """The number of numbers that a value holds, from its container alone; None where it must be read to know.

    >>> size_of(3), size_of([1, 2]), size_of(iter([1])) is None
    (1, 2, True)
    """
    if is_number(value):
        return 1
    if isinstance(value, list | tuple):
        return int(np.prod(_shape(value), dtype=np.int64))
    size = getattr(value, "size", None)
    if isinstance(size, int):
        return size
    return len(value) if hasattr(value, "__len__") else None


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of a list, of lists of one length, and so on: that of the answer, which is public."""
    if not value or not isinstance(value[0], list | tuple):
        return (len(value),)
    inner = {_shape(row) if isinstance(row, list | tuple) else () for row in value}
    if len(inner) > 1:
        raise InvalidData(_RAGGED)
    return len(value), *inner.pop()
