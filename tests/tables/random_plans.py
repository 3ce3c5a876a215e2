"""Random plans and random tables, full of what engines disagree about."""

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from privet.tables.bounded import Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Bool, Category, Column, Date, Float, Int, Text, Time
from privet.tables.expressions import (
    Bin,
    Both,
    Compare,
    CompareColumns,
    Cut,
    Either,
    Holds,
    If,
    IsIn,
    IsMissing,
    Linear,
    Negated,
    Plus,
    Ref,
)
from privet.tables.keys import KeySet, all_keys
from privet.tables.parts import Part
from privet.tables.person import Person, Rows
from privet.tables.plan import Derive, Linked, Node, PersonJoin, PublicJoin, Source, Union, Where

WARDS = ("A", "B", "it's", "ä\\b", "")
TEXTS = ("ann", "Ann", "bob", "zoë", "", " 7", "7", "ann ", "\U0001f600", "İ")
NUMBERS = (
    "1",
    " 2.5 ",
    "-3e1",
    "1_0",
    "nan",
    "inf",
    "-Infinity",
    "0x10",
    "1e99",
    "1e999",
    "x",
    "",
    "5d",
    "٣",
    "+4",
    ".5",
    "6.",
)
DAYS = (
    "2024-02-29",
    "2023-02-29",
    "2024-01-31T23:59:59",
    "2024-05-01",
    "today",
    "2024-1-1",
    "1999-12-31 00:00:00Z",
    "x",
)
MOMENTS = (
    "2024-02-29",
    "2024-02-29 23:59",
    "2024-02-29T23:59:59.999",
    "1969-12-31 23:59:59",
    "2024-05-01 12:30:15Z",
    "2024-05-01T12:30+00:00",
    "2024-05-01 12:30+02",
    "2024-05-01 24:00",
    "2024-05-01 12:60",
    "2024-05-01 12",
    "2023-02-29 10:00",
    "2024-05-01 12:30:61",
    "12:30",
    "x",
)
DOUBLES = (
    0.0,
    -0.0,
    0.5,
    1.5,
    2.5,
    -0.5,
    1e-300,
    -5e-324,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
    0.49999999999999994,
    7.25,
)
WHOLES = (0, 1, 2, 3, 5, 9, 10, -1, -7, 2**53 + 1, 2**62, -(2**62))
SCHEMA: dict[str, Column] = {
    "i": Int(-3, 9),
    "j": Int(0, 4, null=True),
    "f": Float(-2.0, 8.0, tick=0.25),
    "g": Float(0.0, 1e6),
    "w": Category(WARDS, null=True),
    "k": Category((1, 3, 5)),
    "t": Text(),
    "d": Date("1999-01-01", "2024-12-31"),
    "b": Bool(null=True),
    "nt": Int(-50, 50),
    "ft": Float(-50.0, 50.0, tick=0.5),
    "dt": Date("1990-01-01", "2024-12-31", null=True),
    "bt": Bool(),
    "m": Time("1968-01-01", "2024-12-31 12:00", null=True),
    "mt": Time("1960-01-01", "2024-05-01 12:30"),
}


@dataclass
class Case:
    """A plan, and its tables as columns: a name, the kind that an engine holds, and values with None for missing."""

    plan: Bounded
    tables: dict[str, dict[str, tuple[str, list[Any]]]]
    salts: tuple[int, int, int, int, int]

    def frames(self) -> dict[str, dict[str, Any]]:
        """The tables as arrays, for the array engine and for DuckDB."""
        return {name: {c: as_array(kind, v) for c, (kind, v) in held.items()} for name, held in self.tables.items()}


def as_array(kind: str, values: list[Any]) -> Any:
    if kind in ("text", "object"):
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return made
    if kind == "times":
        return np.array(["NaT" if v is None else v for v in values], dtype="datetime64[us]")
    if kind == "days":
        return np.array(["NaT" if v is None else v for v in values], dtype="datetime64[D]")
    missing = np.array([v is None for v in values], dtype=bool)
    dtype = {"int": np.int64, "wide": np.uint64, "float": np.float64, "bool": np.bool_}[kind]
    plain = np.array([0 if v is None else v for v in values], dtype=dtype)
    return np.ma.MaskedArray(plain, missing) if missing.any() else plain


def pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def drawn(rng: np.random.Generator, values: Any, size: int, missing: float = 0.1) -> list[Any]:
    return [None if rng.random() < missing else pick(rng, values) for _ in range(size)]


def persons(rng: np.random.Generator, size: int, texts: bool, heavy: bool) -> tuple[str, list[Any]]:
    few = max(1, size // (40 if heavy else 4))
    if texts:
        return "text", drawn(rng, [*TEXTS, *(f"p{i}" for i in range(few))], size, 0.05)
    far = [2**60 - 1, 2**60, -5, 2**63 - 1, -(2**63)]
    return "int", drawn(rng, [*far, *range(few)], size, 0.05)


def table(rng: np.random.Generator, size: int, texts: bool) -> dict[str, tuple[str, list[Any]]]:
    days = [date(1999, 1, 1) + timedelta(days=int(n)) for n in rng.integers(-400, 9600, 12)]
    moments = [
        datetime(1969, 12, 30) + timedelta(seconds=int(n), microseconds=int(n) % 1_000_000)
        for n in (*rng.integers(-(10**5), 10**6, 8), *rng.integers(-(10**9), 2 * 10**9, 8))
    ]
    return {
        "id": persons(rng, size, texts, rng.random() < 0.3),
        "i": ("int", drawn(rng, WHOLES, size)),
        "j": ("float", drawn(rng, (*DOUBLES, 1.0, 2.0, 3.0), size)),
        "f": ("float", drawn(rng, DOUBLES, size)),
        "g": ("float", drawn(rng, (*DOUBLES, *rng.lognormal(3, 3, 20)), size)),
        "w": ("text", drawn(rng, (*WARDS, "C", "a"), size)),
        "k": ("int", drawn(rng, (1, 2, 3, 5, 2**60), size)),
        "t": ("text", drawn(rng, TEXTS, size)),
        "d": ("days", drawn(rng, days, size)),
        "b": ("bool", drawn(rng, (True, False), size)),
        "nt": ("text", drawn(rng, NUMBERS, size)),
        "ft": ("text", drawn(rng, NUMBERS, size)),
        "dt": ("text", drawn(rng, DAYS, size)),
        "m": ("times", drawn(rng, moments, size)),
        "mt": ("text", drawn(rng, MOMENTS, size)),
        "bt": ("text", drawn(rng, ("true", "False", "1", "yes", " t ", ""), size)),
    }


def expression(rng: np.random.Generator, columns: dict[str, Column]) -> Any:
    numbers = [n for n, c in columns.items() if isinstance(c, Int | Float)]
    days = [n for n, c in columns.items() if isinstance(c, Date)]
    times = [n for n, c in columns.items() if isinstance(c, Time)]
    kind = int(rng.integers(8))
    if kind == 6 and times:
        return Part(Ref(pick(rng, times)), pick(rng, ("year", "month", "weekday", "date", "hour", "minute")))
    if kind == 7 and times:
        return Plus(Ref(pick(rng, times)), Ref(pick(rng, times)), -1)
    if kind == 0 and days:
        return Part(Ref(pick(rng, days)), pick(rng, ("year", "month", "weekday")))
    if kind == 1:
        return Linear(Ref(pick(rng, numbers)), pick(rng, (2, -3, 0, 0.5, -1.0, 1e-3)), pick(rng, (0, 1, -4, 0.25)))
    if kind == 2:
        return Plus(Ref(pick(rng, numbers)), Ref(pick(rng, numbers)), pick(rng, (1, -1)))
    if kind == 3:
        return Bin(
            Ref(pick(rng, numbers)), pick(rng, (0, -2, 0.0, 0.1)), pick(rng, (1, 3, 0.7, 2.5)), int(rng.integers(1, 6))
        )
    if kind == 4 and days:
        return Bin(Ref(pick(rng, days)), 10_000, 365, 30)
    return Linear(Plus(Ref(pick(rng, numbers)), Ref(pick(rng, numbers))), pick(rng, (1, 0.125)), 0)


def conditional(rng: np.random.Generator, columns: dict[str, Column]) -> Any:
    numbers = [n for n, c in columns.items() if isinstance(c, Int | Float)]
    kind, of = int(rng.integers(4)), Ref(pick(rng, numbers))
    if kind == 0:
        return Holds(condition(rng, columns))
    if kind == 1:
        return Cut(of, pick(rng, ((), (1,), (-0.5, 0.0, 2.5), (-7, 3, 2**62))), closed=bool(rng.integers(2)))
    return If(of, condition(rng, columns), pick(rng, (None, 0, -4, 0.25)) if kind == 2 else None)


def condition(rng: np.random.Generator, columns: dict[str, Column], depth: int = 2) -> Any:
    kind = int(rng.integers(7 if depth else 4))
    name = pick(rng, list(columns))
    column = columns[name]
    if kind == 1:
        return IsMissing(Ref(name))
    if kind == 2:
        numbers = [n for n, c in columns.items() if isinstance(c, Int | Float)]
        return CompareColumns(Ref(pick(rng, numbers)), pick(rng, ("<", "<=", "=", "!=")), Ref(pick(rng, numbers)))
    if kind in (0, 3):
        if isinstance(column, Category):
            return IsIn(Ref(name), tuple(column.values[: int(rng.integers(1, 3))]))
        if isinstance(column, Text):
            return Compare(Ref(name), pick(rng, ("=", "!=")), pick(rng, TEXTS))
        if isinstance(column, Bool):
            return Compare(Ref(name), pick(rng, ("=", "!=")), pick(rng, (True, False)))
        operator = pick(rng, ("<", "<=", ">", ">=", "=", "!="))
        value = date(2010, 6, 1) if isinstance(column, Date | Time) else pick(rng, (0, 1, 2.5, -0.0, 3))
        return Compare(Ref(name), operator, value)
    inner = [condition(rng, columns, depth - 1) for _ in range(2)]
    return Negated(inner[0]) if kind == 6 else (Both if kind == 4 else Either)(*inner)


def unit(rng: np.random.Generator, person: bool) -> Rows | Person:
    relation = pick(rng, ("add_remove", "replace"))
    if not person:
        return Rows(relation=relation)
    limits = pick(rng, ((3, None, None), (None, 2, 2), (4, 2, 3), (1, 1, 1), (5, 3, None), (3, None, 2), (None, 1, 50)))
    return Person("id", max_rows=limits[0], max_groups=limits[1], max_rows_per_group=limits[2], relation=relation)


def random_case(seed: int, largest: int = 60) -> Case:
    """The same case for the same seed, on every machine."""
    rng = np.random.default_rng([20261115, seed])
    person, texts = rng.random() < 0.7, rng.random() < 0.4
    about = unit(rng, person)
    names = [n for n in SCHEMA if rng.random() < 0.75] or ["i"]
    names = list(dict.fromkeys([*names, "i", "f"]))
    listed = tuple((n, SCHEMA[n]) for n in names)
    size = int(pick(rng, (0, 1, 7, largest, largest, largest)))
    tables = {"t": table(rng, size, texts)}
    node: Node = Source("t", listed, about)
    shape = int(rng.integers(5))
    if shape == 1 and isinstance(about, Person):
        more = {"id": persons(rng, size, texts, False), "x": ("int", drawn(rng, range(5), size))}
        tables["u"] = more
        node = PersonJoin(node, Source("u", (("x", Int(0, 3)),), about))
    elif shape == 2:
        tables["v"] = table(rng, size // 2, texts)
        node = Union((node, Source("v", listed, about), Where(node, condition(rng, dict(listed)))))
    elif shape == 3 and isinstance(about, Person) and "i" in names:
        link = Source("l", (("i", SCHEMA["i"]),), about)
        tables["l"] = {"id": tables["t"]["id"], "i": ("int", drawn(rng, WHOLES, size))}
        node = Linked(Source("t", listed, Rows()), link, "i")
    if rng.random() < 0.5:
        on = pick(rng, [n for n in names if n in ("w", "k", "i", "b")] or ["i"])
        domain = list(SCHEMA[on].domain or ())
        rows = tuple((v, int(n)) for v in domain[:4] for n in range(int(rng.integers(0, 3))))
        if rows:
            node = PublicJoin(node, ((on, SCHEMA[on]), ("extra", Int(0, 5))), rows, (on,))
    for place in range(int(rng.integers(0, 3))):
        node = Derive(node, pick(rng, (f"new{place}", "i", "f")), expression(rng, node.columns))
    if rng.random() < 0.5:
        node = Where(node, condition(rng, node.columns))
    if seed % 3 == 0:
        node = Derive(node, "late", conditional(rng, node.columns))
    return Case(_asked(rng, node), tables, tuple(int(s) for s in rng.integers(0, 2**31 - 1, 5)))  # type: ignore[arg-type]


def _asked(rng: np.random.Generator, node: Node) -> Bounded:
    columns = node.columns
    groupable = [n for n, c in columns.items() if not isinstance(c, Float | Time)]
    count = int(rng.integers(0, 3))
    names = tuple(dict.fromkeys(pick(rng, groupable) for _ in range(count)))
    keys: KeySet | None = None
    small = all(columns[n].domain is not None and len(columns[n].domain or ()) < 40 for n in names)
    if not names or (small and rng.random() < 0.6):
        keys = all_keys(columns, names)
        if names and rng.random() < 0.5:
            keys = KeySet(names, keys.rows[:: int(rng.integers(1, 4))])
    terms: list[Term] = []
    cells: list[Cell] = []
    signed: list[Signed] = []
    for name in [n for n, c in columns.items() if isinstance(c, Int | Float)][:3]:
        low, high = columns[name].span
        tick = 0.25 if high - low < 1000 else 1.0 if high - low < 1e5 else 64.0
        steps = math.floor((high - low) / tick + 0.5)
        ticks, first = Ticks(Ref(name), float(low), tick), len(terms)
        terms += [Term((), (Ref(name),)), Term((ticks,), (Ref(name),))]
        cells += [Cell(((first + 1, 1),), steps), Cell(((first, steps), (first + 1, -1)), steps)]
        ends = [math.floor(end / tick + 0.5) for end in (low, high)]
        signed.append(Signed(Ticks(Ref(name), 0.0, tick), *ends))
    return Bounded(node, names, keys, tuple(terms), tuple(cells), tuple(signed))


def same(a: Any, b: Any) -> bool:
    """Whether two exact answers are equal in every bit."""
    pairs = [(a.rows, b.rows), (a.persons, b.persons), *zip(a.cells, b.cells, strict=True)]
    pairs += zip(a.signed, b.signed, strict=True)
    return a.found == b.found and all(x.dtype == y.dtype == np.int64 and np.array_equal(x, y) for x, y in pairs)
