"""Small data frames that fit a schema: rows or people added, removed or exchanged, at the edges of every column."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from privet.audit.neighbours.family import Neighbours, several
from privet.audit.neighbours.numbers import BOUNDARY_VALUES
from privet.audit.result import ADD_REMOVE
from privet.errors import InvalidParameter, MissingExtra, MixedUnits
from privet.privacy import Relation, Unit

_SAMPLES = 3  # records that are mixed of all columns, beside one for each value: more find little
Kind = Literal["columns", "rows", "pandas", "polars"]


@dataclass(frozen=True, eq=False)
class Frames(Neighbours):
    """Neighbouring data frames for a schema.

    `schema` names every column and what it may hold: a list of values, or a pair of bounds (whole bounds, whole numbers;
    objects with `.values` or `.bounds` do as well). `unit` says what changes; with `Unit(person="column")` all rows of a
    person, at most `most` of them. `kind` is what the mechanism takes: a dict of columns, a list of dicts (`rows`), or a
    frame of pandas or Polars.

    Tables are empty, of one row, of equal rows, at either end of every column, and mixed; the change is at the end, in
    front and in the middle, and once all rows are in another order.

    >>> frames = Frames({"age": (0, 110), "ward": ["a", "b"]}, unit=Unit())
    >>> next(frames.pairs("add_remove"))
    ({'age': [], 'ward': []}, {'age': [0], 'ward': ['a']})
    """

    schema: Mapping[str, Any]
    unit: Unit = ADD_REMOVE
    rows: int = 4
    most: int = 3
    kind: Kind = "columns"

    def __post_init__(self) -> None:
        if not self.schema:
            raise InvalidParameter("the schema must name at least one column")
        if self.kind not in ("columns", "rows", "pandas", "polars"):
            raise InvalidParameter("kind must be columns, rows, pandas or polars")
        if self.unit.person is not None and self.unit.person in self.schema:
            raise InvalidParameter("the column that names a person is made up here: leave it out of the schema")
        if self.unit.relation == "zero_out":
            raise InvalidParameter("zero_out pairs need the public null record: give them by hand with Pairs")
        several("rows", self.rows), several("most", self.most)

    def pairs(self, relation: Relation, *, group_size: int = 1) -> Iterator[tuple[Any, Any]]:
        if (relation, group_size) != (self.unit.relation, self.unit.group_size):
            wanted = Unit(relation, group_size).describe()
            raise MixedUnits(f"these frames differ by {self.unit.describe()}, the claim speaks of {wanted}")
        seen: list[tuple[Any, Any]] = []
        for base, old, new in self._changes():
            order = random.Random(len(base)).sample(range(len(base)), len(base))
            placed = [(base[:at] + old + base[at:], base[:at] + new + base[at:]) for at in _places(base)]
            placed += [(base + old, [base[j] for j in order] + new)] if len(base) > 1 else []
            for pair in placed:
                if pair not in seen:
                    seen.append(pair)
                    yield self._frame(pair[0]), self._frame(pair[1])

    def _changes(self) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]]:
        """Base rows, the rows of the unit in one world, and in the other."""
        records = self._records()
        for size in dict.fromkeys((0, 1, self.rows, 2)):
            for equal in (True, False) if size > 1 else (True,):
                base = [records[-1 - (0 if equal else j % len(records))] for j in range(size)]
                base = [self._owned(record, f"q{j + 1}") for j, record in enumerate(base)]
                for j, record in enumerate(records):
                    new = self._group(record)
                    if self.unit.relation == "add_remove":
                        yield base, [], new
                    else:
                        yield base, self._group(records[(j + 1) % len(records)]), new

    def _group(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        each = 1 if self.unit.person is None else self.most
        return [self._owned(record, f"p{j + 1}") for j in range(self.unit.group_size) for _ in range(each)]

    def _owned(self, record: dict[str, Any], name: str) -> dict[str, Any]:
        return dict(record) if self.unit.person is None else {self.unit.person: name, **record}

    def _records(self) -> list[dict[str, Any]]:
        """All columns at their first value, all at their last, one at its last, and a few mixtures."""
        domains = {name: _values(name, held) for name, held in self.schema.items()}
        low, high = ({name: values[end] for name, values in domains.items()} for end in (0, -1))
        records = [low, high, *({**low, name: values[-1]} for name, values in domains.items())]
        mixed = random.Random(len(domains))  # a selection, not a secret
        records += [{name: mixed.choice(values) for name, values in domains.items()} for _ in range(_SAMPLES)]
        return [record for j, record in enumerate(records) if record not in records[:j]]

    def _frame(self, rows: list[dict[str, Any]]) -> Any:
        names = [*([] if self.unit.person is None else [self.unit.person]), *self.schema]
        if self.kind == "rows":
            return rows
        columns = {name: [row[name] for row in rows] for name in names}
        if self.kind == "columns":
            return columns
        try:
            library = import_module(self.kind)
        except ImportError:
            raise MissingExtra(f"frames of this kind need {self.kind}: pip install {self.kind}") from None
        return library.DataFrame(columns)


def _places(base: Sequence[Any]) -> list[int]:
    return list(dict.fromkeys((len(base), 0, len(base) // 2)))


def _values(name: str, held: object) -> list[Any]:
    """Values that a column may hold, the ends of its range at the ends of the list."""
    held = getattr(held, "values", held) if not callable(getattr(held, "values", None)) else held
    bounds = getattr(held, "bounds", held)
    if isinstance(bounds, tuple) and len(bounds) == 2 and all(isinstance(end, int | float) for end in bounds):
        low, high = bounds
        if not low < high:
            raise InvalidParameter(f"column {name!r}: bounds must satisfy low < high")
        inside = sorted({value for value in BOUNDARY_VALUES if low < value < high})
        if all(isinstance(end, int) for end in bounds):
            inside = sorted({int(value) for value in inside if value == int(value)} - {low})
        return [low, *inside, high]
    values = list(held) if isinstance(held, Sequence) and not isinstance(held, str) else []
    if len(values) < 2:
        raise InvalidParameter(f"column {name!r}: give a list of at least two values, or a pair of bounds")
    return values
