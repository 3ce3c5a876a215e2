"""DuckDB: files larger than memory, data frames and arrays, on one machine."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from privet._numerics import Array
from privet._progress import track
from privet.errors import InvalidData, InvalidParameter
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources, arranged
from privet.tables.coded import Cliques, Coded
from privet.tables.columns import Column, Text
from privet.tables.dialect import DuckDB, Raw
from privet.tables.emit import Emitter
from privet.tables.engines.arrow_doubles import exact_doubles, exact_numbers
from privet.tables.engines.duckdb_files import are_texts, csv_rows, file_reading, files_of, raw_kind
from privet.tables.engines.duckdb_relations import is_relation, relation_reading
from privet.tables.engines.engine import Engine, declared, register
from privet.tables.engines.failing import cancellable, one_failure, one_failure_on_the_way
from privet.tables.engines.same_data import same_data
from privet.tables.frames import frame_names, is_arrow, is_frame, raw_columns, raw_kind as frame_kind
from privet.tables.keys import plain_key
from privet.tables.person import Person, Rows
from privet.tables.plan import MOST_ROWS, Source
from privet.tables.reading import Reading, no_column
from privet.tables.scan import Scan
from privet.tables.schema_check import check_schema
from privet.tables.tally import Tally
from privet.tables.texts import NO, YES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SETTINGS = ("memory_limit", "threads", "temp_directory", "max_temp_directory_size")
_FOR_ROWS = "512MB"  # of memory, where rows are streamed and may have to be sorted by person
_PERSON = "person"  # what the persons of a data frame are called there; its columns are c0, c1, ...
# the statistics of a file know no NaN: what DuckDB concludes from them, it even concludes about isnan
_STATISTICS = "disabled_optimizers = 'statistics_propagation'"
_PLAIN = ("TimeZone = 'UTC'", "pandas_analyze_sample = 0", "autoinstall_known_extensions = false", _STATISTICS)
# of each cursor: without a bar, which is not shown, DuckDB does not count how far it has come
_COUNTED = "SET enable_progress_bar = true; SET enable_progress_bar_print = false"
_SHARED: dict[int, Any] = {}  # of this process: to open a database takes longer than most queries


@one_failure
def check(plan: Bounded | Scan | Coded, sources: Sources) -> None:
    """Refuse what the schema of the data does not fit, without a look at a row."""
    with _connected({}, counted=False) as connection:
        check_schema(plan, DuckDB(), _readings(connection, plan, sources))


@one_failure
def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts, **settings: object) -> Aggregates:
    """The exact sums of every group, bounded for every person: not releasable.

    `settings` are those of DuckDB that change no answer: `memory_limit="2GB"`, `threads=2`, `temp_directory=` (where it
    keeps what does not fit into memory; a private folder that is removed, unless it is given) and
    `max_temp_directory_size=`.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.person import Rows
    >>> plan = Bounded(Source("t", (("a", Int(0, 9)),), Rows()), (), KeySet((), ((),)))
    >>> exact_aggregates(plan, {"t": {"a": [1, 2, 3]}}, (1, 2, 3, 4, 5)).rows.tolist()
    [3]
    """
    with _connected(settings) as connection, _copies(settings, sources) as folder:
        readings = _readings(connection, plan, sources)
        emitter = Emitter(DuckDB(), readings)
        sql = emitter.query(plan, salts)
        for source in plan.rows.sources:
            _provide(connection, readings[source.name], source, sources[source.name], emitter.used[source.name], folder)

        def asked(sql: str) -> Aggregates:
            found = cancellable(
                lambda: connection.execute(sql).fetchnumpy(), connection.interrupt, connection.query_progress
            )
            return _answer(plan, list(found.values()))

        answer = asked(sql)
        if answer.rows.max(initial=0) > MOST_ROWS:
            # doubles hold the sums of so many rows and not of more, and a rounded sum can move by more than one row moves
            # it; the same sums as whole numbers, which saturate
            answer = asked(Emitter(DuckDB(), readings).query(plan, salts, doubles=False))
        return answer


@one_failure_on_the_way
def exact_rows(scan: Scan, sources: Sources, **settings: object) -> Iterator[Array]:
    """The rows of a scan in blocks, once, in little memory: not releasable."""
    with _connected({"memory_limit": _FOR_ROWS, **settings}) as connection, _copies(settings, sources) as folder:
        readings = _readings(connection, scan, sources)
        emitter = Emitter(DuckDB(), readings)
        sql = emitter.scan(scan)
        for source in scan.rows.sources:
            _provide(connection, readings[source.name], source, sources[source.name], emitter.used[source.name], folder)
        call = _Watched(connection)
        yield from exact_doubles(call(lambda: connection.sql(sql).__arrow_c_stream__()), scan.width, call)
        call.end()


@one_failure
def exact_marginals(coded: Coded, cliques: Cliques, sources: Sources, salts: Salts, **settings: object) -> list[Array]:
    """The tables of counts of several cliques of codes, in one pass over rows of which none are kept: not releasable."""
    asked = sorted({place for clique in cliques for place in clique})
    places = {place: i for i, place in enumerate(asked)}
    sizes = [coded.coding.sizes[place] for place in asked]
    tally = Tally(sizes, [tuple(places[place] for place in clique) for clique in cliques])
    for *columns, many in _code_blocks(coded, asked, sources, salts, settings):
        tally.add(columns, many)
    return tally.tables()


@one_failure
def exact_codes(coded: Coded, sources: Sources, salts: Salts, **settings: object) -> Array:
    """The codes of every row that counts, in no order: not releasable, and for data that fit into memory."""
    width = len(coded.coding.names)
    held = [np.zeros((0, width), dtype=np.int64)]
    for *columns, many in _code_blocks(coded, list(range(width)), sources, salts, settings):
        held.append(np.repeat(np.stack(columns, axis=1).astype(np.int64), many.astype(np.int64), axis=0))
    return np.concatenate(held)


def _code_blocks(
    coded: Coded, asked: list[int], sources: Sources, salts: Salts, settings: Mapping[str, Any]
) -> Iterator[list[Array]]:
    """Columns of codes, and how often each row counts, block by block."""
    with _connected(settings) as connection, _copies(settings, sources) as folder:
        readings = _readings(connection, coded, sources)
        emitter = Emitter(DuckDB(), readings)
        inner = emitter.codes(coded, salts)
        for source in coded.rows.sources:
            _provide(connection, readings[source.name], source, sources[source.name], emitter.used[source.name], folder)
        sizes = [coded.coding.sizes[place] for place in asked]
        names = ["UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "UINTEGER" for size in sizes]
        kinds = [np.dtype({"UTINYINT": "u1", "USMALLINT": "u2", "UINTEGER": "u4"}[name]) for name in names]
        picked = [f"CAST(v{place} AS {name})" for place, name in zip(asked, names, strict=True)]
        sql = f"SELECT {', '.join([*picked, 'CAST(many AS UBIGINT)'])} FROM ({inner}) AS coded"
        call = _Watched(connection)
        yield from exact_numbers(call(lambda: connection.sql(sql).__arrow_c_stream__()), [*kinds, np.dtype("u8")], call)
        call.end()


class _Watched:
    """Calls of an engine that are parts of one answer: interrupts reach it, and how far it has come is told."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection, self._work = connection, track("table", 100)

    def __call__(self, ask: Any) -> Any:
        made = cancellable(ask, self._connection.interrupt, told=False)
        percent = int(self._connection.query_progress())
        if self._work.done < percent <= 100:
            self._work.advance(percent - self._work.done)
        return made

    def end(self) -> None:
        """Everything has come."""
        self._work.advance(100 - self._work.done)


def _answer(plan: Bounded, fetched: list[Array]) -> Aggregates:
    columns = plan.rows.columns
    keys = [
        [plain_key(columns[name], value) for value in _listed(column)]
        for name, column in zip(plan.found_names, fetched, strict=False)
    ]
    numbers = [np.ma.getdata(each).astype(np.int64) for each in fetched[len(plan.found_names) :]]
    return arranged(plan, keys, numbers)


def _listed(column: Array) -> list[Any]:
    missing = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
    values = np.ma.getdata(column).tolist()
    return values if missing is None else [None if gone else each for each, gone in zip(values, missing, strict=True)]


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that could change an answer, and those that DuckDB cannot read.

    >>> check_settings({"memory_limit": "much"})
    Traceback (most recent call last):
    privet.errors.InvalidParameter: DuckDB does not take these settings: memory_limit='much'
    """
    _known(settings)
    try:
        _opened(settings).close()
    except Exception:
        told = ", ".join(f"{name}={value!r:.60}" for name, value in settings.items())
        raise InvalidParameter(f"DuckDB does not take these settings: {told}") from None


def _known(settings: Mapping[str, Any]) -> None:
    unknown = [str(name) for name in settings if name not in SETTINGS]
    if unknown:
        raise InvalidParameter(f"DuckDB is given {', '.join(SETTINGS)}, not {', '.join(unknown)}")


@contextmanager
def _connected(settings: Mapping[str, Any], *, counted: bool = True) -> Iterator[Any]:
    """A connection; one that only reads a schema need not be `counted`, which takes half a millisecond."""
    _known(settings)
    if settings:
        with _folder(settings.get("temp_directory")) as folder:
            connection = _opened({**settings, "temp_directory": folder})
            try:
                yield connection
            finally:
                connection.close()
        return
    cursor = _shared().cursor()
    try:
        if counted:
            _count(cursor)
        yield cursor
    finally:
        cursor.close()


@contextmanager
def _folder(given: Any) -> Iterator[str]:
    """Where DuckDB puts what does not fit into memory: only we can read it, and it does not stay."""
    if given is not None:
        yield str(given)
        return
    made = tempfile.mkdtemp(prefix="privet-")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _copies(settings: Mapping[str, Any], sources: Sources) -> Iterator[str]:
    """Where rows of files are copied that DuckDB would read in another way: as private as what it writes itself. No place
    where there are no files.
    """
    if not any(isinstance(each, str | Path) for each in sources.values()):
        yield ""
        return
    given = settings.get("temp_directory")
    if given is not None:
        os.makedirs(given, exist_ok=True)
    made = tempfile.mkdtemp(prefix="privet-", dir=given)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _opened(settings: Mapping[str, Any]) -> Any:
    import duckdb

    try:  # no row has been looked at, so DuckDB may say itself what is wrong
        connection = duckdb.connect(config=dict(settings))
        for each in _PLAIN:
            connection.execute(f"SET GLOBAL {each}")
    except Exception as problem:
        raise InvalidData(f"DuckDB could not be opened: {str(problem).partition(chr(10))[0]}") from None
    _count(connection)
    return connection


def _count(connection: "DuckDBPyConnection") -> None:
    """Let DuckDB count how far a query has come, where it can: in a notebook without widgets it refuses to."""
    import duckdb

    with suppress(duckdb.Error):
        connection.execute(_COUNTED)


def _shared() -> Any:
    process = os.getpid()  # a fork has none of its parent's threads
    if process not in _SHARED:
        folder = tempfile.mkdtemp(prefix="privet-")
        atexit.register(_removed, process, folder)
        _SHARED[process] = _opened({"temp_directory": folder})
    return _SHARED[process]


def _removed(process: int, folder: str) -> None:
    if os.getpid() == process:
        with suppress(Exception):  # a daemon thread may still ask
            _SHARED.pop(process).close()  # else DuckDB complains of leaks where torch was loaded, too
        shutil.rmtree(folder, ignore_errors=True)


# --- what stands behind a name -----------------------------------------------------------------------------------------


def _readings(connection: "DuckDBPyConnection", plan: Bounded | Scan | Coded, sources: Sources) -> dict[str, Reading]:
    return {
        source.name: _reading(connection, f"privet_{place}", source, sources[source.name])
        for place, source in enumerate(plan.rows.sources)
    }


def _reading(connection: "DuckDBPyConnection", name: str, source: Source, data: Any) -> Reading:
    """The text after FROM for this table, and how its columns are held: from its schema alone."""
    if isinstance(data, str | Path):
        reading = file_reading(connection, name, source, data)
    elif is_relation(data):
        reading = relation_reading(name, source, data)
    elif is_arrow(data):
        frame_names(data)
        connection.register(name, (data[:0] if hasattr(data, "column_names") else data.head(0)).__arrow_c_stream__())
        described = connection.execute(f"DESCRIBE {name}").fetchall()
        connection.unregister(name)
        named = frame_names(data)
        kinds = {each: raw_kind(row[1]) for each, row in zip(named, described, strict=True)}
        reading = Reading(name, kinds, at={each: f"c{place}" for place, each in enumerate(named)})
    else:
        reading = _frame_reading(name, source, data)
    for column in source.columns:
        if column not in reading.raw:
            raise no_column(source, column)
    return reading


def _frame_reading(name: str, source: Source, data: Any) -> Reading:
    held, kinds = frame_names(data), dict[str, Raw]()
    for each, column in source.columns.items():
        if each in held:
            kinds[each] = frame_kind(each, data[each], column)
    person = None
    if isinstance(source.about, Person) and source.about.column in held:
        person = _PERSON, frame_kind(source.about.column, data[source.about.column])
    return Reading(name, kinds, person, {each: f"c{place}" for place, each in enumerate(held)})


def _provide(
    connection: "DuckDBPyConnection", reading: Reading, source: Source, data: Any, used: set[str], folder: str
) -> None:
    """Make the columns that the query reads known to the connection under the name in the reading. The folder is for copies
    of rows, and is removed."""
    name, about = reading.sql, source.about
    if isinstance(data, str | Path):
        if are_texts(data, files_of(data)):
            connection.execute(f"CREATE TEMP VIEW {name} AS {csv_rows(source, data, folder)}")
        return
    if not is_relation(data) and not is_arrow(data):
        _provide_frame(connection, reading, source, data, used)
        return
    wanted = [*used, *([about.column] if isinstance(about, Person) and about.column not in used else [])]
    wanted = wanted or list(reading.raw)[:1]
    if hasattr(data, "column_names"):
        connection.register(name, data.select(wanted).rename_columns([reading.called(each) for each in wanted]))
        return
    if is_relation(data):
        data = data.project(", ".join(map(DuckDB().quote, wanted)))
    else:
        data = data.select(wanted)
        # columns without any value come without marks of what is missing, and DuckDB reads them as damaged
        data = data.cast({each: str for each in wanted if str(data[each].dtype) == "Null"})
        data = data.rename({each: reading.called(each) for each in wanted})
    stream = f"{name}_stream"  # such a stream is read once, and a query may read it twice
    connection.register(stream, data.__arrow_c_stream__())
    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {stream}")
    connection.unregister(stream)


def _provide_frame(
    connection: "DuckDBPyConnection", reading: Reading, source: Source, data: Any, used: set[str]
) -> None:
    wanted: dict[str, Column | None] = {each: source.columns[each] for each in source.columns if each in used}
    columns = {reading.called(each): column for each, column in raw_columns(data, wanted).items()}
    if isinstance(source.about, Person):
        columns[_PERSON] = raw_columns(data, {source.about.column: None})[source.about.column]
    if len({len(each.values) for each in columns.values()}) > 1:
        raise InvalidData("the columns of a table must have one length")
    arrays = {each: column.values for each, column in columns.items()}
    if not arrays:
        arrays["one"] = np.ones(len(data[frame_names(data)[0]]), dtype=np.int8)
    # not by masked arrays: before 2.0 the mask is not looked at, and all rows without a person would be one person's
    gaps = {f"{each}_missing": column.missing for each, column in columns.items() if column.missing.any()}
    if not gaps:
        connection.register(reading.sql, arrays)
        return
    connection.register(f"{reading.sql}_arrays", arrays | gaps)
    picked = [
        f"CASE WHEN NOT {each}_missing THEN {each} END AS {each}" if f"{each}_missing" in gaps else each
        for each in arrays
    ]
    connection.execute(f"CREATE TEMP VIEW {reading.sql} AS SELECT {', '.join(picked)} FROM {reading.sql}_arrays")


@contextmanager
def provided(source: Source, data: Any, used: set[str]) -> Iterator[tuple[Any, Reading]]:
    """A connection that knows these columns of a table, and how they are read there: for the custodian's own looks."""
    with _connected({}) as connection, _copies({}, {source.name: data}) as folder:
        reading = _reading(connection, "privet_schema", source, data)
        _provide(connection, reading, source, data, used, folder)
        yield connection, reading


_LOOKED = ("int", "float", "date", "bool")


@one_failure
def exact_kinds(data: Any, names: list[str]) -> dict[str, str]:
    """The kinds of texts in these columns, read off their values: not releasable. A column is of the narrowest kind
    that all of its values have; one without values is of texts."""
    source, d = Source("table", tuple((name, Text()) for name in names), Rows()), DuckDB()
    with provided(source, data, set(names)) as (connection, reading):
        comma, counted = getattr(data, "decimal", ".") == ",", []
        for name in names:
            text = f"trim({d.plain_text(d.quote(reading.called(name)))})"
            plain = f"CASE WHEN NOT contains({text}, '.') THEN replace({text}, ',', '.') END" if comma else text
            number = d.read_double(plain)
            forms = {
                "int": f"({number}) = floor({number}) AND abs({number}) < {2**53}",
                "float": f"({number}) IS NOT NULL",
                "date": f"({d.read_day(text, 'text')}) IS NOT NULL",
                "bool": f"{text} IN ({', '.join(map(d.text, (*YES, *NO)))})",
            }
            counted += [f"count({text})", *(f"count(*) FILTER (WHERE {form})" for form in forms.values())]
        if not names:
            return {}
        seen = iter(
            connection.execute(f"SELECT {', '.join(counted)} FROM {reading.sql}").fetchone()
        )  # one scan for all
    made: dict[str, str] = {}
    for name in names:
        there = next(seen)
        fits = [kind for kind in _LOOKED if next(seen) == there > 0]
        made[name] = fits[0] if fits else "text"
    return made


@one_failure
def kinds(data: Any) -> Mapping[str, Raw]:
    """The kind of each column in the engine, from the schema alone."""
    source = Source("table", (), Rows())
    with _connected({}) as connection:
        if isinstance(data, str | Path) or is_relation(data) or is_arrow(data):
            return _reading(connection, "privet_schema", source, data).raw
    return {name: frame_kind(name, data[name]) for name in frame_names(data)}


@final
@register
class DuckDBEngine(Engine):
    """Files, data frames, arrays and relations of DuckDB, on this machine.

    >>> engine = DuckDBEngine()
    >>> engine.takes("visits.parquet"), engine.takes({"age": [30]}), engine.takes(3)
    (True, True, False)
    """

    name = "DuckDB"
    reads = "a file (Parquet or CSV), a data frame, an Arrow table, a mapping of arrays, a relation of DuckDB"

    def takes(self, data: object) -> bool:
        return isinstance(data, str | Path) or is_relation(data) or is_frame(data)

    def check(self, plan: Bounded | Scan | Coded, sources: Sources) -> None:
        check(plan, sources)

    def exact_aggregates(self, plan: Bounded, sources: Sources, salts: Salts, **settings: object) -> Aggregates:
        return exact_aggregates(plan, sources, salts, **settings)

    def exact_rows(self, scan: Scan, sources: Sources, **settings: object) -> Iterator[Array]:
        return exact_rows(scan, sources, **settings)

    def exact_marginals(
        self, coded: Coded, cliques: Cliques, sources: Sources, salts: Salts, **settings: object
    ) -> list[Array]:
        return exact_marginals(coded, cliques, sources, salts, **settings)

    def exact_codes(self, coded: Coded, sources: Sources, salts: Salts, **settings: object) -> Array:
        return exact_codes(coded, sources, salts, **settings)

    def same_rows(self, one: object, two: object) -> bool:
        return same_data(one, two)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        check_settings(settings)

    def kinds(self, data: object, *, look: bool) -> Mapping[str, str]:
        made = declared(kinds(data))
        return made | exact_kinds(data, [name for name, kind in made.items() if kind == "text"]) if look else made
