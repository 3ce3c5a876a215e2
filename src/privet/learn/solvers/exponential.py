"""The exponential mechanism over a grid of coefficients, for one or two of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, Records, Task
from privet.learn.problem.array_records import dense
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Exponential, Mechanism, Sensitivity, Source, register
from privet.privacy import Guarantee, PrivacyLoss, Unit

_GRID = 2.0**-30  # what a record adds to the score of a point is rounded to
_TILE = 512  # rows at a time: memory and speed only
_MOST = 2**62  # where a score stops: far beyond all scores of data that fit a machine


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class GridExponential(Solver):
    """A point of a grid in a ball, drawn with probability proportional to exp(-epsilon loss/(2 sensitivity)).

    For models of one or two coefficients, the intercept counted: an exact reference for other solvers. `radius` bounds the
    coefficients for unit rows, `points` is the number of them along a line.

    >>> task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)))
    >>> plan = GridExponential(radius=5.0).plan(task, Logistic(), Guarantee(1.0))
    >>> plan.loss.pure(), len(plan.places())
    (1.0, 201)
    """

    radius: float = 10.0
    points: int = 201

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        if loss.outputs != 1 or task.dimension > 2:
            raise InvalidParameter("a grid serves one or two coefficients; take ObjectivePerturbation()")
        if target.mu is not None:
            raise InvalidParameter("the exponential mechanism is planned for epsilon or rho")
        choice = Exponential.for_budget(
            epsilon=target.epsilon, delta=target.delta, rho=target.rho, sensitivity=score_reach(task, loss, self.radius)
        )
        return GridExponentialFit(task=task, model=loss, radius=self.radius, points=self.points, choice=choice)

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(radius=3.0, points=5), replace(TWO_CLASSES, features=1), Logistic(), Guarantee(1.0))


def score_reach(task: Task, loss: Loss, radius: float) -> Sensitivity:
    """The distance by which a score moves between neighbours, in steps of 2^-30: L radius for each record, twice that
    under replace.

    >>> round(float(score_reach(Task(features=1, row_norm=1.0), Logistic(), 5.0)) * 2.0**-30, 6)
    5.0
    """
    ends = task.unit.group_size * (2 if task.unit.relation == "replace" else 1)
    return Sensitivity(ends * Fraction(loss.lipschitz) * Fraction(radius) * 2**30, norm="score", unit=task.unit)


@final
@register
@dataclass(frozen=True, kw_only=True)
class GridExponentialFit(OnRecords, Algorithm[Any, Any]):
    """A point of a grid of coefficients, chosen by the exponential mechanism.

    **Guarantee:** that of `choice`.
    **Sensitivity:** of a score, the sum over records of psi(0) - psi(x.w) cut to +-L radius: L radius, twice that under
    replace.
    **Reference:** McSherry & Talwar 2007; Bassily, Smith & Thakurta 2014.
    **Proof:** docs/proofs/learn/exponential.md.
    """

    name = "grid_exponential_fit"

    task: Task
    model: Loss
    radius: float
    points: int
    choice: Exponential

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("choice", self.choice, Exponential)
        check_reach("choice", self.choice.sensitivity, score_reach(self.task, self.model, self.radius))

    @property
    def loss(self) -> PrivacyLoss:
        return self.choice.loss

    def places(self) -> Array:
        """The points: public, all within the radius."""
        line = np.linspace(-self.radius, self.radius, self.points)
        if self.task.dimension == 1:
            return line[:, None]
        both = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
        return np.asarray(both[np.hypot(both[:, 0], both[:, 1]) <= self.radius])

    def _run(self, prepared: Records, source: Source) -> Array:
        places = self.places()
        return np.asarray(places[int(self.choice.release(self._totals(prepared, places), source=source).value)])

    def _totals(self, records: Records, places: Array) -> Array:
        """Exact sums of what each record adds, in whole steps, cut to 2^62 of them: not releasable."""
        most = math.floor(self.model.lipschitz * self.radius / _GRID)
        totals = np.zeros(len(places), dtype=object)
        for rows, targets, _ in self.task.unit_chunks(records):
            values = dense(rows)
            for start in range(0, len(targets), _TILE):
                x, y = values[start : start + _TILE], targets[start : start + _TILE]
                margins = np.asarray(sum(x[:, j : j + 1] * places[None, :, j] for j in range(places.shape[1])))
                wide = np.broadcast_to(y[:, None], margins.shape)
                gain = self.model.value(np.zeros_like(margins), wide) - self.model.value(margins, wide)
                totals = totals + np.clip(np.trunc(gain / _GRID), -most, most).astype(np.int64).sum(axis=0)
        return np.clip(totals, -_MOST, _MOST).astype(np.int64)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)))
        rows, labels = np.array([[1.0], [1.0]]), np.array([1, 1])
        pair = ArrayRecords(rows, labels), ArrayRecords(rows[:1], labels[:1])
        made = GridExponential(radius=3.0, points=5).plan(task, Logistic(), Guarantee(1.0))
        yield Example(made, *pair, Guarantee(1.0), cost="costly", detects=0.25)
        moved = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))
        other = GridExponential(radius=3.0, points=5).plan(moved, Logistic(), Guarantee(2.0))
        yield Example(other, pair[1], ArrayRecords(-rows[:1], labels[:1]), Guarantee(2.0), cost="costly", detects=0.25)
