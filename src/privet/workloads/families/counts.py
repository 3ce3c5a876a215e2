"""Counts as they come in, cell by cell, made whole: what every design measures."""

from collections.abc import Sized
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.mechanisms.families.columns import column_kind, is_typed
from privet.mechanisms.families.values import admit_value, read_value


def admit_counts(value: Any) -> tuple[int, ...]:
    """The shape of a container of counts; what holds none is refused by its type, dtype and shape alone.

    >>> admit_counts([[1, 2], [3, 4]])
    (2, 2)
    """
    admit_value(value)
    if is_typed(value) and column_kind(value) in ("time", "span"):
        raise InvalidData("a histogram holds counts, and this holds dates or times")
    found = getattr(value, "shape", None)
    if found is not None:
        return tuple(found)
    # Of other containers the items are not asked for: what some of them are must not decide before the charge.
    return (len(value),) if isinstance(value, Sized) and not isinstance(value, list | tuple) else _listed_shape(value)


def admit_histogram(value: object, shape: tuple[int, ...]) -> None:
    """Refuse what is no array of counts of this shape, without looking at a value.

    >>> admit_histogram([1, 2, 3], (3,))
    """
    found = admit_counts(value)
    if found != shape:
        raise InvalidData(f"the histogram must have the shape of the domain, {shape}: got {found}")


def whole_counts(value: object, most: int) -> Array:
    """Each count as a whole number by itself: missing or no number is 0, fractions are rounded half up, and what lies
    beyond `most` is cut there.

    >>> whole_counts([1, 2.5, None, -1e30], 100).tolist()
    [1, 3, 0, -100]
    """
    numbers = read_value(value)
    if numbers.array is not None:
        array = numbers.array
        if array.dtype.kind == "f":
            array = np.nan_to_num(np.clip(array.astype(np.float64), -most, most))
        whole = np.floor(array) + (array - np.floor(array) >= 0.5) if array.dtype.kind == "f" else array
        return np.clip(whole, 0 if whole.dtype.kind in "bu" else -most, most).astype(np.int64).reshape(-1)
    assert numbers.ratios is not None
    wholes = [(2 * top + bottom) // (2 * bottom) for top, bottom in numbers.ratios]  # half up
    return np.array([min(max(whole, -most), most) for whole in wholes], dtype=np.int64)


def _listed_shape(value: object) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(value, list | tuple):
        shape.append(len(value))
        value = value[0] if len(value) else None
    return tuple(shape)
