"""DuckDB: files larger than memory, data frames and arrays, on one machine."""

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources, arranged
from privet.tables.columns import Column
from privet.tables.dialect import DuckDB, Raw
from privet.tables.emit import Emitter, Reading
from privet.tables.frames import frame_names, is_frame, raw_columns
from privet.tables.keys import plain_key
from privet.tables.person import Person, Rows
from privet.tables.plan import Source
from privet.tables.schema import draft

FAILED = (
    "the engine could not answer; whether that depends on the data is not said. Look into the table as its custodian"
)
_NUMBERS = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
}


def raw_kind(type_: str) -> Raw:
    """How DuckDB holds a column, by the name of its type.

    >>> raw_kind("BIGINT"), raw_kind("DECIMAL(18,3)"), raw_kind("TIMESTAMP WITH TIME ZONE")
    ('int', 'decimal', 'time')
    """
    if type_ in _NUMBERS:
        return "int"
    if type_ in ("FLOAT", "DOUBLE"):
        return "float"
    if type_.startswith("DECIMAL"):
        return "decimal"
    if type_ == "VARCHAR" or type_.startswith("ENUM"):
        return "text"
    if type_ in ("BOOLEAN", "DATE"):
        return "bool" if type_ == "BOOLEAN" else "date"
    return "time" if type_.startswith("TIMESTAMP") else "other"


def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts, **settings: Any) -> Aggregates:
    """The exact sums of every group, bounded for every person: not releasable.

    `settings` are DuckDB's own, such as `memory_limit="2GB"` and `threads=2`: none of them changes an answer.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.person import Rows
    >>> plan = Bounded(Source("t", (("a", Int(0, 9)),), Rows()), (), KeySet((), ((),)))
    >>> exact_aggregates(plan, {"t": {"a": [1, 2, 3]}}, (1, 2, 3, 4, 5)).rows.tolist()
    [3]
    """
    with _connected(settings) as connection:
        readings = {source.name: _reading(connection, source, sources[source.name]) for source in plan.rows.sources}
        sql = Emitter(DuckDB(), readings).query(plan, salts)
        return _answer(plan, _asked(connection, sql))


def _answer(plan: Bounded, fetched: list[Array]) -> Aggregates:
    columns = plan.rows.columns
    keys = [
        [plain_key(columns[name], None if value is np.ma.masked else value) for value in _listed(column)]
        for name, column in zip(plan.names, fetched, strict=False)
    ]
    numbers = [np.ma.getdata(each).astype(np.int64) for each in fetched[len(plan.names) :]]
    return arranged(plan, keys, numbers)


def _listed(column: Array) -> list[Any]:
    missing = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
    values = np.ma.getdata(column).tolist()
    return values if missing is None else [None if gone else each for each, gone in zip(values, missing, strict=True)]


@contextmanager
def _connected(settings: Mapping[str, Any]) -> Iterator[Any]:
    import duckdb

    plain = {"TimeZone": "UTC", "pandas_analyze_sample": 0, "autoinstall_known_extensions": False}
    connection = duckdb.connect(config=dict(settings))
    try:
        for name, value in plain.items():
            connection.execute(f"SET {name} = {value!r}" if not isinstance(value, bool) else f"SET {name} = {value}")
        yield connection
    finally:
        connection.close()


def _asked(connection: Any, sql: str) -> list[Array]:
    """The columns of the answer. Whatever goes wrong says the same: an engine's own words may quote data."""
    import duckdb

    try:
        found = connection.execute(sql).fetchnumpy()
    except duckdb.Error:
        raise InvalidData(FAILED) from None
    except KeyboardInterrupt:
        connection.interrupt()
        raise
    return list(found.values())


def _reading(connection: Any, source: Source, data: Any) -> Reading:
    """What stands after FROM for this table, and how its columns are held."""
    if isinstance(data, str | Path):
        return _file(connection, data)
    if _is_relation(data):
        data = data.arrow()
        data = data.read_all() if hasattr(data, "read_all") else data
    if not is_frame(data):
        raise InvalidData(
            f"a table is a file (Parquet or CSV), a data frame, an Arrow table or a mapping of arrays, got {type(data).__name__}"
        )
    return _frame(connection, source, data)


def _is_relation(data: Any) -> bool:
    return type(data).__name__ == "DuckDBPyRelation"


def _frame(connection: Any, source: Source, data: Any) -> Reading:
    held, wanted = frame_names(data), dict[str, Column | None](source.columns)
    if isinstance(source.about, Person):
        wanted[source.about.column] = wanted.get(source.about.column) and None
    for name in wanted:
        if name not in held:
            raise InvalidData(f"the table {source.name!r} has no column {name!r}", column=name)
    columns = raw_columns(data, wanted)
    arrays: dict[str, Any] = {}
    for name, column in columns.items():
        arrays[name] = (
            np.ma.MaskedArray(_typed(column.values), column.missing) if column.missing.any() else _typed(column.values)
        )
    if not arrays:
        arrays["one"] = np.ones(len(data[held[0]]), dtype=np.int8)
    name = f"privet_{len(connection.execute('SHOW TABLES').fetchall())}"
    connection.register(name, arrays)
    return Reading(name, {each: column.kind for each, column in columns.items()})


def _typed(values: Array) -> Array:
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    return values


def _file(connection: Any, path: str | Path) -> Reading:
    files = sorted(glob(str(path))) if any(c in str(path) for c in "*?[") else [str(path)]
    if not files or not all(Path(each).is_file() for each in files):
        raise InvalidData(f"there is no file {str(path)!r}")
    listed = "[" + ", ".join(DuckDB().text(each) for each in files) + "]"
    if all(each.lower().endswith((".csv", ".tsv", ".csv.gz")) for each in files):
        names = _header(files[0])
        columns = ", ".join(f"{DuckDB().text(name)}: 'VARCHAR'" for name in names)
        # nothing is guessed from the data: comma and quotes are a rule, and every column is a text
        told = "header = true, delim = ',', quote = '\"', escape = '\"', auto_detect = false, null_padding = true, strict_mode = false"
        return Reading(
            f"read_csv({listed}, columns = {{{columns}}}, {told}, ignore_errors = true)", dict.fromkeys(names, "text")
        )
    sql = f"read_parquet({listed})"
    import duckdb

    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
    except duckdb.Error:
        raise InvalidData(f"the file {str(path)!r} is no Parquet file (nor .csv)") from None
    return Reading(sql, {row[0]: raw_kind(row[1]) for row in described})


def _header(path: str) -> list[str]:
    import gzip

    opened = gzip.open(path, "rt", encoding="utf-8-sig") if path.endswith(".gz") else open(path, encoding="utf-8-sig")
    with opened as file:
        names = next(csv.reader(file), [])
    if not names or len(set(names)) != len(names):
        raise InvalidData(f"the first line of {path!r} must name the columns, each once")
    return names


def check_sources(plan: Bounded, sources: Sources) -> None:
    """Refuse, from the names and types of columns alone, what the plan cannot be run on."""
    with _connected({}) as connection:
        readings = {source.name: _reading(connection, source, sources[source.name]) for source in plan.rows.sources}
        Emitter(DuckDB(), readings).query(plan, (0, 0, 0, 0, 0))


def draft_of(data: Any) -> str:
    """A schema with names and kinds only, of a file or of data in memory."""
    kinds = {"int": "int", "float": "float", "decimal": "float", "bool": "bool", "date": "date", "time": "date"}
    if is_frame(data):
        held = frame_names(data)
        raw: Mapping[str, Raw] = {name: each.kind for name, each in raw_columns(data, dict.fromkeys(held)).items()}
    else:
        with _connected({}) as connection:
            raw = _reading(connection, Source("draft", (), Rows()), data).raw
    return draft({name: kinds.get(kind, "text") for name, kind in raw.items()})
