"""Links, copies and old states in random order, under handles that go on spending: one budget, and every charge is kept."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger.stores.sqlite import SqliteStore
from tests.effort import tries
from tests.ledger.hostile.probe import Coin, check_books, check_seen
from tests.ledger.hostile.test_rollback import put

CAP = 0.1  # a hundred charges of 0.001
ENDS = ("", "-wal", "-shm", ".head", ".lock")


class Wanderer:
    """Somebody who keeps spending through several handles while files are linked, copied, moved and rolled back."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.folder, self.path = folder, folder / "a.ledger"
        pv.Ledger.create(self.path, budget=pv.Budget(epsilon=CAP)).close()
        (folder / "symlink.ledger").symlink_to(self.path)
        self.handles = [self._opened() for _ in range(2)]
        self.seen: list[float] = []
        self.refused = 0

    def _opened(self) -> pv.Ledger:
        return pv.Ledger.open(self.dice.choice([self.path, self.folder / "symlink.ledger"]), timeout=60.0)

    def spend(self) -> None:
        """Granted by the real ledger, until its cap."""
        try:
            self.seen.append(self.dice.choice(self.handles).release(Coin(0.001), None).value)
        except BudgetExceeded:
            assert len(self.seen) >= 100, "refused below the cap: a charge was counted that nobody made"

    def _nothing(self, *attempts: Callable[[], pv.Ledger]) -> None:
        """What must not be granted, whatever it says; a value that comes is one too many."""
        for attempt in attempts:
            try:
                self.seen.append(attempt().release(Coin(0.001), None).value)
            except LedgerError:
                self.refused += 1

    def reopen(self) -> None:
        place = self.dice.randrange(len(self.handles))
        self.handles[place].close()
        self.handles[place] = self._opened()

    def link(self) -> None:
        """A hard link, for a moment."""
        other = self.folder / "link.ledger"
        os.link(self.path, other)
        if self.dice.random() < 0.5:
            shutil.copy(f"{self.path}.head", f"{other}.head")  # its inode is right
        self._nothing(lambda: self.dice.choice(self.handles), lambda: pv.Ledger.open(other), self._opened)
        for end in ENDS:
            Path(f"{other}{end}").unlink(missing_ok=True)

    def copy(self) -> None:
        """Some of the files, by another process, under another name: no second budget."""
        other = self.folder / f"copy{self.dice.randrange(10**9)}.ledger"
        for end in ["", *self.dice.sample(ENDS[1:], self.dice.randrange(5))]:
            if Path(f"{self.path}{end}").exists():
                subprocess.run(["cp", f"{self.path}{end}", f"{other}{end}"], check=True)
        self._nothing(lambda: pv.Ledger.open(other))
        for end in ENDS:
            Path(f"{other}{end}").unlink(missing_ok=True)

    def roll_back(self) -> None:
        """An older state in place, for a moment; then the newest one again."""
        old, newest = self.folder / "old.db", self.folder / "newest.db"
        put(self.path, old)
        before = len(self.seen)
        self.spend()
        put(self.path, newest)
        if len(self.seen) > before:
            put(old, self.path)
            self._nothing(lambda: self.dice.choice(self.handles), self._opened)
            put(newest, self.path)
        for path in (old, newest):
            path.unlink()

    def move(self) -> None:
        """Away with all that belongs to it while it is closed, and back."""
        for handle in self.handles:
            handle.close()
        away = self.folder / "away.ledger"
        there = [end for end in ENDS if Path(f"{self.path}{end}").exists()]
        for end in there:
            os.rename(f"{self.path}{end}", f"{away}{end}")
        self._nothing(self._opened)
        for end in there:
            os.rename(f"{away}{end}", f"{self.path}{end}")
        self.handles = [self._opened() for _ in self.handles]

    def go(self, steps: int) -> None:
        acts = [self.spend] * 4 + [self.reopen, self.link, self.copy, self.roll_back, self.move]
        for _ in range(steps):
            self.dice.choice(acts)()
        for handle in self.handles:
            handle.close()
        with pv.Ledger.open(self.path) as ledger:
            books = check_books(ledger, BasicFilter(CAP))
            check_seen(books, self.seen)
            assert len(books.reserved) == len(self.seen) <= 100, "a value without a charge, or a charge without a value"
            ledger.close()


def test_a_walk(tmp_path: Path):
    wanderer = Wanderer(tmp_path, 1)
    wanderer.go(40)
    assert wanderer.refused > 5
    assert len(wanderer.seen) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(tries(5)))
def test_long_walks(tmp_path: Path, seed: int):
    wanderer = Wanderer(tmp_path, 100 + seed)
    wanderer.go(250)
    assert wanderer.refused > 50
    assert len(wanderer.seen) > 50


@pytest.mark.parametrize("blind", ["_check_head_file", "_check_head"])
def test_the_walk_sees_a_store_without_its_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: str):
    monkeypatch.setattr(SqliteStore, blind, lambda *_: None)
    with pytest.raises((AssertionError, LedgerError)):  # spent twice, or in two histories that do not go together
        Wanderer(tmp_path, 1).go(120)
