"""A table's columns as rows of numbers, by the schema alone: scaled by its bounds, one column for each category."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.tables.columns import Bool, Category, Column, Float, Int


class Encoded(NamedTuple):
    """Rows, targets, and the public names of the columns of the rows."""

    rows: Array
    targets: Any
    names: tuple[str, ...]


@final
@dataclass(frozen=True)
class Encoding:
    """How the columns of a schema become features: numbers are scaled to [-1, 1] by their bounds, yes and no become 1 and
    0, and each category of a `Category` has a column of its own. `target` is the column that is predicted.

    What does not fit the schema (a missing number, an unknown category) makes a number NaN, and a category a row of zeros.
    Nothing is learned from the data.

    >>> from privet.tables import Category, Int
    >>> encoding = Encoding({"age": Int(0, 100), "ward": Category(["A", "B"]), "ill": Int(0, 1)}, "ill")
    >>> made = encoding.of({"age": [50, 100], "ward": ["B", "?"], "ill": [1, 0]})
    >>> made.names, made.rows.tolist()
    (('age', 'ward=A', 'ward=B'), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    columns: Mapping[str, Column]
    target: str

    def __post_init__(self) -> None:
        instance("target", self.target, str)
        set_frozen(self, columns=dict(self.columns))
        if self.target not in self.columns:
            raise InvalidParameter(f"there is no column {self.target!r:.60} in the schema; there are {self._listed}")
        for name, column in self.columns.items():
            if not isinstance(column, Int | Float | Bool | Category):
                raise InvalidParameter(
                    f"column {name!r:.60} is a {type(column).__name__}: features are Int, Float, Bool or Category; leave "
                    "it out of the schema"
                )
        if len(self.columns) < 2:
            raise InvalidParameter("the schema needs a column besides the target")

    @property
    def _listed(self) -> str:
        return ", ".join(self.columns)

    @property
    def features(self) -> dict[str, Column]:
        """The columns besides the target."""
        return {name: column for name, column in self.columns.items() if name != self.target}

    @property
    def row_norm(self) -> float:
        """The longest that a row can be: every column of the schema adds at most 1 to its square."""
        return math.sqrt(len(self.features))

    @property
    def classes(self) -> list[Any]:
        """The public labels of the target."""
        column = self.columns[self.target]
        if isinstance(column, Category):
            return list(column.values)
        if isinstance(column, Bool):
            return [0, 1]
        if isinstance(column, Int) and column.upper - column.lower < 1_000:
            return list(range(column.lower, column.upper + 1))
        raise InvalidParameter("the target of a classifier is a Category, a Bool or a small range of Int")

    @property
    def bounds_y(self) -> tuple[float, float]:
        """The public bounds of the target."""
        column = self.columns[self.target]
        if not isinstance(column, Int | Float):
            raise InvalidParameter("the target of a regression is an Int or a Float")
        return float(column.lower), float(column.upper)

    def of(self, table: Mapping[str, Any]) -> Encoded:
        """The rows and targets of a table of columns: not releasable."""
        for name in self.columns:
            if name not in table:
                raise InvalidData(f"there is no column {name!r:.60} in the data")
        parts, names = [], []
        for name, column in self.features.items():
            made, told = _features(name, column, np.asarray(table[name]))
            parts.append(made)
            names += told
        targets = np.asarray(table[self.target])
        if not _is_of_texts(self.columns[self.target]):
            targets = _numbers(targets)
        return Encoded(np.concatenate(parts, axis=1), targets, tuple(names))


def _features(name: str, column: Column, values: Array) -> tuple[Array, list[str]]:
    if isinstance(column, Category):
        held = values.astype(object) if _is_of_texts(column) else _numbers(values)
        hot = np.stack([np.asarray(held == each, dtype=np.float64) for each in column.values], axis=1)
        return hot, [f"{name}={each}" for each in column.values]
    numbers = _numbers(values)
    if isinstance(column, Bool):
        return numbers[:, None], [name]
    assert isinstance(column, Int | Float)
    low, high = float(column.lower), float(column.upper)
    half = (high - low) / 2.0 or 1.0
    with np.errstate(all="ignore"):
        return np.clip((numbers - (low + high) / 2.0) / half, -1.0, 1.0)[:, None], [name]


def _is_of_texts(column: Column) -> bool:
    return isinstance(column, Category) and isinstance(column.values[0], str)


def _numbers(values: Array) -> Array:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([_number(each) for each in values.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
