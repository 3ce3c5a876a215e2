"""Where data come from: frames, files, relations, servers. Faults are told from the schema alone, and never quote data."""

import gzip
import os
import signal
import threading
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from privet._progress import listening
from privet.errors import InvalidData, InvalidParameter
from privet.tables.bounded import Bounded, Signed, Ticks
from privet.tables.columns import Category, Column, Date, Float, Int, Text
from privet.tables.engines import PostgresTable, check_sources, duckdb, exact_aggregates
from privet.tables.engines.failing import FAILED, cancellable
from privet.tables.expressions import Ref
from privet.tables.keys import KeySet
from privet.tables.person import Person, Rows
from privet.tables.plan import Source, Union
from tests.oracles import array_engine

SALTS = (1, 2, 3, 4, 5)
SECRET = "the-secret-4711"


def total(columns: dict[str, Column], about: Rows | Person | None = None) -> Bounded:
    """How many rows there are, and the sum of a column of whole numbers."""
    first = next(iter(columns))
    signed = (Signed(Ticks(Ref(first), 0.0, 1.0), *columns[first].span),) if columns[first].kind == "int" else ()
    return Bounded(Source("t", tuple(columns.items()), about or Rows()), (), KeySet((), ((),)), (), (), signed)


def asked(data: Any, columns: dict[str, Column] | None = None, about: Rows | Person | None = None) -> tuple[int, ...]:
    plan = total(columns or {"a": Int(0, 100)}, about)
    check_sources(plan, {"t": data})
    found = exact_aggregates(plan, {"t": data}, SALTS)
    return (int(found.rows[0]), *(int(each[0]) for each in found.signed))


# --- frames ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        [1, 2, 4],
        np.array([1, 2, 4]),
        np.array([4, 2, 1])[::-1],
        np.array([1, 9, 2, 9, 4, 9])[::2],
        np.array([1, 2, 4], dtype=">i4"),
        np.array([1, 2, 4], dtype=np.uint64),
        np.array([1, 2, 4], dtype=np.float16),
        np.array([1, 2, 4], dtype=np.longdouble),
        np.array([1, 2, 4], dtype=object),
        np.array(["1", " 2", "4.0"]),
        np.array(["1", "2", "4"], dtype=np.dtypes.StringDType()),
        np.ma.MaskedArray([1, 2, 4, 9], [False, False, False, True])[:3],
    ],
    ids=lambda column: str(getattr(column, "dtype", "list")),
)
def test_every_kind_of_array(column: Any) -> None:
    assert asked({"a": column}) == (3, 7)
    found = array_engine.exact_aggregates(total({"a": Int(0, 100)}), {"t": {"a": column}}, SALTS)
    assert int(found.signed[0][0]) == 7


def test_frames_of_other_libraries() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    held = {"a": [1, None, 4], "name": ["x", "y", None]}
    frames = [
        pandas.DataFrame(held),
        polars.DataFrame(held),
        pyarrow.table(held),
        pyarrow.RecordBatch.from_pydict(held),
    ]
    frames.append(pandas.DataFrame(held).astype({"a": "Int64", "name": "category"}))
    columns: dict[str, Column] = {"a": Int(0, 100), "name": Text()}
    for frame in frames:
        assert asked(frame, columns) == (3, 5)
        assert asked(frame, columns, Person("name", max_rows=1)) == (2, 1)


def test_polars_without_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "day": ["2024-05-01", None]})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    both = Union((Source("t", (("a", Int(0, 100)),), Rows()),) * 2)  # a stream is read once, and here it is read twice
    plan = Bounded(both, (), KeySet((), ((),)))
    assert exact_aggregates(plan, {"t": frame}, SALTS).rows.tolist() == [4]


def test_relations_of_duckdb() -> None:
    import duckdb as engine

    relation = engine.connect().sql("SELECT range AS a, 'p' || range % 3 AS who FROM range(10)")
    assert asked(relation) == (10, 45)
    assert asked(relation, {"a": Int(0, 100)}, Person("who", max_rows=1))[0] == 3


def test_identifiers_beyond_64_bits_are_persons() -> None:
    ids = np.array([2**64 - 1, 2**64 - 2, 2**63, 7], dtype=np.uint64)
    assert asked({"a": np.arange(4), "id": ids}, None, Person("id", max_rows=1))[0] == 4


KINDS = {
    "uuid": UUID,
    "decimal": Decimal,
    "fraction": Fraction,
    "text": str,
    "float": float,
    "bytes": lambda i: i.to_bytes(2, "big"),
}


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_objects_that_name_persons(made: Any) -> None:
    """Identifiers, decimals and bytes come out of databases as objects; without a name their rows would be nobody's."""
    ids = [made(int=i % 3) if made is UUID else made(i % 3) for i in range(9)]
    assert asked({"a": np.arange(9), "id": ids}, None, Person("id", max_rows=2))[0] == 6


def test_objects_that_name_nobody() -> None:
    odd = [Decimal("1.5"), Decimal("NaN"), Decimal("1e999999"), Decimal("1e9999999"), Decimal("sNaN")]
    odd += [np.timedelta64(1, "D"), True, (1,), None, 0.5, b"x"]
    assert asked({"a": np.arange(len(odd)), "id": odd}, None, Person("id", max_rows=9))[0] == 1


def test_what_cannot_name_persons_is_refused() -> None:
    """Bytes would have become one and the same person, whose rows displace each other."""
    for ids in (
        np.array([b"x", b"y"]),
        np.array([1j, 2j]),
        np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"),
    ):
        with pytest.raises(InvalidData, match="cannot name a person"):
            asked({"a": np.arange(2), "id": ids}, None, Person("id", max_rows=1))


def test_half_of_a_surrogate_pair_counts_as_missing() -> None:
    held = {"a": [1, 2], "id": ["ok", "bad\ud800"]}
    assert asked(held, None, Person("id", max_rows=5)) == (1, 1)


def test_one_person_with_a_million_rows() -> None:
    held = {"a": np.ones(10**6, dtype=np.int64), "id": np.zeros(10**6, dtype=np.int64)}
    assert asked(held, {"a": Int(0, 5)}, Person("id", max_rows=3)) == (3, 3 * 5)  # the sum is cut to three rows' worth


def test_bounds_that_are_one_point_and_empty_tables() -> None:
    assert asked({"a": [1, 9, None]}, {"a": Int(4, 4)}) == (3, 8)
    assert asked({"a": np.array([], dtype=np.int64)}) == (0, 0)


# --- files -------------------------------------------------------------------------------------------------------------


def parquet(path: Path, values: list[Any], name: str = "a") -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as files

    files.write_table(pyarrow.table({name: values}), path)
    return path


def test_parquet_patterns_and_names_with_brackets(tmp_path: Path) -> None:
    parquet(tmp_path / "x1.parquet", [1, 2])
    parquet(tmp_path / "x2.parquet", [3.0, None])
    assert asked(str(tmp_path / "x*.parquet")) == (4, 6)
    parquet(tmp_path / "x[1].parquet", [50])
    assert asked(tmp_path / "x[1].parquet") == (1, 50)  # as a pattern it would have been x1.parquet


def test_every_file_of_a_pattern_has_the_columns(tmp_path: Path) -> None:
    parquet(tmp_path / "x1.parquet", [1, 2])
    parquet(tmp_path / "x2.parquet", [3], "b")
    for columns, about in (({"a": Int(0, 9)}, None), ({"b": Int(0, 9)}, None), ({}, Person("a", max_rows=1))):
        plan = Bounded(Source("t", tuple(columns.items()), about or Rows()), (), KeySet((), ((),)))
        with pytest.raises(InvalidData, match=r"the file .*x[12]\.parquet' has no column"):
            check_sources(plan, {"t": str(tmp_path / "x*.parquet")})
    (tmp_path / "year=7").mkdir()  # a column that is in the names of folders is in no file
    parquet(tmp_path / "year=7" / "x.parquet", [3])
    (tmp_path / "year=8").mkdir()
    parquet(tmp_path / "year=8" / "x.parquet", [4])
    assert asked(str(tmp_path / "year=*" / "x.parquet"), {"year": Int(0, 100)}) == (2, 15)


def test_names_that_differ_by_case_alone_are_refused_in_a_relation() -> None:
    engine = pytest.importorskip("duckdb")
    both = engine.connect().sql('SELECT 1 AS a, 3 AS "A", 5 AS b')
    for columns, about in (
        ({"A": Int(0, 9)}, None),
        ({"a": Int(0, 9)}, None),
        ({"b": Int(0, 9)}, Person("A", max_rows=1)),
    ):
        with pytest.raises(InvalidData, match="whatever the case"):
            asked(both, columns, about)
    assert asked(both, {"b": Int(0, 9)}) == (1, 5)


@pytest.mark.parametrize(
    "held", [3, np.array(3), {1, 2}, None, {1: 2}], ids=["number", "point", "set", "none", "mapping"]
)
def test_what_is_no_column_is_told_by_its_type(held: Any) -> None:
    with pytest.raises(InvalidData, match="column 'a' must be a list, an array or a series"):
        asked({"a": held})


def test_frames_without_columns_and_series_are_no_tables() -> None:
    pandas = pytest.importorskip("pandas")
    plan = Bounded(Source("t", (), Rows()), (), KeySet((), ((),)))
    for data, words in (({}, "at least one column"), (pandas.Series([1], name="a"), "got Series")):
        with pytest.raises(InvalidData, match=words):
            check_sources(plan, {"t": data})


def test_every_array_of_pandas() -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    assert asked({"a": pandas.Categorical(["1", "2"])}) == (2, 3)
    assert asked({"a": pandas.CategoricalIndex([1, 2])}) == (2, 3)
    days = pandas.to_datetime(["2024-01-01 23:30", None])
    dates = {"a": Date("2024-01-01", "2024-01-03")}
    plan = Bounded(Source("t", tuple(dates.items()), Rows()), ("a",), KeySet.of({"a": ["2024-01-01", "2024-01-02"]}))
    for held in (
        days.tz_localize("America/New_York"),
        days.to_series().astype(pandas.ArrowDtype(pyarrow.timestamp("us"))),
        days.to_series().dt.date.astype(pandas.ArrowDtype(pyarrow.date32())),
    ):
        there = [0, 1] if getattr(held, "tz", None) is not None else [1, 0]
        assert exact_aggregates(plan, {"t": {"a": held}}, SALTS).rows.tolist() == there


def test_csv_of_every_shape(tmp_path: Path) -> None:
    plain = tmp_path / "one.csv"
    plain.write_bytes(b'\xef\xbb\xbfa,note\n1,"two\nlines"\n2\nx,"say ""hi"""\n4,ok\n')
    assert asked(plain, {"a": Int(0, 100), "note": Text()}) == (3, 5)  # the line of one field is no row
    (tmp_path / "two.csv").write_text("note,a\nlast,90\n")  # another order of columns
    assert asked(str(tmp_path / "*.csv"), {"a": Int(0, 100), "note": Text()}) == (4, 95)
    with gzip.open(tmp_path / "three.csv.gz", "wt") as file:
        file.write("a\n5\n")
    assert asked(tmp_path / "three.csv.gz") == (1, 5)
    (tmp_path / "four.tsv").write_text("a\tb\n5\t6\n")
    assert asked(tmp_path / "four.tsv") == (1, 5)


def test_faults_of_files_are_told_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 " + SECRET.encode() + b" PAR1")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    (tmp_path / "other.csv").write_text(f"b\n{SECRET}\n")
    cases = {
        tmp_path / "none.parquet": "there is no file",
        tmp_path: "is a folder",
        tmp_path / "bad.parquet": "is no Parquet file",
        tmp_path / "twice.csv": "must name the columns",
        tmp_path / "other.csv": "has no column 'a'",
        str(tmp_path / "none*.csv"): "there is no file",
    }
    for place, message in cases.items():
        with pytest.raises(InvalidData, match=message) as caught:
            asked(place)
        assert SECRET not in str(caught.value)


def test_a_file_that_breaks_after_its_schema(tmp_path: Path) -> None:
    place = parquet(tmp_path / "x.parquet", [f"{SECRET}{i}" for i in range(50_000)], "a")
    content = bytearray(place.read_bytes())
    content[200 : len(content) // 2] = os.urandom(len(content) // 2 - 200)
    place.write_bytes(bytes(content))
    plan = total({"a": Text()}, Person("a", max_rows=1))
    check_sources(plan, {"t": place})
    with pytest.raises(InvalidData) as caught:
        exact_aggregates(plan, {"t": place}, SALTS)
    assert str(caught.value) == FAILED
    assert caught.value.__cause__ is None
    place.unlink()
    with pytest.raises(InvalidData, match="there is no file"):
        exact_aggregates(plan, {"t": place}, SALTS)


# --- schema ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "held", "word"),
    [
        (Int(0, 9), np.array(["2024-01-01"], dtype="datetime64[D]"), "holds days"),
        (Date("2024-01-01", "2024-12-31"), np.array([1]), "holds whole numbers"),
        (Text(), np.array([1.5]), "holds numbers"),
        (Category(["x"]), np.array([1]), "holds whole numbers"),
        (Float(0.0, 1.0), np.array([b"x"]), "holds values of another kind"),
    ],
)
def test_kinds_that_do_not_fit_are_refused_from_the_schema(column: Column, held: Any, word: str) -> None:
    plan = Bounded(
        Source("t", (("a", column),), Rows()),
        ("a",) if column.kind != "float" else (),
        None if column.kind != "float" else KeySet((), ((),)),
        (),
        (),
        (),
    )
    if column.kind == "float":
        plan = Bounded(plan.rows, (), KeySet((), ((),)), (), (), (Signed(Ticks(Ref("a"), 0.0, 1.0), 0, 1),))
    with pytest.raises(InvalidData, match=word):
        check_sources(plan, {"t": {"a": held}})


def test_one_query_one_engine_and_one_name_for_one_table() -> None:
    plan = Bounded(
        Union(tuple(Source(name, (("a", Int(0, 9)),), Rows()) for name in ("t", "u"))), (), KeySet((), ((),))
    )
    held = {"a": [1]}
    with pytest.raises(InvalidData, match="must lie in one engine"):
        check_sources(plan, {"t": held, "u": PostgresTable("postgresql://db/x", "u")})
    with pytest.raises(InvalidData, match="are the same data"):
        check_sources(plan, {"t": held, "u": held})
    with pytest.raises(InvalidData, match="no data for the table 'u'"):
        check_sources(plan, {"t": held})
    with pytest.raises(InvalidData, match="got int"):
        check_sources(plan, {"t": 3, "u": 4})


def test_settings_that_could_change_an_answer_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="default_collation"):
        duckdb.exact_aggregates(total({"a": Int(0, 9)}), {"t": {"a": [1]}}, SALTS, default_collation="nocase")


@pytest.mark.slow
def test_what_does_not_fit_into_memory_spills(tmp_path: Path) -> None:
    import duckdb as engine

    place = tmp_path / "large.parquet"
    engine.connect().execute(
        f"COPY (SELECT range % 50 AS a, 'person-' || (range * 7919 % 3000000) AS id FROM range(6000000)) TO '{place}'"
    )
    plan = total({"a": Int(0, 100)}, Person("id", max_rows=1))
    settings = {"memory_limit": "300MB", "threads": 2}
    found = duckdb.exact_aggregates(plan, {"t": place}, SALTS, **settings)
    assert found.rows.tolist() == [3_000_000]


# --- interrupts and progress -------------------------------------------------------------------------------------------


def test_an_interrupt_cancels_the_query_and_goes_on() -> None:
    cancelled = threading.Event()

    def ask() -> None:
        assert cancelled.wait(200)
        raise RuntimeError(SECRET)

    def press() -> float:
        """Asked for while the caller waits: an interrupt that comes before would not be the one under test."""
        os.kill(os.getpid(), signal.SIGINT)
        return 0.0

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            cancellable(ask, cancelled.set, press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled.is_set()
    assert not [each for each in threading.enumerate() if each.name == "privet-engine"]


def test_duckdb_stops_when_it_is_told_to() -> None:
    with duckdb._connected({}) as connection:

        def ask() -> Any:
            return connection.execute("SELECT count(*) FROM range(1000000000000) t(a) WHERE a * 7 % 13 = 5").fetchall()

        def late() -> float:
            raise KeyboardInterrupt

        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            cancellable(ask, connection.interrupt, late)
        assert time.monotonic() - begin < 60


@pytest.mark.parametrize("settings", [{}, {"memory_limit": "1GB"}], ids=["shared", "its own"])
def test_duckdb_tells_how_far_it_has_come(settings: dict[str, Any]) -> None:
    with duckdb._connected(settings) as connection:

        def ask() -> Any:
            return connection.execute("SELECT count(*) FROM range(500000000) t(a) WHERE a * 7 % 13 = 5").fetchall()

        def far() -> float:
            percent = float(connection.query_progress())
            if percent > 0:
                raise KeyboardInterrupt
            return percent

        with pytest.raises(KeyboardInterrupt):
            cancellable(ask, connection.interrupt, far)


def test_every_cursor_has_the_settings_that_answers_depend_on() -> None:
    """Some settings of DuckDB are of one connection alone, and a cursor is another one."""
    for settings in ({}, {"threads": 1}):
        with duckdb._connected(settings) as connection:
            asked = "SELECT current_setting('TimeZone'), current_setting('pandas_analyze_sample')"
            assert connection.execute(asked).fetchone() == ("UTC", 0)


def test_progress_is_told_in_percent() -> None:
    told: list[tuple[str, int, int]] = []
    steps = iter([10.0, 5.0, 60.0, -1.0])
    with listening(lambda *each: told.append(each)):
        cancellable(lambda: time.sleep(0.4), lambda: None, lambda: next(steps, 60.0))
    assert told[0] == ("table", 0, 100)
    assert told[-1] == ("table", 100, 100)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
