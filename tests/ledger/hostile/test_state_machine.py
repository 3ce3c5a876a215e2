"""Random interleavings of everything a ledger can do, against a model that is a list."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import BudgetExceeded, KeyConflict, ReleaseFailed
from privet.privacy import LaplaceLoss, PureLoss, Repeated
from tests.effort import tries
from tests.ledger.hostile.probe import Coin, books_of, replay, sums_of

LOSSES = st.sampled_from(
    [PureLoss(0.1), PureLoss(0.37), PureLoss(1e-9), PureLoss(0.0), LaplaceLoss(3.0), Repeated(PureLoss(0.05), 4)]
)
PRICES = st.sampled_from([0.1, 0.25, 1 / 3])
KEYS = st.sampled_from(["a", "b", "c"])


def fail(data: Any) -> None:
    raise RuntimeError("never shown")


class Machine(RuleBasedStateMachine):
    """The model: a cap, the losses granted so far, and what each key has released."""

    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.cap = 2.0
        self.granted: list[Any] = []
        self.stored: dict[str, tuple[float, float]] = {}
        self.asked: dict[str, set[float]] = {}
        self.values: list[float] = []

    def new_url(self) -> str:
        return "memory:" if self.kind == "memory" else str(Path(self.folder.name) / "model.ledger")

    @initialize()
    def start(self) -> None:
        self.url = self.new_url()
        self.ledger = pv.Ledger.create(self.url, budget=pv.Budget(epsilon=self.cap))

    def fits(self, loss: Any) -> bool:
        return replay(BasicFilter(self.cap), self.granted).accepts(loss)

    @rule(loss=LOSSES)
    def reserve(self, loss: Any) -> None:
        if self.fits(loss):
            self.ledger.reserve(loss)
            self.granted.append(loss)
        else:
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve(loss)

    @rule(losses=st.lists(LOSSES, min_size=1, max_size=4))
    def reserve_many(self, losses: list[Any]) -> None:
        if self.fits(pv.privacy.Composed(losses)):
            self.ledger.reserve_many(losses)
            self.granted += losses
        else:
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve_many(losses)

    @rule(price=PRICES)
    def release(self, price: float) -> None:
        if self.fits(PureLoss(price)):
            self.values.append(self.ledger.release(Coin(price), None).value)
            self.granted.append(PureLoss(price))
        else:
            with pytest.raises(BudgetExceeded):
                self.ledger.release(Coin(price), None)

    @rule(price=PRICES, key=st.none() | KEYS)
    def release_that_fails(self, price: float, key: str | None) -> None:
        if key in self.stored:
            return
        expected = ReleaseFailed if self.fits(PureLoss(price)) else BudgetExceeded
        if key is not None and self.asked.get(key, {price}) != {price}:
            expected = KeyConflict
        with pytest.raises(expected):
            self.ledger.release(Coin(price, before=fail), None, key=key)
        if expected is ReleaseFailed:
            self.granted.append(PureLoss(price))
            if key is not None:
                self.asked[key] = {price}

    @rule(price=PRICES, key=KEYS)
    def release_with_key(self, price: float, key: str) -> None:
        if self.asked.get(key, {price}) != {price}:
            with pytest.raises(KeyConflict):
                self.ledger.release(Coin(price), None, key=key)
        elif key in self.stored:
            assert self.ledger.release(Coin(price), None, key=key).value == self.stored[key][1]
        elif self.fits(PureLoss(price)):
            value = self.ledger.release(Coin(price), None, key=key).value
            self.stored[key] = price, value
            self.asked[key] = {price}
            self.values.append(value)
            self.granted.append(PureLoss(price))
        else:
            with pytest.raises(BudgetExceeded):
                self.ledger.release(Coin(price), None, key=key)

    @precondition(lambda self: self.cap < 4.0)
    @rule(more=st.sampled_from([0.25, 1.0]))
    def raise_cap(self, more: float) -> None:
        self.cap += more
        self.ledger.raise_budget(pv.Budget(epsilon=self.cap), reason="test")

    @rule()
    def verify(self) -> None:
        self.ledger.verify()

    @rule()
    def reopen(self) -> None:
        if self.kind != "memory":
            self.ledger.close()
            self.ledger = pv.Ledger.open(self.url)

    @rule(loss=LOSSES)
    def preview(self, loss: Any) -> None:
        self.ledger.preview(loss)

    @invariant()
    def same_integers(self) -> None:
        if hasattr(self, "ledger"):
            assert sums_of(self.ledger) == replay(BasicFilter(self.cap), self.granted).sums

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            books = books_of(self.ledger)
            assert [loss.pure() for loss in books.reserved] == [loss.pure() for loss in self.granted]
            assert [release.value for release in books.released] == self.values
            self.ledger.verify()
            self.ledger.close()
        self.folder.cleanup()


def check_machine(kind: str, url: Any = None, *, examples: int, steps: int) -> None:
    machine = type(
        f"{kind.title()}Machine", (Machine,), {"kind": kind, **({"new_url": lambda self: url()} if url else {})}
    )
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=steps))


def test_memory():
    check_machine("memory", examples=30, steps=30)


def test_sqlite():
    check_machine("sqlite", examples=10, steps=25)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", ["postgres"], indirect=True)
def test_postgres(fresh):
    check_machine("postgres", fresh, examples=4, steps=20)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", ["memory", "sqlite", "postgres"], indirect=True)
def test_long(fresh, request):
    check_machine(request.node.callspec.params["fresh"], fresh, examples=tries(5), steps=400)
