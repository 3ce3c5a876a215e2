"""Work in other processes: paid by a task, or refused while a ledger is in force or an audit watches."""

import multiprocessing
import multiprocessing.pool
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from joblib import Parallel, delayed

import privet as pv
from privet import audit
from privet.errors import LedgerError
from privet.ledger import running
from privet.mechanisms import Laplace, in_force, payment
from tests.firsts import slow
from tests.seams.toy import LEFT, Toy

LAPLACE = Laplace.for_budget(epsilon=0.25, sensitivity=1.0)
FORK = multiprocessing.get_context("fork")
ROWS, FEWER = (0.5, 1.0, 1.0), (0.5, 1.0)
STRANGER = "Hand the work out as ledger.task(f)"
Hand = Callable[[Any, list[Any]], list[Any]]


def paid(number: float) -> Any:
    """Which ledger paid, None if nobody did, or the refusal."""
    try:
        made = LAPLACE.release(number).paid
    except LedgerError as problem:
        return str(problem)
    return None if made is None else made["ledger"]


def apply_one(work: Any, item: Any) -> Any:
    return work(item)


@pytest.fixture(scope="module")
def ways() -> Iterator[dict[str, Hand]]:
    """Pools that are older than every ledger and audit of these tests."""
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
            "joblib threads": lambda work, items: Parallel(n_jobs=2, backend="threading")(map(delayed(work), items)),
            "joblib": lambda work, items: Parallel(n_jobs=2, backend="loky")(map(delayed(work), items)),
        }


PROCESSES = ["submit", "executor map", "apply", "map", "starmap", "imap", "unordered"]
WAYS = [*PROCESSES, "threads", "joblib threads", pytest.param("joblib", marks=pytest.mark.slow)]


@pytest.mark.parametrize("way", WAYS)
def test_workers_that_are_older_than_the_block_are_paid_by_a_task_or_refused(ways: dict[str, Hand], way: str, tmp_path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0))
    assert ways[way](paid, [1.0]) == [None], "nothing is in force"
    with ledger:
        assert all(STRANGER in each for each in ways[way](paid, [1.0, 2.0]))
        assert ledger.spent["basic epsilon"] == 0.0
        assert ways[way](ledger.task(paid), [1.0, 2.0, 3.0]) == [ledger.policy.ledger] * 3
        assert ways[way](abs, [-1.0]) == [1.0], "work that releases nothing is not touched"
    assert ledger.spent["basic epsilon"] == 0.75
    assert ways[way](paid, [1.0]) == [None], "after the block nobody pays"
    assert ways[way](ledger.task(paid), [1.0]) == [ledger.policy.ledger]


@pytest.mark.parametrize("way", PROCESSES)
def test_a_ledger_in_memory_goes_to_threads_only(ways: dict[str, Hand], way: str):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(8.0))
    with pytest.raises(LedgerError, match="nor go to another process"):
        ways[way](ledger.task(paid), [1.0])
    assert ways["threads"](ledger.task(paid), [1.0]) == [ledger.policy.ledger]
    child = FORK.Process(target=leaves_with, args=(ledger.task(paid),))  # forked: nothing is pickled
    child.start(), child.join()
    assert child.exitcode == 7
    assert ledger.spent["basic epsilon"] == 0.25


def leaves_with(work: Any) -> None:
    told = work(1.0)
    os._exit(7 if "lives in the process that opened it" in str(told) else 1)


def test_without_the_mark_older_workers_draw_for_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """The broken twin: a worker does not look whether something is in force above it."""
    monkeypatch.setattr(in_force, "_is_held", lambda mark: False)
    with ProcessPoolExecutor(1, mp_context=FORK) as pool:
        pool.submit(abs, 1).result()
        with pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0)):
            assert pool.submit(paid, 1.0).result() is None


@pytest.mark.parametrize("inside", ["fork", slow("spawn"), slow("forkserver")])
def test_workers_that_are_started_inside_are_refused_while_the_block_lasts(inside: str, tmp_path):
    context = multiprocessing.get_context(inside)
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0))
    with ExitStack() as stack:
        with ledger:
            pool = stack.enter_context(ProcessPoolExecutor(1, mp_context=context))
            assert STRANGER in pool.submit(paid, 1.0).result()
            assert pool.submit(ledger.task(paid), 1.0).result() == ledger.policy.ledger
            assert STRANGER in pool.submit(paid, 1.0).result(), "a task ends with itself"
        assert pool.submit(paid, 1.0).result() is None
    assert ledger.spent["basic epsilon"] == 0.25


def test_a_fork_in_whatever_thread_is_refused_and_does_not_end_the_block(tmp_path):
    """Also one that runs on to the end of the `with` statement: the flag of its parent stays up."""
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0))
    codes: list[int] = []

    def forks(work: Callable[[], bool]) -> None:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 7 if work() else 2
            finally:
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    def ends() -> bool:
        ledger.__exit__()
        return STRANGER in paid(1.0)

    with ledger:
        for work in (lambda: STRANGER in paid(1.0), ends, lambda: ledger.task(paid)(1.0) == ledger.policy.ledger):
            thread = threading.Thread(target=forks, args=(work,))  # no ledger is carried there
            thread.start(), thread.join()
            forks(work)
        assert codes == [7] * 6
        assert paid(1.0) == ledger.policy.ledger
    forks(lambda: paid(1.0) is None)
    assert codes[-1] == 7
    assert ledger.spent["basic epsilon"] == 0.75


def test_an_older_fork_looks_at_its_parent(tmp_path):
    """A bare fork from before the block, which no library of pools knows."""
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0))
    (asked, ask), (told, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        while os.read(asked, 1) == b"?":
            os.write(tell, b"refused" if STRANGER in str(paid(1.0)) else b"drawn")
        os._exit(0)

    def answer() -> bytes:
        os.write(ask, b"?")
        return os.read(told, 100)

    with ledger:
        inside = answer()
    assert [inside, answer()] == [b"refused", b"drawn"]
    os.write(ask, b".")
    os.waitpid(child, 0)
    for pipe in (asked, ask, told, tell):
        os.close(pipe)


PROGRAM = """
import sys
import privet as pv
step = pv.mechanisms.Laplace.for_budget(epsilon=0.1, sensitivity=1.0)
try:
    print(step.release(1.0).paid)
except pv.errors.LedgerError as problem:
    print(problem)
with pv.Ledger.open(sys.argv[1]):
    print(step.release(1.0).paid is not None)
if len(sys.argv) == 2:
    import subprocess
    with pv.Ledger.create("memory:", budget=pv.Budget(1.0)):
        pass
    print(subprocess.run([sys.executable, __file__, sys.argv[1], "last"], capture_output=True, text=True).stdout)
"""


def test_a_program_that_is_started_inside_is_refused_and_so_is_one_that_it_starts(tmp_path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0))
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script), str(tmp_path / "a.ledger")]
    with ledger:
        inside = subprocess.run(command, capture_output=True, text=True, timeout=600)
    outside = subprocess.run([*command, "last"], capture_output=True, text=True, timeout=600)
    assert [line[:20] for line in inside.stdout.split("\n")] == [*["a ledger is in force", "True"] * 2, "", ""]
    assert outside.stdout == "None\nTrue\n", outside.stderr
    assert ledger.spent["basic epsilon"] == pytest.approx(0.3)


def test_a_process_that_was_killed_leaves_nothing_in_force(tmp_path):
    child = os.fork()
    if child == 0:
        pv.Ledger.create("memory:", budget=pv.Budget(1.0)).__enter__()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    mark = in_force._mark(child)
    assert os.path.exists(mark), "what it left"
    assert not in_force._is_held(mark)
    os.unlink(mark)


def test_where_no_mark_can_be_made_nothing_is_put_in_force(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(in_force.tempfile, "tempdir", str(tmp_path / "nowhere"))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.__enter__()
    assert paid(1.0) is None


def test_what_was_carried_stays_in_its_process():
    with pytest.raises(LedgerError, match="use threads"):
        pickle.dumps(pv.mechanisms.carry(paid))


@pytest.mark.parametrize(("owner", "name"), [(payment._FLAG, "_lock"), (running, "_lock")])
def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held(owner: Any, name: str, tmp_path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=pv.Budget(8.0, 1e-6))
    lock = getattr(owner, name).held
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
    assert getattr(owner, name).held is lock, "the parent keeps its own"


# --- audits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_while_an_audit_watches_workers_may_release_nothing_unseen(ways: dict[str, Hand], way: str):
    told: list[str] = []
    audit.replay(lambda rows: told.extend(ways[way](paid, [1.0])), ROWS, FEWER, times=1)
    assert len(told) == 3
    assert all("mechanisms.carry(f)" in each for each in told)
    assert ways[way](paid, [1.0]) == [None], "afterwards they work as before"
