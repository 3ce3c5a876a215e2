"""PostgreSQL and Spark: one snapshot, nothing written, no collation, no time zone of their own, nothing quoted."""

import threading
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidData, InvalidParameter, PrivetError
from privet.tables.bounded import Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Column, Date, Float, Int, Text
from privet.tables.engines import PostgresTable, check_sources, exact_aggregates, postgres
from privet.tables.engines.failing import FAILED
from privet.tables.expressions import Linear, Ref
from privet.tables.keys import KeySet
from privet.tables.person import Person, Rows
from privet.tables.plan import Derive, Source, Union
from tests.oracles import array_engine
from tests.tables.random_plans import same

SALTS = (1, 2, 3, 4, 5)
ALL = KeySet((), ((),))


def source(columns: dict[str, Column], about: Rows | Person | None = None) -> Source:
    return Source("t", tuple(columns.items()), about or Rows())


@pytest.fixture
def place(clinic: Any, postgres_url: str) -> Any:
    """Runs SQL in which {t} is a table of its own, and names that table."""
    name = f"t_{uuid.uuid4().hex[:12]}"

    def put(*statements: str) -> PostgresTable:
        for each in statements:
            clinic.execute(each.replace("{t}", name))
        return PostgresTable(postgres_url, f"public.{name}")

    return put


def test_postgres_counts_days_in_utc(clinic: Any, place: Any) -> None:
    clinic.execute("ALTER ROLE CURRENT_USER SET TimeZone = 'America/New_York'")
    table = place(
        "CREATE TABLE {t} (d timestamptz, n timestamp)",
        "INSERT INTO {t} VALUES ('2024-05-01 01:00+00', '2024-05-01 23:59'), ('infinity', '-infinity'), (NULL, NULL)",
    )
    column = Date("2024-01-01", "2024-12-31", null=True)
    for name in ("d", "n"):
        found = exact_aggregates(Bounded(source({name: column}), (name,), None), {"t": table}, SALTS)
        assert [str(key) for (key,) in found.found or ()] == ["2024-05-01", "None"]
        assert found.rows.tolist() == [1, 2]
    clinic.execute("ALTER ROLE CURRENT_USER RESET TimeZone")


def test_postgres_does_not_fail_on_numbers_that_vanish(place: Any) -> None:
    """A product that is too small for a double is an error there: it must not be reached, whatever the data are."""
    table = place(
        "CREATE TABLE {t} (x double precision)", "INSERT INTO {t} VALUES (5e-324), (-1e-320), ('NaN'), (1e300), (3)"
    )
    rows = Derive(
        Derive(source({"x": Float(0.0, 1e12)}), "y", Linear(Ref("x"), 1e-30, 0)), "z", Linear(Ref("y"), 1e-30, 0)
    )
    signed = (Signed(Ticks(Ref("x"), 0.0, 2.0**20), 0, 2**20), Signed(Ticks(Ref("z"), 0.0, 2.0**-180), 0, 2**24))
    plan = Bounded(rows, (), ALL, (), (), signed)
    values = {"x": np.array([5e-324, -1e-320, np.nan, 1e300, 3])}
    expected = array_engine.exact_aggregates(plan, {"t": values}, SALTS)
    assert same(expected, exact_aggregates(plan, {"t": table}, SALTS))


def test_postgres_wide_numbers_domains_and_enums(clinic: Any, place: Any) -> None:
    kind = f"k_{uuid.uuid4().hex[:8]}"
    clinic.execute(f"CREATE TYPE {kind} AS ENUM ('x', 'y')")
    clinic.execute(f"CREATE DOMAIN d_{kind} AS int CHECK (value > 0)")
    table = place(
        f"CREATE TABLE {{t}} (id numeric(30), w {kind}, a d_{kind}, u uuid)",
        "INSERT INTO {t} VALUES (340282366920938463463, 'x', 3, gen_random_uuid()), (7, 'y', 9, NULL), (7, 'y', 1, NULL)",
    )
    columns: dict[str, Column] = {"a": Int(0, 5), "w": Text()}
    plan = Bounded(source(columns, Person("id", max_rows=1)), ("w",), None)
    assert exact_aggregates(plan, {"t": table}, SALTS).rows.tolist() == [1, 1]
    plan = Bounded(source(columns, Person("u", max_rows=1)), (), ALL)
    assert exact_aggregates(plan, {"t": table}, SALTS).rows.tolist() == [1]


@pytest.mark.parametrize(("most", "cells"), [(2**31 - 1, ()), (2**20, (Cell(((1, 1),), 2**30),))])
def test_postgres_adds_up_as_many_bits_as_the_bounds_need(place: Any, most: int, cells: Any) -> None:
    """Sums of one person are those of 32-bit numbers where the public bounds fit into them; this product does not."""
    table = place(
        "CREATE TABLE {t} (id int, a bigint)",
        f"INSERT INTO {{t}} VALUES (1, {most}), (1, {most}), (1, {-most}), (2, {-most - 1}), (2, NULL), (4, {most})",
    )
    steps = Ticks(Ref("a"), 0.0, 1.0)
    terms = (Term((steps,), (Ref("a"),)), Term((steps, steps), (Ref("a"),)))
    rows = source({"a": Int(-most, most)}, Person("id", max_groups=1, max_rows_per_group=2))
    plan = Bounded(rows, (), ALL, terms, cells, (Signed(steps, -most, most),))
    values = {"id": [1, 1, 1, 2, 2, 4], "a": [most, most, -most, -most - 1, None, most]}
    assert same(array_engine.exact_aggregates(plan, {"t": values}, SALTS), exact_aggregates(plan, {"t": table}, SALTS))


def test_postgres_reads_with_the_least_rights_and_writes_nothing(clinic: Any, place: Any, postgres_url: str) -> None:
    table = place("CREATE TABLE {t} (a int)", "INSERT INTO {t} VALUES (1), (2)")
    reader = f"r_{uuid.uuid4().hex[:8]}"
    clinic.execute(f"CREATE ROLE {reader} LOGIN")
    clinic.execute(f"GRANT SELECT ON {table.quoted} TO {reader}")
    theirs = PostgresTable(postgres_url.replace("privet@", f"{reader}@"), table.table)
    plan = Bounded(source({"a": Int(0, 9)}), (), ALL, (), (), (Signed(Ticks(Ref("a"), 0.0, 1.0), 0, 9),))
    assert exact_aggregates(plan, {"t": theirs}, SALTS).signed[0].tolist() == [3]
    clinic.execute(
        f"CREATE FUNCTION f_{reader}() RETURNS int LANGUAGE sql AS 'INSERT INTO {table.table} VALUES (5) RETURNING 1'"
    )
    view = place(f"CREATE VIEW v_{reader} AS SELECT f_{reader}() AS a")
    with pytest.raises(InvalidData) as caught:
        exact_aggregates(plan, {"t": PostgresTable(view.address, f"v_{reader}")}, SALTS)
    assert str(caught.value) == FAILED
    assert clinic.execute(f"SELECT count(*) FROM {table.quoted}").fetchone() == (2,)


def test_postgres_says_the_same_whatever_fails(place: Any) -> None:
    table = place(
        "CREATE TABLE {t} (a int)", "INSERT INTO {t} VALUES (0)", "CREATE VIEW v_{t} AS SELECT 1 / a AS a FROM {t}"
    )
    view = PostgresTable(table.address, table.table.replace("public.", "v_"))
    plan = Bounded(source({"a": Int(0, 9)}), (), ALL, (), (), (Signed(Ticks(Ref("a"), 0.0, 1.0), 0, 9),))
    check_sources(plan, {"t": view})  # from the schema there is nothing wrong
    with pytest.raises(InvalidData) as caught:
        exact_aggregates(plan, {"t": view}, SALTS)
    assert str(caught.value) == FAILED
    assert "zero" not in "".join(map(str, (caught.value, caught.value.__cause__)))


def test_postgres_tables_that_are_not_there(clinic: Any, postgres_url: str, place: Any) -> None:
    plan = Bounded(source({"a": Int(0, 9)}), (), ALL)
    with pytest.raises(InvalidData, match=r"there is no table 'public\.none'"):
        check_sources(plan, {"t": PostgresTable(postgres_url, "public.none")})
    with pytest.raises(InvalidData, match="has no column 'a'"):
        check_sources(plan, {"t": place("CREATE TABLE {t} (b int)")})
    with pytest.raises(InvalidData) as caught:
        check_sources(plan, {"t": PostgresTable("postgresql://ann:hunter2@127.0.0.1:1/x", "t")})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(InvalidParameter):
        PostgresTable(postgres_url, "a.b.c")


def test_postgres_connections_are_left_as_they_were(clinic: Any, postgres_url: str, place: Any) -> None:
    import psycopg

    table = place("CREATE TABLE {t} (a int)", "INSERT INTO {t} VALUES (1)")
    plan = Bounded(source({"a": Int(0, 9)}), (), ALL)
    with psycopg.connect(postgres_url) as connection:
        mine = PostgresTable(connection, table.table)
        assert exact_aggregates(plan, {"t": mine}, SALTS).rows.tolist() == [1]
        assert connection.autocommit is False
        connection.execute("SELECT 1")
        with pytest.raises(InvalidData, match="idle"):
            exact_aggregates(plan, {"t": mine}, SALTS)


def test_postgres_is_cancelled(clinic: Any, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = place(
        "CREATE TABLE {t} (a int)", "INSERT INTO {t} VALUES (1)", "CREATE VIEW v_{t} AS SELECT a FROM {t}, pg_sleep(60)"
    )
    view = PostgresTable(table.address, table.table.replace("public.", "v_"))

    def interrupted(done: Any, progress: Any) -> None:
        done.wait(0.3)
        raise KeyboardInterrupt

    monkeypatch.setattr("privet.tables.engines.failing._watched", interrupted)
    with pytest.raises(KeyboardInterrupt):
        postgres.exact_aggregates(Bounded(source({"a": Int(0, 9)}), (), ALL), {"t": view}, SALTS)
    active = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    assert clinic.execute(active).fetchone() == (0,)


def test_postgres_lost_in_the_middle_keeps_the_charge_and_says_nothing(clinic: Any, place: Any) -> None:
    """The connection dies while the query runs, after it was paid for: one constant text, and no refund."""
    table = place(
        "CREATE TABLE {t} (a int)", "INSERT INTO {t} VALUES (7)", "CREATE VIEW v_{t} AS SELECT a FROM {t}, pg_sleep(60)"
    )
    view = pv.Table(
        PostgresTable(table.address, table.table.replace("public.", "v_")), columns={"a": pv.Int(0, 9)}, name="t"
    )
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=view.unit)

    def kill() -> None:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        while not clinic.execute(end).fetchall():
            time.sleep(0.05)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with pytest.raises(PrivetError) as caught:
        ledger.release(view.agg(n=pv.count()), epsilon=0.25)
    killer.join(30)
    assert not killer.is_alive()
    assert "terminat" not in "".join(map(repr, (caught.value, caught.value.__cause__, caught.value.__context__)))
    assert ledger.spent["basic epsilon"] == 0.25


def test_spark_has_settings_of_its_own(session: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    day = pa.array(
        [1714525200_000_000], pa.timestamp("us", "UTC")
    )  # 2024-05-01 01:00 in UTC, the day before in New York
    parquet.write_table(pa.table({"d": day, "a": [2]}), tmp_path / "x.parquet")
    frame = session.read.parquet(str(tmp_path / "x.parquet"))
    columns: dict[str, Column] = {"d": Date("2024-01-01", "2024-12-31"), "a": Int(0, 9)}
    plan = Bounded(source(columns), ("d",), None, (), (), (Signed(Ticks(Ref("a"), 0.0, 1.0), 0, 9),))
    found = exact_aggregates(plan, {"t": frame}, SALTS)
    assert str(found.found) == "((datetime.date(2024, 5, 1),),)"
    assert found.signed[0].tolist() == [2]
    assert session.conf.get("spark.sql.session.timeZone") == "America/New_York"
    # the catalogue's own list cannot be decoded where another test of this session has left a view without a name
    assert not [each for each in session.sql("SHOW VIEWS IN global_temp").collect() if "privet" in each.viewName]
    with pytest.raises(InvalidData, match="has no column 'b'"):
        check_sources(Bounded(source({"b": Int(0, 1)}), (), ALL), {"t": frame})
    broken = frame.selectExpr("CAST(assert_true(a > 5, 'the-secret') AS STRING) AS w")
    with pytest.raises(InvalidData) as caught:
        exact_aggregates(Bounded(source({"w": Text(null=True)}), ("w",), None), {"t": broken}, SALTS)
    assert str(caught.value) == FAILED


@pytest.mark.parametrize("type_", ["numeric", "numeric(1000, 0)", "numeric(999, 500)"])
@pytest.mark.parametrize("column", [Float(0.0, 100.0), Int(0, 100)], ids=["float", "int"])
def test_postgres_does_not_fail_on_numbers_beyond_doubles(place: Any, type_: str, column: Column) -> None:
    """A cast of such a number to a double is an error there: one row would make every query fail."""
    listed = ", ".join(f"('{each}')" for each in ("1e400", "-1e400", "1e-400", "-1e-400", "NaN", "7"))
    table = place(f"CREATE TABLE {{t}} (x {type_})", f"INSERT INTO {{t}} VALUES {listed}")
    plan = Bounded(source({"x": column}), (), ALL, (), (), (Signed(Ticks(Ref("x"), 0.0, 1.0), 0, 100),))
    found = exact_aggregates(plan, {"t": table}, SALTS)
    assert (found.rows.tolist(), found.signed[0].tolist()) == ([6], [107])


def test_postgres_numbers_persons_beyond_64_bits_as_arrays_do(place: Any) -> None:
    """A quotient of such numbers has a fraction there, which would order the groups of a person by other numbers."""
    ids = [3 * 10**18, 7 * 10**15, 2**62, 5, 10**19, 123456789012345678]
    rows = [(who, group) for who in ids for group in range(12)]
    listed = ", ".join(f"({who}, {group})" for who, group in rows)
    table = place("CREATE TABLE {t} (id numeric(20), g int)", f"INSERT INTO {{t}} VALUES {listed}")
    plan = Bounded(source({"g": Int(0, 11)}, Person("id", max_groups=3, max_rows_per_group=1)), ("g",), None)
    held = {"id": np.array([who for who, _ in rows], dtype=np.uint64), "g": np.array([group for _, group in rows])}
    assert same(exact_aggregates(plan, {"t": table}, SALTS), array_engine.exact_aggregates(plan, {"t": held}, SALTS))


def test_postgres_sees_one_table_under_two_names(place: Any) -> None:
    table = place("CREATE TABLE {t} (x int)", "INSERT INTO {t} VALUES (1)")
    columns = (("x", Int(0, 9)),)
    plan = Bounded(Union((Source("one", columns, Rows()), Source("two", columns, Rows()))), (), ALL)
    short = PostgresTable(table.address, table.table.split(".")[1])
    for other in (PostgresTable(table.address, table.table), short):
        with pytest.raises(InvalidData, match="the same data"):
            check_sources(plan, {"one": table, "two": other})


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "date"])
def test_times_without_an_end_and_before_christ_fail_nobody(clinic: Any, postgres_url: str, kind: str) -> None:
    place = f"moments_{uuid.uuid4().hex[:12]}"
    clinic.execute(f'CREATE TABLE "{place}" ("at" {kind})')
    told = ["2024-03-01 05:30:10+00", "infinity", "-infinity", "0044-03-15 BC", "9999-12-31 23:59:59.9+00", None]
    for each in told:
        clinic.execute(f'INSERT INTO "{place}" VALUES (CAST(%s AS {kind}))', [each])
    columns = {"at": pv.Time("2024-03-01", "2024-03-01 23:30", null=True)}
    table = pv.Table(PostgresTable(postgres_url, f"public.{place}"), columns=columns)
    asked = table.derive(hour=table["at"].hour).group_by("hour").agg(n=pv.count())
    found = pv.Ledger.create("memory:", epsilon=1e7).release(asked, epsilon=1e6).value["n"]
    expected = {0: 2, 23: 1, 24: 3} if kind == "date" else {0: 1, 5: 1, 23: 1, 24: 3}  # 24: what is missing
    assert {hour: int(n) for hour, n in enumerate(found) if n} == expected
