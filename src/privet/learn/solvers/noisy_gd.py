"""Noisy gradient descent: every step looks at all records, with normal noise on the clipped sum."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidData, InvalidParameter
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, GridRows, Records, Task, gradient_grid, gradient_reach
from privet.learn.problem.crowd import crowd
from privet.learn.solvers.budget import (
    COUNT_SHARE,
    clip_for,
    counting_noise,
    gradient_noise,
    in_units,
    kept,
    known_rows,
    shape_of,
    whole_mu,
)
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Gaussian, Mechanism, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Repeated, Unit

_FEWEST, _MOST, _UNKNOWN = 20, 200, 60  # steps; the last where the number of records is not known beforehand
_TIME = 40.0  # steps times their size, for each unit of signal over noise
_ENDLESS = 1e30  # the time of a plan whose step size was given: it asks for no more than its steps
_CARRY = 0.9  # the most of the last move that a step repeats


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class NoisyGD(Solver):
    """Gradient descent on all records, each gradient clipped to `clip_norm`, with normal noise on every sum.

    `rows` is the public number of records; where records may be added or removed and none is given, a noisy count is
    bought for a fiftieth of the budget. `steps`, `step_size` (for the mean loss of unit rows) and `clip_norm` follow from
    public facts unless they are given: steps times their size is 40 mu n/sqrt(d), since what noise adds to the
    coefficients grows with that product while what the data add levels off; a single step is at most 2/smoothness. Where
    the steps are too few for that, each repeats a share of the move before it, up to .9 (momentum): what the data and the
    noise add up to is then that of up to ten times as many steps. The mean of the second half of the iterates is the
    answer.

    `by_person` is for tables about persons with several records: the gradients of a person's records are added up, and
    their sum is clipped to `clip_norm`, so that the price is that of one record instead of `max_rows` of them. `rows` is
    the number of persons then.

    >>> task = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
    >>> plan = NoisyGD(rows=1_000).plan(task, Logistic(), Guarantee(1.0, 1e-6))
    >>> plan.steps, plan.clip_norm, float(plan.loss.profile(1.0)) <= 1e-6
    (200, 0.35, True)
    """

    rows: int | None = None
    clip_norm: float | None = None
    steps: int | None = None
    step_size: float | None = None
    strength: float = 0.0
    by_person: bool = False

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        mu = whole_mu(target, "NoisyGD")
        if self.by_person:  # however many records a person has, they are one sum
            task = replace(task, unit=replace(task.unit, group_size=1))
        clip_norm = clip_for(loss, self.clip_norm)
        longest = 2.0 / loss.smoothness if self.step_size is None else self.step_size
        ends = task.unit.group_size * (2.0 if task.unit.relation == "replace" else 1.0)
        time = _TIME * mu / (ends * math.sqrt(task.dimension)) if self.step_size is None else math.inf
        steps = self._steps(time, longest) if self.steps is None else self.steps
        share = COUNT_SHARE if self.rows is None and task.unit.relation == "add_remove" else 0.0

        def made(mu: float) -> NoisyGDFit:
            return NoisyGDFit(
                task=task,
                model=loss,
                clip_norm=clip_norm,
                steps=steps,
                step_size=longest,
                time=min(time, _ENDLESS),
                strength=self.strength,
                rows=self.rows,
                noise=gradient_noise(mu * ((1.0 - share) / steps) ** 0.5, clip_norm, task.unit),
                counting=counting_noise(mu * share**0.5, task) if share else None,
                at=target.delta or None,
                by_person=self.by_person,
            )

        return kept(made, target, mu)

    def _steps(self, time: float, longest: float) -> int:
        """As many as the time needs at the longest step."""
        if self.rows is None or math.isinf(time):
            return _UNKNOWN
        return int(min(_MOST, max(_FEWEST, math.ceil(time * self.rows / longest))))

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(steps=2), TWO_CLASSES, Logistic(), Guarantee(1.0, 1e-5))


@final
@register
@dataclass(frozen=True, kw_only=True)
class NoisyGDFit(OnRecords, Algorithm[Any, Any]):
    """Noisy gradient descent on all records.

    **Guarantee:** `steps` releases of `noise`, and one of `counting`: normal noise composes to mu-GDP exactly.
    **Sensitivity:** l2: a record's gradient is clipped to `clip_norm`; twice that under replace. With `by_person`, which
    is for `PersonFit`, what is clipped is the sum of the gradients of a person's records.

    A step is min(step_size, time n/steps) long, for the mean loss of n records, and repeats `carry` of the move before.

    **Reference:** Bassily, Smith & Thakurta 2014; Abadi et al. 2016; Dong, Roth & Su 2022.
    **Proof:** docs/proofs/learn/noisy_gd.md.
    """

    name = "noisy_gd_fit"
    by_totals = True

    task: Task
    model: Loss
    clip_norm: float
    steps: int
    step_size: float
    time: float
    strength: float
    noise: Gaussian
    rows: int | None = None
    counting: Gaussian | None = None
    at: float | None = None
    by_person: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, Gaussian)
        if self.by_person and self.task.unit.group_size != 1:
            raise InvalidParameter("the sum of a person is one, however many records it is of: plan it for one")
        if self.counting is not None:
            instance("counting", self.counting, Gaussian)
            if self.counting.sensitivity.value < self.task.unit.group_size or self.counting.unit != self.task.unit:
                raise InvalidParameter("the noise of the count was made for another unit than this plan has")
        check_reach("noise", self.noise.sensitivity, gradient_reach(self.clip_norm, self.task.unit))
        if self.rows is None and self.counting is None and self.task.unit.relation == "add_remove":
            raise InvalidParameter("where records come and go their number is not public: give rows= or counting=")

    @property
    def loss(self) -> PrivacyLoss:
        steps = Repeated(self.noise.loss, self.steps)
        return steps if self.counting is None else Composed((self.counting.loss, steps))

    def _admit(self, value: Any) -> None:
        super()._admit(value)
        if self.by_person and not value.about_persons:
            raise InvalidData("by_person adds up the records of each person: fit a table about persons")

    def _run(self, prepared: Records, source: Source) -> Array:
        data = GridRows(self.task, prepared)
        gradient = data.person_gradient if self.by_person else data.gradient
        n = known_rows(self.rows, self.counting, data, source, persons=self.by_person)
        size = min(self.step_size, self.time * n / self.steps)
        exponent = gradient_grid(self.clip_norm).exponent
        w = np.zeros(shape_of(self.task, self.model))
        move, mean, averaged = np.zeros_like(w), np.zeros_like(w), 0
        carry = carried(self.time * n, self.steps * self.step_size)
        for step in range(self.steps):
            total = gradient(self.model, w, self.clip_norm)
            noisy = in_units(self.noise.release(total, source=source).value, exponent)
            move = carry * move + noisy + self.strength * w
            w = w - size / n * move
            if 2 * step >= self.steps - 1:
                mean, averaged = mean + w, averaged + 1
        return mean / averaged

    @classmethod
    def examples(cls) -> Iterable[Example]:
        two, label = Classes((0, 1)), np.array([1, 1])
        rows = np.array([[1.0], [1.0]])
        task = Task(features=1, row_norm=1.0, intercept=False, target=two)
        made = NoisyGD(steps=3).plan(task, Logistic(), Guarantee(1.0, 1e-5))
        pair = ArrayRecords(rows, label), ArrayRecords(rows[:1], label[:1])
        yield Example(made, *pair, Guarantee(1.0, 1e-5), cost="costly", detects=0.25)
        moved = Task(features=1, row_norm=1.0, intercept=False, target=two, unit=Unit("replace"))
        other = NoisyGD(steps=2, clip_norm=0.5).plan(moved, Logistic(), Guarantee(mu=1.0))
        yield Example(
            other, pair[1], ArrayRecords(-rows[:1], label[:1]), Guarantee(mu=1.0), cost="costly", detects=0.25
        )
        many = NoisyGD(steps=3).plan(
            Task(features=2, row_norm=1.0, intercept=False, target=two), Logistic(), Guarantee(mu=8.0)
        )
        yield Example(
            many, *crowd(labels=True), Guarantee(mu=8.0), cost="costly"
        )  # in which the number of records matters


def carried(wanted: float, reached: float) -> float:
    """The share of the last move that a step repeats: steps that reach so far alone get as far as is wanted, or ten times.

    >>> carried(100.0, 200.0), carried(400.0, 200.0), carried(1e9, 1.0)
    (0.0, 0.5, 0.9)
    """
    if wanted >= _ENDLESS:
        return 0.0
    return min(_CARRY, max(0.0, 1.0 - reached / wanted))
