"""Tiny tables of persons, and all that one of them can do."""

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

import privet as pv
from privet.queries import Query
from privet.tables.bounded import Aggregates, Bounded, Salts
from tests.oracles.array_engine import exact_aggregates

Row = tuple[Any, ...]
SALTS: tuple[Salts, ...] = ((1, 2, 3, 4, 5), (77, 1234567, 5, 999999, 31))
COLUMNS = {"ward": pv.Category(["A", "B", "C"]), "x": pv.Int(-2, 3), "city": pv.Text()}
CHOICES: tuple[Row, ...] = (("A", 3, "Rome"), ("B", -2, "Rome"), ("B", 3, "Bonn"), ("C", None, None), ("A", 0, "Oslo"))
OTHERS: tuple[Row, ...] = ((7, "A", 1, "Rome"), (8, "B", None, "Rome"), (8, "B", 3, "Oslo"))


def table_of(rows: list[Row]) -> dict[str, Any]:
    """Rows (person, ward, x, city) as columns."""
    columns: list[Any] = [list(each) for each in zip(*rows, strict=True)] or [[], [], [], []]
    x = [None if value is None else float(value) for value in columns[2]]
    return {"id": columns[0], "ward": columns[1], "x": x, "city": columns[3]}


def asked_of(unit: Any) -> pv.Table:
    """A table whose data are given by the tests."""
    return pv.Table(table_of([]), columns=COLUMNS, unit=unit, name="visits")


def persons(most: int) -> Iterator[list[Row]]:
    """Every person with up to so many rows; person 1 is one of them, and so is nobody."""
    for size in range(most + 1):
        for rows in combinations_with_replacement(CHOICES, size):
            yield [(1, *row) for row in rows]


def exact(plan: Bounded, rows: list[Row], salts: Salts) -> Aggregates:
    """What the array engine adds up."""
    return exact_aggregates(plan, {"visits": table_of(rows)}, salts)


def vectors(query: Query, way: dict[str, Any]) -> tuple[Any, list[tuple[str, Any, Any]]]:
    """The mechanism of a query, and (norm, family, declared sensitivity) of each of its parts."""
    made = query.for_budget(**way)
    listed = []
    for family, part in zip(made.families, made.parts, strict=True):
        listed.append((part.sensitivity.norm, family, part.sensitivity.value))
    return made, listed


def distance(norm: str, one: Any, two: Any) -> float:
    """Between two exact vectors."""
    gap = (np.asarray(one) - np.asarray(two)).astype(object).reshape(-1)
    return float(sum(abs(each) for each in gap)) if norm == "l1" else float(sum(each * each for each in gap)) ** 0.5
