"""Private greedy coordinate descent: a paid choice of the coordinate that promises most, then a noisy step along it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
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
from privet.learn.problem.crowd import crowd
from privet.learn.solvers.columns import Columns, check_parts, clip_bounds, largest_entries, sum_reach
from privet.learn.solvers.curvatures import (
    Curvatures,
    bought,
    check_curvatures,
    known_curvatures,
    levels_part,
)
from privet.learn.solvers.on_records import OnRecords
from privet.learn.solvers.penalty import NO_PENALTY, Penalty, UnitPenalty
from privet.learn.solvers.solver import NUMBERS, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Exponential, Gaussian, Mechanism, Sensitivity, Source, register
from privet.privacy import Composed, ExponentialLoss, GaussianLoss, Guarantee, PrivacyLoss, Repeated, Unit

_ALLOWANCE = Fraction(1, 2**16)  # of a score: what rounding can add to the difference of two of them
_FARTHEST = 2.0**30  # sums and coefficients, in the units of a clipped contribution


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class GreedyCoordinateDescent(Solver):
    """Private greedy coordinate descent: each step along the coordinate that promises most, chosen privately.

    For sparse models among many columns: `steps` steps reach at most that many of them. Half of the squared budget goes to
    choices by the exponential mechanism, whose error grows with the logarithm of the number of columns, half to the
    steps. A coordinate promises what its own step would change, the penalty included, so that a lasso chooses none that it
    would set to zero again. The other arguments are those of `CoordinateDescent`.

    A step chooses j with weight exp(epsilon |change_j|/2), changes in units of one record, then moves as
    `CoordinateDescent`.

    >>> task = Task(features=100, row_norm=1.0, target=Interval(0.0, 1.0))
    >>> plan = GreedyCoordinateDescent(steps=10).plan(task, Huber(2.0), Guarantee(rho=0.1))
    >>> round(plan.loss.zcdp().rho, 6)
    0.1
    """

    steps: int = 16
    clip: float = 0.5
    penalty: Penalty = NO_PENALTY
    share: float = 0.1
    moments: tuple[float, ...] | None = None
    records: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("penalty", self.penalty, Penalty)
        Curvatures.public(self.moments, self.records)

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        public = Curvatures.public(self.moments, self.records)
        share = self.share if public is None else 0.0
        if target.mu is not None:
            raise InvalidParameter("choices have no exact price as mu: ask for rho, or epsilon with delta")
        if target.epsilon is not None and target.delta == 0.0:
            raise InvalidParameter("the steps have normal noise, which has no pure guarantee: give a delta > 0")
        rho = whole_rho(target, self.steps, share, task.unit)
        half = (1.0 - share) * rho / 2.0
        return GreedyCoordinateFit(
            task=task,
            model=loss,
            steps=self.steps,
            clip=self.clip,
            penalty=self.penalty,
            curvatures=levels_part(task, math.sqrt(2.0 * share * rho)) if public is None else public,
            best=Exponential.for_budget(rho=half / self.steps, sensitivity=score_reach(task)),
            step=Gaussian.for_budget(rho=half / self.steps, sensitivity=sum_reach(task)),
            at=target.delta or None,
        )

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(steps=3), NUMBERS, Huber(1.0), Guarantee(rho=0.5))


def score_reach(task: Task) -> Sensitivity:
    """Of the score of a coordinate: that of its sum, since a proximal map moves nothing apart, and what rounding adds."""
    return sum_reach(task, "score", 1 + _ALLOWANCE)


@lru_cache(maxsize=64)
def whole_rho(target: Guarantee, steps: int, share: float, unit: Unit) -> float:
    """The rho that moments, choices and steps may cost together for the promise.

    >>> whole_rho(Guarantee(rho=0.5), 10, 0.1, Unit())
    0.4999999995
    """
    if target.rho is not None:
        return target.rho * (1.0 - 1e-9)

    def price(rho: float) -> PrivacyLoss:
        each = (1.0 - share) * rho / (2.0 * steps)
        parts: list[PrivacyLoss] = [
            Repeated(ExponentialLoss(math.sqrt(8.0 * each), unit=unit), steps),
            Repeated(GaussianLoss(math.sqrt(0.5 / each), unit=unit), steps),
        ]
        if share:
            parts.append(GaussianLoss(math.sqrt(0.5 / (share * rho)), unit=unit))
        return Composed(parts)

    assert target.epsilon is not None
    found = accounting.calibrate(price, epsilon=target.epsilon, delta=target.delta, bounds=(1e-12, 1e6))
    return found * (1.0 - 1e-6)


@final
@register
@dataclass(frozen=True, kw_only=True)
class GreedyCoordinateFit(OnRecords, Algorithm[Any, Any]):
    """Noisy coordinate descent along coordinates that are chosen privately.

    **Guarantee:** the composition of the levels of columns, and for each step of a choice by the exponential mechanism and
    a normal release.
    **Sensitivity:** of a sum over C_j: at most 1 (2 under replace); of a score the same, with an allowance for rounding.
    **Reference:** Mangold, Bellet, Salmon & Tommasi 2023.
    **Proof:** docs/proofs/learn/greedy_coordinate_fit.md.
    """

    name = "greedy_coordinate_fit"

    task: Task
    model: Loss
    steps: int
    best: Exponential
    step: Gaussian
    curvatures: Gaussian | Curvatures
    clip: float = 0.5
    penalty: Penalty = NO_PENALTY
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("penalty", self.penalty, Penalty)
        check_curvatures(self.curvatures, self.task)
        best = ("best", self.best, Exponential, score_reach(self.task))
        check_parts([best, ("step", self.step, Gaussian, sum_reach(self.task))])

    @property
    def loss(self) -> PrivacyLoss:
        each = (Repeated(part.loss, self.steps) for part in (self.best, self.step))
        return Composed([*each, *bought(self.curvatures)])

    def _run(self, prepared: Records, source: Source) -> Array:
        columns = Columns(self.task, self.model, prepared)
        known = known_curvatures(self.curvatures, columns, self.task, source)
        moments = np.array(known.moments)
        bounds = clip_bounds(moments, self.clip, "lipschitz", self.model.lipschitz * largest_entries(self.task))
        weights = self.model.smoothness * moments
        # coefficients in the units of a clipped contribution, in which a step is the sum itself
        penalty = in_units(self.penalty.on_unit_rows(self.task, known.records), bounds, weights)
        u = np.zeros(self.task.dimension)
        for _ in range(self.steps):
            sums = columns.clipped_sums(bounds)
            j = int(self.best.release(promises(u, sums, penalty), source=source).value)
            slope = self.step.release(float(sums[j]), source=source).value
            new = float(np.clip(penalty.prox(u[j] - slope, 1.0, j), -_FARTHEST, _FARTHEST))
            columns.move(j, (new - u[j]) * float(bounds[j] / weights[j]))
            u[j] = new
        return u * bounds / weights

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
        one, target = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])
        public = GreedyCoordinateDescent(steps=1, moments=(4.0,), records=4.0)
        made = public.plan(task, Huber(1.0), Guarantee(2.0, 1e-5))
        pair = ArrayRecords(one[:1], target[:1]), ArrayRecords(one, target)
        yield Example(made, *pair, Guarantee(2.0, 1e-5), cost="costly", detects=0.25)
        moved = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0), unit=Unit("replace"))
        solver = GreedyCoordinateDescent(steps=3, penalty=Penalty(l1=0.01))
        rows = np.array([[0.6, -0.8], [0.0, 1.0]])
        other = ArrayRecords(rows, target), ArrayRecords(np.array([[0.6, -0.8], [-1.0, 0.0]]), np.array([1.0, 1.0]))
        yield Example(solver.plan(moved, Huber(2.0), Guarantee(rho=0.5)), *other, Guarantee(rho=0.5), cost="costly")
        alone = Task(features=2, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
        bought = GreedyCoordinateDescent(steps=3).plan(alone, Huber(1.0), Guarantee(rho=32.0))
        yield Example(bought, *crowd(), Guarantee(rho=32.0), cost="costly")  # in which the curvatures matter


def in_units(penalty: UnitPenalty, bounds: Array, weights: Array) -> UnitPenalty:
    """The penalty of u = w weights/bounds, for steps of length 1: `(v - u)^2/2 + penalty(v)` has the same minimum."""
    per = weights / bounds
    return UnitPenalty(penalty.l1 / bounds, penalty.l2 / weights, penalty.low * per, penalty.high * per)


def promises(u: Array, sums: Array, penalty: UnitPenalty) -> Array:
    """The distance by which a step along each coordinate would lead, in units in which a sum that moves by 1 moves it
    by at most 1.

    >>> free = UnitPenalty(np.array([0.0, 2.0]), np.zeros(2), np.full(2, -9.0), np.full(2, 9.0))
    >>> promises(np.zeros(2), np.array([3.0, 3.0]), free).tolist()
    [3.0, 1.0]
    """
    near, far = np.clip(u, -_FARTHEST, _FARTHEST), np.clip(sums, -_FARTHEST, _FARTHEST)
    return np.abs(penalty.prox(near - far, 1.0) - near)
