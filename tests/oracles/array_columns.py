"""The array engine's reading of columns: numpy arrays, bounded, and which of their values are missing."""

from typing import NamedTuple

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.tables.columns import Bool, Category, Column, Date, Float, Int, Text, Time
from privet.tables.frames import RawColumn
from privet.tables.reading import no_person, wrong_kind
from privet.tables.texts import day_in, number_in, second_in, truth_in

_FARTHEST = 2.0**53


class Values(NamedTuple):
    """Values of a column and which of them are missing; what stands under a missing one means nothing.

    >>> Values(np.array([1]), np.array([False])).values.tolist()
    [1]
    """

    values: Array
    missing: Array

    def taken(self, places: Array) -> "Values":
        """The rows at these places."""
        return Values(self.values[places], self.missing[places])


def persons(name: str, raw: RawColumn) -> Values:
    """The person of each row, a whole number or a text; missing where there is none.

    >>> persons("id", RawColumn("float", np.array([7.0, 7.5]), np.array([False, False]))).missing.tolist()
    [False, True]
    """
    if raw.kind == "float":
        whole = np.isfinite(raw.values) & (np.abs(raw.values) < _FARTHEST)
        whole &= np.where(whole, np.floor(np.where(whole, raw.values, 0)) == raw.values, False)
        return Values(np.where(whole, raw.values, 0).astype(np.int64), raw.missing | ~whole)
    if raw.kind not in ("int", "wide", "text"):
        raise no_person(name, raw.kind)
    return Values(raw.values, raw.missing)


def canonical(name: str, column: Column, raw: RawColumn, linking: bool = False) -> Values:
    """A column as it is compared and added up: a bounded integer or double, a text, or missing.

    >>> canonical("age", Int(0, 110), RawColumn("int", np.array([200]), np.array([False]))).values.tolist()
    [110]
    """
    wrong = wrong_kind(name, column, raw.kind)
    if isinstance(column, Text) or (isinstance(column, Category) and column.texts):
        if raw.kind in ("int", "wide") and isinstance(column, Text):
            return Values(np.array([str(each) for each in raw.values.tolist()], dtype=object), raw.missing)
        if raw.kind != "text":
            raise wrong
        if isinstance(column, Text):
            return Values(raw.values, raw.missing)
        known = set(column.values)
        return Values(raw.values, raw.missing | np.array([each not in known for each in raw.values], dtype=bool))
    if isinstance(column, Date):
        return _bounded(_days(raw, wrong), column, linking)
    if isinstance(column, Time):
        return _bounded(_seconds(raw, wrong), column, linking)
    if raw.kind in ("days", "seconds", "other"):
        raise wrong
    if isinstance(column, Bool):
        return _booleans(raw)
    if raw.kind in ("int", "wide", "bool") and isinstance(column, Int):
        return _bounded(Values(_wide(raw.values), raw.missing), column, linking)
    numbers = _doubles(raw)
    if isinstance(column, Category):
        return Values(numbers.values, numbers.missing | ~np.isin(numbers.values, column.values))
    if isinstance(column, Int) and linking:
        broken = np.floor(numbers.values) != numbers.values
        return _bounded(Values(numbers.values, numbers.missing | broken), column, linking)
    lower, upper = (float(end) for end in column.span)
    clipped = np.clip(np.where(numbers.missing, lower, numbers.values), lower, upper)
    if isinstance(column, Float):
        return Values(clipped, numbers.missing)
    return Values(np.floor(clipped + 0.5).astype(np.int64), numbers.missing)


def _wide(values: Array) -> Array:
    """Integers as int64; those beyond it as its end, which is beyond every bound."""
    if values.dtype.kind in "uO":
        return np.minimum(np.maximum(values, -(2**62) if values.dtype.kind == "O" else 0), 2**62).astype(np.int64)
    return values.astype(np.int64)


def _bounded(held: Values, column: Column, linking: bool) -> Values:
    lower, upper = column.span
    if linking:
        outside = (held.values < lower) | (held.values > upper)
        return Values(np.where(outside, lower, held.values).astype(np.int64), held.missing | outside)
    return Values(np.clip(np.where(held.missing, lower, held.values), lower, upper).astype(np.int64), held.missing)


def _days(raw: RawColumn, wrong: InvalidData) -> Values:
    if raw.kind == "text":
        read = [day_in(each) for each in raw.values]
        absent = np.array([each is None for each in read], dtype=bool)
        return Values(np.array([each or 0 for each in read], dtype=np.int64), absent)
    if raw.kind != "days":
        raise wrong
    return Values(raw.values, raw.missing)


def _seconds(raw: RawColumn, wrong: InvalidData) -> Values:
    if raw.kind == "text":
        read = [second_in(each) for each in raw.values]
        absent = np.array([each is None for each in read], dtype=bool)
        return Values(np.array([each or 0 for each in read], dtype=np.int64), absent)
    if raw.kind != "seconds":
        raise wrong
    return Values(raw.values, raw.missing)


def _booleans(raw: RawColumn) -> Values:
    if raw.kind == "text":
        read = [truth_in(each) for each in raw.values]
        yes, no = (np.array([each == end for each in read], dtype=bool) for end in (1.0, 0.0))
    else:
        with np.errstate(invalid="ignore"):
            yes, no = raw.values == 1, raw.values == 0
    return Values(yes.astype(np.int64), raw.missing | ~(yes | no))


def _doubles(raw: RawColumn) -> Values:
    if raw.kind == "text":
        read = [number_in(each) for each in raw.values]
        numbers = np.array([np.nan if each is None else each for each in read], dtype=np.float64)
    else:
        numbers = raw.values.astype(np.float64)
    absent = raw.missing | np.isnan(numbers)
    return Values(np.where(absent, 0.0, numbers), absent)
