"""Copies, clones, pickles, threads, forks and other processes: one budget."""

import copy
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import pytest
from sklearn.base import BaseEstimator, clone

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, PrivetError
from tests.firsts import slow
from tests.ledger.hostile import nursery
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, books_of, check_books, check_seen

BUDGET = pv.Budget(epsilon=1.0)
RULE = BasicFilter(1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)
DURABLE = pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)


class Estimator(BaseEstimator):
    """The smallest estimator that pays."""

    def __init__(self, ledger: pv.Ledger | None = None) -> None:
        self.ledger = ledger

    def fit(self, X: Any, y: Any = None) -> "Estimator":
        assert self.ledger is not None
        self.value_ = self.ledger.release(Coin(0.4), X).value
        return self


def cloned(ledger: pv.Ledger) -> Any:
    return clone(Estimator(ledger)).ledger


def within_a_list(ledger: pv.Ledger) -> Any:
    return copy.deepcopy({"deep": [ledger]})["deep"][0]


@EVERY
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, cloned, within_a_list])
def test_copies(fresh: Fresh, make: Callable[[pv.Ledger], pv.Ledger]):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        twin = make(ledger)
        twin.release(Coin(0.4), None)
        ledger.release(Coin(0.4), None)
        for handle in (twin, ledger):
            with pytest.raises(BudgetExceeded):
                handle.release(Coin(0.4), None)
        assert len(check_books(ledger, RULE).reserved) == 2


@DURABLE
def test_pickles(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            with pickle.loads(pickle.dumps(ledger, protocol)) as twin:
                twin.release(Coin(0.2), None)
        with pytest.raises(BudgetExceeded):
            ledger.release(Coin(0.3), None)
        assert len(check_books(ledger, RULE).reserved) == 4


def test_the_memory_store_refuses_pickling():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with pytest.raises((PrivetError, TypeError, pickle.PicklingError)):
        pickle.dumps(ledger)
    with pytest.raises((PrivetError, TypeError, pickle.PicklingError)):
        joblib.hash(Estimator(ledger))


def test_relative_paths_survive_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with pv.Ledger.create("visits.ledger", budget=BUDGET) as ledger:
        monkeypatch.chdir(tmp_path / "b")
        with pickle.loads(pickle.dumps(ledger)) as twin:
            twin.release(Coin(0.5), None)
        thread = threading.Thread(target=lambda: ledger.release(Coin(0.5), None))  # opens a connection of its own
        thread.start()
        thread.join()
        assert len(check_books(ledger, RULE).reserved) == 2
    assert list((tmp_path / "b").iterdir()) == []


def test_a_link_to_the_file_is_the_same_budget(tmp_path: Path):
    path, link = tmp_path / "visits.ledger", tmp_path / "link.ledger"
    link.symlink_to(path)
    with pv.Ledger.create(str(path), budget=BUDGET) as ledger, pv.Ledger.open(str(link)) as other:
        ledger.release(Coin(0.6), None)
        with pytest.raises(BudgetExceeded):
            other.release(Coin(0.6), None)
        other.release(Coin(0.4), None)
        assert len(check_books(ledger, RULE).reserved) == 2


@EVERY
def test_threads_share(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        refused: list[int] = []

        def spend() -> None:
            for _ in range(6):
                try:
                    ledger.release(Coin(0.05), None)
                except BudgetExceeded:
                    refused.append(1)

        crowd = [threading.Thread(target=spend) for _ in range(6)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        assert len(check_books(ledger, RULE).reserved) == 20
        assert len(refused) == 16


@pytest.mark.slow  # jobs of joblib spend in every run: ../test_open.py
@pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
def test_joblib_over_eight_fits(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=4.0)) as ledger:
        fits = joblib.Parallel(n_jobs=2)(joblib.delayed(Estimator(ledger).fit)([[1.0]]) for _ in range(8))
        assert len({fit.value_ for fit in fits}) == 8
        assert set(check_books(ledger, BasicFilter(4.0)).values) == {fit.value_ for fit in fits}
        for fit in fits:
            fit.ledger.close()
        with pytest.raises(BudgetExceeded):
            joblib.Parallel(n_jobs=2)(joblib.delayed(Estimator(ledger).fit)([[1.0]]) for _ in range(4))
        assert len(check_books(ledger, BasicFilter(4.0)).reserved) == 10
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


def spend_in_child(ledger: pv.Ledger) -> float:
    return ledger.release(Coin(0.3), None).value


@pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
def test_spawned_processes(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            values = pool.map(spend_in_child, [ledger] * 3)
        assert set(check_books(ledger, RULE).values) == set(values)
        with pytest.raises(BudgetExceeded):
            ledger.release(Coin(0.3), None)


@DURABLE
@pytest.mark.parametrize("job", ["fork_in_the_middle", "fork_in_a_transaction"])
def test_forks(fresh: Fresh, job: str):
    url = fresh()
    pv.Ledger.create(url, budget=pv.Budget(epsilon=100.0)).close()
    told = nursery.run(job, url=url)
    assert set(told["codes"]) == {0}
    with pv.Ledger.open(url) as ledger:
        assert len(check_books(ledger, BasicFilter(100.0)).reserved) == told["paid"]


@pytest.mark.parametrize("fresh", ["sqlite", "memory"], indirect=True)
def test_the_ambient_ledger_is_not_a_second_budget(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        ledger.release(Coin(0.6), None)
        with ledger, pytest.raises(BudgetExceeded):
            ledger.release(Coin(0.6), None)
        assert len(books_of(ledger).reserved) == 1


@pytest.mark.parametrize(
    ("fresh", "job"),
    [("sqlite", "fork_and_close"), slow(("postgres", "fork_and_close")), ("sqlite", "read_the_file_meanwhile")],
    indirect=["fresh"],
)
def test_locks_that_silently_go_away(fresh: Fresh, tmp_path: Path, job: str):
    """POSIX locks do not survive a fork, nor the closing of any other handle on the file in the same process."""
    url = fresh()
    pv.Ledger.create(url, budget=pv.Budget(epsilon=100.0)).close()
    told = nursery.run(job, url=url, folder=str(tmp_path))
    assert told["codes"] == [0]
    with pv.Ledger.open(url) as ledger:
        books = check_books(ledger, BasicFilter(100.0))
    check_seen(books, nursery.read_seen(tmp_path))
