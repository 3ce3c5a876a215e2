"""An exact value, as a mechanism that adds noise takes it: one number, a list of numbers, or an array of one dtype.

A number is the rational that it is, whatever its type. A list is read element by element, an array by its dtype: which
path is taken, and how long it takes, follows from the container and never from a value. What is missing or no number
counts as 0; infinity is a very large number here, and `noise.steps` saturates it at the end of the grid.

A long list is read as doubles, with a ratio apart for each number that is none; what draws from it draws for one ratio at
least, so that the clock does not tell whether there was one.
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
_QUICK = 64  # lists of fewer numbers are read as ratios: to draw once more for what is apart would take longer
_WHOLE = 2**53  # integers up to here are doubles
_RAGGED = "a list of lists must have rows of one length: pass an array, or a list of numbers"


@final
@dataclass(frozen=True)
class Numbers:
    """Exact numbers and the shape they were given in: ratios of integers, or an array whose dtype is that of the input
    (one of the two is None). Equal numbers are equal whichever way they are held.

    `apart` has the numbers of a long list that are no doubles, by their places; the array has 0 there. None says that
    the array holds all numbers by its dtype.

    >>> Numbers(((1, 4),), None, ()) == read_value(0.25) == read_value(Fraction(1, 4))
    True
    """

    ratios: tuple[tuple[int, int], ...] | None
    array: Array | None
    shape: tuple[int, ...]
    apart: dict[int, tuple[int, int]] | None = None

    @property
    def size(self) -> int:
        """The number of numbers."""
        return math.prod(self.shape)

    def fractions(self) -> list[Fraction]:
        """The numbers themselves, in one list."""
        if self.ratios is not None:
            return [Fraction(*ratio) for ratio in self.ratios]
        assert self.array is not None
        apart, items = self.apart or {}, enumerate(self.array.reshape(-1).tolist())
        return [Fraction(*(apart.get(place) or exact_ratio(item) or _ZERO)) for place, item in items]

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
        items, shape = _flat(value)
    return Numbers(tuple(exact_ratio(item) or _ZERO for item in items), None, shape)


def read_doubles(value: Any) -> Numbers:
    """The same numbers, those of a long list as doubles: for whoever draws as well from doubles as from ratios.

    >>> items = [0.5, 2**60 + 1, None] + [1] * 61
    >>> numbers = read_doubles(items)
    >>> numbers.array[:4].tolist(), numbers.apart == {1: (2**60 + 1, 1)}, numbers == read_value(items)
    ([0.5, 0.0, 0.0, 1.0], True, True)
    """
    if is_number(value) or is_typed(value):
        return read_value(value)
    items, shape = _flat(value)
    if len(items) < _QUICK:
        return Numbers(tuple(exact_ratio(item) or _ZERO for item in items), None, shape)
    doubles, apart = list(items), {}
    for place in [place for place, item in enumerate(items) if type(item) is not float]:
        item = items[place]
        small = type(item) is int and -_WHOLE <= item <= _WHOLE
        top, bottom = (item, 1) if small else exact_ratio(item) or _ZERO
        if -_WHOLE <= top <= _WHOLE and bottom <= _WHOLE and not bottom & (bottom - 1):  # a double itself
            doubles[place] = top / bottom
        else:
            doubles[place], apart[place] = 0.0, (top, bottom)
    return Numbers(None, np.array(doubles, dtype=np.float64).reshape(shape), shape, apart)


def _flat(value: Any) -> tuple[list[Any] | tuple[Any, ...], tuple[int, ...]]:
    """The elements of a list, or of lists of lists, and its shape."""
    items = value if isinstance(value, list | tuple) else list(value)
    shape = _shape(items)
    for _ in shape[1:]:
        items = [item for row in items for item in row]
    return items, shape


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
