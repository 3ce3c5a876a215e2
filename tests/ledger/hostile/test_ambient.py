"""`with ledger:` pays for every release inside it, once, wherever it runs; or the release is refused."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, InvalidData, LedgerError, NotPrivate, PrivetError
from privet.mechanisms import AboveThreshold, Laplace, payment
from privet.mechanisms.payment import observed
from privet.noise import Seeded
from tests.ledger.hostile.conftest import Fresh
from tests.ledger.hostile.probe import Coin, books_of, check_books

BUDGET = pv.Budget(epsilon=1.0)
STEP = Laplace.for_budget(epsilon=0.1, sensitivity=1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", "postgres"], indirect=True)


def tenths(ledger: pv.Ledger) -> int:
    return round(10 * ledger.spent["basic epsilon"])


@EVERY
def test_every_release_inside_is_charged_and_recorded(fresh: Fresh):
    ledger = pv.Ledger.create(fresh(), budget=BUDGET)
    outside = STEP.release(1.0)
    with ledger:
        first = STEP.release(1.0)
        second = STEP.release(1.0)
    assert tenths(ledger) == 2
    books = check_books(ledger, BasicFilter(1.0))
    assert [release.value for release in books.released] == [first.value, second.value]
    assert outside.paid is None
    assert first.paid == {"ledger": ledger.policy.ledger, "entry": 2}
    assert pv.mechanisms.Release.from_json(second.to_json()).paid == second.paid
    ledger.close()


@EVERY
def test_inside_the_budget_holds(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        for _ in range(10):
            STEP.release(1.0)
        with pytest.raises(BudgetExceeded):
            STEP.release(1.0)
        ledger.close()
    assert tenths(ledger) == 10


class Whole(Coin):
    """A mechanism whose release is made of two others, which its own price covers."""

    def release(self, data: Any) -> Any:
        STEP.release(1.0)
        STEP.release(2.0)
        return super().release(data)


def test_the_parts_of_a_paid_whole_are_paid_with_it():
    with pv.Ledger.create("memory:", budget=BUDGET) as ledger:
        ledger.release(Whole(0.3), None)
        assert tenths(ledger) == 3
        STEP.release(1.0)
        assert tenths(ledger) == 4


def test_a_statistic_of_several_parts_is_charged_once():
    whole = pv.mechanisms.BoundedMean.for_budget(epsilon=0.5, bounds=(0.0, 1.0))
    with pv.Ledger.create("memory:", budget=BUDGET) as ledger:
        whole.release([0.1, 0.2, 0.9])
        assert len(books_of(ledger).reserved) == 1
        assert ledger.spent["basic epsilon"] == pytest.approx(whole.loss.pure())


def test_a_stream_is_paid_at_its_start():
    watch = AboveThreshold.for_budget(epsilon=0.5, sensitivity=1, threshold=10)
    with pv.Ledger.create("memory:", budget=BUDGET) as ledger:
        stream = watch.start()
        assert ledger.spent["basic epsilon"] == pytest.approx(0.5)
        stream.ask(0.0)
        assert ledger.spent["basic epsilon"] == pytest.approx(0.5)
        watch.start()
        with pytest.raises(BudgetExceeded):
            watch.start()


def test_the_innermost_ledger_pays():
    outer, inner = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))
    with outer:
        with inner:
            STEP.release(1.0)
        STEP.release(1.0)
        outer.release(STEP, 1.0)
    assert (tenths(outer), tenths(inner)) == (2, 1)
    STEP.release(1.0)
    assert (tenths(outer), tenths(inner)) == (2, 1)


def test_what_cannot_be_taken_costs_nothing(monkeypatch: pytest.MonkeyPatch):
    def admit(self: Laplace, value: object) -> None:
        if isinstance(value, str):
            raise InvalidData("a number is expected")

    monkeypatch.setattr(Laplace, "_admit", admit)
    with pv.Ledger.create("memory:", budget=BUDGET) as ledger:
        for spend in (lambda: STEP.release("text"), lambda: ledger.release(STEP, "text")):
            with pytest.raises(InvalidData) as caught:
                spend()
            assert caught.value.__context__ is None
        assert tenths(ledger) == 0


def test_seeded_noise_is_refused_before_it_costs(tmp_path):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET)
    with ledger, pytest.raises(NotPrivate):
        STEP.release(1.0, source=Seeded(1))
    assert tenths(ledger) == 0
    with pv.Ledger.create("memory:", budget=BUDGET) as memory:
        assert STEP.release(1.0, source=Seeded(1)).insecure
        assert tenths(memory) == 1
    ledger.close()


# --- where it runs -------------------------------------------------------------------------------------------------


def test_threads_and_pools_pay():
    with pv.Ledger.create("memory:", budget=BUDGET) as ledger:
        thread = threading.Thread(target=STEP.release, args=(1.0,))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(STEP.release, [1.0] * 5))
        assert tenths(ledger) == 6


def test_a_thread_with_a_choice_of_ledgers_is_refused():
    with ThreadPoolExecutor(1) as pool, pv.Ledger.create("memory:", budget=BUDGET) as one:
        with pv.Ledger.create("memory:", budget=BUDGET) as two:
            with pytest.raises(LedgerError, match="several ledgers"):
                pool.submit(STEP.release, 1.0).result()
            pool.submit(contextvars.copy_context().run, STEP.release, 1.0).result()
        assert (tenths(one), tenths(two)) == (0, 1)


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


def spending(ledger: pv.Ledger) -> Iterator[Any]:
    with ledger:
        while True:
            yield STEP.release(1.0)


def test_generators_pay_wherever_they_are_moved_on():
    ledger, other = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))
    steps = spending(ledger)
    next(steps)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(next, steps).result()
    assert tenths(ledger) == 2
    with other:
        next(steps)  # the nearest `with` is the generator's
        STEP.release(1.0)
    assert (tenths(ledger), tenths(other)) == (3, 1)
    fresh = spending(ledger)
    with other:
        next(fresh)  # suspended inside its block, which is entered last
        STEP.release(1.0)
        fresh.close()
        STEP.release(1.0)
    assert (tenths(ledger), tenths(other)) == (4, 3)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(steps.close).result()  # ends in another context than it began in
    with pytest.raises(LedgerError, match="has ended"):
        STEP.release(1.0)
    with other:
        STEP.release(1.0)
    assert STEP.release(1.0).paid is None


def test_blocks_that_nobody_runs_are_refused_where_they_differ():
    one, two = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))
    steps = [spending(one), spending(two)]
    for each in steps:
        next(each)
    with pytest.raises(LedgerError, match="not clear which"):
        STEP.release(1.0)
    for each in reversed(steps):
        each.close()
    assert STEP.release(1.0).paid is None
    assert (tenths(one), tenths(two)) == (1, 1)


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


def test_an_audit_is_no_way_to_forget_paying():
    """What an observer draws is paid by nobody: refused where a ledger is in force, whichever was opened first."""
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    drawn: list[Any] = []

    def observer(mechanism: Any, value: Any, run: Any) -> Any:
        drawn.append(run())
        return drawn[-1]

    with ledger, observed(observer), pytest.raises(LedgerError, match="nobody pays"):
        STEP.release(1.0)
    with observed(observer), ledger, pytest.raises(LedgerError, match="nobody pays"):
        STEP.release(1.0)
    with ledger, observed(observer), ThreadPoolExecutor(1) as pool, pytest.raises(LedgerError, match="nobody pays"):
        pool.submit(contextvars.copy_context().run, STEP.release, 1.0).result()
    assert drawn == []
    assert tenths(ledger) == 0
    with ledger, observed(observer):
        ledger.release(Whole(0.3), None)  # its parts are paid with it
    assert len(drawn) == 2
    assert tenths(ledger) == 3
    with observed(observer):
        assert STEP.release(1.0).paid is None


def test_a_stored_block_inside_a_paid_whole_is_not_simulated_for_nothing():
    class Nested(Coin):
        def release(self, data: Any) -> Any:
            with ledger:
                STEP.simulate(1.0, 10)
            return super().release(data)

    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with pytest.raises(PrivetError):
        ledger.release(Nested(0.1), None)


def releasing(times: int) -> Iterator[Any]:
    for _ in range(times):
        yield STEP.release(1.0)


def through(lazy: Any) -> Iterator[Any]:
    yield from lazy


def in_a_thread(lazy: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(list, lazy).result()


@pytest.mark.parametrize(
    "make", [lambda: releasing(2), lambda: (STEP.release(1.0) for _ in range(2)), lambda: through(releasing(2))]
)
@pytest.mark.parametrize("use", [list, lambda lazy: list(through(lazy)), in_a_thread, sum, lambda lazy: [*zip(lazy)]])
@pytest.mark.parametrize("long", [False, True])
def test_a_generator_that_outlives_its_block_is_refused(make: Any, use: Any, long: bool):
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with ledger:
        lazy, begun = make(), make()
        next(begun)
        if long:  # so that the garbage collector has moved them among the old objects
            gc.collect(0), gc.collect(1), gc.collect()
    for each in (lazy, begun):
        with pytest.raises(LedgerError, match="made inside"):
            use(each)
    assert tenths(ledger) == 1
    again = make()  # made outside, where nobody pays, as any release there
    assert next(again).paid is None


def test_a_generator_in_another_block_is_paid_there_and_older_ones_are_not_touched():
    ledger, other = (pv.Ledger.create("memory:", budget=BUDGET) for _ in range(2))
    older = releasing(3)
    next(older)
    with ledger:
        lazy = releasing(2)
        next(older)
    with other:
        assert len(list(lazy)) == 2
    assert (tenths(ledger), tenths(other)) == (1, 2)
    assert next(older).paid is None


def test_a_coroutine_that_outlives_its_block_is_refused():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)

    async def late() -> Any:
        return STEP.release(1.0)

    async def stream() -> Any:
        for _ in range(2):
            yield STEP.release(1.0)

    async def main() -> None:
        with ledger:
            one, many = late(), stream()
        with pytest.raises(LedgerError, match="made inside"):
            await one
        with pytest.raises(LedgerError, match="made inside"):
            await anext(many)
        assert STEP.release(1.0).paid is None  # the task itself is older than the block

    asyncio.run(main())
    assert tenths(ledger) == 0


def test_jobs_and_threads_that_outlive_their_block_are_refused():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    told: list[Any] = []
    ended = threading.Event()

    def late() -> Any:
        ended.wait(200)
        try:
            told.append(STEP.release(1.0).paid)
        except LedgerError as problem:
            told.append("made inside" in str(problem))

    with ThreadPoolExecutor(1) as old, ThreadPoolExecutor(1) as new:
        old.submit(int).result()  # its thread is older than the block
        with ledger:
            jobs = [pool.submit(late) for pool in (old, new) for _ in range(2)]  # one runs, one waits
            threads = [threading.Thread(target=late), threading.Timer(0.01, late), threading.Thread(target=late)]
            for thread in threads[:2]:
                thread.start()
        threads[2].start()
        ended.set()
        for job in jobs:
            job.result()
        for thread in threads:
            thread.join()
        assert told == [True] * 7
        assert new.submit(STEP.release, 1.0).result().paid is None, "given to the pool after the block"
    assert tenths(ledger) == 0


def test_what_is_older_than_the_block_is_no_leftover():
    """Also where the garbage collector has moved it among the oldest objects before, and others meanwhile."""
    older = releasing(3)
    next(older)
    with ThreadPool(1) as pool:
        gc.collect()
        with pv.Ledger.create("memory:", budget=BUDGET):
            lazy = releasing(2)
            gc.collect()
        assert [each.paid for each in older] == [None, None]
        assert pool.apply(STEP.release, (1.0,)).paid is None
    with pytest.raises(LedgerError, match="has ended"):
        next(lazy)


def test_the_check_sees_leftovers_that_are_not_remembered(monkeypatch: pytest.MonkeyPatch):
    """The broken twin: without the memory of what was made inside, a generator draws for nothing."""
    monkeypatch.setattr(payment, "_suspended", weakref.WeakSet)
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with ledger:
        lazy = releasing(2)
    assert [each.paid for each in lazy] == [None, None]
    assert tenths(ledger) == 0


CHILD = """
import multiprocessing, sys
import privet as pv
step = pv.mechanisms.Laplace.for_budget(epsilon=0.1, sensitivity=1.0)

def spend(_):
    try:
        return step.release(1.0).paid is not None
    except pv.errors.LedgerError as problem:
        return str(problem)

if __name__ == "__main__":
    ledger = pv.Ledger.create(sys.argv[1], budget=pv.Budget(1.0))
    with ledger, multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
        print(pool.map(spend, range(4)))
    print(round(10 * ledger.spent["basic epsilon"]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_a_pool_pay(tmp_path, method: str):
    assert run_child(tmp_path, CHILD, method) == ["[True, True, True, True]", "4"]


ALONE = CHILD.replace("Pool(2) as pool", "Manager() as pool").replace(
    "print(pool.map(spend, range(4)))",
    """answers = pool.list()
        child = multiprocessing.get_context(sys.argv[2]).Process(target=note, args=(answers,))
        child.start(), child.join()
        print(answers[0])""",
)
ALONE = ALONE.replace(
    'if __name__ == "__main__":', 'def note(answers):\n    answers.append(spend(0))\n\nif __name__ == "__main__":'
)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_by_itself_pays_or_is_refused(tmp_path, method: str):
    said, spent = run_child(tmp_path, ALONE, method)
    if method == "fork":
        assert (said, spent) == ("True", "1")
    else:
        assert "started inside a `with ledger:` block" in said
        assert spent == "0"


def run_child(tmp_path, text: str, method: str) -> list[str]:
    script = tmp_path / "child.py"
    script.write_text(text)
    command = [sys.executable, str(script), str(tmp_path / "a.ledger"), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_a_ledger_nothing_is_paid_and_the_release_says_so():
    assert STEP.release(1.0).paid is None
    assert "paid" not in STEP.release(1.0).to_json()
    with pytest.raises(PrivetError):
        pv.mechanisms.Release.from_json("{}")


def test_simulated_runs_are_refused_where_a_ledger_is_in_force():
    """Many unpaid outputs are as good as many unpaid releases."""
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with ledger, pytest.raises(LedgerError, match="nobody pays"):
        STEP.simulate(42.0, 1_000)
    assert tenths(ledger) == 0
    assert len(STEP.simulate(42.0, 3)) == 3
