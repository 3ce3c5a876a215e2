"""The engine of a query: the one that holds its data."""

from collections.abc import Iterator, Mapping
from typing import Any

from privet._numerics import Array
from privet._validate import flag
from privet.errors import InvalidData, InvalidParameter
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources
from privet.tables.engines import duckdb, postgres, spark
from privet.tables.engines.same_data import same_data
from privet.tables.engines.spark_rows import SparkRows
from privet.tables.person import Rows
from privet.tables.scan import Scan
from privet.tables.schema import draft

_ENGINES = {"DuckDB": duckdb, "PostgreSQL": postgres, "Spark": spark}


def engine_of(data: Any) -> str:
    """The name of the engine that reads such data.

    >>> engine_of("visits.parquet"), engine_of({"age": [30]})
    ('DuckDB', 'DuckDB')
    """
    for name, engine in _ENGINES.items():
        if engine.takes(data):
            return name
    hint = "; hand in its .collect()" if type(data).__name__ == "LazyFrame" else ""
    raise InvalidData(
        "a table is a file (Parquet or CSV), a data frame, an Arrow table, a mapping of arrays, a relation of DuckDB, a "
        f"PostgresTable or a Spark DataFrame, got {type(data).__name__}{hint}"
    )


def check_settings(data: Any, settings: Mapping[str, Any]) -> None:
    """Refuse settings that the engine of such data does not take.

    >>> check_settings("visits.parquet", {"memory_limit": "3GB"})
    """
    if engine_of(data) != "DuckDB":
        raise InvalidParameter("settings are those of DuckDB, which reads files and data in memory: give them there")
    duckdb.check_settings(settings)


def check_sources(plan: Bounded | Scan, sources: Sources) -> None:
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
    _ENGINES[_engine(plan, sources)].check(plan, sources)


def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts, **settings: Any) -> Aggregates:
    """The exact sums of every group, bounded for every person, by the engine that holds the data: not releasable.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.plan import Source
    >>> plan = Bounded(Source("t", (("a", Int(0, 9)),), Rows()), (), KeySet((), ((),)))
    >>> exact_aggregates(plan, {"t": {"a": [1, 2, 3]}}, (1, 2, 3, 4, 5)).rows.tolist()
    [3]
    """
    return _ENGINES[_engine(plan, sources)].exact_aggregates(plan, sources, salts, **settings)


def exact_rows(scan: Scan, sources: Sources, **settings: Any) -> Iterator[Array] | SparkRows:
    """The rows of a scan in blocks, once, by the engine that holds them; Spark's stay where they are. Not releasable.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.plan import Source
    >>> scan = Scan(Source("t", (("a", Int(0, 9)),), Rows()), ("a",))
    >>> [block.tolist() for block in exact_rows(scan, {"t": {"a": [1, 2, 30]}})]
    [[[1.0], [2.0], [9.0]]]
    """
    engine = _engine(scan, sources)
    if engine == "Spark":
        return SparkRows(scan, sources)
    return duckdb.exact_rows(scan, sources, **settings) if engine == "DuckDB" else postgres.exact_rows(scan, sources)


def draft_of(data: Any, *, look: bool = False) -> str:
    """A schema with the names and kinds of the columns of a table; bounds are never read from the data. With `look` the
    values of texts, as CSV files have them, are looked at for their kind: a tool of the custodian, who may see the data.

    >>> print(draft_of({"ward": ["A"]}).strip().splitlines()[-1])
    kind = "text"
    """
    if engine_of(data) != "DuckDB":
        raise InvalidData("a schema is drafted from a file or from data in memory; write that of a database by hand")
    names = {"int": "int", "float": "float", "decimal": "float", "bool": "bool", "date": "date", "time": "date"}
    kinds = {name: names.get(kind, "text") for name, kind in duckdb.kinds(data).items()}
    if flag("look", look):
        kinds |= duckdb.exact_kinds(data, [name for name, kind in kinds.items() if kind == "text"])
    return draft(kinds)


def _engine(plan: Bounded | Scan, sources: Sources) -> str:
    names = [source.name for source in plan.rows.sources]
    for name in names:
        if name not in sources:
            raise InvalidData(f"there are no data for the table {name!r}")
    engines = {name: engine_of(sources[name]) for name in names}
    if len(set(engines.values())) > 1:
        told = ", ".join(f"{name!r} in {engine}" for name, engine in engines.items())
        raise InvalidData(f"the tables of one query must lie in one engine: {told}")
    if isinstance(plan.rows.unit, Rows):
        _refuse_twins(names, sources)
    return engines[names[0]]


def _refuse_twins(names: list[str], sources: Sources) -> None:
    """One row of data under two names would count as two, and the reach of a row would be understated."""
    for place, one in enumerate(names):
        for other in names[:place]:
            if same_data(sources[one], sources[other]):
                raise InvalidData(
                    f"the tables {other!r} and {one!r} are the same data: give them one name, so that a row counts once"
                )
