"""Spark: a DataFrame of any size. Plain SQL alone: no Python workers, and no random numbers that a retry would redraw."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

from privet._numerics import Array
from privet.errors import InvalidData
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources
from privet.tables.coded import Cliques, Coded
from privet.tables.dialect import Raw, Spark
from privet.tables.emit import Emitter
from privet.tables.engines.engine import answer
from privet.tables.engines.failing import cancellable, one_failure
from privet.tables.grouped import batches, grouped, placed
from privet.tables.plan import Source
from privet.tables.reading import Reading, no_column
from privet.tables.scan import Scan
from privet.tables.schema_check import check_schema

_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    # another pass over the sorted pairs, ahead of the one that counts them, which drops next to none: most persons have few
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
}
_KEPT = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")  # these change no answer, only its time
_KINDS: dict[str, Raw] = {
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "int",
    "float": "float",
    "double": "float",
    "string": "text",
    "void": "text",  # no value at all, which reads as any kind
    "boolean": "bool",
    "date": "date",
    "timestamp": "time",
    "timestamp_ntz": "time",
}


def raw_kind(type_: str) -> Raw:
    """The kind of a column in Spark, by the name of its type. What a text with a collation of its own takes for equal
    is not what its bytes say.

    >>> raw_kind("bigint"), raw_kind("decimal(20,0)"), raw_kind("string collate UTF8_LCASE")
    ('int', 'wide', 'collated')
    """
    if type_.startswith("decimal("):
        return "wide" if type_.endswith(",0)") else "decimal"
    if " collate " in type_ and type_.startswith(("string", "varchar(", "char(")):
        return "collated"
    if type_.startswith(("varchar(", "char(")):
        return "text"
    return _KINDS.get(type_, "other")


@one_failure
def check(plan: Bounded | Scan | Coded, sources: Sources) -> None:
    """Refuse what the schema of the frames does not fit, without a look at a row."""
    check_schema(plan, Spark(), readings(plan, sources, ""))


@one_failure
def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts) -> Aggregates:
    """The exact sums of every group, bounded for every person: not releasable."""
    with views(plan, sources) as (session, prefix):
        sql = Emitter(Spark(), readings(plan, sources, prefix)).query(plan, salts)
        rows = _asked(session, partial(_collected, session, sql))
    return answer(plan, rows)


@one_failure
def exact_marginals(coded: Coded, cliques: Cliques, sources: Sources, salts: Salts) -> list[Array]:
    """The tables of counts of several cliques of codes: not releasable. The codes are computed once and kept without their
    history: computed anew, for the next cliques, they could be of other rows."""
    made: list[Array] = []
    with views(coded, sources) as (session, prefix):
        rows = Emitter(Spark(), readings(coded, sources, prefix)).codes(coded, salts)
        kept = f"privet_codes_{uuid4().hex}"
        _asked(session, lambda: session.sql(rows).localCheckpoint().createTempView(kept))
        try:
            for some in batches(coded.coding.sizes, cliques):
                sql = grouped(Spark(), f"SELECT * FROM {kept}", coded.coding.sizes, some)
                found = _asked(session, partial(_collected, session, sql))
                made += placed(found, coded.coding.sizes, some)
        finally:
            session.catalog.dropTempView(kept)
    return made


def _collected(session: Any, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.sql(sql).collect()]


def _asked(session: Any, ask: Callable[[], Any]) -> Any:
    """The answer of Spark; an interrupt stops what it was asked, and that alone."""
    tag = f"privet-{uuid4().hex}"

    def tagged() -> Any:
        session.addTag(tag)  # of this thread: what it starts can be found and stopped
        try:
            return ask()
        finally:
            session.removeTag(tag)

    return cancellable(tagged, lambda: session.interruptTag(tag))


@contextmanager
def views(plan: Bounded | Scan | Coded, sources: Sources) -> Iterator[tuple[Any, str]]:
    """A session of our own in the same application, with settings that are ours, and the frames as views in it."""
    frames = {source.name: sources[source.name] for source in plan.rows.sources}
    parents = {id(frame.sparkSession): frame.sparkSession for frame in frames.values()}
    if len(parents) > 1:
        raise InvalidData("the tables of one query must lie in one Spark session")
    (parent,) = parents.values()
    session, stem = parent.newSession(), f"privet_{uuid4().hex}"
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    for name in _KEPT:
        session.conf.set(name, parent.conf.get(name))
    made = []
    try:
        for place, frame in enumerate(frames.values()):
            frame.createGlobalTempView(f"{stem}_{place}")
            made.append(f"{stem}_{place}")
        yield session, f"{parent.conf.get('spark.sql.globalTempDatabase', 'global_temp')}.{stem}_"
    finally:
        for name in made:
            parent.catalog.dropGlobalTempView(name)


def readings(plan: Bounded | Scan | Coded, sources: Sources, prefix: str) -> dict[str, Reading]:
    return {
        source.name: _reading(source, sources[source.name], f"{prefix}{place}")
        for place, source in enumerate(plan.rows.sources)
    }


def _reading(source: Source, frame: Any, sql: str) -> Reading:
    held = [name for name, _ in frame.dtypes]
    if len(set(held)) != len(held):
        raise InvalidData("the columns of a table need names that differ")
    for column in source.columns:
        if column not in held:
            raise no_column(source, column)
    return Reading(sql, {name: raw_kind(type_) for name, type_ in frame.dtypes})
