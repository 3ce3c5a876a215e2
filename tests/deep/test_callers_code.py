"""Code of the user that runs inside a training: what callbacks release is paid for, and nothing else releases."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import privet as pv
from privet.deep import Trainer
from privet.deep.records import Records
from privet.errors import LedgerError
from privet.mechanisms import Laplace
from privet.mechanisms.here import here
from privet.mechanisms.payment import asked_here
from tests.deep.models import data, linear, plan_of, squared

STEP = Laplace.for_budget(epsilon=0.25, sensitivity=1.0)


class Noisy(list):
    """Records that are made noisy while they are read."""

    def __init__(self, records, call):
        super().__init__(records)
        self._call = call

    def __getitem__(self, place):
        self._call()
        return super().__getitem__(place)


class Calling(nn.Module):
    """A model whose forward pass does something else too."""

    def __init__(self, call):
        super().__init__()
        self.linear, self._call = linear(), call

    def forward(self, rows):
        self._call()
        return self.linear(rows)


def of(model, loss=squared):
    return Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), loss, plan_of(steps=40), engine="vmapped")


class Logging(torch.optim.SGD):
    """An optimizer whose steps do something else too."""

    call = staticmethod(lambda: None)

    def step(self, closure=None):
        self.call()
        return super().step(closure)


def by_stop(call):
    of(linear()).fit(data(), stop=lambda done, state: call() or False)


def by_progress(call):
    of(linear()).fit(data(), progress=lambda told: call())


def by_records(call):
    of(linear()).fit(Noisy(zip(*data(), strict=True), call))


def by_model(call):
    of(Calling(call)).fit(data())


def by_loss(call):
    of(linear(), lambda outputs, targets: (call(), squared(outputs, targets))[1]).fit(data())


def by_optimizer(call):
    model, kind = linear(), type("Logging", (Logging,), {"call": staticmethod(call)})
    Trainer(model, kind(model.parameters(), lr=0.1), squared, plan_of(steps=40)).fit(data())


def by_records_of_a_loop(call):
    trainer = of(linear())
    for step in trainer.plan.steps(Noisy(zip(*data(), strict=True), call)):
        trainer.step(step)


def a_ledger():
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3))


def charges(ledger):
    return sum(entry.kind == "reserve" for entry in ledger.entries())


@pytest.mark.parametrize("way", [by_stop, by_progress])
def test_callbacks_are_outside_of_the_training(way):
    seen = []
    with a_ledger() as ledger:
        way(lambda: seen.append((asked_here(), here().body)))
    assert seen == [(ledger, None)] * 2


@pytest.mark.parametrize("way", [by_stop, by_progress])
def test_what_callbacks_release_is_paid(way):
    """A training is paid as a whole, and what was released in the meantime counted as a part of it: without end."""
    made = []
    with a_ledger() as ledger:
        way(lambda: made.append(STEP.release(1.0)) and None)
    assert len({each.paid["entry"] for each in made}) == len(made) == 2
    assert charges(ledger) == 3


@pytest.mark.parametrize("way", [by_records, by_model, by_loss, by_optimizer, by_records_of_a_loop])
def test_what_looks_at_private_records_releases_nothing(way):
    """How often it is asked follows from who was drawn, and a charge for each is there for everybody to count."""
    seen, made = [], []

    def call():
        seen.append(here().sealed)
        with contextlib.suppress(LedgerError):
            made.append(STEP.release(1.0))
        with contextlib.suppress(LedgerError):
            made.append(ledger.release(STEP, 1.0))

    with a_ledger() as ledger:
        way(call)
    assert charges(ledger) == 1
    assert not made
    assert seen
    assert all(seen)


@pytest.mark.parametrize("way", [by_records, by_model, by_loss, by_records_of_a_loop])
def test_it_is_told_so_before_anything_is_paid(way):
    with a_ledger() as ledger, pytest.raises(LedgerError, match="Release before, and hand in what came out"):
        way(lambda: STEP.release(1.0))
    assert charges(ledger) == 0


class Choosy(nn.Linear):
    """A model that asks for a release at one record only, whose number no made-up record has."""

    def forward(self, rows):
        if bool((rows > 99.0).any()):
            STEP.release(1.0)
        return super().forward(rows)


def test_a_record_for_which_a_model_releases_adds_nothing():
    """Whether there is such a record must not decide whether there is a training."""
    rows, targets = data()
    rows = rows.clone()
    rows[3] = 100.0
    model = Choosy(3, 1)
    with a_ledger() as ledger:
        trained = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of(steps=20)).fit(
            (rows, targets)
        )
    assert charges(ledger) == 1
    assert trained.release.paid is not None


def test_a_callback_cannot_spend_more_than_there_is_and_costs_no_block():
    """What it says passes, and a run that has a key goes on from the block that was kept."""
    asked, far_too_much = [], Laplace.for_budget(epsilon=60.0, sensitivity=1.0)

    def asks(done, state):
        asked.append(done)
        if len(asked) == 1:
            far_too_much.release(1.0)
        return False

    kept, trainer = {}, of(linear())
    ledger, records = a_ledger(), Records(data())
    run = {"key": "one", "load": lambda: kept.get("last"), "save": lambda done, state: kept.update(last=(done, state))}
    whole = trainer._algorithm(trainer.plan.divisor(None), asks)
    with ledger:
        with pytest.raises(pv.errors.BudgetExceeded):
            ledger.run_blocks(whole, records, **run)
        assert kept["last"][0] == 1
        spent = ledger.spent["basic epsilon"]
        ledger.run_blocks(whole, records, **run)
    assert ledger.spent["basic epsilon"] == spent
    assert asked == [20, 20, 40]
    assert charges(ledger) == 1


class Telling(torch.optim.SGD):
    """An optimizer whose state dict does something else too."""

    call = None

    def state_dict(self):
        if type(self).call is not None:
            type(self).call()
        return super().state_dict()


def test_the_states_of_optimizers_are_sealed_too(monkeypatch):
    seen, model = [], linear()
    trainer = Trainer(model, Telling(model.parameters(), lr=0.1), squared, plan_of(steps=20))
    monkeypatch.setattr(Telling, "call", staticmethod(lambda: seen.append(here().sealed)))
    with a_ledger():
        trainer.fit(data())
    assert len(seen) > 2
    assert all(seen)


class Secret(list):
    """A data set that says what it holds when it fails, and asks for a release then."""

    def __getitem__(self, place):
        try:
            return float("Ada Lovelace, 36")
        except ValueError:
            STEP.release(1.0)


def test_a_refusal_says_nothing_of_the_first_record():
    with pytest.raises(LedgerError, match="Release before, and hand in") as caught:
        Records(Secret([1.0]))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_other_threads_release_while_a_loop_with_a_ledger_takes_a_step():
    made, trainer = [], of(linear())

    def elsewhere():
        with ThreadPoolExecutor(1) as pool:
            made.append(pool.submit(STEP.release, 1.0).result())

    first = Noisy(zip(*data(), strict=True), lambda: None)
    for step in trainer.plan.steps(first, ledger=a_ledger()):
        first._call = elsewhere if not made else lambda: None
        trainer.step(step)
    assert made
