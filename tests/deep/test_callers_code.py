"""Code of the user that runs inside a training: what it releases is no part of the training, and is paid for."""

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import privet as pv
from privet.deep import Trainer
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


def by_records_of_a_loop(call):
    trainer = of(linear())
    for step in trainer.plan.steps(Noisy(zip(*data(), strict=True), call)):
        trainer.step(step)


WAYS = [by_stop, by_progress, by_records, by_model, by_loss, by_records_of_a_loop]


@pytest.mark.parametrize("way", WAYS)
def test_it_is_outside_of_the_training(way):
    seen = []
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3)) as ledger:
        way(lambda: seen.append((asked_here(), here().body, here().together)))
    assert {*seen} == {(ledger, None, ())}
    assert len(seen) >= 2


@pytest.mark.parametrize("way", [by_stop, by_progress])
def test_what_it_releases_is_paid(way):
    """A training is paid as a whole, and what was released in the meantime counted as a part of it: without end."""
    made = []
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3)) as ledger:
        way(lambda: made.append(STEP.release(1.0)) and None)
    assert len({each.paid["entry"] for each in made}) == len(made) == 2
    assert sum(entry.kind == "reserve" for entry in ledger.entries()) == 3


def test_it_cannot_spend_more_than_there_is():
    refused, far_too_much = [], Laplace.for_budget(epsilon=60.0, sensitivity=1.0)

    def asks():
        with pytest.raises(pv.errors.BudgetExceeded):
            far_too_much.release(1.0)
        refused.append(True)

    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3)):
        by_stop(asks)
    assert len(refused) == 2


def test_the_records_of_a_loop_with_a_key_are_not_paid_by_its_slices():
    """A slice pays for its steps alone; the ledger around it for everything else."""
    seen, trainer = [], of(linear())
    held = Noisy(zip(*data(), strict=True), lambda: seen.append(asked_here()))
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3)) as ledger:
        for step in trainer.plan.steps(held, key="loop"):
            trainer.step(step)
    assert {*seen} == {ledger}
