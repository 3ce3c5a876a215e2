"""Rows, classes and ids of persons, each read by itself: what one person holds does not change how others are read."""

from collections.abc import Iterable, Mapping, Set
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData

_ROWS = "X must be rows and y one class for each of them"
_PLAIN = "biuf"  # kinds of numbers, which are floats for a teacher


def listed(values: Any, wrong: str) -> list[Any]:
    """The values of a column one by one, as they came; what is no column is refused with these words.

    >>> listed(np.array([1, 2]), "ids are a column")
    [1, 2]
    """
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise InvalidData(wrong)
    if getattr(values, "ndim", 1) != 1:
        raise InvalidData(wrong)
    for way in ("to_pylist", "to_list", "tolist"):  # of Arrow, Polars and pandas, numpy
        if hasattr(values, way):
            return list(getattr(values, way)())
    return list(values)


def apart(rows: Any) -> Array:
    """Rows to choose from: an array of numbers or texts as it is, the cells of a data frame, and of a list or an array of
    objects one object for each row. No row is looked into beside another one.

    >>> apart([[1, 2], [3]]).shape, apart(np.zeros((2, 3))).shape
    ((2,), (2, 3))
    """
    if hasattr(rows, "columns"):
        return _cells(rows)
    if hasattr(rows, "__array__"):  # its type and shape are of the whole, and public
        rows = np.asanyarray(rows)
        if rows.dtype != object:
            return rows
        rows = rows.tolist()  # a cell that is a list, or none, may not decide how many dimensions there are
    if isinstance(rows, str | bytes | Mapping | Set) or not isinstance(rows, Iterable) or hasattr(rows, "tocsr"):
        raise InvalidData(_ROWS)
    return _objects(list(rows))


def typed(rows: Array) -> Array:
    """The rows of one part: as floats, if they can be, a number alone being a row of one. A value that is none, or a row of
    another length, concerns this part alone.

    >>> typed(apart([["1", 2], [3, 4]])).tolist(), typed(apart([[1, 2], [3]])).shape
    ([[1.0, 2.0], [3.0, 4.0]], (2,))
    """
    if rows.dtype.kind in "US":  # as wide as its own texts
        return np.array(rows.tolist(), dtype=rows.dtype.kind).reshape(rows.shape)
    if rows.dtype != object:
        return rows
    try:
        held = np.array(rows.tolist(), dtype=object) if rows.ndim == 1 else rows
    except Exception:  # rows of several shapes, or whatever an object's own conversion raises
        return rows
    try:
        numbers = held.astype(float)
    except Exception:
        return held
    return numbers[:, None] if numbers.ndim == 1 else numbers


def _cells(frame: Any) -> Array:
    """The cells of a data frame. The type of a column follows from all of its values, so each is read by its own: numbers
    and truth values as floats, dates and times as seconds since 1970 (UTC), what is missing as NaN."""
    if hasattr(frame, "iloc"):
        columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    else:  # of Polars, which has names there, or of Arrow
        columns = list(frame.get_columns() if hasattr(frame, "get_columns") else frame.columns)
    if not columns:
        raise InvalidData(_ROWS)
    made = [_column(each) for each in columns]
    if all(each.dtype != object for each in made):
        return np.stack(made, axis=1)
    cells = np.empty((len(made[0]), len(made)), dtype=object)
    for place, each in enumerate(made):
        cells[:, place] = each
    return cells


def _column(column: Any) -> Array:
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if isinstance(getattr(column, "dtype", None), np.dtype) and kind in _PLAIN:
        return np.asarray(column.to_numpy(), dtype=float)
    return _objects([_cell(each) for each in listed(column, _ROWS)])


def _cell(value: Any) -> Any:
    """One value of a data frame, the same whatever the type of its column is."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return np.nan
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(value.dtype.kind + "8[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex) and value.imag == 0.0:
        value = value.real
    for way in ("to_pydatetime", "to_pytimedelta"):  # of pandas, which has its own classes
        value = getattr(value, way)() if hasattr(value, way) else value
    try:
        if isinstance(value, bool | int | float):
            return float(value)
        if isinstance(value, timedelta):
            return value.total_seconds()
        if isinstance(value, date):
            moment = value if isinstance(value, datetime) else datetime.combine(value, time())
            return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):  # too large for a float
        return value
    return np.nan if value is None else value


def _objects(values: list[Any]) -> Array:
    held = np.empty(len(values), dtype=object)
    for place, each in enumerate(values):  # one by one: numpy would look for a common shape
        held[place] = each
    return held
