"""Relations of DuckDB on connections that cannot be read: seen before anything is paid."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import privet as pv
from privet.errors import InvalidData


def unfinished(connection: Any) -> None:
    connection.execute("SELECT * FROM range(3)").fetchone()


def failed(connection: Any) -> None:
    connection.execute("BEGIN")
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT error('no')").fetchall()


CASES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "unfinished": (unfinished, "unfinished result"),
    "closed": (lambda connection: connection.close(), "is closed"),
    "dropped": (lambda connection: connection.execute("DROP TABLE t"), "is gone or has changed"),
    "changed": (lambda connection: connection.execute("ALTER TABLE t RENAME v TO w"), "has no column 'v'"),
    "failed": (failed, "a transaction has failed"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_read_is_not_paid(case: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS v, 'a' AS who")
    spoil, words = CASES[case]
    for unit in (pv.Rows(), pv.Person("who", max_rows=1)):
        table = pv.Table(connection.table("t"), columns={"v": pv.Int(0, 1)}, unit=unit)
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
        if unit == pv.Rows():
            assert len(ledger.release(table.agg(n=pv.count()), epsilon=0.25).value) == 1
            before = ledger.spent["basic epsilon"]
            spoil(connection)
            with pytest.raises(InvalidData, match=words):
                ledger.release(table.agg(m=pv.count()), epsilon=0.25)
            assert ledger.spent["basic epsilon"] == before
            connection = duckdb.connect()
            connection.execute("CREATE TABLE t AS SELECT 1 AS v, 'a' AS who")
        else:
            assert len(ledger.release(table.agg(n=pv.count()), epsilon=0.25).value) == 1


def test_a_database_that_was_detached(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as writing:
        writing.execute("CREATE TABLE t AS SELECT 1 AS v")
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{tmp_path / 'x.duckdb'}' AS other (READ_ONLY)")
    table = pv.Table(connection.sql("SELECT * FROM other.t"), columns={"v": pv.Int(0, 1)}, name="t")
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    assert len(ledger.release(table.agg(n=pv.count()), epsilon=0.25).value) == 1  # read only is enough
    connection.execute("DETACH other")
    with pytest.raises(InvalidData, match="is gone"):
        ledger.release(table.agg(m=pv.count()), epsilon=0.25)
    assert ledger.spent["basic epsilon"] == 0.25


def test_nothing_is_left_on_the_connection() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS v, 'a' AS who")
    table = pv.Table(connection.table("t"), columns={"v": pv.Int(0, 1)}, unit=pv.Person("who", max_rows=1))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    ledger.release(table.agg(n=pv.count()), epsilon=0.25)
    assert connection.execute("SHOW ALL TABLES").fetchall() == [
        row for row in connection.execute("SHOW ALL TABLES").fetchall() if row[2] == "t"
    ]


def test_a_frame_that_lost_a_column_afterwards() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": [1], "w": [2]})
    table = pv.Table(frame, columns={"v": pv.Int(0, 1)})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    del frame["v"]
    with pytest.raises(InvalidData, match="has no column 'v'"):
        ledger.release(table.agg(s=pv.sum("v")), epsilon=0.25)
    assert ledger.spent["basic epsilon"] == 0.0
