"""A store that is busy, full, read-only, gone or broken: a clear error, no draw, nothing lost."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import LedgerBusy, LedgerError, LedgerTampered, LedgerUnavailable, PrivetError
from tests.ledger.hostile import nursery
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, books_of, check_books, check_seen, forge_head, impatient

BUDGET = pv.Budget(epsilon=1.0)
RULE = BasicFilter(1.0)
SQLITE = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
POSTGRES = pytest.mark.parametrize("fresh", ["postgres"], indirect=True)
DURABLE = pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)


@contextmanager
def another_writer(url: str) -> Iterator[None]:
    """Someone else is in the middle of a write and takes their time."""
    if not url.startswith("postgres"):
        connection = sqlite3.connect(url, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()
        connection.close()
        return
    server, _, schema = url.partition("#")
    with psycopg.connect(server) as connection:
        tables = connection.execute(
            "SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables WHERE schemaname = %s", (schema,)
        ).fetchall()
        for (table,) in tables:
            connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


@DURABLE
def test_busy(fresh: Fresh):
    url = fresh()
    draws: list[Any] = []
    with closing(pv.Ledger.create(url, budget=BUDGET)) as ledger:
        ledger.release(Coin(), None)
        with another_writer(url), impatient(ledger):
            with pytest.raises(LedgerBusy):
                ledger.release(Coin(before=draws.append), None)
            with pytest.raises(LedgerBusy):
                ledger.reserve(Coin().loss)
        assert draws == []
        ledger.release(Coin(), None)
        assert len(check_books(ledger, RULE).reserved) == 2


@DURABLE
def test_busy_after_the_draw_returns_nothing(fresh: Fresh):
    url = fresh()
    with closing(pv.Ledger.create(url, budget=BUDGET)) as ledger:
        other, hurry = another_writer(url), ExitStack()

        def another_writes(data: object) -> None:
            hurry.enter_context(impatient(ledger))
            other.__enter__()

        with hurry, pytest.raises(LedgerError):
            ledger.release(Coin(before=another_writes), None, key="k")
        other.__exit__(None, None, None)
        books = check_books(ledger, RULE)
        assert (len(books.reserved), books.released) == (1, [])
        ledger.release(Coin(), None, key="k")
        assert len(check_books(ledger, RULE).reserved) == 2


@SQLITE
def test_files_that_may_not_grow(fresh: Fresh, tmp_path: Path):
    url = fresh()
    pv.Ledger.create(url, budget=pv.Budget(epsilon=100.0)).close()
    told = nursery.run("file_size_limit", url=url, folder=str(tmp_path), limit=200_000)
    assert told == {"codes": [0], "names": ["LedgerUnavailable"] * 2}
    with closing(pv.Ledger.open(url)) as ledger:
        check_seen(check_books(ledger, BasicFilter(100.0)), nursery.read_seen(tmp_path))


@SQLITE
def test_read_only(fresh: Fresh):
    """The file, the folder (where the log must be written), or both may not be written."""
    path = Path(fresh())
    with closing(pv.Ledger.create(str(path), budget=BUDGET)) as ledger:
        ledger.release(Coin(), None)
    modes = [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)]
    told = nursery.run("without_rights", path=str(path), modes=modes)
    assert told == [{"raised": "LedgerUnavailable", "drawn": 0}] * len(modes)
    with closing(pv.Ledger.open(str(path))) as ledger:
        assert len(check_books(ledger, RULE).reserved) == 1


@pytest.mark.parametrize("place", ["nowhere/deep/x.ledger", "."])
def test_places_that_cannot_be_files(tmp_path: Path, place: str):
    with pytest.raises(LedgerError):
        pv.Ledger.create(str(tmp_path / place), budget=BUDGET)
    with pytest.raises(LedgerUnavailable):
        pv.Ledger.open(str(tmp_path / place))
    assert list(tmp_path.iterdir()) == []


def test_a_mistyped_path_does_not_open_a_new_budget(tmp_path: Path):
    with pytest.raises(PrivetError):
        pv.Ledger.open(str(tmp_path / "mistyped.ledger"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"not a ledger at all\n" * 500, b"SQLite format 3\0" + bytes(4080)])
def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path, content: bytes):
    path = tmp_path / "other.db"
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        pv.Ledger.create(str(path), budget=BUDGET)
    with pytest.raises(LedgerError):
        pv.Ledger.open(str(path))
    with pytest.raises(LedgerError):
        pv.Ledger.open(str(forge_head(path)))
    assert path.read_bytes() == content


def test_someone_elses_database_is_left_alone(tmp_path: Path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE patients (name TEXT)")
    other.close()
    with pytest.raises(LedgerError):
        pv.Ledger.create(str(path), budget=BUDGET)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("patients",)]
    other.close()


@SQLITE
@pytest.mark.parametrize("page", [0, 1, 2, 3])
def test_a_broken_page(fresh: Fresh, page: int):
    path = Path(fresh())
    with closing(pv.Ledger.create(str(path), budget=BUDGET)) as ledger:
        for _ in range(5):
            ledger.release(Coin(), None)
    content = bytearray(path.read_bytes())
    content[4096 * page : 4096 * page + 4096] = os.urandom(4096)
    path.write_bytes(content)
    draws: list[Any] = []
    with pytest.raises(LedgerError):  # noqa: PT012 - it may be noticed at opening, or later
        ledger = pv.Ledger.open(str(path))
        try:
            ledger.release(Coin(before=draws.append), None)
            ledger.verify()
        finally:
            ledger.close()
    if page == 0:
        assert draws == []


@POSTGRES
def test_a_lost_connection(fresh: Fresh):
    url = fresh()
    values, draws = [], []

    def hang_up(data: Any = None) -> None:
        draws.append(data)
        with psycopg.connect(url.partition("#")[0], autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with closing(pv.Ledger.create(url, budget=BUDGET)) as ledger:
        values.append(ledger.release(Coin(), None).value)
        for number in range(3):  # between releases, then in the middle of one
            for before in (None, hang_up):
                if before is None:
                    hang_up()
                try:
                    values.append(ledger.release(Coin(before=before), None, key=f"{number}-{before is None}").value)
                except LedgerUnavailable:
                    continue
        values.append(ledger.release(Coin(), None, key="after").value)
        books = check_books(ledger, RULE)
        check_seen(books, values)
        assert len(books.reserved) >= len(values)
        assert books.orphans == len(books.reserved) - len(values)


@DURABLE
def test_a_second_opening_may_not_change_the_budget(fresh: Fresh):
    url = fresh()
    pv.Ledger.create(url, budget=BUDGET).close()
    pv.Ledger.open(url, budget=BUDGET).close()
    for again in (pv.Ledger.open, pv.Ledger.create):
        with pytest.raises(PrivetError):
            again(url, budget=pv.Budget(epsilon=50.0))
    with closing(pv.Ledger.open(url)) as ledger, pytest.raises(pv.errors.BudgetExceeded):
        ledger.reserve(pv.privacy.PureLoss(1.5))


@SQLITE
def test_a_closed_handle_does_not_draw(fresh: Fresh):
    draws: list[Any] = []
    ledger = pv.Ledger.create(fresh(), budget=BUDGET)
    ledger.close()
    try:
        ledger.release(Coin(before=draws.append), None)
    except LedgerError:
        assert draws == []
    else:  # a handle may open itself again, if it pays
        assert len(books_of(ledger).reserved) == 1
        ledger.close()


@SQLITE
@pytest.mark.parametrize("instead", ["nothing", "an old copy", "another ledger"])
def test_a_file_that_was_taken_away_under_an_open_handle(fresh: Fresh, instead: str):
    """Nothing is drawn, now or later; and what lies there instead is not harmed when the handle goes away."""
    path, other = Path(fresh()), Path(fresh())
    draws: list[Any] = []
    pv.Ledger.create(str(path), budget=BUDGET).close()
    if instead == "an old copy":
        other.write_bytes(path.read_bytes())
    if instead == "another ledger":
        pv.Ledger.create(str(other), budget=BUDGET).close()
    ledger = pv.Ledger.open(str(path))
    ledger.release(Coin(0.9), None)
    for end in ("", "-wal", "-shm", ".head"):
        Path(f"{path}{end}").rename(f"{path}.moved{end}")
    if instead != "nothing":
        other.rename(path)
        with pytest.raises(LedgerTampered, match=r"\.head"):
            pv.Ledger.open(str(path))
        forge_head(path)
        newcomer = pv.Ledger.open(str(path))
        newcomer.release(Coin(0.1), None)
    for _ in range(3):
        with pytest.raises(LedgerError):
            ledger.release(Coin(before=draws.append), None)
    ledger.close()
    assert draws == []
    if instead == "nothing":
        assert not path.exists()
    else:
        newcomer.release(Coin(0.1), None)
        newcomer.close()
        with closing(pv.Ledger.open(str(path))) as fourth:
            assert len(check_books(fourth, RULE).reserved) == 2
