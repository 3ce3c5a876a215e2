"""Whole algorithms: looked through by replay, in threads too; parts, coins and payment by law, with broken twins."""

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest

import privet as pv
from privet import audit, testing
from privet.errors import InvalidParameter, LedgerError, NotPrivate, ReleaseFailed
from privet.mechanisms import AboveThreshold, Example, Laplace, carry, registered_mechanisms
from privet.noise import Seeded
from privet.privacy import Composed, Parallel
from tests.calls import calls_of
from tests.seams.toy import (
    LEFT,
    RIGHT,
    ChargedLess,
    ChargedMore,
    Jobs,
    Leaking,
    NotCharged,
    OwnCoin,
    Sampled,
    SecretCoin,
    Seeding,
    Strays,
    Threads,
    TooSensitive,
    Toy,
)

SOUND = [Toy, Threads, Jobs, Sampled]
BUDGET = pv.Budget(epsilon=50.0, delta=1e-3)


def charges(ledger):
    return [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize("kind", SOUND)
def test_laws_of_algorithms_hold(kind):
    example = next(iter(kind.examples()))
    testing.check_parts_are_the_price(example)
    testing.check_no_coin_of_its_own(example)
    testing.check_paid_once(example)
    testing.check_replay_sees_nothing(example)


@pytest.mark.parametrize(
    ("twin", "law", "told"),
    [
        (NotCharged, testing.check_parts_are_the_price, "not charged"),
        (ChargedLess, testing.check_parts_are_the_price, "not charged"),
        (ChargedMore, testing.check_parts_are_the_price, "more is charged"),
        (OwnCoin, testing.check_no_coin_of_its_own, "the source that it was given"),
        (SecretCoin, testing.check_no_coin_of_its_own, "secure noise"),
        (Leaking, testing.check_replay_sees_nothing, "branch"),
        (TooSensitive, testing.check_replay_sees_nothing, "distance"),
    ],
)
def test_broken_twins_are_caught(twin, law, told):
    with pytest.raises(AssertionError, match=told):
        law(Example(twin(), LEFT, RIGHT))


def test_a_sample_that_is_not_declared_is_caught():
    class Undeclared(Sampled):
        name = "toy_with_hidden_samples"

        def _coins(self, what, draw, source):
            return draw(source)

    with pytest.raises(AssertionError, match="draws outside"):
        testing.check_no_coin_of_its_own(Example(Undeclared(), LEFT, RIGHT))


def test_a_sample_without_its_price_is_charged_in_full():
    class Amplified(Sampled):
        name = "toy_that_samples_larger_batches"

        def _coins(self, what, draw, source):
            return np.arange(len(LEFT) - 1)

        def _priced(self, rule):
            return super()._priced(lambda parts: Composed(parts))

    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(Example(Amplified(), LEFT, RIGHT))


def test_blocks_and_nested_algorithms_are_put_together():
    part = Laplace.for_budget(epsilon=0.5, sensitivity=1.0)

    class Blocks(Toy):
        name = "toy_of_blocks"

        @property
        def loss(self):
            return Composed((super().loss, Parallel((part.loss, part.loss), fixed_blocks=True)))

        def _run(self, prepared, source):
            inner = Toy().release(prepared, source=source).value
            with self._priced(lambda parts: Parallel(parts, fixed_blocks=True)):
                halves = [part.release(len(half), source=source).value for half in (prepared[::2], prepared[1::2])]
            return {**inner, "halves": np.array(halves)}

    testing.check_parts_are_the_price(Example(Blocks(), LEFT, RIGHT))


def test_replay_looks_through_and_counts_the_parts():
    found = audit.replay(lambda rows: Toy().release(rows).value, LEFT, RIGHT)
    assert found.verdict == "not refuted", str(found)
    assert found.releases == 3
    assert not found.unstable
    threads = audit.replay(lambda rows: Threads().release(rows).value, LEFT, RIGHT)
    assert threads.verdict == "not refuted", str(threads)
    assert threads.releases == 3


def test_declared_coins_are_the_same_in_both_worlds():
    seen = []

    class Noting(Sampled):
        name = "toy_that_notes_its_samples"

        def _coins(self, what, draw, source):
            picked = super()._coins(what, draw, source)
            seen.append(picked.tolist())
            return picked

    rows = np.random.default_rng(1).random((200, 3))
    found = audit.replay(lambda data: Noting().release(data).value, rows, rows[:-1], times=1)
    assert found.verdict == "not refuted", str(found)
    first, again, right = seen[:3], seen[3:6], seen[6:]
    assert first == again
    assert [[i for i in picked if i < 199] for picked in first] == right


def test_other_coins_in_the_other_world_are_a_finding():
    class Peeking(Sampled):
        name = "toy_whose_coins_depend_on_data"

        def _run(self, prepared, source):
            if len(prepared) > 3:
                self._coins("another", lambda s: 0, source)
            return super()._run(prepared, source)

    found = audit.replay(lambda data: Peeking().release(data).value, LEFT, RIGHT)
    assert "coins" in {finding.kind for finding in found.findings}


def test_an_error_bar_computed_from_data_is_a_finding():
    class Bars(Toy):
        name = "toy_with_a_bar_of_the_data"

        def _error_given(self, drawn, prepared):
            return pv.mechanisms.ErrorBar(float(len(prepared)), 0.95, "n")

    found = audit.replay(lambda rows: Bars().release(rows), LEFT, RIGHT)
    assert found.refuted


WATCH = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1.0, threshold=3.0)


def watched(factor=1.0):
    def pipeline(rows):
        stream = WATCH.start()
        asked = [factor * len(rows) + step for step in range(4)]
        return [bool(stream.ask(value)) if stream.remaining else None for value in asked]

    return pipeline


def test_a_stream_is_replayed_question_by_question():
    for _ in range(5):
        sound = audit.replay(watched(), LEFT, RIGHT)
        assert sound.verdict == "not refuted", str(sound)
    far = audit.replay(watched(factor=-5.0), LEFT, RIGHT)
    assert "distance" in {finding.kind for finding in far.findings}


def test_a_stream_that_is_asked_more_in_one_world_is_a_finding():
    def pipeline(rows):
        stream = WATCH.start()
        return [bool(stream.ask(-1000.0)) for _ in range(len(rows))]

    found = audit.replay(pipeline, LEFT, RIGHT)
    assert "count of questions" in {finding.kind for finding in found.findings}
    found = audit.replay(pipeline, RIGHT, LEFT)
    assert "count of questions" in {finding.kind for finding in found.findings}


# --- payment -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize("ambient", [True, False])
def test_an_algorithm_is_paid_once_in_whatever_threads(kind, ambient):
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    algorithm = kind()
    if ambient:
        with ledger:
            release = algorithm.release(LEFT)
    else:
        release = ledger.release(algorithm, LEFT)
    assert len(charges(ledger)) == 1
    assert release.paid is not None
    assert release.loss == algorithm.loss


def test_a_pool_that_was_there_before_carries_the_payment_too():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    part = Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: None).result()

        class Borrowing(Toy):
            name = "toy_that_borrows_a_pool"

            @property
            def loss(self):
                return part.loss

            def _run(self, prepared, source):
                return pool.submit(carry(part.release), len(prepared), source=source).result().value

        with ledger:
            Borrowing().release(LEFT)
        assert len(charges(ledger)) == 1
        with ledger:  # what the pool is given by others is paid by them
            pool.submit(ledger.task(part.release), 3).result()
        assert len(charges(ledger)) == 2
        assert pool.submit(part.release, 3).result().paid is None


def test_a_part_in_a_thread_that_it_was_not_carried_to_is_refused():
    example = Example(Strays(), LEFT, RIGHT)
    with pytest.raises(LedgerError, match=r"mechanisms\.carry"):
        testing.check_parts_are_the_price(example)
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with ledger, pytest.raises(ReleaseFailed):
        Strays().release(LEFT)
    assert len(charges(ledger)) == 1


def test_a_piece_of_work_is_done_once():
    work = carry(abs)
    assert work(-1) == 1
    with pytest.raises(LedgerError, match="done already"):
        work(-1)


class Lingering(Toy):
    """It leaves a thread behind that goes on releasing."""

    name = "toy_that_leaves_a_thread_behind"
    gate, done = threading.Event(), threading.Event()
    caught: ClassVar[list] = []

    def _run(self, prepared, source):
        def later():
            self.gate.wait(200)
            try:
                self.caught.append(self.count.release(len(prepared)))
            except Exception as error:
                self.caught.append(error)
            self.done.set()

        threading.Thread(target=carry(later), daemon=True).start()
        return super()._run(prepared, source)


@pytest.mark.parametrize("inside", [True, False])
def test_nothing_escapes_through_a_thread_that_is_left_behind(inside):
    for event in (Lingering.gate, Lingering.done):
        event.clear()
    Lingering.caught.clear()
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    if inside:
        with ledger:
            Lingering().release(LEFT)
            Lingering.gate.set()
            assert Lingering.done.wait(200)
    else:
        ledger.release(Lingering(), LEFT)
        Lingering.gate.set()
        assert Lingering.done.wait(200)
    assert isinstance(Lingering.caught[0], LedgerError)
    assert len(charges(ledger)) == 1


def test_nothing_escapes_through_a_task_that_is_left_behind():
    part = Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    tasks = []

    class Tasks(Toy):
        name = "toy_that_leaves_a_task_behind"

        def _run(self, prepared, source):
            async def later():
                await asyncio.sleep(0)
                return part.release(len(prepared))

            tasks.append(asyncio.get_running_loop().create_task(later()))
            return super()._run(prepared, source)

    async def main(ledger):
        ledger.release(Tasks(), LEFT)
        with pytest.raises(LedgerError, match="has ended"):
            await tasks[0]

    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    asyncio.run(main(ledger))
    assert len(charges(ledger)) == 1


def test_an_unrelated_thread_pays_for_itself_while_an_algorithm_runs():
    part = Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    started, go = threading.Event(), threading.Event()

    class Slow(Toy):
        name = "toy_that_takes_its_time"

        def _run(self, prepared, source):
            started.set()
            assert go.wait(200)
            return super()._run(prepared, source)

    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(ledger.task(Slow().release), LEFT)
        assert started.wait(200)
        with pytest.raises(LedgerError, match="does not carry"):
            part.release(3)
        pool.submit(ledger.task(part.release), 3).result()
        go.set()
        slow.result()
    assert len(charges(ledger)) == 2


def test_a_seeded_part_does_not_pass_for_secure():
    with pytest.raises(NotPrivate):
        Seeding().release(LEFT)
    assert Seeding().release(LEFT, source=Seeded(3)).insecure
    assert Toy().release(LEFT, source=Seeded(3)).insecure
    assert not Toy().release(LEFT).insecure


def test_overhead_is_small():
    """In calls of functions, which no other work on the machine changes; the first of each loads and remembers."""
    algorithm, parts = Toy(), Toy()

    def in_parts():
        parts.count.release(4)
        parts.choice.release(LEFT.sum(axis=0))
        parts.total.release(LEFT.sum(axis=0))

    for work in (in_parts, lambda: algorithm.release(LEFT)):
        work()
    assert calls_of(lambda: algorithm.release(LEFT)) < 3 * calls_of(in_parts)


def test_a_loss_that_is_no_price_is_stamped_on_nothing():
    class Plain(Toy):
        name = "toy_with_a_number_for_a_price"

        @property
        def loss(self) -> Any:
            return 0.5

    with pytest.raises(InvalidParameter, match="must be a PrivacyLoss, got float"):
        Plain().release(LEFT)


@pytest.mark.parametrize("kind", registered_mechanisms().values(), ids=lambda kind: kind.name)
def test_a_price_is_computed_once_and_held_to_be_one(kind):
    """Also where a mixin has it: what is looked up is not the plain property that an author wrote."""
    assert isinstance(inspect.getattr_static(kind, "loss"), cached_property)
