"""A table's columns as rows of numbers, by the schema alone: scaled by its bounds, one column for each category."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.tables import Bool, Category, Column, Float, Int


class Encoded(NamedTuple):
    """Rows, targets, and the public names of the columns of the rows."""

    rows: Array
    targets: Any
    names: tuple[str, ...]


@final
@dataclass(frozen=True)
class Encoding:
    """The way from columns of a schema to features: numbers are scaled to [-1, 1] by their bounds, yes and no become 1
    and 0, and each category of a `Category` has a column of its own. `target` is the column that is predicted.

    What does not fit the schema (a missing number, an unknown category) makes a number NaN, and a category a row of zeros.
    Numbers beyond their bounds are moved to these; those of an Int are rounded, halves up. Nothing is learned from the
    data. Without a `target` there are rows alone.

    >>> from privet.tables import Category, Int
    >>> encoding = Encoding({"age": Int(0, 100), "ward": Category(["A", "B"]), "ill": Int(0, 1)}, "ill")
    >>> made = encoding.of({"age": [50, 100], "ward": ["B", "?"], "ill": [1, 0]})
    >>> made.names, made.rows.tolist()
    (('age', 'ward=A', 'ward=B'), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    columns: Mapping[str, Column]
    target: str | None = None

    def __post_init__(self) -> None:
        instance("target", self.target, str, type(None))
        set_frozen(self, columns=dict(self.columns))
        if self.target is not None and self.target not in self.columns:
            raise InvalidParameter(f"there is no column {self.target!r:.60} in the schema; there are {self._listed}")
        for name, column in self.columns.items():
            if not isinstance(column, Int | Float | Bool | Category):
                raise InvalidParameter(
                    f"column {name!r:.60} is a {type(column).__name__}: features are Int, Float, Bool or Category; leave "
                    "it out of the schema"
                )
        if not self.features:
            raise InvalidParameter("the schema needs a column besides the target")

    @property
    def _listed(self) -> str:
        return ", ".join(self.columns)

    @property
    def features(self) -> dict[str, Column]:
        """The columns besides the target."""
        return {name: column for name, column in self.columns.items() if name != self.target}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the rows."""
        return tuple(told for name, column in self.features.items() for told in _told(name, column))

    @property
    def row_norm(self) -> float:
        """The longest that a row can be: every column of the schema adds at most 1 to its square."""
        return math.sqrt(len(self.features))

    @property
    def classes(self) -> list[Any]:
        """The public labels of the target."""
        column = self._predicted
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
        column = self._predicted
        if not isinstance(column, Int | Float):
            raise InvalidParameter("the target of a regression is an Int or a Float")
        return float(column.lower), float(column.upper)

    @property
    def _predicted(self) -> Column:
        if self.target is None:
            raise InvalidParameter("name the column that is predicted: target=")
        return self.columns[self.target]

    @property
    def target_kind(self) -> str | None:
        """The kind of numpy's dtype that targets have; None where there are none."""
        if self.target is None:
            return None
        return "O" if _is_of_texts(self.columns[self.target]) else "f"

    def of(self, table: Mapping[str, Any]) -> Encoded:
        """The rows and targets of a table of columns (targets may be missing there): not releasable."""
        for name in self.features:
            if name not in table:
                raise InvalidData(f"there is no column {name!r:.60} in the data")
        parts = [_features(column, _scanned(column, np.asarray(table[name]))) for name, column in self.features.items()]
        targets = None
        if self.target is not None and self.target in table:
            targets = np.asarray(table[self.target])
            if not _is_of_texts(self.columns[self.target]):
                targets = _numbers(targets)
        return Encoded(np.concatenate(parts, axis=1), targets, self.names)

    def of_numbers(self, numbers: Array) -> Encoded:
        """The same of a block of numbers as `tables.Scan` has them, the features in order and then the target: not
        releasable."""
        parts = [_features(column, numbers[:, i]) for i, column in enumerate(self.features.values())]
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if self.target is None:
            return Encoded(rows, None, self.names)
        column, targets = self.columns[self.target], numbers[:, len(parts)]
        if isinstance(column, Category):
            labels = np.array([*column.values, None], dtype=object)
            targets = labels[np.where(np.isnan(targets), len(column.values), targets).astype(np.int64)]
            if not _is_of_texts(column):
                targets = _numbers(targets)
        return Encoded(rows, targets, self.names)


def _told(name: str, column: Column) -> list[str]:
    return [f"{name}={each}" for each in column.values] if isinstance(column, Category) else [name]


def _scanned(column: Column, values: Array) -> Array:
    """Values as numbers: of a category its place, NaN where it has none; of others what is within the bounds."""
    if isinstance(column, Category):
        held = values.astype(object) if _is_of_texts(column) else _numbers(values)
        places = np.full(len(held), np.nan)
        for place, each in enumerate(column.values):
            places[np.asarray(held == each, dtype=bool)] = place
        return places
    numbers = _numbers(values)
    if isinstance(column, Bool):
        return np.where((numbers == 0.0) | (numbers == 1.0), numbers, np.nan)
    assert isinstance(column, Int | Float)
    clipped = np.clip(numbers, float(column.lower), float(column.upper))
    return np.floor(clipped + 0.5) if isinstance(column, Int) else clipped


def _features(column: Column, numbers: Array) -> Array:
    if isinstance(column, Category):
        return np.asarray(numbers[:, None] == np.arange(len(column.values)), dtype=np.float64)
    if isinstance(column, Bool):
        return numbers[:, None]
    assert isinstance(column, Int | Float)
    low, high = float(column.lower), float(column.upper)
    half = (high - low) / 2.0 or 1.0  # a column with one value becomes 0
    with np.errstate(all="ignore"):
        return np.asarray(np.clip((numbers - (low + high) / 2.0) / half, -1.0, 1.0)[:, None])


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
