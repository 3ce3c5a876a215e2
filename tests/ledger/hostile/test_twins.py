"""Every check bites: each broken twin passes for the real ledger's check only while its bug is not planted."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from tests.ledger.hostile import checks, disk
from tests.ledger.hostile.conftest import Fresh
from tests.ledger.hostile.probe import Coin
from tests.ledger.hostile.test_tamper import EDITS, edited, swap_releases
from tests.ledger.hostile.twins import PLANTS

BUDGET = pv.Budget(epsilon=1.0)
MISSED = (AssertionError, pytest.fail.Exception)
Check = Callable[[Path, str | None], Any]


def in_memory(check: Callable[[pv.Ledger], None]) -> Check:
    return lambda folder, twin: check(pv.Ledger.create("memory:", budget=BUDGET))


def on_a_file(check: Callable[[Path], None], edit: Any = None) -> Check:
    """Write a ledger, close it, let someone edit it, then check."""

    def run(folder: Path, twin: str | None) -> None:
        folder.mkdir()
        path = folder / "a.ledger"
        ledger = pv.Ledger.create(str(path), budget=BUDGET)
        for reservation in [ledger.reserve(Coin(0.02).loss) for _ in range(2)]:
            reservation.record(Coin(0.02).release(None))
        ledger.release(Coin(0.04), None)
        ledger.close()
        if edit is None:
            return check(path)
        (folder / "edited").mkdir()
        return check(edited(path, folder / "edited", edit))

    return run


def power_cuts(folder: Path, twin: str | None) -> None:
    (folder / "disk").mkdir(parents=True)
    checks.check_cuts(str(folder / "disk" / "a.ledger"), releases=15, cuts=40, seed=5, twin=twin)


def replace_an_entry(path: Path) -> None:
    checks.check_file_refuses(path, "REPLACE INTO entry SELECT * FROM entry WHERE seq = 3")


CHECKS: dict[str, Check] = {
    "the check is outside the transaction": in_memory(checks.check_one_thread_wins),
    "the draw comes before the charge": in_memory(checks.check_refusals),
    "a failure is refunded": in_memory(checks.check_failures),
    "sums are floats": in_memory(checks.check_boundary),
    "the chain does not cover the order": on_a_file(checks.check_order_is_seen, swap_releases),
    "the cached balance is trusted": on_a_file(checks.check_cache_is_not_trusted, EDITS["balance zeroed"][0]),
    "entries can be replaced": on_a_file(replace_an_entry),
    "charges are not synced": power_cuts,
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_check_sees_its_twin(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if name == "charges are not synced" and disk.library() is None:
        pytest.skip("the SQLite library of this Python cannot be found")
    if CHECKS[name] is not power_cuts:  # planted in the process that writes; test_power_cut.py sees a healthy one
        CHECKS[name](tmp_path / "healthy", None)
        PLANTS[name](monkeypatch.setattr)
    with pytest.raises(MISSED):
        CHECKS[name](tmp_path / "broken", name)


@pytest.mark.parametrize("fresh", ["postgres"], indirect=True)
def test_the_race_sees_a_lock_that_is_taken_with_the_read(fresh: Fresh):
    checks.check_race(fresh(), spends=15, room=60)
    with pytest.raises(MISSED):
        checks.check_race(fresh(), spends=15, room=60, twin="lock and read in one statement")


@pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
def test_the_writers_see_a_lock_that_lets_some_starve(fresh: Fresh):
    with pytest.raises(MISSED):
        checks.check_turns(fresh(), workers=3, seconds=0.4, twin="who finds the lock taken comes back later")


def test_every_twin_is_tried():
    in_processes = {"lock and read in one statement", "who finds the lock taken comes back later"}
    assert CHECKS.keys() | in_processes == set(PLANTS)
    assert sqlite3.sqlite_version_info >= (3, 37)  # STRICT tables
