"""A file is one budget: not its links, copies, backups or namesakes."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, LedgerError, LedgerTampered, LedgerUnavailable
from tests.effort import tries
from tests.ledger.hostile import nursery
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, check_books, check_seen

BUDGET = pv.Budget(epsilon=1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)
FRESH = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)


@FRESH
def test_a_hard_link_is_no_second_budget(fresh: Fresh):
    path = fresh()
    link = path + ".link"
    ledger = pv.Ledger.create(path, budget=BUDGET)
    ledger.release(Coin(0.1), None)
    os.link(path, link)
    draws: list[Any] = []
    for use in (
        lambda: ledger.release(Coin(0.1, before=draws.append), None),
        lambda: pv.Ledger.open(link).release(Coin(0.1, before=draws.append), None),
        lambda: pv.Ledger.open(path).release(Coin(0.1, before=draws.append), None),
    ):
        with pytest.raises(LedgerError, match=r"hard link|\.head"):
            use()
    assert draws == []
    os.unlink(link)
    ledger.release(Coin(0.1), None)
    assert len(check_books(ledger, BasicFilter(1.0)).reserved) == 2


@FRESH
@pytest.mark.parametrize("what", ["file", "file and log", "everything"])
@pytest.mark.parametrize("spends", [3, 60])
def test_a_copy_of_a_running_ledger_is_refused(fresh: Fresh, what: str, spends: int):
    path = Path(fresh())
    ledger = pv.Ledger.create(path, budget=pv.Budget(epsilon=100.0))
    for _ in range(spends):
        ledger.release(Coin(0.1), None)
    copy = path.parent / "copy.ledger"
    ends = {"file": [""], "file and log": ["", "-wal", "-shm"], "everything": ["", "-wal", "-shm", ".head", ".lock"]}[
        what
    ]
    for end in ends:
        if Path(f"{path}{end}").exists():
            subprocess.run(["cp", f"{path}{end}", f"{copy}{end}"], check=True)
    for use in (
        lambda: pv.Ledger.open(copy),
        lambda: pv.Ledger.open(copy, budget=pv.Budget(epsilon=100.0)),
        lambda: pv.Ledger.create(copy, budget=pv.Budget(epsilon=100.0)),
    ):
        with pytest.raises(LedgerError):
            use()
    ledger.release(Coin(0.1), None)  # the original goes on
    ledger.close()


@FRESH
def test_a_copy_of_the_file_alone_holds_nearly_everything(fresh: Fresh):
    path = Path(fresh())
    ledger = pv.Ledger.create(path, budget=pv.Budget(epsilon=100.0))
    for _ in range(150):
        ledger.release(Coin(), None)
    copy = path.parent / "copy.ledger"
    subprocess.run(["cp", str(path), str(copy)], check=True)
    kept = len(pv.Ledger.open(copy, read_only=True).entries())
    assert kept >= 301 - 120, f"a copy holds {kept} of 301 entries"
    ledger.close()


@FRESH
def test_an_old_file_in_the_place_of_a_newer_one_is_seen(fresh: Fresh):
    path = fresh()
    with closing(pv.Ledger.create(path, budget=BUDGET)) as ledger:
        ledger.release(Coin(0.1), None)
    shutil.copy(path, path + ".old")
    with closing(pv.Ledger.open(path)) as ledger:
        ledger.release(Coin(0.8), None)
    shutil.copy(path + ".old", path)  # in place: the same inode
    ledger = pv.Ledger.open(path)
    for use in (lambda: ledger.release(Coin(0.1), None), ledger.verify):
        with pytest.raises(LedgerTampered, match="entry 4"):
            use()


@FRESH
def test_a_log_that_lost_its_end_is_seen(fresh: Fresh):
    """What a flipped bit in a log that needs recovery does: SQLite drops what is behind it without a word."""
    path = fresh()
    command = f"import os; from tests.ledger.hostile import jobs_around; jobs_around.spend_and_die({path!r}, 20)"
    pv.Ledger.create(path, budget=BUDGET).close()
    assert nursery.run("ends", script=command, arguments=[]) == 9
    log = Path(f"{path}-wal")
    whole = bytearray(log.read_bytes())
    whole[len(whole) // 3] ^= 1
    log.write_bytes(whole)
    with pytest.raises(LedgerTampered, match="which was written"):
        pv.Ledger.open(path).reserve(Coin().loss)


@FRESH
def test_a_typo_begins_nothing(fresh: Fresh):
    path = Path(fresh())
    pv.Ledger.create(path, budget=BUDGET).close()
    before = sorted(path.parent.iterdir())
    with pytest.raises(LedgerError, match=r"Ledger\.create"):
        pv.Ledger.open(str(path).replace("hostile", "hostlie"), budget=BUDGET)
    assert sorted(path.parent.iterdir()) == before


@FRESH
def test_a_file_without_its_log_is_not_begun_anew(fresh: Fresh):
    path = Path(fresh())
    ledger = pv.Ledger.create(path, budget=BUDGET)
    ledger.reserve(Coin(0.9).loss)
    path.rename(f"{path}.away")
    with pytest.raises(LedgerError, match="-wal"):
        pv.Ledger.create(path, budget=BUDGET)
    Path(f"{path}.away").rename(path)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Coin(0.9).loss)
    ledger.close()


@EVERY
def test_a_backup_is_read_and_restored_but_not_spent_from(fresh: Fresh, tmp_path: Path):
    ledger = pv.Ledger.create(fresh(), budget=BUDGET)
    made = ledger.release(Coin(0.1), None, key="k")
    backup = tmp_path / "backup.ledger"
    assert ledger.backup(backup).entries == 3
    ledger.release(Coin(0.5), None)
    with pytest.raises(LedgerError):
        ledger.backup(backup)
    with pytest.raises(LedgerTampered, match=r"Ledger\.restore"):
        pv.Ledger.open(backup)
    with closing(pv.Ledger.open(backup, read_only=True)) as reader:
        assert reader.verify().entries == 3
        with pytest.raises(LedgerUnavailable):
            reader.reserve(Coin(0.1).loss)
    restored = pv.Ledger.restore(tmp_path / "new.ledger", source=backup, reason="disk failed")
    assert restored.release(Coin(0.1), None, key="k").value == made.value
    with pytest.raises(BudgetExceeded):
        restored.reserve(Coin(1e-6).loss)
    assert (restored.entries()[-1].kind, restored.entries()[-1].facts["reason"]) == ("adopt", "disk failed")
    assert restored.verify().entries == 4
    trusted = pv.Ledger.restore(tmp_path / "moved.ledger", source=backup, reason="nobody used it", complete=True)
    trusted.reserve(Coin(0.9).loss)
    assert trusted.entries()[3].facts["complete"] is True
    with pytest.raises(LedgerError, match="already"):
        pv.Ledger.restore(tmp_path / "new.ledger", source=backup, reason="again")
    for each in (ledger, restored, trusted):
        each.close()


@FRESH
def test_a_file_can_be_moved_with_its_head(fresh: Fresh):
    path = Path(fresh())
    with closing(pv.Ledger.create(path, budget=BUDGET)) as ledger:
        ledger.reserve(Coin(0.5).loss)
    new = path.parent / "moved.ledger"
    path.rename(new)
    with pytest.raises(LedgerTampered, match=r"moved\.ledger\.head"):
        pv.Ledger.open(new)
    Path(f"{path}.head").rename(f"{new}.head")
    with closing(pv.Ledger.open(new)) as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve(Coin(0.6).loss)


@FRESH
def test_files_are_for_their_owner(fresh: Fresh):
    path = fresh()
    ledger = pv.Ledger.create(path, budget=BUDGET)
    ledger.reserve(Coin(0.5).loss)
    assert {os.stat(f"{path}{end}").st_mode & 0o777 for end in ("", "-wal", "-shm", ".head", ".lock")} == {0o600}
    ledger.close()


# --- opening and closing the file in the same process -----------------------------------------------------------------


def check_touching(path: str, folder: Path, *, answers: int) -> dict[str, Any]:
    pv.Ledger.create(path, budget=pv.Budget(epsilon=1000.0)).close()
    told: dict[str, Any] = nursery.run(
        "touch_the_file", timeout=3000, path=path, folder=str(folder), services=2, scripts=3, answers=answers
    )
    assert set(told["codes"]) == {0}, told
    seen = nursery.read_seen(folder)
    assert len(seen) >= answers
    with closing(pv.Ledger.open(path)) as ledger:
        check_seen(check_books(ledger, BasicFilter(1000.0)), seen)
    return told


@FRESH
def test_touching_the_file_loses_nothing(fresh: Fresh, tmp_path: Path):
    check_touching(fresh(), tmp_path, answers=150)


@pytest.mark.slow
@FRESH
def test_touching_the_file_loses_nothing_in_many_answers(fresh: Fresh, tmp_path: Path):
    check_touching(fresh(), tmp_path, answers=tries(1000))


def test_a_copy_is_no_sqlite_secret(tmp_path: Path):
    """The checks above rest on the file being an SQLite database that others can copy: it is one."""
    pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET).close()
    with closing(sqlite3.connect(tmp_path / "a.ledger")) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (1,)
