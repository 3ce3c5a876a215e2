"""`with ledger:` pays for every release whose context carries it, once; any other is refused while it lasts."""

import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, InvalidData, LedgerError, NotPrivate, PrivetError
from privet.mechanisms import AboveThreshold, Laplace
from privet.mechanisms.payment import observed
from privet.noise import Seeded
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, books_of, check_books

BUDGET = pv.Budget(epsilon=1.0)
STEP = Laplace.for_budget(epsilon=0.1, sensitivity=1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)


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
