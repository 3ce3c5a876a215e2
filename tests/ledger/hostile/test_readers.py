"""Reading: without the right to write, without making anybody wait, and without waiting for ever."""

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import LedgerBusy, LedgerError, LedgerUnavailable
from privet.ledger.stores.postgres import PostgresStore
from privet.ledger.verify import Auditor
from privet.privacy import PureLoss
from tests.firsts import slow
from tests.ledger.hostile import checks, nursery
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, check_books, impatient

BUDGET = pv.Budget(epsilon=100.0)
STEP = PureLoss(0.001)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)
POSTGRES = pytest.mark.parametrize("fresh", ["postgres"], indirect=True)


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(("file_mode", "folder_mode"), [slow((0o444, 0o777)), slow((0o666, 0o555)), (0o444, 0o555)])
def test_readers_of_a_file(tmp_path: Path, running: bool, file_mode: int, folder_mode: int):
    path = tmp_path / "a.ledger"
    pv.Ledger.create(path, budget=BUDGET).close()
    told = nursery.run("read_without_rights", path=str(path), running=running, modes=(file_mode, folder_mode))
    assert told == {"entries": 5, "verified": 5, "exported": 5, "spent": 0.002, "raised": "LedgerUnavailable"}
    with closing(pv.Ledger.open(path)) as ledger:
        assert len(check_books(ledger, BasicFilter(100.0)).reserved) == 2


def test_a_reader_sees_what_is_written_meanwhile(tmp_path: Path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET)
    ledger.close()
    reader = pv.Ledger.open(tmp_path / "a.ledger", read_only=True)
    for number in range(1, 4):
        ledger.reserve(STEP)
        if number == 2:
            ledger.close()
        assert len(reader.entries()) == reader.verify().entries == 1 + number
    with pytest.raises(LedgerUnavailable, match="read_only"):
        reader.reserve(STEP)


@POSTGRES
def test_readers_of_a_server(fresh: Fresh):
    url = fresh()
    with closing(pv.Ledger.create(url, budget=BUDGET)) as ledger:
        ledger.release(Coin(), None)
    dsn, schema = PostgresStore.schema_of(url)
    role = f"r{schema[1:]}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
    theirs = url.replace("//privet@", f"//{role}@")
    with pytest.raises(LedgerUnavailable, match="may not"):
        pv.Ledger.open(theirs)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    for options in ({}, {"read_only": True}):
        with closing(pv.Ledger.open(theirs, **options)) as reader:
            assert reader.verify().entries == 3
            assert len(reader.export()["entries"]) == 3
            assert reader.spent["basic epsilon"] == 0.001
            with pytest.raises(LedgerUnavailable):
                reader.release(Coin(), None)


# --- verify blocks nobody ------------------------------------------------------------------------------------------


@EVERY
def test_verify_reads_a_snapshot_and_blocks_nobody(fresh: Fresh, monkeypatch: pytest.MonkeyPatch):
    url = fresh()
    ledger = pv.Ledger.create(url, budget=BUDGET, timeout=60.0)  # a writer that had to wait would fail then
    for _ in range(20):
        ledger.reserve(STEP)
    reading, go = threading.Event(), threading.Event()
    real = Auditor.read

    def slowly(self: Auditor, entry: pv.ledger.Entry) -> None:
        real(self, entry)
        if entry.seq == 10:
            reading.set()
            assert go.wait(300)

    monkeypatch.setattr(Auditor, "read", slowly)
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(ledger.verify().entries))
    thread.start()
    assert reading.wait(300)
    try:
        for _ in range(5):
            ledger.release(Coin(), None)
        if url != "memory:":
            with closing(pv.Ledger.open(url, timeout=60.0)) as other:
                other.reserve(STEP)
    finally:
        go.set()
        thread.join()
    assert found == [21], "verify saw what came after it had begun"
    monkeypatch.undo()
    assert ledger.verify().entries == len(ledger.entries())
    ledger.close()


# --- a server that has stopped ---------------------------------------------------------------------------------------


@POSTGRES
@pytest.mark.parametrize("moment", ["before", "lock"])
def test_a_frozen_server_is_not_waited_for(fresh: Fresh, moment: str):
    url = fresh()
    pv.Ledger.create(url, budget=BUDGET).close()
    ledger = pv.Ledger.open(url)
    ledger.reserve(STEP)
    (pid,) = ledger._store._connection.execute("SELECT pg_backend_pid()").fetchone()
    use = (lambda: ledger.reserve(STEP)) if moment == "lock" else ledger._store.head
    start = time.monotonic()
    with impatient(ledger, 1.0):
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises((LedgerUnavailable, LedgerBusy)):
                use()
        finally:
            os.kill(pid, signal.SIGCONT)
    assert time.monotonic() - start < 50.0  # sixty are what this handle would have waited
    ledger.reserve(STEP)
    assert len(check_books(ledger, BasicFilter(100.0)).reserved) == 2
    ledger.close()


# --- writers take turns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)
def test_nobody_is_passed_over(fresh: Fresh):
    checks.check_turns(fresh(), workers=8, seconds=200.0)


@pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
def test_a_lock_file_that_is_removed_is_made_again(fresh: Fresh):
    url = fresh()
    ledger, other = pv.Ledger.create(url, budget=BUDGET), pv.Ledger.open(url)
    ledger.reserve(STEP)
    os.unlink(f"{url}.lock")
    other.reserve(STEP)
    ledger.reserve(STEP)
    assert len(check_books(ledger, BasicFilter(100.0)).reserved) == 3
    os.unlink(f"{url}.head")
    with pytest.raises(LedgerError, match=r"\.head"):
        ledger.reserve(STEP)
    ledger.close()
    other.close()
