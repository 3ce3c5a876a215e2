"""The engine of a query: the one that holds its data."""

from collections.abc import Iterator, Mapping
from typing import Any

from privet._numerics import Array
from privet._validate import flag
from privet.errors import InvalidData
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources
from privet.tables.coded import Cliques, Coded
from privet.tables.engines.engine import Engine, RowsApart, registered_engines
from privet.tables.person import Rows
from privet.tables.scan import Scan
from privet.tables.schema import draft


def engine_of(data: object) -> Engine:
    """The engine that reads such data.

    >>> engine_of("visits.parquet").name, engine_of({"age": [30]}).name
    ('DuckDB', 'DuckDB')
    """
    engines = [made() for made in registered_engines().values()]
    for engine in engines:
        if engine.takes(data):
            return engine
    hint = "; hand in its .collect()" if type(data).__name__ == "LazyFrame" else ""
    *most, last = [engine.reads for engine in engines]
    raise InvalidData(f"a table is {', '.join(most)} or {last}, got {type(data).__name__}{hint}")


def check_settings(data: object, settings: Mapping[str, Any]) -> None:
    """Refuse settings that the engine of such data does not take.

    >>> check_settings("visits.parquet", {"memory_limit": "3GB"})
    """
    engine_of(data).check_settings(settings)


def check_sources(plan: Bounded | Scan | Coded, sources: Sources) -> None:
    """Refuse data that a plan cannot be run on, from their schema alone: columns that are not there, kinds that do not
    fit, tables that lie in two engines.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.plan import Source
    >>> plan = Bounded(Source("t", (("a", Int(0, 9)),), Rows()), (), KeySet((), ((),)))
    >>> check_sources(plan, {"t": {"b": [1, 2, 3]}})
    Traceback (most recent call last):
    privet.errors.InvalidData: the table 't' has no column 'a'
    """
    _engine(plan, sources).check(plan, sources)


def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts, **settings: object) -> Aggregates:
    """The exact sums of every group, bounded for every person, by the engine that holds the data: not releasable.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.plan import Source
    >>> plan = Bounded(Source("t", (("a", Int(0, 9)),), Rows()), (), KeySet((), ((),)))
    >>> exact_aggregates(plan, {"t": {"a": [1, 2, 3]}}, (1, 2, 3, 4, 5)).rows.tolist()
    [3]
    """
    return _engine(plan, sources).exact_aggregates(plan, sources, salts, **settings)


def exact_rows(scan: Scan, sources: Sources, **settings: object) -> Iterator[Array] | RowsApart:
    """The rows of a scan in blocks, once, by the engine that holds them, or where they lie. Not releasable.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.plan import Source
    >>> scan = Scan(Source("t", (("a", Int(0, 9)),), Rows()), ("a",))
    >>> [block.tolist() for block in exact_rows(scan, {"t": {"a": [1, 2, 30]}})]
    [[[1.0], [2.0], [9.0]]]
    """
    return _engine(scan, sources).exact_rows(scan, sources, **settings)


def exact_marginals(coded: Coded, cliques: Cliques, sources: Sources, salts: Salts, **settings: object) -> list[Array]:
    """The tables of counts of several cliques of codes, bounded for every person, by the engine that holds the data: not
    releasable.

    >>> from privet.tables.coding import Coding
    >>> from privet.tables.columns import Int
    >>> from privet.tables.plan import Source
    >>> rows = Source("t", (("a", Int(0, 2)),), Rows())
    >>> found = exact_marginals(Coded(rows, Coding.of(rows.columns)), [(0,)], {"t": {"a": [1, 2, 30]}}, (1, 2, 3, 4, 5))
    >>> [table.tolist() for table in found]
    [[0, 1, 2]]
    """
    coded.check(cliques)
    return _engine(coded, sources).exact_marginals(coded, cliques, sources, salts, **settings)


def exact_codes(coded: Coded, sources: Sources, salts: Salts, **settings: object) -> Array:
    """The codes of every row that counts, a row each, in no order: not releasable.

    >>> from privet.tables.coding import Coding
    >>> from privet.tables.columns import Int
    >>> from privet.tables.plan import Source
    >>> rows = Source("t", (("a", Int(1, 3)),), Rows())
    >>> exact_codes(Coded(rows, Coding.of(rows.columns)), {"t": {"a": [2, 30]}}, (1, 2, 3, 4, 5)).tolist()
    [[1], [2]]
    """
    return _engine(coded, sources).exact_codes(coded, sources, salts, **settings)


def draft_of(data: object, *, look: bool = False) -> str:
    """A schema with the names and kinds of the columns of a table; bounds are never read from the data. With `look` the
    values of texts, as CSV files have them, are looked at for their kind: a tool of the custodian, who may see the data.

    >>> print(draft_of({"ward": ["A"]}).strip().splitlines()[-1])
    kind = "text"
    """
    return draft(dict(engine_of(data).kinds(data, look=flag("look", look))))


def _engine(plan: Bounded | Scan | Coded, sources: Sources) -> Engine:
    names = [source.name for source in plan.rows.sources]
    for name in names:
        if name not in sources:
            raise InvalidData(f"there are no data for the table {name!r}")
    engines = {name: engine_of(sources[name]) for name in names}
    if len({engine.name for engine in engines.values()}) > 1:
        told = ", ".join(f"{name!r} in {engine.name}" for name, engine in engines.items())
        raise InvalidData(f"the tables of one query must lie in one engine: {told}")
    engine = engines[names[0]]
    if isinstance(plan.rows.unit, Rows):
        _refuse_twins(engine, names, sources)
    return engine


def _refuse_twins(engine: Engine, names: list[str], sources: Sources) -> None:
    """One row of data under two names would count as two, and the reach of a row would be understated."""
    for place, one in enumerate(names):
        for other in names[:place]:
            if engine.same_rows(sources[one], sources[other]):
                raise InvalidData(
                    f"the tables {other!r} and {one!r} are the same data: give them one name, so that a row counts once"
                )
