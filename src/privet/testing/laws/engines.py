"""Laws of engines: the exact sums of every plan, bit for bit, from data that no other engine takes.

An example is a plan, tables that lie in the engine, and the sums that must come out. Whoever adds an engine puts random
tables into it; the suite compares with an engine of plain arrays, which stands beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.tables import (
    Aggregates,
    Bool,
    Bounded,
    Category,
    Coded,
    Coding,
    Column,
    Float,
    Int,
    KeySet,
    Node,
    Rows,
    Salts,
    Scan,
    Source,
    Text,
    Union,
)
from privet.tables.bounded import Sources
from privet.tables.engines import (
    Engine,
    RowsApart,
    check_sources,
    engine_of,
    exact_aggregates,
    exact_marginals,
    registered_engines,
)
from privet.testing.law import law_of

_ALL = KeySet((), ((),))


@final
@dataclass(frozen=True, eq=False)
class EngineExample:
    """A plan, tables that an engine holds, coins that choose among rows of a person, and the sums that must come out.

    >>> plan = Bounded(Source("t", (("a", Int(0, 9)),), Rows()), (), _ALL)
    >>> sums = Aggregates(None, np.array([2]), np.array([0]), (), ())
    >>> EngineExample(plan, {"t": {"a": [1, 2]}}, (1, 2, 3, 4, 5), sums).kind
    'DuckDB'
    """

    plan: Bounded
    sources: Sources
    salts: Salts
    expected: Aggregates

    @property
    def engine(self) -> Engine:
        """The engine of the first table."""
        return engine_of(self.sources[self.plan.rows.sources[0].name])

    @property
    def kind(self) -> str:
        """The name of the engine among the registered ones."""
        return self.engine.name


@law_of("engine")
def check_sums_are_exact(example: EngineExample) -> None:
    """Rows, persons, cells and signed sums of every group are those expected, as whole numbers of 64 bits, and so are the
    keys that were found."""
    check_sources(example.plan, example.sources)
    found, expected = exact_aggregates(example.plan, example.sources, example.salts), example.expected
    assert found.found == expected.found, f"{example.kind}: other keys than expected"
    for what in ("rows", "persons", "cells", "signed"):
        mine, theirs = getattr(found, what), getattr(expected, what)
        pairs = zip(mine, theirs, strict=True) if isinstance(mine, tuple) else [(mine, theirs)]
        for one, two in pairs:
            assert one.dtype == np.int64, f"{example.kind}: {what} are no whole numbers of 64 bits"
            assert np.array_equal(one, two), f"{example.kind}: other {what} than expected"


@law_of("engine")
def check_data_have_one_engine(example: EngineExample) -> None:
    """No other engine takes these data: what a table is read by does not depend on an order of engines."""
    for data in example.sources.values():
        takers = [name for name, made in registered_engines().items() if made().takes(data)]
        assert takers == [example.kind], f"{example.kind}: its data are taken by {takers}"


@law_of("engine")
def check_what_does_not_fit_is_refused(example: EngineExample) -> None:
    """A column that is not there, and one table under two names, are refused from the schema, before a row is read."""
    (name, data), *_ = example.sources.items()
    missing = Source(name, (("no such column", Int(0, 1)),), Rows())
    columns = tuple(_numbers(example).items())
    twice = Union((Source(name, columns, Rows()), Source("second name", columns, Rows())))
    for what, rows in (("a column that is not there", missing), ("one table under two names", twice)):
        try:
            check_sources(Bounded(rows, (), _ALL), {name: data, "second name": data})
        except InvalidData:
            continue
        raise AssertionError(f"{example.kind}: {what} was not refused")


@law_of("engine")
def check_rows_are_all_there(example: EngineExample) -> None:
    """A scan has as many rows as are counted, each within the bounds of its columns or missing, and stays where it lies if
    the engine says so (`rows_stay`)."""
    (name, _), *_ = example.sources.items()
    columns = _numbers(example)
    source: Node = Source(name, tuple(columns.items()), Rows())
    held = example.engine.exact_rows(Scan(source, tuple(columns)), example.sources)
    assert isinstance(held, RowsApart) == example.engine.rows_stay, f"{example.kind}: rows_stay says otherwise"
    spans = [tuple(map(float, column.span)) for column in columns.values()]
    part = partial(_looked, spans=spans)
    seen = held.exact_parts(part) if isinstance(held, RowsApart) else [part(held)]
    counted = int(exact_aggregates(Bounded(source, (), _ALL), example.sources, example.salts).rows[0])
    assert sum(rows for rows, _ in seen) == counted, f"{example.kind}: other rows in a scan than are counted"
    assert all(inside for _, inside in seen), f"{example.kind}: values beyond the bounds of their column"


@law_of("engine")
def check_tables_of_counts_are_exact(example: EngineExample) -> None:
    """Tables of counts over sets of columns are whole numbers of 64 bits, those of the sums by all codes at once, and all
    from the same rows of each person: a table summed over a column is the table without it."""
    coded = Coded(example.plan.rows, _coding(example))
    sizes = coded.coding.sizes
    cliques = [each for k in range(len(sizes) + 1) for each in combinations(range(len(sizes)), k)]
    check_sources(coded, example.sources)
    found = dict(zip(cliques, exact_marginals(coded, cliques, example.sources, example.salts), strict=True))
    by_codes = exact_aggregates(coded.bounded, example.sources, example.salts)
    whole = np.zeros(sizes, dtype=np.int64)
    for codes, many in zip(by_codes.found or (), by_codes.rows.tolist(), strict=True):
        whole[tuple(codes)] += many
    for clique, table in found.items():
        others = tuple(i for i in range(len(sizes)) if i not in clique)
        assert table.dtype == np.int64, f"{example.kind}: a table of counts is not of whole numbers of 64 bits"
        assert np.array_equal(table, whole.sum(axis=others)), f"{example.kind}: another table of counts than expected"
        rows = found[cliques[-1]].sum(axis=others)
        assert np.array_equal(table, rows), f"{example.kind}: tables of counts are from different rows of a person"


def _coding(example: EngineExample) -> Coding:
    """Up to four columns of the plan, those of many values in four bins."""
    found: dict[str, Column] = {}
    for name, column in example.plan.rows.columns.items():
        if not isinstance(column, Text) and len(found) < 4:
            found[name] = column
    wide = [
        name for name, each in found.items() if not isinstance(each, Category | Bool) and each.span[0] < each.span[1]
    ]
    return Coding.of(found, bins=dict.fromkeys(wide, 4))


def _numbers(example: EngineExample) -> dict[str, Column]:
    """The columns of the first table that hold numbers, as the plan declares them."""
    (source, *_) = example.plan.rows.sources
    return {name: column for name, column in source.columns.items() if isinstance(column, Int | Float)}


def _looked(blocks: Iterator[Array], spans: list[tuple[float, ...]]) -> tuple[int, bool]:
    rows, inside = 0, True
    for block in blocks:
        held: Any = np.asarray(block)
        rows += len(held)
        for place, (low, high) in enumerate(spans):
            column = held[:, place]
            inside &= bool((np.isnan(column) | ((column >= low) & (column <= high))).all())
    return rows, inside
