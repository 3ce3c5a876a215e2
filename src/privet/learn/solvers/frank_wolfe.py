"""Private Frank-Wolfe: steps towards corners of an l1 ball that are chosen privately."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from privet import accounting
from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.losses import Huber, Loss
from privet.learn.problem import ArrayRecords, Interval, Records, Task
from privet.learn.solvers.columns import Columns, largest_entries, sum_reach
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import NUMBERS, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Exponential, Mechanism, Source, register
from privet.privacy import ExponentialLoss, Guarantee, PrivacyLoss, Repeated, Unit


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class FrankWolfe(Solver):
    """Private Frank-Wolfe: coefficients of an l1 norm of at most `radius` on unit rows, a corner of the ball in each step.

    Only choices are paid for, by the exponential mechanism, so it has a pure guarantee as well. After `steps` steps at most
    that many coefficients differ from zero. The intercept is a coefficient among the others. `clip` bounds what a record
    adds to the slope along any column; None: the most that public bounds leave possible.

    A step is w <- (1 - g) w + g c, g = 2/(t + 2), to a corner c = +-radius e_j with weight exp(-epsilon <slope, c>/(2
    clip radius)).

    >>> task = Task(features=100, row_norm=1.0, target=Interval(0.0, 1.0))
    >>> plan = FrankWolfe(steps=10).plan(task, Huber(2.0), Guarantee(1.0))
    >>> round(plan.loss.pure(), 9)
    1.0
    """

    steps: int = 16
    radius: float = 10.0
    clip: float | None = None

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        most = loss.lipschitz * float(largest_entries(task).max())
        each = choice_epsilon(target, self.steps, task.unit)
        return FrankWolfeFit(
            task=task,
            model=loss,
            steps=self.steps,
            radius=self.radius,
            clip=most if self.clip is None else min(self.clip, most),
            best=Exponential.for_budget(epsilon=each, sensitivity=sum_reach(task, "score")),
            at=target.delta or None,
        )

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(steps=4), NUMBERS, Huber(1.0), Guarantee(2.0))


@lru_cache(maxsize=64)
def choice_epsilon(target: Guarantee, steps: int, unit: Unit) -> float:
    """The epsilon of one choice, so that all of them keep the promise.

    >>> round(choice_epsilon(Guarantee(1.0), 4, Unit()), 9)
    0.25
    """
    if target.mu is not None:
        raise InvalidParameter("choices have no exact price as mu: ask for rho, or epsilon with or without delta")
    each = target.share(1.0 / steps)
    if each.rho is not None:
        return (8.0 * each.rho) ** 0.5  # epsilon^2/8 is the rho of a choice
    assert target.epsilon is not None
    assert each.epsilon is not None
    if target.delta == 0.0:
        return each.epsilon
    found = accounting.calibrate(
        lambda each: Repeated(ExponentialLoss(each, unit=unit), steps),
        epsilon=target.epsilon,
        delta=target.delta,
        bounds=(1e-9, 1e3),
    )
    return found * (1.0 - 1e-6)


@final
@register
@dataclass(frozen=True, kw_only=True)
class FrankWolfeFit(OnRecords, Algorithm[Any, Any]):
    """Steps of length 2/(t + 2) towards corners of the l1 ball that are chosen privately.

    **Guarantee:** that of `steps` choices by the exponential mechanism.
    **Sensitivity:** of a score: the clipped slope over the clip, at most 1 (2 under replace), as whole numbers.
    **Reference:** Talwar, Thakurta & Zhang 2015.
    **Proof:** docs/proofs/learn/frank_wolfe_fit.md.
    """

    name = "frank_wolfe_fit"

    task: Task
    model: Loss
    steps: int
    radius: float
    clip: float
    best: Exponential
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("best", self.best, Exponential)
        check_reach("best", self.best.sensitivity, sum_reach(self.task, "score"))

    @property
    def loss(self) -> PrivacyLoss:
        return Repeated(self.best.loss, self.steps)

    def _run(self, prepared: Records, source: Source) -> Array:
        p = self.task.dimension
        columns, w, bounds = Columns(self.task, self.model, prepared), np.zeros(p), np.full(p, self.clip)
        for t in range(self.steps):
            sums = columns.clipped_sums(bounds)
            corner = int(self.best.release(np.concatenate([-sums, sums]), source=source).value)
            j, length = corner % p, 2.0 / (t + 2.0)
            by = length * (self.radius if corner < p else -self.radius)
            columns.shrink(1.0 - length)
            columns.move(j, by)
            w *= 1.0 - length
            w[j] += by
        return w

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Task(features=3, row_norm=1.0, target=Interval(-1.0, 1.0))
        one, target = np.eye(3)[:2], np.array([1.0, -1.0])
        made = FrankWolfe(steps=6).plan(task, Huber(1.0), Guarantee(2.0))
        yield Example(
            made,
            ArrayRecords(one[:1], target[:1]),
            ArrayRecords(one, target),
            Guarantee(2.0),
            cost="costly",
            detects=0.25,  # choices among eight corners, of a third of the price each
        )
        moved = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0), unit=Unit("replace"))
        rows = np.array([[0.6, -0.8], [0.0, 1.0]])
        other = ArrayRecords(rows, target), ArrayRecords(np.array([[0.6, -0.8], [-1.0, 0.0]]), np.array([1.0, 1.0]))
        plan = FrankWolfe(steps=4).plan(moved, Huber(2.0), Guarantee(rho=0.1))
        yield Example(plan, *other, Guarantee(rho=0.1), cost="costly", detects=0.25)
