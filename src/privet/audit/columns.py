"""Tables in memory as columns, and how far their rows are from a record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of one length by name; those of numbers with their range.

    >>> columns_of({"age": [30, 50], "sex": ["f", "m"]}).spans
    {'age': 20.0}
    """

    values: dict[str, Array]
    spans: dict[str, float]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


def columns_of(table: object) -> Columns:
    """The columns of a mapping, of a data frame, or of a list of dicts."""
    if isinstance(table, Mapping):
        held = {str(name): np.asarray(values) for name, values in table.items()}
    elif hasattr(table, "columns"):
        frame: Any = table
        held = {str(name): np.asarray(frame[name]) for name in frame.columns}
    elif isinstance(table, list) and table and all(isinstance(each, Mapping) for each in table):
        held = {str(name): np.asarray([each[name] for each in table]) for name in table[0]}
    else:
        raise InvalidData("a table is a mapping of columns, a data frame, or a list of records by column")
    if not held or len({each.shape for each in held.values()}) > 1 or any(each.ndim != 1 for each in held.values()):
        raise InvalidData("a table needs columns of one length")
    return Columns(held, {name: _span(each) for name, each in held.items() if each.dtype.kind in "iuf"})


def alike(*tables: Columns) -> list[Columns]:
    """The columns of the first table, each of one kind in all tables: numbers where all are numbers (a column with gaps is
    often one of floats, in one file of several), else texts. What is missing is a value: NaN, or the empty text.

    >>> ints, floats = alike(columns_of({"ill": [0, 1]}), columns_of({"ill": [1.0, None]}))
    >>> ints.values["ill"].tolist(), floats.values["ill"].tolist()
    ([0.0, 1.0], [1.0, nan])
    """
    kinds: list[dict[str, Array]] = [{} for _ in tables]
    for name in tables[0].values:
        held = [table.values[name] for table in tables]
        numbers = [_numbers(values) for values in held]
        for kind, values, number in zip(kinds, held, numbers, strict=True):
            kind[name] = _texts(values) if number is None or any(each is None for each in numbers) else number
    return [columns_of(kind) for kind in kinds]


def _numbers(values: Array) -> Array | None:
    """Values as floats, what is missing as NaN; None where one of them is no number."""
    if values.dtype.kind in "biuf":
        return values.astype(float)
    if values.dtype != object or any(isinstance(each, str) for each in values.tolist()):
        return None
    try:
        return np.array([np.nan if _missing(each) else float(each) for each in values.tolist()])
    except (TypeError, ValueError, OverflowError):
        return None


def _texts(values: Array) -> Array:
    return np.array(["" if _missing(each) else str(each) for each in values.tolist()], dtype=str)


def _missing(value: object) -> bool:
    """None, NaN, and what data frames put in their place."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _span(values: Array) -> float:
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    return float(known.max()) - float(known.min()) if known.size else 0.0  # of small integers numpy would wrap around


def gaps(rows: Columns, record: Mapping[str, Any], where: Columns) -> dict[str, Array]:
    """For each column the distance of each row from a record; `where` gives the ranges.

    It is a share of the range for numbers (of 1, where all are equal), at most 1, else 0 or 1. A missing number is as far
    as can be from one that is there, and equal to another missing one.

    >>> gaps(columns_of({"age": [30, 40]}), {"age": 40}, columns_of({"age": [20, 40]}))["age"].tolist()
    [0.5, 0.0]
    """
    found = {}
    for name, values in rows.values.items():
        if name in where.spans and values.dtype.kind in "iufb":
            numbers, here = values.astype(float), np.nan if _missing(record[name]) else float(record[name])
            with np.errstate(invalid="ignore"):  # of infinities of one sign, which are equal
                far = np.abs(numbers - here) / (where.spans[name] or 1.0)
            equal = (numbers == here) | (np.isnan(numbers) & np.isnan(here))
            found[name] = np.where(equal, 0.0, np.minimum(np.nan_to_num(far, nan=1.0), 1.0))
        else:
            found[name] = (values.astype(str) != str(record[name])).astype(float)
    return found
