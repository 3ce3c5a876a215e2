"""Work in other processes: paid by the ledger it was handed out under, seen by the audit that watches, or refused."""

import multiprocessing
import multiprocessing.pool
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from joblib import Parallel, delayed

import privet as pv
from privet import audit, testing
from privet.audit import following
from privet.errors import LedgerError
from privet.ledger import running
from privet.mechanisms import Example, Laplace, payment, whole
from tests.seams.toy import LEFT, RIGHT, Toy

LAPLACE = Laplace.for_budget(epsilon=0.25, sensitivity=1.0)
FORK = multiprocessing.get_context("fork")
ROWS, FEWER = (0.5, 1.0, 1.0), (0.5, 1.0)
Hand = Callable[[Any, list[Any]], list[Any]]


def paid(number: float) -> Any:
    return LAPLACE.release(number).paid


def sound(rows: Any) -> float:
    return LAPLACE.release(sum(rows)).value


def leaking(rows: Any) -> float:
    return LAPLACE.release(3 * sum(rows)).value


def apply_one(work: Any, item: Any) -> Any:
    return work(item)


@pytest.fixture(scope="module")
def ways() -> Iterator[dict[str, Hand]]:
    """Pools of processes that are older than every ledger and audit of these tests."""
    with ExitStack() as stack:
        executor = stack.enter_context(ProcessPoolExecutor(1, mp_context=FORK))
        pool = stack.enter_context(FORK.Pool(1))
        thread = stack.enter_context(multiprocessing.pool.ThreadPool(1))
        executor.submit(paid, 1.0).result(), pool.apply(paid, (1.0,)), thread.apply(paid, (1.0,))
        yield {
            "submit": lambda work, items: [executor.submit(work, item).result() for item in items],
            "executor map": lambda work, items: list(executor.map(work, items)),
            "apply": lambda work, items: [pool.apply(work, (item,)) for item in items],
            "map": lambda work, items: pool.map(work, items),
            "starmap": lambda work, items: pool.starmap(apply_one, [(work, item) for item in items]),
            "imap": lambda work, items: list(pool.imap(work, items)),
            "unordered": lambda work, items: list(pool.imap_unordered(work, items, chunksize=2)),
            "threads": lambda work, items: thread.map(work, items),
            "joblib": lambda work, items: Parallel(n_jobs=2, backend="loky")(delayed(work)(item) for item in items),
        }


PROCESSES = ["submit", "executor map", "apply", "map", "starmap", "imap", "unordered"]
WAYS = [*PROCESSES, "threads", pytest.param("joblib", marks=pytest.mark.slow)]


@pytest.mark.parametrize("way", WAYS)
def test_workers_that_are_older_than_the_block_pay(ways: dict[str, Hand], way: str, tmp_path):
    with pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0)) as ledger:
        told = ways[way](paid, [1.0, 2.0, 3.0])
    assert [each["ledger"] for each in told] == [ledger.policy.ledger] * 3
    assert ledger.spent["basic epsilon"] == 0.75
    assert ways[way](paid, [1.0]) == [None], "after the block nobody pays"


@pytest.mark.parametrize("way", PROCESSES)
def test_a_ledger_in_memory_cannot_travel(ways: dict[str, Hand], way: str):
    with pv.Ledger.create("memory:", budget=pv.Budget(8.0)) as ledger:
        with pytest.raises(LedgerError, match="memory of another process"):
            ways[way](paid, [1.0])
        assert ways[way](abs, [-1.0]) == [1.0], "work that releases nothing is not touched"
    assert ledger.spent["basic epsilon"] == 0.0


def test_without_it_older_workers_draw_for_nothing(monkeypatch: pytest.MonkeyPatch, ways: dict[str, Hand], tmp_path):
    """The planted bug: jobs are handed to processes without their payer."""
    with pv.Ledger.create("memory:", budget=pv.Budget(8.0)):
        pass  # pools are wrapped from the first block on
    for owner, name in [(ProcessPoolExecutor, "submit"), (multiprocessing.pool.Pool, "_map_async")]:
        monkeypatch.setattr(owner, name, getattr(owner, name).before)
    monkeypatch.setattr(payment, "follow_workers", lambda payers: None)
    with pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0)):
        assert [ways[way](paid, [1.0]) for way in ("submit", "map")] == [[None], [None]]


def test_where_it_is_not_clear_who_pays_only_releases_are_refused(ways: dict[str, Hand], tmp_path):
    one, two = (pv.Ledger.create(tmp_path / f"{name}.ledger", budget=pv.Budget(8.0)) for name in "ab")
    with multiprocessing.pool.ThreadPool(1) as elsewhere, one, two:
        assert elsewhere.apply(ways["submit"], (abs, [-1.0])) == [1.0]
        with pytest.raises(LedgerError, match="several ledgers"):
            elsewhere.apply(ways["submit"], (paid, [1.0]))


# --- whole algorithms -------------------------------------------------------------------------------------------------


class Forked(Toy):
    """Its parts run in processes of a pool."""

    name = "toy_with_processes_of_the_tests"
    hand: Any = None

    def _run(self, prepared: Any, source: Any) -> Any:
        sums = prepared.clip(0.0, 1.0).sum(axis=0)
        asked = [(self.count, len(prepared), source), (self.choice, sums, source), (self.total, sums, source)]
        n, column, total = (made.value for made in type(self).hand(part_of, asked))
        return {"column": int(column), "n": n, "total": total}


def part_of(asked: Any) -> Any:
    part, value, source = asked
    return part.release(value, source=source)


class Uncharged(Forked):
    """One more part than it says, in another process."""

    name = "toy_with_one_process_too_many"

    def _run(self, prepared: Any, source: Any) -> Any:
        type(self).hand(part_of, [(self.count, len(prepared), source)])
        return super()._run(prepared, source)


@pytest.mark.parametrize("way", ["submit", "map", pytest.param("joblib", marks=pytest.mark.slow)])
def test_parts_in_processes_are_recorded_and_paid_once(monkeypatch: pytest.MonkeyPatch, ways, way: str, tmp_path):
    for kind in (Forked, Uncharged):
        monkeypatch.setattr(kind, "hand", staticmethod(ways[way]))
    example = Example(Forked(), LEFT, RIGHT)
    testing.check_parts_are_the_price(example)
    testing.check_no_coin_of_its_own(example)
    testing.check_replay_sees_nothing(example)
    with pytest.raises(AssertionError, match="a part is not charged"):
        testing.check_parts_are_the_price(Example(Uncharged(), LEFT, RIGHT))
    with pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0, 1e-6)) as ledger:
        Forked().release(LEFT)
    assert [entry.kind for entry in ledger.entries()].count("reserve") == 1


class Hasty(Toy):
    """Returns while a process still works for it."""

    name = "toy_that_does_not_wait"
    hand: Any = None

    def _run(self, prepared: Any, source: Any) -> Any:
        type(self).hand()
        return super()._run(prepared, source)


def late(place: str) -> None:
    time.sleep(0.3)
    with open(place, "w") as out:
        out.write(str(LAPLACE.release(1.0).paid))


def test_an_algorithm_waits_for_its_processes(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """A job in another process cannot see that the algorithm has ended, and that its payment has."""
    place = tmp_path / "late"
    with ProcessPoolExecutor(1, mp_context=FORK) as pool, FORK.Pool(1) as other:
        pool.submit(abs, 1).result()
        for hand in (lambda: pool.submit(late, str(place)), lambda: other.apply_async(late, (str(place),))):
            monkeypatch.setattr(Hasty, "hand", staticmethod(hand))
            with pv.Ledger.create("memory:", budget=pv.Budget(8.0, 1e-6)):
                Hasty().release(LEFT)
                assert not place.exists() or place.read_text() == "None", "cancelled, or done as a part of the whole"
            place.unlink(missing_ok=True)
            time.sleep(0.4)
            assert not place.exists(), "nothing runs on"


def test_a_worker_forked_inside_an_algorithm_is_not_paid_for_ever(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """It was forked with the memory of a release that is under way."""
    pool = ProcessPoolExecutor(1, mp_context=FORK)
    monkeypatch.setattr(Hasty, "hand", staticmethod(lambda: pool.submit(paid, 1.0).result()))
    with pool, pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0, 1e-6)) as ledger:
        Hasty().release(LEFT)
        before = ledger.spent["basic epsilon"]
        assert pool.submit(paid, 1.0).result()["ledger"] == ledger.policy.ledger
        assert ledger.spent["basic epsilon"] == pytest.approx(before + 0.25)


@pytest.mark.parametrize(("module", "name"), [(payment, "_LOCK"), (whole, "_LOCK"), (running, "_lock")])
def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held(module: Any, name: str, tmp_path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0, 1e-6))
    lock = getattr(module, name).held
    with lock:  # as if another thread were just here
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that waits for ever is ended
            code = 1
            try:
                ledger.release(Toy(), LEFT)
                with ledger:
                    LAPLACE.release(1.0)
                code = 7
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert getattr(module, name).held is lock, "the parent keeps its own"


# --- audits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_replay_follows_workers_that_are_older(ways: dict[str, Hand], way: str):
    found = audit.replay(lambda rows: ways[way](sound, [rows] * 3), ROWS, FEWER)
    assert (found.verdict, found.releases, found.notes) == ("not refuted", 3, ())
    found = audit.replay(lambda rows: ways[way](leaking, [rows] * 3), ROWS, FEWER)
    assert [finding.kind for finding in found.findings] == ["distance"] * 3
    assert ways[way](paid, [1.0]) == [None], "afterwards they work as before"


def test_without_it_a_replay_would_see_nothing(monkeypatch: pytest.MonkeyPatch, ways: dict[str, Hand]):
    """The planted bug: jobs of processes are left to them."""
    monkeypatch.setattr(following._Following, "_instead", lambda self, stand_in, submit: PLAIN)
    found = audit.replay(lambda rows: ways["submit"](leaking, [rows] * 3), ROWS, FEWER)
    assert (found.releases, found.findings) == (0, ())


PLAIN = ProcessPoolExecutor.submit


def test_pools_that_are_made_inside_are_followed_and_live_on():
    kept: list[Any] = []

    def pipeline(rows: Any) -> Any:
        kept.append(FORK.Pool(1))
        return kept[-1].map(leaking, [rows])

    found = audit.replay(pipeline, ROWS, FEWER)
    assert [finding.kind for finding in found.findings] == ["distance"]
    for pool in kept:
        assert pool.apply(paid, (1.0,)) is None, "no audit watches any more"
        pool.terminate()


def answered(queue: Any) -> None:
    try:
        queue.put(str(LAPLACE.release(1.0).value))
    except LedgerError as problem:
        queue.put(str(problem))


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_process_by_itself_may_not_release_unseen(method: str):
    context = multiprocessing.get_context(method)
    told: list[str] = []

    def pipeline(rows: Any) -> None:
        queue = context.SimpleQueue()
        child = context.Process(target=answered, args=(queue,))
        child.start()
        told.append(queue.get())
        child.join()

    found = audit.replay(pipeline, ROWS, FEWER)
    assert all("an audit watches in another process" in each for each in told)
    assert len(told) == 3
    assert any("refused there" in note for note in found.notes)


def test_a_bare_fork_may_not_release_unseen():
    def pipeline(rows: Any) -> int:
        child = os.fork()
        if child == 0:
            try:
                LAPLACE.release(1.0)
                os._exit(1)
            except LedgerError:
                os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    seen: list[int] = []
    audit.replay(lambda rows: seen.append(pipeline(rows)), ROWS, FEWER)
    assert seen == [7, 7, 7]


@pytest.mark.slow
def test_a_program_that_a_pipeline_starts_may_not_release_unseen():
    code = "from privet.mechanisms import Laplace; Laplace.for_budget(epsilon=1.0, sensitivity=1.0).release(1)"
    told: list[str] = []

    def pipeline(rows: Any) -> None:
        told.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600).stderr)

    audit.replay(pipeline, ROWS, FEWER)
    assert all("an audit watches in another process" in each for each in told)
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 0
