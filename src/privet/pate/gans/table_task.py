"""Tables as points: every column by the schema alone, and the way back."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array, root_up
from privet._validate import set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.learn.encoding import Encoding
from privet.mechanisms import Sensitivity, Source
from privet.pate.gans.task import GanTask, Head, Units, units_of
from privet.privacy import Unit
from privet.tables import (
    Bool,
    Category,
    Coded,
    Coding,
    Column,
    Data,
    Float,
    Int,
    Node,
    Person,
    Rows,
    Scan,
    Source as TableSource,
)
from privet.tables.data import drawn_salts

_MOST_CLASSES = 1_000  # of a label: networks take an input for each, and centroids keep a row; memory and time only
_APART = (
    "rows of this engine stay where they are, and teachers need the rows of their parts: read the table from a file, "
    "a data frame or a database"
)


@final
@dataclass(frozen=True)
class TableTask(GanTask):
    """A table with the columns `names` and the class in the column `label`; without one there is a single class.

    Numbers are scaled by the bounds of the schema, a missing one counts as the middle, and each category is a column. A row
    whose label is missing is left out.

    >>> from privet.tables import Rows
    >>> task = TableTask(TableSource("t", (("age", Int(0, 9)), ("ill", Bool())), Rows()), ("age",), "ill")
    >>> task.width, task.classes
    (1, 2)
    """

    rows: Node
    names: tuple[str, ...]
    label: str | None = None

    def __post_init__(self) -> None:
        set_frozen(self, names=tuple(self.names))
        if self.label is not None and self.label in self.names:
            raise InvalidParameter("the label is no feature: leave it out of the columns")
        Encoding(self.features)
        self.scan  # noqa: B018 (columns that have no numbers are refused)
        if not 1 <= self.classes <= _MOST_CLASSES:
            raise InvalidParameter(f"the label needs 1 to {_MOST_CLASSES:,} public classes")

    @property
    def features(self) -> dict[str, Column]:
        """The columns besides the label."""
        return {name: self.rows.columns[name] for name in self.names}

    @property
    def scan(self) -> Scan:
        """The columns that are read, the label last."""
        return Scan(self.rows, self.names if self.label is None else (*self.names, self.label))

    @property
    def heads(self) -> tuple[Head, ...]:
        return tuple(_head(column) for column in self.features.values())

    @property
    def classes(self) -> int:
        return 1 if self.label is None else _classes(self.rows.columns[self.label])

    @property
    def unit(self) -> Unit:
        return self.rows.unit.unit

    def admit(self, value: object) -> None:
        if not isinstance(value, Data):
            raise InvalidData(
                "a generator of tables is fitted to a pv.Table: PATEGAN().fit(table, epsilon=1, delta=1e-5)"
            )
        if value.check_rows(self.scan).rows_stay:
            raise InvalidData(_APART)

    def exact_units(self, value: Any) -> Units:
        blocks = [np.asarray(each, dtype=float) for each in value.exact_rows(self.scan)]
        numbers = np.concatenate(blocks) if blocks else np.zeros((0, self.scan.width))
        classes = np.zeros(len(numbers), dtype=np.int64)
        if self.label is not None:
            told = numbers[:, len(self.names)] - _lowest(self.rows.columns[self.label])
            classes = np.where((told >= 0) & (told < self.classes), told, -1.0).astype(np.int64)
        rows = Encoding(self.features).of_numbers(numbers[:, : len(self.names)]).rows
        points = np.clip(np.nan_to_num(rows, nan=0.0), -1.0, 1.0).astype(np.float32)
        known = classes >= 0
        told_owners = numbers[known, -1] if self.scan.persons else np.arange(int(known.sum()))
        owners = np.unique(told_owners, return_inverse=True)[1].reshape(-1)
        return units_of(points[known], classes[known], owners)

    @property
    def _labels(self) -> Coded:
        assert self.label is not None
        return Coded(self.rows, Coding.of({self.label: self.rows.columns[self.label]}))

    @property
    def counts_reach(self) -> Sensitivity:
        return Sensitivity(
            Fraction(root_up(Fraction(self._labels.reach.l2_squared(self.unit)))), norm="l2", unit=self.unit
        )

    def salts(self, source: Source) -> Any:
        return drawn_salts(source)

    def exact_counts(self, value: Any, salts: Any) -> Array:
        (counts,) = value.exact_marginals(self._labels, [(0,)], salts)
        return np.asarray(counts)[: self.classes]

    def decoded(self, points: Array, classes: Array) -> Any:
        made, start = dict[str, Array](), 0
        for (name, column), head in zip(self.features.items(), self.heads, strict=True):
            made[name] = _values(column, points[:, start : start + head.width])
            start += head.width
        if self.label is not None:
            made[self.label] = _class_values(self.rows.columns[self.label], classes)
        return made

    def to_dict(self) -> dict[str, Any]:
        columns = {name: self.rows.columns[name] for name in self.scan.names}
        return {"table": Coding.of(columns, bins=1).to_dict(), "label": self.label}


def table_task_of(told: dict[str, Any]) -> TableTask:
    """Back from `to_dict`: enough to decode, with a table that is nowhere."""
    columns = Coding.from_dict(told["table"]).columns
    rows = TableSource("table", tuple(columns.items()), Rows())
    return TableTask(rows, tuple(name for name in columns if name != told["label"]), told["label"])


def task_of_table(rows: Node, columns: tuple[str, ...] | None, label: str | None) -> TableTask:
    """The task of a table: all columns but the label and the one that names persons, unless they are named."""
    named = rows.unit.column if isinstance(rows.unit, Person) else None
    wanted = tuple(name for name in rows.columns if name not in (named, label)) if columns is None else columns
    unknown = [name for name in (*wanted, *([] if label is None else [label])) if name not in rows.columns]
    if unknown or len(set(wanted)) != len(wanted) or not wanted:
        raise InvalidParameter(
            f"columns must be names of the table's columns, each once; {', '.join(map(str, unknown)) or 'not so'}"
        )
    if named is not None and named in (*wanted, label):
        raise InvalidParameter(f"column {named!r} names persons: leave it out, no model may know it")
    return TableTask(rows, wanted, label)


def _head(column: Column) -> Head:
    if isinstance(column, Category):
        return Head("choice", len(column.values))
    return Head("yes" if isinstance(column, Bool) else "numbers", 1)


def _classes(column: Column) -> int:
    if isinstance(column, Category):
        return len(column.values)
    if isinstance(column, Bool):
        return 2
    if isinstance(column, Int):
        return int(column.upper - column.lower) + 1
    raise InvalidParameter("the label is a Category, a Bool or a small range of Int")


def _lowest(column: Column) -> float:
    return float(column.lower) if isinstance(column, Int) else 0.0


def _values(column: Column, points: Array) -> Array:
    if isinstance(column, Category):
        return np.asarray(np.array(column.values)[points.argmax(axis=1)])
    if isinstance(column, Bool):
        return np.asarray(points[:, 0] > 0.5)
    assert isinstance(column, Int | Float)
    low, high = float(column.lower), float(column.upper)
    within = np.clip(low + (high - low) * (points[:, 0].astype(float) + 1.0) / 2.0, low, high)
    return np.floor(within + 0.5).astype(np.int64) if isinstance(column, Int) else within


def _class_values(column: Column, classes: Array) -> Array:
    if isinstance(column, Category):
        return np.asarray(np.array(column.values)[classes])
    return classes.astype(bool) if isinstance(column, Bool) else classes + int(_lowest(column))
