"""PostgreSQL: a table on a server, read in one transaction that sees one snapshot and writes nothing."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidData, InvalidParameter, MissingExtra
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources
from privet.tables.coded import Cliques, Coded
from privet.tables.dialect import PostgreSQL, Raw
from privet.tables.emit import Emitter
from privet.tables.engines.engine import Engine, answer, declared, refuse_a_look, register
from privet.tables.engines.failing import cancellable, one_failure, one_failure_on_the_way
from privet.tables.grouped import batches, grouped, placed
from privet.tables.person import Rows
from privet.tables.plan import Source
from privet.tables.reading import Reading, no_column
from privet.tables.scan import Scan
from privet.tables.schema_check import check_schema

_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL jit = off",  # the many small steps take longer to compile than to run
)
# A domain is what it stands on, however many there are between. Collations under which texts are equal that differ are
# known from PostgreSQL 12 on, which is why they are asked for by name.
_COLUMNS = """
WITH RECURSIVE held AS (
  SELECT a.attname, a.attnum, a.attcollation, t.typname, t.typtype, t.typbasetype, a.atttypmod AS modifier, t.typtypmod
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT h.attname, h.attnum, h.attcollation, t.typname, t.typtype, t.typbasetype, greatest(h.typtypmod, h.modifier),
    t.typtypmod
  FROM held h JOIN pg_catalog.pg_type t ON t.oid = h.typbasetype WHERE h.typtype = 'd'
)
SELECT h.attname, h.typname, h.typtype::text, h.modifier,
  coalesce((to_jsonb(c) ->> 'collisdeterministic')::boolean, true)
FROM held h LEFT JOIN pg_catalog.pg_collation c ON c.oid = h.attcollation
WHERE h.typtype <> 'd' ORDER BY h.attnum
"""
_FIELD = (("size", "i4"), ("value", "f8"))
_HEADER, _END = 19, b"\xff\xff"  # of PostgreSQL's binary form: a signature and two numbers; no more fields
_BLOCK = 2**14  # rows that are handed on at a time: memory and speed only
_KINDS: dict[str, Raw] = {
    "int2": "int",
    "int4": "int",
    "int8": "int",
    "float4": "float",
    "float8": "float",
    "numeric": "decimal",
    "bool": "bool",
    "date": "date",
    "timestamp": "time",
    "timestamptz": "time",
    "uuid": "uuid",
}


@final
@dataclass(frozen=True, eq=False)
class PostgresTable:
    """A table or view of a PostgreSQL server: where the server is (a connection string, or an open connection of psycopg),
    and the table's name, `"schema.table"` or `"table"`. The address is not shown.

    Reading needs no more than SELECT on the table.

    >>> PostgresTable("postgresql://ann:secret@db/clinic", "public.visits")
    PostgresTable(table='public.visits')
    """

    address: Any = field(repr=False)
    table: str

    def __post_init__(self) -> None:
        parts = self.table.split(".") if isinstance(self.table, str) else []
        if not 1 <= len(parts) <= 2 or not all(parts) or "\0" in self.table:
            raise InvalidParameter('a table is named as "schema.table" or "table"')
        set_frozen(self, table=self.table)

    @property
    def quoted(self) -> str:
        """The name as it stands in SQL."""
        return ".".join(map(PostgreSQL().quote, self.table.split(".")))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, PostgresTable) and _same(self.address, other.address)
        return same and isinstance(other, PostgresTable) and self.table == other.table

    def __hash__(self) -> int:
        return hash(self.table)

    def __reduce__(self) -> Any:
        raise InvalidParameter("the address of a table is not pickled: name the table where it is asked")


def raw_kind(name: str, kind: str, modifier: int, by_bytes: bool = True) -> Raw:
    """The kind of a column in PostgreSQL, by its type, the kind of the type, what modifies it, and whether texts that
    differ are unequal in its collation.

    >>> raw_kind("int8", "b", -1), raw_kind("mood", "e", -1), raw_kind("numeric", "b", (20 << 16) + 4)
    ('int', 'text', 'wide')
    >>> raw_kind("citext", "b", -1), raw_kind("text", "b", -1, by_bytes=False)
    ('collated', 'collated')
    """
    if name == "citext" or not by_bytes:
        return "collated"
    if kind == "e" or name in ("text", "varchar", "bpchar", "name"):
        return "text"
    if name == "numeric" and modifier >= 4 and (modifier - 4) & 0x7FF == 0:
        return "wide"  # numeric(20), numeric(38, 0)
    return _KINDS.get(name, "other")


@one_failure
def check(plan: Bounded | Scan | Coded, sources: Sources) -> None:
    """Refuse what the schema of the tables does not fit, without a look at a row."""
    with _transaction(plan, sources) as connection:
        check_schema(plan, PostgreSQL(), _readings(connection, plan, sources))


@one_failure
def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts) -> Aggregates:
    """The exact sums of every group, bounded for every person: not releasable."""
    with _transaction(plan, sources) as connection:
        sql = Emitter(PostgreSQL(), _readings(connection, plan, sources)).query(plan, salts)
        cancel = getattr(connection, "cancel_safe", connection.cancel)
        rows = cancellable(lambda: connection.execute(sql).fetchall(), cancel)
    return answer(plan, rows)


@one_failure
def exact_marginals(coded: Coded, cliques: Cliques, sources: Sources, salts: Salts) -> list[Array]:
    """The tables of counts of several cliques of codes, of one snapshot: not releasable."""
    made: list[Array] = []
    with _transaction(coded, sources) as connection:
        rows = Emitter(PostgreSQL(), _readings(connection, coded, sources)).codes(coded, salts)
        cancel = getattr(connection, "cancel_safe", connection.cancel)
        for some in batches(coded.coding.sizes, cliques):
            sql = grouped(PostgreSQL(), rows, coded.coding.sizes, some)
            found = cancellable(partial(_fetched, connection, sql), cancel)
            made += placed(found, coded.coding.sizes, some)
    return made


@one_failure_on_the_way
def exact_rows(scan: Scan, sources: Sources) -> Iterator[Array]:
    """The rows of a scan in blocks, once, in little memory: not releasable. All are doubles, so that PostgreSQL's binary
    form has a fixed width: the number of fields, then length and bits of each."""
    row = np.dtype([("fields", ">i2")] + [(f"{what}{i}", f">{t}") for i in range(scan.width) for what, t in _FIELD])
    with _transaction(scan, sources) as connection, connection.cursor() as cursor:
        sql = Emitter(PostgreSQL(), _readings(connection, scan, sources)).scan(scan)
        with cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT BINARY)") as copy:
            held = bytearray()
            begun = False
            for piece in copy:
                held += piece
                if not begun and len(held) >= _HEADER:
                    begun = True
                    del held[:_HEADER]
                many = max(0, len(held) - 2) // row.itemsize if begun else 0  # the last two bytes may be the end
                if many >= _BLOCK:
                    yield _doubles(held, many, row, scan.width)
                    del held[: many * row.itemsize]
            many = len(held) // row.itemsize
            if not begun or bytes(held[many * row.itemsize :]) != _END:
                raise InvalidData("the engine ended its stream early")
            if many:
                yield _doubles(held, many, row, scan.width)


def _fetched(connection: Any, sql: str) -> list[Any]:
    return list(connection.execute(sql).fetchall())


def _doubles(held: bytearray, many: int, row: Any, width: int) -> Array:
    read = np.frombuffer(bytes(held[: many * row.itemsize]), dtype=row)
    if not (read["fields"] == width).all() or not all((read[f"size{i}"] == 8).all() for i in range(width)):
        raise InvalidData("the engine has sent other columns than it was asked for")
    return np.stack([read[f"value{i}"] for i in range(width)], axis=1).astype(np.float64)


def _driver() -> Any:
    try:
        return importlib.import_module("psycopg")
    except ImportError:
        raise MissingExtra("a table in PostgreSQL needs psycopg; run: pip install 'privet[postgres]'") from None


def _same(a: object, b: object) -> bool:
    return a is b or (isinstance(a, str) and isinstance(b, str) and a == b)


@one_failure
def kinds(table: PostgresTable) -> dict[str, Raw]:
    """The kind of each column on the server, from its catalogue alone."""
    with _transaction_to([table]) as connection:
        return dict(_reading(connection, Source("table", (), Rows()), table).raw)


def _transaction(plan: Bounded | Scan | Coded, sources: Sources) -> Any:
    return _transaction_to([sources[source.name] for source in plan.rows.sources])


@contextmanager
def _transaction_to(tables: list[PostgresTable]) -> Iterator[Any]:
    """One snapshot of the server that holds the tables; whatever happens, it is left as it was."""
    address = tables[0].address
    if not all(_same(address, each.address) for each in tables):
        raise InvalidData("the tables of one query must lie on one server: give them the same address")
    if isinstance(address, str):
        with _driver().connect(address, autocommit=True) as connection:
            yield from _begun(connection)
        return
    if address.closed or address.info.transaction_status != _driver().pq.TransactionStatus.IDLE:
        raise InvalidData("the connection is closed or inside a transaction: give one that is idle")
    before = address.autocommit
    address.autocommit = True
    try:
        yield from _begun(address)
    finally:
        if not address.closed:
            address.autocommit = before


def _begun(connection: Any) -> Iterator[Any]:
    try:
        for each in _BEGIN:
            connection.execute(each)
        if connection.execute("SHOW server_encoding").fetchone()[0] != "UTF8":
            raise InvalidData("the database must hold its texts in UTF-8, so that persons are numbered as elsewhere")
        yield connection
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def _readings(connection: Any, plan: Bounded | Scan | Coded, sources: Sources) -> dict[str, Reading]:
    made = {source.name: _reading(connection, source, sources[source.name]) for source in plan.rows.sources}
    if isinstance(plan.rows.unit, Rows):  # one row under two names would count as two: "visits" and "public.visits"
        places: dict[Any, str] = {}
        for name in made:
            place = connection.execute("SELECT pg_catalog.to_regclass(%s)::oid", (sources[name].quoted,)).fetchone()[0]
            if places.setdefault(place, name) != name:
                raise InvalidData(
                    f"the tables {places[place]!r} and {name!r} are the same data: give them one name, so that a row "
                    "counts once"
                )
    return made


def _reading(connection: Any, source: Source, table: PostgresTable) -> Reading:
    held = connection.execute(_COLUMNS, (table.quoted,)).fetchall()
    if not held:
        raise InvalidData(f"there is no table {table.table!r} on the server, or it may not be read")
    kinds = {name: raw_kind(*facts) for name, *facts in held}
    for column in source.columns:
        if column not in kinds:
            raise no_column(source, column)
    return Reading(table.quoted, kinds)


@final
@register
class PostgresEngine(Engine):
    """Tables and views of a PostgreSQL server.

    >>> PostgresEngine().takes(PostgresTable("postgresql://db/clinic", "visits"))
    True
    """

    name = "PostgreSQL"
    reads = "a PostgresTable"

    def takes(self, data: object) -> bool:
        return isinstance(data, PostgresTable)

    def kinds(self, data: object, *, look: bool) -> Mapping[str, str]:
        refuse_a_look(look)
        assert isinstance(data, PostgresTable)
        return declared(kinds(data))

    def check(self, plan: Bounded | Scan | Coded, sources: Sources) -> None:
        check(plan, sources)

    def exact_aggregates(self, plan: Bounded, sources: Sources, salts: Salts, **settings: object) -> Aggregates:
        return exact_aggregates(plan, sources, salts)

    def exact_rows(self, scan: Scan, sources: Sources, **settings: object) -> Iterator[Array]:
        return exact_rows(scan, sources)

    def exact_marginals(
        self, coded: Coded, cliques: Cliques, sources: Sources, salts: Salts, **settings: object
    ) -> list[Array]:
        return exact_marginals(coded, cliques, sources, salts)
