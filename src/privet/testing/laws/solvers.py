"""Laws of solvers: plans are made of public facts, keep the promise for whoever is protected, cost what their parts cost,
and meet mistakes before they are paid.

An example is `learn.solvers.SolverExample`: a solver, a problem that it is for, and a promise.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from privet import accounting
from privet._numerics import Array
from privet.errors import PrivetError, ReleaseFailed
from privet.ledger import Budget, Ledger
from privet.mechanisms import Example
from privet.privacy import Guarantee, PrivacyLoss, Unit
from privet.testing.algorithms import check_paid_once, check_parts_are_the_price
from privet.testing.law import law_of

_UNITS = (Unit(), Unit("replace"), Unit(group_size=2))


def _records(example: Any, rows: int, *, columns: int | None = None, targets: object = None) -> Any:
    """Records of the example's problem: rows that lie evenly, with labels in turn or numbers within the bounds."""
    from privet.learn.problem import ArrayRecords, Classes

    task = example.task
    width = task.features if columns is None else columns
    held: Array = np.linspace(-1.0, 1.0, rows * width).reshape(rows, width)
    if targets is None and isinstance(task.target, Classes):
        targets = np.resize(np.array(task.target.labels), rows)
    elif targets is None:
        targets = np.linspace(task.target.low, task.target.high, rows)
    return ArrayRecords(held, targets)


def _plans(example: Any) -> Iterator[tuple[Unit, Any]]:
    """The plans for every unit that the solver takes; what it does not take is refused with a sentence."""
    for unit in _UNITS:
        try:
            yield unit, example.solver.plan(replace(example.task, unit=unit), example.loss, example.promise)
        except PrivetError as refusal:
            if len(str(refusal)) < 15:
                raise AssertionError(f"{example}: refused for {unit.describe()}, and nothing is said") from refusal


def _kept(promise: Guarantee, loss: PrivacyLoss) -> bool:
    """True if a price is within a promise: by what it says itself, else by the accountant that it was
    calibrated with."""
    if promise.covers(loss):
        return True
    return promise.epsilon is not None and accounting.delta(loss, epsilon=promise.epsilon).upper <= promise.delta


@law_of("solver")
def check_plan_keeps_the_promise(example: Any) -> None:
    """A plan is priced for the unit of its task, within the promise, under either relation and for groups, or refused; for
    one unit at least it is made. The same facts make the same plan.

    >>> from privet.learn.solvers import NoisyGD
    >>> check_plan_keeps_the_promise(next(iter(NoisyGD.examples())))
    """
    made = list(_plans(example))
    assert made, f"{example}: no unit can be planned for"
    for unit, plan in made:
        assert plan.loss.unit == unit, f"{example}: planned for {unit.describe()} and priced for another unit"
        assert _kept(example.promise, plan.loss), f"{example}: for {unit.describe()} the price is beyond the promise"
    for (_, plan), (_, again) in zip(made, _plans(example), strict=True):
        assert plan == again, f"{example}: the same public facts make two plans"


@law_of("solver")
def check_price_is_that_of_the_parts(example: Any) -> None:
    """Whatever a run of a plan releases adds up to its price, for every unit, and is paid once.

    >>> from privet.learn.solvers import NoisyGD
    >>> check_price_is_that_of_the_parts(next(iter(NoisyGD.examples())))
    """
    for unit, plan in _plans(example):
        fewer = example.rows - (unit.relation == "add_remove")
        pair = Example(plan, _records(example, example.rows), _records(example, fewer))
        check_parts_are_the_price(pair)
        check_paid_once(pair)


@law_of("solver")
def check_records_that_do_not_fit_are_unpaid(example: Any) -> None:
    """Records of another width, without targets or with targets of another kind, and what are no records at all are
    refused before the charge.

    >>> from privet.learn.solvers import NoisyGD
    >>> check_records_that_do_not_fit_are_unpaid(next(iter(NoisyGD.examples())))
    """
    from privet.learn.problem import ArrayRecords

    rows = example.rows
    wrong = {
        "another width": _records(example, rows, columns=example.task.features + 1),
        "no targets": ArrayRecords(np.zeros((rows, example.task.features)), None),
        "targets that are texts": _records(example, rows, targets=np.array(["x"] * rows)),
        "no records": np.zeros((rows, example.task.features)),
    }
    for unit, plan in _plans(example):
        for what, records in wrong.items():
            ledger = Ledger.create("memory:", budget=Budget(epsilon=99.0, delta=0.5), unit=unit)
            try:
                ledger.release(plan, records)
            except ReleaseFailed:
                raise AssertionError(f"{example}: {what}: found after the payment") from None
            except PrivetError:
                charged = [entry for entry in ledger.entries() if entry.kind == "reserve"]
                assert not charged, f"{example}: {what}: refused after the payment"
            else:
                raise AssertionError(f"{example}: {what}: not refused")
