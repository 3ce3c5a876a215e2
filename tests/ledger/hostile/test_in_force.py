"""While a ledger is in force, what carries it is charged, everything else is refused, and nothing is patched."""

import asyncio
import contextvars
import linecache
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest
from joblib import Parallel, delayed

import privet as pv
from privet.errors import InvalidParameter, LedgerError
from privet.mechanisms import payment
from tests.ledger.hostile.probe import Coin
from tests.ledger.hostile.test_ambient import BUDGET, STEP, Whole, tenths

STRANGER = r"Hand the work out as ledger\.task\(f\)"


def told(work: Callable[..., Any], *args: Any) -> Any:
    """What a release says: True if it was paid, None if nobody pays, the refusal."""
    try:
        return work(*args).paid is not None or None
    except LedgerError as problem:
        return str(problem)


def in_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def started(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def in_pool(work: Callable[[], Any]) -> Any:
    with ThreadPool(1) as pool:
        return pool.apply(work)


def in_joblib(work: Callable[[], Any]) -> Any:
    return Parallel(n_jobs=2, backend="threading")([delayed(work)(), delayed(work)()])[0]


def in_other_context(work: Callable[[], Any]) -> Any:
    return contextvars.Context().run(work)


THREADS = [in_thread, started, in_pool, in_joblib, in_other_context]


@pytest.mark.parametrize("where", THREADS)
def test_what_does_not_carry_the_ledger_is_refused_and_a_task_is_paid(where: Any):
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    release = lambda: told(STEP.release, 1.0)  # noqa: E731
    with ledger:
        assert re.search(STRANGER, where(release))
        assert tenths(ledger) == 0
        assert where(ledger.task(release)) is True
    paid = tenths(ledger)
    assert paid == (2 if where is in_joblib else 1)
    assert where(release) is None, "after the block nobody pays"
    assert where(ledger.task(release)) is True, "a task needs no block around it"
    assert tenths(ledger) == 2 * paid


def test_a_pool_that_is_older_than_the_block_is_refused_while_it_lasts():
    with ThreadPoolExecutor(1) as pool, ThreadPool(1) as other:
        assert [pool.submit(told, STEP.release, 1.0).result(), other.apply(told, (STEP.release, 1.0))] == [None, None]
        with pv.Ledger.create("memory:", budget=BUDGET) as ledger:
            assert re.search(STRANGER, pool.submit(told, STEP.release, 1.0).result())
            assert re.search(STRANGER, other.apply(told, (STEP.release, 1.0)))
            assert list(pool.map(ledger.task(told), [STEP.release] * 2, [1.0] * 2)) == [True, True]
            assert pool.submit(contextvars.copy_context().run, told, STEP.release, 1.0).result() is True
        assert pool.submit(told, STEP.release, 1.0).result() is None
    assert tenths(ledger) == 3


def test_a_stranger_may_neither_simulate_nor_look_nor_fit():
    with pv.Ledger.create("memory:", budget=BUDGET):
        for work in (lambda: STEP.simulate(1.0, 3), pv.ledger.current, lambda: pv.ledger.pay(STEP, 1.0)):
            with pytest.raises(LedgerError, match=STRANGER):
                in_thread(work)
        explicit = pv.Ledger.create("memory:", budget=BUDGET)
        assert in_thread(lambda: explicit.release(STEP, 1.0)).paid is not None
        assert in_thread(lambda: explicit.release(Whole(0.3), None)).paid is not None, "its parts belong to it"
    assert tenths(explicit) == 4


def test_without_the_flag_a_thread_draws_for_nothing(monkeypatch: pytest.MonkeyPatch):
    """The broken twin: nobody looks at what is in force elsewhere."""
    monkeypatch.setattr(payment, "_refuse_strangers", lambda known: None)
    with pv.Ledger.create("memory:", budget=BUDGET):
        assert in_thread(lambda: told(STEP.release, 1.0)) is None


def test_two_ledgers_in_two_threads_each_pay_for_their_own_and_a_third_is_refused():
    ledgers = [pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2)]
    both, done = threading.Barrier(3), threading.Barrier(3)

    def work(ledger: pv.Ledger, times: int) -> None:
        with ledger:
            both.wait(200)
            for _ in range(times):
                STEP.release(1.0)
            done.wait(200)

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(work, ledger, times) for ledger, times in zip(ledgers, (2, 3), strict=True)]
        both.wait(200)
        assert re.search(STRANGER, told(STEP.release, 1.0))
        done.wait(200)
        [job.result() for job in jobs]
    assert [tenths(ledger) for ledger in ledgers] == [2, 3]
    assert told(STEP.release, 1.0) is None


def fails_after(release: Any) -> None:
    raise ZeroDivisionError


def test_blocks_nest_and_end_with_errors():
    one, two = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))
    with one, one, two:
        with pytest.raises(ZeroDivisionError), one, two:
            fails_after(STEP.release(1.0))
        STEP.release(1.0)
        assert pv.ledger.current() is two
    assert (tenths(one), tenths(two)) == (0, 2)
    assert pv.ledger.current() is None
    with one:
        with one:
            STEP.release(1.0)
        STEP.release(1.0)
        assert re.search(STRANGER, in_thread(lambda: told(STEP.release, 1.0))), (
            "the inner block does not lower the flag"
        )
    assert tenths(one) == 2
    one.__exit__()  # ends nothing, and breaks nothing
    assert told(STEP.release, 1.0) is None


def test_the_flag_goes_down_with_the_last_block():
    one, two = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))
    before = dict(os.environ), marks()
    with one:
        assert dict(os.environ) != before[0]
        with two:
            pass
        assert re.search(STRANGER, in_thread(lambda: told(STEP.release, 1.0)))
        assert len(marks() - before[1]) == 1
    assert (dict(os.environ), marks()) == before
    assert in_thread(lambda: told(STEP.release, 1.0)) is None


def marks() -> set[str]:
    return set(Path(tempfile.gettempdir()).glob(f"privet-*-{os.getpid()}.in-force"))


def test_tasks_pay_their_own_ledger():
    one, two = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))

    async def work(ledger: pv.Ledger, times: int) -> None:
        with ledger:
            for _ in range(times):
                await asyncio.sleep(0)
                STEP.release(1.0)
                await asyncio.to_thread(STEP.release, 1.0)

    async def both() -> None:
        await asyncio.gather(work(one, 1), work(two, 2))

    asyncio.run(both())
    assert (tenths(one), tenths(two)) == (2, 4)


def test_a_task_made_inside_is_charged_and_one_made_before_is_refused():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)

    async def late(go: asyncio.Event) -> Any:
        await go.wait()
        return told(STEP.release, 1.0)

    async def main() -> list[Any]:
        go = asyncio.Event()
        before = asyncio.create_task(late(go))
        await asyncio.sleep(0)
        with ledger:
            inside = asyncio.create_task(late(go))
            go.set()
            return [await before, await inside]

    before, inside = asyncio.run(main())
    assert re.search(STRANGER, before)
    assert inside is True
    assert tenths(ledger) == 1


def test_a_task_that_outlives_its_block_is_refused():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)

    async def late() -> None:
        await asyncio.sleep(0.01)
        STEP.release(1.0)

    async def main() -> None:
        with ledger:
            task = asyncio.get_running_loop().create_task(late())
        with pytest.raises(LedgerError, match="has ended"):
            await task

    asyncio.run(main())
    assert tenths(ledger) == 0


def test_tasks_inherit_the_innermost_block():
    one, two = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))

    async def spend() -> None:
        STEP.release(1.0)

    async def main() -> None:
        with one:
            with two:
                await asyncio.create_task(spend())
            await asyncio.gather(spend(), spend())

    asyncio.run(main())
    assert (tenths(one), tenths(two)) == (2, 1)


# --- generators ------------------------------------------------------------------------------------------------------


def releasing(times: int) -> Iterator[Any]:
    for _ in range(times):
        yield STEP.release(1.0)


@pytest.mark.parametrize("make", [lambda: releasing(3), lambda: map(STEP.release, [1.0] * 3)])
def test_a_generator_runs_where_it_is_read(make: Any):
    """Inside of the block it is paid, after it nobody pays, and the release says so."""
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with ledger:
        lazy = make()
        assert next(lazy).paid is not None
    assert next(lazy).paid is None
    with ledger:
        assert next(lazy).paid is not None
    assert tenths(ledger) == 2


def spending(ledger: pv.Ledger) -> Iterator[Any]:
    with ledger:
        while True:
            yield STEP.release(1.0)


def test_a_block_inside_a_generator_holds_for_whoever_moves_it_on_until_it_ends():
    ledger, other = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))
    steps = spending(ledger)
    next(steps)
    STEP.release(1.0)
    assert tenths(ledger) == 2
    with pytest.raises(LedgerError, match=STRANGER):
        in_thread(lambda: STEP.release(1.0))
    steps.close()
    assert told(STEP.release, 1.0) is None
    steps = spending(ledger)
    with other:
        next(steps)
        STEP.release(1.0)  # by the block that was entered last
        steps.close()
        STEP.release(1.0)
    assert (tenths(ledger), tenths(other)) == (4, 1)


def test_a_generator_that_is_moved_on_in_another_thread_is_refused_there():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    steps = spending(ledger)
    next(steps)
    with pytest.raises(LedgerError, match=STRANGER):
        in_thread(lambda: next(steps))  # the error leaves its block, in another context than it was entered in
    assert tenths(ledger) == 1
    with pytest.raises(LedgerError, match="has ended"):
        STEP.release(1.0)
    with ledger:
        STEP.release(1.0)
    assert told(STEP.release, 1.0) is None
    assert in_thread(lambda: told(STEP.release, 1.0)) is None, "nothing is in force any more"


def test_a_task_returns_its_result():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)

    async def coroutine() -> Any:
        return STEP.release(1.0)

    for work in (releasing, coroutine, 7):
        with pytest.raises(InvalidParameter, match="task takes a function"):
            ledger.task(work)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="returned a generator"):
        ledger.task(lambda: releasing(2))()
    assert tenths(ledger) == 0
    assert ledger.task(lambda: list(releasing(2)))()[0].paid is not None


# --- interruptions -----------------------------------------------------------------------------------------------------


class Interrupting:
    """Raises KeyboardInterrupt at the n-th line that runs inside `with ledger:` itself, as a key might."""

    def __init__(self, name: str, after: int) -> None:
        self.name, self.left, self.inside = name, after, False

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        mine = frame.f_code.co_filename.endswith(("payment.py", "in_force.py", "here.py"))
        if not mine or not (self.inside or frame.f_code.co_name == self.name):
            return None
        return self.line

    def line(self, frame: Any, event: str, argument: Any) -> Any:
        self.inside = not (event == "return" and frame.f_code.co_name == self.name)
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and "(" in text:  # Python serves signals after calls; between others nothing comes
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.line


@pytest.mark.parametrize("name", ["__enter__", "__exit__"])
def test_an_interruption_at_any_line_leaves_nothing_in_force(name: str):
    before, known = dict(os.environ), marks()
    hit = 0
    for after in range(1, 200):
        ledger = pv.Ledger.create("memory:", budget=BUDGET)
        interrupting = Interrupting(name, after)
        sys.settrace(interrupting)
        try:
            with ledger:
                pass
        except KeyboardInterrupt:
            hit += 1
        finally:
            sys.settrace(None)
        assert told(STEP.release, 1.0) is None, after
        assert in_thread(lambda: told(STEP.release, 1.0)) is None, after
        assert (dict(os.environ), marks()) == (before, known), after
        if interrupting.left > 0:
            break
    assert hit > 8, "lines were met"
    assert interrupting.left > 0, "all of them"


def test_an_interruption_while_a_whole_runs_pays_for_nothing_more():
    class Stopped(Coin):
        def release(self, data: Any) -> Any:
            raise KeyboardInterrupt

    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.release(Stopped(0.3), None)
        assert told(STEP.release, 1.0) is True
    assert tenths(ledger) == 4


# --- what is not ours ---------------------------------------------------------------------------------------------------

SNAPSHOT = """
import sys, concurrent.futures.process, concurrent.futures.thread, joblib, joblib.parallel, multiprocessing.pool
import multiprocessing.managers, multiprocessing.shared_memory, threading, importlib
import numpy as np
import privet as pv
from privet import learn, queries, audit, testing

LIBRARIES = ("joblib", "multiprocessing", "concurrent", "threading", "_thread", "importlib", "gc", "loky", "contextlib")

def taken():
    found = {("sys", "meta_path"): list(sys.meta_path), ("sys", "path_hooks"): list(sys.path_hooks)}
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] not in LIBRARIES or module is None:
            continue
        for key, value in vars(module).items():
            found[name, key] = value
            if isinstance(value, type) and value.__module__.split(".")[0] in LIBRARIES:
                found.update({(name, key, inner): held for inner, held in vars(value).items()})
    return found

def same(before, after):
    return [key for key, value in before.items() if key not in after or (after[key] is not value and after[key] != value)]

def fit():
    rows = np.random.default_rng(1).random((50, 2))
    model = learn.LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=2.0, classes=[0, 1])
    model.fit(rows, (rows[:, 0] > 0.5).astype(int))

fit()  # what is loaded at first use is loaded
before = taken()
ledger = pv.Ledger.create("memory:", budget=pv.Budget(50.0, 1e-3))
changed = []
with ledger:
    changed += same(before, taken())
    fit()
    changed += same(before, taken())
    ledger.task(fit)()
fit()
changed += same(before, taken())
from tests.seams.toy import Toy, LEFT, RIGHT
audit.replay(lambda rows: (changed.extend(same(before, taken())), Toy().release(rows).value)[1], LEFT, RIGHT)
testing.check_parts_are_the_price(next(iter(Toy.examples())))
changed += same(before, taken())
print(len(before) > 3000, sorted(set(changed)))
"""


def test_no_other_library_is_touched():
    done = subprocess.run([sys.executable, "-c", SNAPSHOT], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True []\n", done.stderr[-2000:]
