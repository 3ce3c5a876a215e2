"""Loops of one's own, and optimizers that are private: the same payment, the same coins, nothing twice."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import privet as pv
from privet.deep import BallsInBins, FixedOrder, FixedSize, Trainer, TruncatedPoisson, private
from privet.errors import BudgetExceeded, InvalidData, InvalidParameter, LedgerError, SerialisationError
from privet.ledger import Run
from privet.privacy import Unit
from tests.deep.models import data, linear, plan_of, squared, trainer_of


def a_ledger() -> pv.Ledger:
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3))


def charges(ledger: pv.Ledger) -> int:
    return sum(entry.kind == "reserve" for entry in ledger.entries())


def marks(ledger: pv.Ledger) -> list[str]:
    return [entry.facts["slice"] for entry in ledger.entries() if entry.kind == "slice"]


def test_the_whole_plan_is_paid_when_the_first_step_is_used_and_blocks_are_marked_before_they_look():
    ledger, plan = a_ledger(), plan_of()
    trainer = trainer_of(plan)
    seen = []
    for step in plan.steps(data(), ledger=ledger, key="own"):
        if step.number == 0:
            assert charges(ledger) == 0
        trainer.step(step)
        seen.append((step.number, len(marks(ledger))))
    assert charges(ledger) == 1
    assert seen[0] == (0, 1)
    assert [many for _, many in seen] == [1] * 20 + [2] * 20 + [3] * 20
    assert ledger.spent["basic epsilon"] == pytest.approx(plan.price().upper, rel=1e-6)


def test_a_ledger_in_force_pays():
    plan = plan_of(steps=5)
    trainer = trainer_of(plan)
    with a_ledger() as ledger:
        for step in plan.steps(data()):
            trainer.step(step)
    assert charges(ledger) == 1


@pytest.mark.parametrize("key", [None, "own"])
def test_a_ledger_that_was_in_force_when_the_steps_were_made_pays(key):
    plan = plan_of(steps=5)
    trainer = trainer_of(plan)
    with a_ledger() as ledger:
        steps = plan.steps(data(), key=key)
    for step in steps:
        trainer.step(step)
    assert charges(ledger) == 1


@pytest.mark.parametrize("given", [{"key": "own"}, {"about": "export of May"}])
def test_keys_belong_to_ledgers(given):
    with pytest.raises(InvalidParameter, match="give ledger="):
        plan_of().steps(data(), **given)


def test_a_stopped_loop_goes_on_free_of_charge_and_pays_for_what_it_repeats():
    ledger, plan = a_ledger(), plan_of()
    trainer = trainer_of(plan)
    for step in plan.steps(data(), ledger=ledger, key="own"):
        trainer.step(step)
        if step.number == 39:
            break
    for step in plan.steps(data(), ledger=ledger, key="own", done=40):
        trainer.step(step)
    assert charges(ledger) == 1
    assert marks(ledger) == ["0", "1", "2"]
    again = plan_of(noise_multiplier=2.0)
    trainer = trainer_of(again)
    for step in again.steps(data(), ledger=ledger, key="again"):
        trainer.step(step)
        if step.number == 25:  # within the second block: what is kept are 20 steps
            break
    before = charges(ledger)
    for step in again.steps(data(), ledger=ledger, key="again", done=20):
        trainer.step(step)
    assert charges(ledger) == before + 1  # the second block, again
    with pytest.raises(InvalidParameter, match="end of a block"):
        again.steps(data(), ledger=ledger, key="again", done=25)


def test_steps_of_a_run_that_was_not_begun_are_refused():
    ledger, plan = a_ledger(), plan_of()
    step = next(iter(plan.steps(data(), ledger=ledger, key="own", done=40)))
    with pytest.raises(LedgerError, match="another run"):
        trainer_of(plan).step(step)


def test_after_a_refused_payment_no_step_follows():
    """In a notebook the error is read, and the cell with the loop run once more."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=0.01, delta=1e-3))
    plan = plan_of(steps=5)
    trainer, steps = trainer_of(plan), plan.steps(data(), ledger=ledger, key="own")
    with pytest.raises(BudgetExceeded):
        trainer.step(next(iter(steps)))
    for step in list(steps)[1:]:
        with pytest.raises(LedgerError, match="begin anew"):
            trainer.step(step)
    assert charges(ledger) == 0


@pytest.mark.parametrize("broken", ["start", "repeat", "begin", "begin later"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, LedgerError])
def test_after_a_payment_or_a_mark_that_broke_off_no_step_follows(broken, error, monkeypatch):
    ledger, plan = a_ledger(), plan_of()
    if broken == "repeat":  # a run of which 40 steps were made, and a state after 20
        trainer = trainer_of(plan)
        for step in plan.steps(data(), ledger=ledger, key="own"):
            if step.number == 40:
                break
            trainer.step(step)
    first = 20 if broken == "repeat" else 0
    steps = plan.steps(data(), ledger=ledger, key="own", done=first)
    trainer, listed, done = trainer_of(plan), list(steps), 0
    if broken == "begin later":
        for step in listed[:20]:
            trainer.step(step)
        done = 20

    def breaks(*given, **more):
        raise error("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(pv.Ledger if broken == "start" else Run, broken.split()[0], breaks)
        with pytest.raises(error):
            trainer.step(listed[done])
    marked = len(marks(ledger))
    for step in listed[done + 1 :]:
        with pytest.raises(LedgerError, match="begin anew"):
            trainer.step(step)
    assert len(marks(ledger)) == marked


def test_a_step_looks_at_data_once():
    plan = plan_of(steps=3)
    step = next(iter(plan.steps(data())))
    trainer = trainer_of(plan)
    trainer.step(step)
    with pytest.raises(InvalidParameter, match="step 0 was used"):
        trainer.step(step)
    with pytest.raises(InvalidParameter, match="step 0 was used"):
        trainer.step(copy.deepcopy(step))  # a copy is the step itself
    with pytest.raises(InvalidParameter, match="another plan"):
        trainer_of(plan_of(steps=4)).step(next(iter(plan.steps(data()))))


@pytest.mark.parametrize("paid", [False, True])
def test_a_second_loop_over_the_steps_uses_no_step_again(paid):
    """The same number draws the same records: a sample that is looked at twice costs more than two samples."""
    plan = plan_of(steps=4)
    steps, trainer = plan.steps(data(), ledger=a_ledger() if paid else None), trainer_of(plan)
    for one, other in zip(steps, steps, strict=True):
        trainer.step(one)
        with pytest.raises(InvalidParameter, match=f"step {one.number} was used"):
            trainer.step(other)


def test_threads_that_begin_a_run_together_pay_once(monkeypatch):
    ledger, plan = a_ledger(), plan_of(steps=2)
    steps, trainer = plan.steps(data(), ledger=ledger), trainer_of(plan)
    first, second = steps
    begin, other = steps._start, threading.Thread(target=trainer.step, args=(second,))

    def meanwhile() -> None:
        if not other.ident:
            other.start()
            other.join(timeout=0.2)
        begin()

    monkeypatch.setattr(steps, "_start", meanwhile)
    trainer.step(first)
    other.join()
    assert charges(ledger) == 1
    assert marks(ledger) == ["0"]
    assert steps._used == {0, 1}


def test_copies_and_pickles_fork_neither_budget_nor_coins():
    plan = plan_of(steps=3)
    steps = plan.steps(data())
    assert copy.copy(steps) is steps
    assert copy.deepcopy(steps) is steps
    for each in (steps, next(iter(steps))):
        with pytest.raises(SerialisationError):
            pickle.dumps(each)


def test_a_step_that_was_left_out_is_not_taken_in_the_block_that_follows():
    """That block was paid for so many steps, and not for one more."""
    plan = plan_of(steps=40)
    trainer, listed = trainer_of(plan), list(plan.steps(data(), ledger=a_ledger()))
    trainer.step(listed[20])
    with pytest.raises(InvalidParameter, match="a block that is over"):
        trainer.step(listed[19])
    trainer.step(listed[21])


def test_a_run_that_another_process_goes_on_with_ends_here():
    ledger, plan = a_ledger(), plan_of()
    trainer, listed = trainer_of(plan), list(plan.steps(data(), ledger=ledger, key="own"))
    trainer.step(listed[0])
    trainer.step(next(iter(plan.steps(data(), ledger=ledger, key="own", done=20))))
    with pytest.raises(LedgerError, match="another process goes on"):
        trainer.step(listed[20])
    assert charges(ledger) == 1


def test_every_step_draws_records_of_its_own():
    plan, seen = plan_of(steps=30), []
    noise = plan.step_noise(1)

    def look(records, ids):
        seen.append(tuple(ids))
        return np.zeros(1)

    for _ in range(2):
        for step in plan.steps(data(64)):
            step.noisy_gradient(noise, look)
    assert len(set(seen)) == 60


def test_a_divisor_that_is_counted_is_no_exact_count():
    plan, found = plan_of(expected_batch=None, count_epsilon=0.1, steps=1), set()
    for _ in range(5):
        steps = plan.steps(data(400))
        (step,) = steps
        step.noisy_gradient(plan.step_noise(1), lambda records, ids: np.zeros(1))
        found.add(steps.divisor)
    assert len(found) > 1


def test_a_child_of_a_fork_runs_no_step_of_its_parent(monkeypatch):
    """It has the same key, and would draw the same records; a ledger refuses it as well, but none is needed for that."""
    plan = plan_of(steps=3)
    trainer, (first, second, _) = trainer_of(plan), plan.steps(data())
    trainer.step(first)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(LedgerError, match="another process"):
            trainer.step(second)


@pytest.mark.parametrize("sampling", [BallsInBins(steps=2), FixedOrder(batch=4, n=8)])
def test_epochs_are_not_left_half_done(sampling):
    plan = plan_of(sampling=sampling, unit=Unit("zero_out"), steps=4)
    with pytest.raises(InvalidParameter, match="whole rounds"):
        plan.steps(data())


@pytest.mark.parametrize(
    ("sampling", "relation"), [(TruncatedPoisson(q=0.5, batch=2, n=7), "zero_out"), (FixedSize(m=2, n=9), "replace")]
)
def test_another_number_of_records_than_the_price_speaks_of_is_refused(sampling, relation):
    plan = plan_of(sampling=sampling, unit=Unit(relation), steps=3)
    with pytest.raises(InvalidData, match="the price holds for"):
        plan.steps(data(), ledger=a_ledger())


def test_no_sum_is_divided_by_no_records():
    plan = plan_of(unit=Unit("zero_out"), expected_batch=None, steps=3)
    with pytest.raises(InvalidParameter, match="greater than 0"):
        plan.steps((torch.zeros(0, 3), torch.zeros(0)))


@pytest.mark.parametrize("in_force", [False, True])
def test_nobody_pays_for_the_noise_of_a_seed(in_force):
    """What `fit` refuses, a step refuses too: no release would say that this noise protects nobody who knows the seed."""
    ledger, plan = a_ledger(), plan_of(steps=3)
    trainer = trainer_of(plan)
    first, second, _ = plan.steps(data(), ledger=None if in_force else ledger)
    with ledger:
        with pytest.raises(InvalidParameter, match="for tests"):
            trainer.step(first, source=pv.noise.Seeded(1))
        assert charges(ledger) == 0
        trainer.step(first)
    with pytest.raises(InvalidParameter, match="for tests"):  # paid by the run, whoever is in force now
        trainer.step(second, source=pv.noise.Seeded(1))


@pytest.mark.parametrize("own", [False, True])
def test_a_part_that_is_frozen_between_two_steps_is_left_alone(own):
    """Also by an optimizer that finds a gradient of before on it; and the step that is paid for does not break off."""
    plan, model = plan_of(steps=2), nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    optimizer = private(torch.optim.SGD)(model, squared, plan, lr=0.1) if own else None
    trainer = None if own else Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan)
    step = optimizer.step if optimizer else trainer.step
    first, second = plan.steps(data(), ledger=a_ledger())
    step(first)
    squared(model(data()[0]), data()[1]).sum().backward()
    model[0].requires_grad_(False)
    before = [each.detach().clone() for each in model.parameters()]
    step(second)
    after = list(model.parameters())
    assert [torch.equal(one, other) for one, other in zip(before, after, strict=True)] == [True, True, False, False]


def test_a_model_that_mixes_records_is_refused_before_anything_is_paid():
    ledger, plan = a_ledger(), plan_of()
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1))
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan)
    with pytest.raises(InvalidParameter, match="BatchNorm"):
        trainer.step(next(iter(plan.steps(data(), ledger=ledger, key="own"))))
    assert charges(ledger) == 0


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (torch.optim.SGD, {"lr": 0.1}),
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.RMSprop, {"lr": 0.01}),
        (torch.optim.Adam, {"lr": 0.01}),
        (torch.optim.AdamW, {"lr": 0.01}),
    ],
)
def test_any_optimizer_becomes_private(kind, settings):
    plan, model = plan_of(steps=8), linear()
    optimizer = private(kind)(model, squared, plan, **settings)
    assert isinstance(optimizer, kind)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4)
    before = model.weight.detach().clone()
    for step in plan.steps(data()):
        optimizer.step(step)
        schedule.step()
        assert all(each.grad is None for each in model.parameters())
    assert not torch.equal(model.weight, before)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.01 * settings["lr"])


def test_a_private_optimizer_takes_steps_of_its_plan_only():
    optimizer = private(torch.optim.SGD)(linear(), squared, plan_of(), lr=0.1)
    for wrong in (None, lambda: 0.0):
        with pytest.raises(InvalidParameter, match=r"plan\.steps"):
            optimizer.step(wrong)
    with pytest.raises(InvalidParameter, match="the model itself"):
        private(torch.optim.SGD)(linear().parameters(), squared, plan_of(), lr=0.1)
    with pytest.raises(InvalidParameter, match="closure"):
        private(torch.optim.LBFGS)
    model = linear()
    with pytest.raises(InvalidParameter, match="closure"):
        Trainer(model, torch.optim.LBFGS(model.parameters()), squared, plan_of())


def test_a_model_with_nothing_to_train_is_refused_before_anything_is_paid():
    """When the optimizer is made, and when the model is frozen afterwards: neither torch's error, nor one about a size."""
    ledger, plan, model = a_ledger(), plan_of(), linear()
    with pytest.raises(InvalidParameter, match="nothing would be trained"):
        private(torch.optim.SGD)(linear().requires_grad_(False), squared, plan, lr=0.1)
    optimizer = private(torch.optim.SGD)(model, squared, plan, lr=0.1)
    model.requires_grad_(False)
    with pytest.raises(InvalidParameter, match="nothing would be trained"):
        optimizer.step(next(iter(plan.steps(data(), ledger=ledger, key="own"))))
    assert charges(ledger) == 0
