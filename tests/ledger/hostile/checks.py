"""Checks that the tests run on the ledger and that the broken twins must fail."""

import sqlite3
import threading
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, LedgerTampered, PrivetError, ReleaseFailed
from privet.privacy import PureLoss
from tests.ledger.hostile import nursery
from tests.ledger.hostile.probe import TINY, Coin, books_of, check_books, forge_head, sums_of

SECRET = "Ada Lovelace has the flu"


def check_one_thread_wins(ledger: pv.Ledger, threads: int = 8) -> None:
    barrier, won, other = threading.Barrier(threads), [], []

    def work() -> None:
        barrier.wait()
        try:
            won.append(ledger.release(Coin(1.0), None).value)
        except BudgetExceeded:
            pass
        except BaseException as problem:
            other.append(problem)

    crowd = [threading.Thread(target=work) for _ in range(threads)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert other == []
    assert len(won) == 1
    assert [release.value for release in books_of(ledger).released] == won


def check_race(url: str, *, spends: int, room: int, twin: str | None = None) -> None:
    pv.Ledger.create(url, budget=pv.Budget(epsilon=room * TINY)).close()
    told = nursery.run("race", timeout=600, twin=twin, url=url, workers=8, spends=spends, epsilon=TINY)
    assert set(told["codes"]) == {0}
    assert told["granted"] == min(room, 8 * spends)
    assert told["granted"] + told["refused"] == 8 * spends
    with pv.Ledger.open(url) as ledger:
        assert len(check_books(ledger, BasicFilter(room * TINY)).reserved) == told["granted"]


def check_turns(url: str, *, workers: int, seconds: float, twin: str | None = None) -> None:
    """Nobody starves among several writers. How evenly and how fast they take turns is for benchmarks/ledger.py."""
    pv.Ledger.create(url, budget=pv.Budget(epsilon=100.0)).close()
    told = nursery.run("waits", timeout=600, twin=twin, url=url, workers=workers, least=10, seconds=seconds)
    assert set(told["codes"]) == {0}
    assert min(told["granted"]) >= 10, told
    with pv.Ledger.open(url) as ledger:
        assert len(check_books(ledger, BasicFilter(100.0)).reserved) == workers + sum(told["granted"])


def check_cuts(path: str, *, releases: int, cuts: int, seed: int, twin: str | None = None) -> None:
    with pv.Ledger.create(path, budget=pv.Budget(epsilon=1000.0)) as ledger:
        ledger.release(Coin(), None)
    told = nursery.run("power_cuts", path=path, releases=releases, cuts=cuts, seed=seed, timeout=500, twin=twin)
    assert told["undurable"] == 0, "data was touched before the charge was synced"
    assert told["syncs"] >= releases
    assert len(told["cuts"]) >= min(cuts, releases)
    for cut in told["cuts"]:
        forge_head(cut["url"])  # the head of the file that was cut is older than the cut, and names another file
        with pv.Ledger.open(cut["url"]) as ledger:
            books = check_books(ledger, BasicFilter(1000.0))
            assert len(books.reserved) >= 1 + len(cut["before"]), "a value was returned and its charge is gone"
            kept = {release.value.hex() for release in books.released}
            lost = [value for value in cut["before"] if value not in kept]
            assert len(lost) <= books.orphans
            assert ledger.release(Coin(), None).value  # and life goes on
            check_books(ledger, BasicFilter(1000.0))


# --- failures and refusals ----------------------------------------------------------------------------------------


class Hostile(Exception):
    """An error that carries data out."""


class Poison:
    """Data that screams when it is touched."""

    def __getattribute__(self, name: str) -> Any:
        raise Hostile(SECRET)


def throw(problem: BaseException) -> Any:
    def before(data: Any) -> None:
        raise problem

    return before


def everything_about(error: BaseException) -> str:
    """All that a caller, a log or a debugger prints by itself."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))


def check_failures(ledger: pv.Ledger) -> None:
    """Whatever fails in a mechanism: paid, recorded as such, and told in one constant text without a trace."""
    texts = set()
    kinds = (ValueError, Hostile, MemoryError, AssertionError, PrivetError, RecursionError)
    for kind in kinds:
        with pytest.raises(ReleaseFailed) as caught:
            ledger.release(Coin(0.01, before=throw(kind(SECRET))), SECRET)
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None, "the mechanism's own error can be read from __context__"
        assert SECRET not in everything_about(error)
        assert not getattr(error, "__notes__", [])
        texts.add(str(error))
    assert len(texts) == 1, "the text tells failures apart"
    books = check_books(ledger, BasicFilter(1.0))
    assert (len(books.reserved), books.released) == (len(kinds), [])


def check_refusals(ledger: pv.Ledger) -> None:
    """A refusal looks at no data, draws nothing, costs nothing, and says what was asked and what is left."""
    texts, explained, draws = set(), set(), []
    ledger.reserve(PureLoss(0.75))
    for data in (None, 0, SECRET, np.zeros(10**6), Poison()):
        with pytest.raises(BudgetExceeded) as caught:
            ledger.release(Coin(0.5, before=lambda _: draws.append(1)), data)
        texts.add(str(caught.value))
        explained.add(caught.value.explain())
    assert draws == []
    (text,), (long,) = texts, explained
    for word in ("asked", "left", "nothing was spent", "0.5", "0.25"):
        assert word in text
    for word in ("spent", "requested", "remaining", "0.75", "0.5", "0.25"):
        assert word in long
    assert len(books_of(ledger).reserved) == 1


# --- money --------------------------------------------------------------------------------------------------------


def check_boundary(ledger: pv.Ledger) -> None:
    """Ten tenths are one, exactly, and then not the smallest amount more."""
    for _ in range(10):
        ledger.reserve(PureLoss(0.1))
    assert sums_of(ledger)[0][0] == 10**40
    for epsilon in (1e-40, 1e-60):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(PureLoss(epsilon))
    ledger.reserve(PureLoss(0.0))
    check_books(ledger, BasicFilter(1.0))


# --- edited files -------------------------------------------------------------------------------------------------


def check_cache_is_not_trusted(edited: Path) -> None:
    """Without anyone calling verify: a spend compares the cache with the sums in the head entry."""
    draws: list[Any] = []
    with pytest.raises(LedgerTampered), closing(pv.Ledger.open(str(edited))) as ledger:
        ledger.release(Coin(0.93, before=draws.append), None)
    assert draws == []


def check_order_is_seen(edited: Path) -> None:
    with pytest.raises(LedgerTampered), closing(pv.Ledger.open(str(edited))) as ledger:
        ledger.verify()


def check_file_refuses(path: Path, statement: str) -> None:
    """The file itself stops an accident in someone's own SQL."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, pytest.raises(sqlite3.Error):
        connection.execute(statement)
