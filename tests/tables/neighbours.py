"""Neighbouring tables, random and hostile, and how far exact aggregates move between them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.tables.bounded import Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Category, Column, Date, Float, Int, Time
from privet.tables.expressions import Bin, Compare, Expression, Linear, Ref
from privet.tables.features import Feature
from privet.tables.keys import KeySet
from privet.tables.parts import Part
from privet.tables.person import Person, Rows
from privet.tables.plan import Derive, Linked, Node, PerPerson, PersonJoin, PublicJoin, Source, Union, Where
from tests.oracles import array_engine

P = 2**31 - 1
SALTS = (11, 22, 33, 44, 55)
LOW, HIGH = -2, 5
COLUMNS: dict[str, Column] = {
    "g": Int(0, 3 * P, null=True),  # groups that differ by P have the same priority: ties
    "x": Float(float(LOW), float(HIGH), tick=1.0),
    "c": Category(["a", "b"]),
    "d": Date("2024-01-01", "2024-12-31"),
    "m": Time("2024-01-01", "2024-12-31"),
}
GROUPS = (0, P, 2 * P, 1, P + 1, None)
Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class Subject:
    """A plan whose laws are asked for, and the tables that hold the unit of privacy."""

    name: str
    plan: Bounded
    private: tuple[str, ...]


def asked(node: Node, names: tuple[str, ...] = ("g",), keys: KeySet | None = None, of: str = "x") -> Bounded:
    """Counts, a mean's two sums and a signed sum, by group."""
    ends = node.columns[of].span
    low, high = round(ends[0]), round(ends[1])
    ticks = Ticks(Ref(of), float(low), 1.0)
    terms = (Term((), (Ref(of),)), Term((ticks,), (Ref(of),)))
    steps = high - low
    cells = (Cell(((1, 1),), steps), Cell(((0, steps), (1, -1)), steps))
    return Bounded(node, names, keys, terms, cells, (Signed(Ticks(Ref(of), 0.0, 1.0), low, high),))


def subjects(relation: Any) -> list[Subject]:
    """Every node of a plan, about rows and about persons with every kind of limit."""
    listed = tuple(COLUMNS.items())
    row = Source("t", listed, Rows(relation=relation))
    limits = ((3, None, None), (None, 2, 2), (5, 2, 3), (2, 1, 2), (4, 3, None), (3, None, 2))
    persons = [Person("id", max_rows=m, max_groups=g, max_rows_per_group=p, relation=relation) for m, g, p in limits]
    made = []
    for place, about in enumerate(persons):
        source = Source("t", listed, about)
        made += [
            Subject(f"{name} of persons {place}", asked(node, *more), ("t",)) for name, node, *more in _steps(source)
        ]
        other = Source("u", (("y", Int(0, 3)),), about)
        made.append(Subject(f"person join {place}", asked(PersonJoin(source, other)), ("t", "u")))
        features = (
            ("n", Feature("count", bounds=(0, 3))),
            ("x", Feature("sum", "x", bounds=(LOW, HIGH))),
            ("last", Feature("last", "x", by="d")),
        )
        made += [
            Subject(f"{of} of features {place}", asked(PerPerson(source, features), ("n",), None, of), ("t",))
            for of in ("x", "last")
        ]
        link = Source("l", (("g", COLUMNS["g"]),), about)
        made.append(Subject(f"linked {place}", asked(Linked(Source("t", listed, Rows()), link, "g")), ("l",)))
        made.append(
            Subject(f"union of persons {place}", asked(Union((source, source, Source("v", listed, about)))), ("t", "v"))
        )
    made += [Subject(f"{name} of rows", asked(node, *more), ("t",)) for name, node, *more in _steps(row)]
    both = Union((row, Where(row, Compare(Ref("x"), ">", 0)), Source("v", listed, row.about)))
    return [*made, Subject("union of rows", asked(both), ("t", "v"))]


def _steps(source: Node) -> list[tuple[Any, ...]]:
    public = (("c", COLUMNS["c"]), ("floor", Int(0, 9)))
    rows = (("a", 1), ("a", 2), ("a", 2), ("b", 3))
    joined = PublicJoin(source, public, rows, ("c",))
    doubled: Expression = Linear(Ref("x"), 2, 1)
    return [
        ("source", source),
        ("source with keys", source, ("g",), KeySet(("g",), ((0,), (P,), (None,)))),
        ("where", Where(source, Compare(Ref("x"), ">=", 0))),
        ("derive", Derive(source, "z", doubled), ("g",), None, "z"),
        ("redefined", Derive(source, "x", doubled)),
        ("bin", Derive(source, "bin", Bin(Ref("x"), -2, 2, 3)), ("bin",)),
        ("hour", Derive(source, "hour", Part(Ref("m"), "hour")), ("hour",)),
        ("part", Derive(source, "month", Part(Ref("d"), "month")), ("month",)),
        ("public join", joined, ("floor",)),
        ("public join, one group", joined, (), KeySet((), ((),))),
    ]


def hostile_rows(rng: np.random.Generator, size: int) -> list[Row]:
    """Rows at the ends of everything, all in one group or spread over tied ones."""
    style = int(rng.integers(4))
    made = []
    for place in range(size):
        group = (
            0 if style == 0 else GROUPS[place % len(GROUPS)] if style == 1 else GROUPS[int(rng.integers(len(GROUPS)))]
        )
        value = (HIGH, LOW, None, np.inf, -0.0, 1.4)[0 if style < 2 else int(rng.integers(6))]
        letter = ("a", "b", "zz")[int(rng.integers(3)) if style else 0]
        moment = f"2024-02-29 {place % 24 if style else 7:02}:30"
        made.append({"g": group, "x": value, "c": letter, "d": "2024-02-29", "m": moment})
    return made


def random_tables(rng: np.random.Generator, people: tuple[Any, ...] = ("p", "q", None)) -> Tables:
    """Tables of a few persons; one of them has many rows."""
    tables: Tables = {"t": [], "u": [], "v": [], "l": []}
    for person in people:
        for row in hostile_rows(rng, int(rng.integers(1, 9))):
            tables["t"].append({"id": person, **row})
        for row in hostile_rows(rng, int(rng.integers(0, 4))):
            tables["v"].append({"id": person, **row})
        tables["u"] += [{"id": person, "y": int(y)} for y in rng.integers(0, 4, int(rng.integers(0, 3)))]
        tables["l"] += [{"id": person, "g": row["g"]} for row in hostile_rows(rng, int(rng.integers(0, 5)))]
    return tables


def neighbours(rng: np.random.Generator, subject: Subject) -> tuple[Tables, Tables]:
    """Two tables that differ in one unit of privacy, by the plan's relation."""
    about = subject.plan.rows.unit
    tables = random_tables(rng)
    if isinstance(about, Rows):
        name = subject.private[int(rng.integers(len(subject.private)))]
        held = tables[name] or hostile_rows(rng, 1)
        fewer = {**tables, name: held[1:]}
        if about.relation == "add_remove":
            return {**tables, name: held}, fewer
        return {**tables, name: held}, {**tables, name: [*hostile_rows(rng, 1), *held[1:]]}
    without = {
        name: [row for row in rows if name not in subject.private or row.get("id") != "p"]
        for name, rows in tables.items()
    }
    if about.relation == "add_remove":
        return tables, without
    newcomer = random_tables(rng, (("p", "new")[int(rng.integers(2))],))
    both = {name: rows + (newcomer[name] if name in subject.private else []) for name, rows in without.items()}
    return tables, both


def frames(tables: Tables) -> dict[str, dict[str, list[Any]]]:
    names = {"t": ("id", *COLUMNS), "v": ("id", *COLUMNS), "u": ("id", "y"), "l": ("id", "g")}
    return {table: {name: [row.get(name) for row in rows] for name in names[table]} for table, rows in tables.items()}


def broken(plan: Bounded, before: Tables, after: Tables, engine: Any = array_engine) -> list[str]:
    """Which of the promised distances a pair of neighbours exceeds."""
    return [name for name, (moved, promised) in distances(plan, before, after, engine).items() if moved > promised]


def distances(plan: Bounded, before: Tables, after: Tables, engine: Any = array_engine) -> dict[str, tuple[int, int]]:
    """How far each vector moves, and how far it may by the reach of the plan."""
    one, two = (engine.exact_aggregates(plan, frames(each), SALTS) for each in (before, after))
    reach, unit, each = plan.reach, plan.rows.unit.unit, plan.signed[0]
    steps = plan.cells[0].top
    rows, persons = _difference(one, two, "rows"), _difference(one, two, "persons")
    cells = np.concatenate([_difference(one, two, "cells", 0), _difference(one, two, "cells", 1)])
    signed = _difference(one, two, "signed", 0)
    return {
        "rows in l1": (_l1(rows), reach.l1(unit)),
        "rows in l2": (_l2(rows), reach.l2_squared(unit)),
        "persons in l1": (_l1(persons), reach.persons(unit)),
        "persons in l2": (_l2(persons), reach.persons(unit)),
        "cells in l1": (_l1(cells), steps * reach.l1(unit)),
        "cells in l2": (_l2(cells), steps**2 * reach.l2_squared(unit)),
        "sums in l1": (_l1(signed), reach.sums_l1(unit, each.lower, each.upper)),
        "sums in l2": (_l2(signed), reach.sums_l2_squared(unit, each.lower, each.upper)),
    }


def _difference(one: Any, two: Any, field: str, place: int | None = None) -> Any:
    values = [getattr(each, field) if place is None else getattr(each, field)[place] for each in (one, two)]
    if one.found is None:
        return values[0] - values[1]
    held = [dict(zip(each.found, value.tolist(), strict=True)) for each, value in zip((one, two), values, strict=True)]
    return np.array([held[0].get(key, 0) - held[1].get(key, 0) for key in {**held[0], **held[1]}], dtype=np.int64)


def _l1(moved: Any) -> int:
    return int(np.abs(moved).sum())


def _l2(moved: Any) -> int:
    return int((moved * moved).sum())
