"""Columns that numpy would read as numbers although they hold none: dates, durations and texts are refused by name."""

from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from privet.errors import InvalidData

_DATES = "dates: make numbers of them by a public rule first, such as days since a fixed day"
_DURATIONS = "durations: make numbers of them by a public rule first, such as hours"
_TEXTS = "texts, even where they look like numbers: encode them by a public rule first, such as learn.Encoding"
_BY_KIND = {"M": _DATES, "m": _DURATIONS, "U": _TEXTS, "S": _TEXTS, "T": _TEXTS}
_BY_NAME = {  # how the types of pandas and Polars begin that have no kind of numpy's
    "period": _DATES,
    "date": _DATES,
    "time": _DATES,
    "duration": _DURATIONS,
    "str": _TEXTS,
    "utf8": _TEXTS,
    "enum": _TEXTS,
    "categorical": _TEXTS,
    "binary": _TEXTS,
}
_BY_CLASS: tuple[tuple[Any, str], ...] = (
    ((timedelta, np.timedelta64), _DURATIONS),
    ((date, time, np.datetime64), _DATES),
    ((str, bytes), _TEXTS),
)


def check_kinds(rows: object, *, objects: bool = True) -> None:
    """Refuse X with a column of dates, durations or texts: by the types of columns, and, of `objects`, by theirs, which
    are data.

    >>> check_kinds(np.zeros((2, 1)))
    >>> check_kinds(np.array([["2026-05-01"]], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ...
    privet.errors.InvalidData: X holds dates: make numbers of them by a public rule first, such as days since a fixed day
    """
    for where, kind, values in _columns(rows):
        found = _named(kind) or (_of_objects(values) if objects and getattr(kind, "kind", None) == "O" else None)
        if found is not None:
            raise InvalidData(f"{where} holds {found}")


def _columns(rows: object) -> Iterator[tuple[str, Any, Any]]:
    """The name to call it by, its type, and its values: of a data frame for each column, else once."""
    names, kinds = getattr(rows, "columns", None), getattr(rows, "dtypes", None)
    if names is not None and kinds is not None:
        for place, (name, kind) in enumerate(zip(names, kinds, strict=False)):
            yield f"column {name!r:.60} of X", kind, rows.iloc[:, place] if hasattr(rows, "iloc") else ()
        return
    if isinstance(rows, list | tuple):
        try:
            rows = np.array(rows)
        except (ValueError, TypeError, OverflowError):  # scikit-learn says what is wrong with it
            return
    if hasattr(rows, "dtype"):
        yield "X", rows.dtype, rows


def _named(kind: object) -> str | None:
    """The content of a type that is no number, from the type alone; of categories, what they are."""
    if hasattr(kind, "categories") and hasattr(kind.categories, "dtype"):
        return _named(kind.categories.dtype) or _of_objects(kind.categories)
    by_kind = _BY_KIND.get(getattr(kind, "kind", ""))
    if by_kind is not None:
        return by_kind
    name = str(kind).lower()
    return next((found for begin, found in _BY_NAME.items() if name.startswith(begin)), None)


def _of_objects(values: object) -> str | None:
    """The things among objects that are no numbers."""
    kinds = {type(each) for each in np.asarray(values, dtype=object).ravel()}
    for classes, found in _BY_CLASS:
        if any(issubclass(each, classes) for each in kinds):
            return found
    return None
