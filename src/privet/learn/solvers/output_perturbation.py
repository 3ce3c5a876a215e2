"""Output perturbation: noise on the minimiser of a strongly convex objective."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import above, count, instance, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.learn.losses import HuberHinge, Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, Records, Task
from privet.learn.solvers.minimise import Objective, minimiser
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.learn.solvers.tolerance import chosen_tolerance, least_tolerance
from privet.mechanisms import Ball, ErrorBar, Example, Gaussian, Mechanism, Sensitivity, Source, register
from privet.privacy import Guarantee, PrivacyLoss, Unit


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class OutputPerturbation(Solver):
    """Minimise the loss plus a regulariser, then add noise to the minimum.

    `strength` is that of the regulariser on the scale of unit rows and sums. "optimal" balances what the regulariser
    costs against what the noise costs, for a minimum of length at most `radius` (on unit rows) among `rows` records: both
    must be public. `tolerance` is how short a gradient has to be at the computed minimum.

    The answer is argmin sum_i psi(x_i w; y_i) + strength |w|^2/2, plus N(0, (Delta/mu)^2 I), Delta = L/strength
    (twice under replace).

    >>> plan = OutputPerturbation(strength=10.0).plan(Task(features=2, row_norm=1.0, target=Classes((0, 1))), Logistic(),
    ...                                               Guarantee(1.0, 1e-6))
    >>> type(plan.noise).__name__, float(plan.noise.sensitivity.value)  # L/strength, and twice the tolerance
    ('Gaussian', 0.10000002)
    """

    strength: float | Literal["optimal"] = "optimal"
    radius: float = 10.0
    rows: int | None = None
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.strength, str):
            if self.strength != "optimal":
                raise InvalidParameter('strength must be a positive number or "optimal"')
        else:
            set_frozen(self, strength=above("strength", self.strength, 0.0))
        set_frozen(self, radius=above("radius", self.radius, 0.0))
        if self.tolerance is not None:
            set_frozen(self, tolerance=above("tolerance", self.tolerance, 0.0))
        if self.rows is not None:
            set_frozen(self, rows=count("rows", self.rows, 1))

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        if loss.outputs != 1:
            raise InvalidParameter("this solver is for losses of one margin; for several classes take Preconditioned()")
        if not math.isfinite(loss.lipschitz):
            raise InvalidParameter(
                "the slope of this loss has no bound, so that one record may move the minimum anywhere: take "
                "SufficientStatistics() for squares, or HuberRegressor"
            )
        strength = self._optimal(task, loss, target) if isinstance(self.strength, str) else self.strength
        tolerance = chosen_tolerance(self.tolerance, least_tolerance(loss))
        moved = minimum_reach(loss, strength, tolerance, task.unit)
        pure = target.epsilon is not None and target.delta == 0.0
        made: Gaussian | Ball = (Ball if pure else Gaussian).for_budget(
            epsilon=target.epsilon, delta=target.delta, rho=target.rho, mu=target.mu, sensitivity=moved
        )
        return OutputFit(task=task, model=loss, strength=strength, tolerance=tolerance, noise=made, at=made.at)

    def _optimal(self, task: Task, loss: Loss, target: Guarantee) -> float:
        """The strength that minimises strength D^2/2 + L E|z|, for noise of standard deviation reach/(strength mu)."""
        if self.rows is None:
            raise InvalidParameter('strength="optimal" needs rows=, the public number of records, or give strength=')
        one = minimum_reach(loss, 1.0, 0.0, task.unit)
        pure = target.epsilon is not None and target.delta == 0.0
        made: Any = (Ball if pure else Gaussian).for_budget(
            epsilon=target.epsilon, delta=target.delta, rho=target.rho, mu=target.mu, sensitivity=one
        )
        length = made.scale * (task.dimension if pure else math.sqrt(task.dimension))
        return math.sqrt(2.0 * loss.lipschitz * length * self.rows) / self.radius

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(strength=10.0), TWO_CLASSES, Logistic(), Guarantee(1.0, 1e-5))
        yield SolverExample(cls(strength=10.0), TWO_CLASSES, Logistic(), Guarantee(1.0))


def minimum_reach(loss: Loss, strength: float, tolerance: float, unit: Unit) -> Sensitivity:
    """The distance by which the minimum moves between neighbours: L/strength, twice that under replace, for every
    record of a unit, and what separates two computed minima from the exact ones.

    >>> float(minimum_reach(Logistic(), 4.0, 0.0, Unit("replace")))
    0.5
    """
    ends = (2 if unit.relation == "replace" else 1) * unit.group_size
    moved = (ends * Fraction(loss.lipschitz) + 2 * Fraction(tolerance)) / Fraction(strength)
    return Sensitivity(moved, norm="l2", unit=unit)


@final
@register
@dataclass(frozen=True, kw_only=True)
class OutputFit(OnRecords, Mechanism[Any, Any]):
    """The minimum of the regularised loss, plus noise on it.

    **Guarantee:** that of `noise`, which is `Gaussian` or, for a pure guarantee, `Ball` (a length of the law Gamma).
    **Sensitivity:** l2: L/strength under add/remove, twice that under replace, plus 2 tolerance/strength.
    **Error:** that of the noise, of the exact minimum; what the regulariser costs is not in it.
    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011; Bassily, Smith & Thakurta 2014.
    **Proof:** docs/proofs/learn/output_fit.md.
    """

    name = "output_fit"
    by_totals = True

    task: Task
    model: Loss
    strength: float
    tolerance: float
    noise: Gaussian | Ball
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.task.one_margin()
        set_frozen(self, strength=above("strength", self.strength, 0.0))
        tolerance = above("tolerance", self.tolerance, 0.0)
        set_frozen(self, tolerance=chosen_tolerance(tolerance, least_tolerance(self.model)))
        instance("noise", self.noise, Gaussian, Ball)
        needed = minimum_reach(self.model, self.strength, self.tolerance, self.task.unit)
        check_reach("noise", self.noise.sensitivity, needed)

    @property
    def loss(self) -> PrivacyLoss:
        return self.noise.loss

    def _prepare(self, value: Records) -> Array | list[Fraction]:
        nothing = np.zeros(self.task.dimension)
        return minimiser(Objective(self.task.passes(value), self.model, self.strength, nothing), self.tolerance)

    def _draw(self, prepared: Array | list[Fraction], runs: int, source: Source) -> Array:
        return np.asarray(self.noise._draw(self.noise._prepare(prepared), runs, source))

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """Of every coefficient of the exact minimum on unit rows, at once."""
        return self.noise.error(open_fraction("confidence", confidence), dimension=self.task.dimension)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        two, label = Classes((0, 1)), np.array([1, 1])
        rows = np.array([[1.0], [1.0]])
        task = Task(features=1, row_norm=1.0, intercept=False, target=two)
        solver = OutputPerturbation(strength=50.0)  # so strong that margins stay at 0, where a hinge moves the most
        pair = ArrayRecords(rows, label), ArrayRecords(rows[:1], label[:1])
        made = solver.plan(task, HuberHinge(), Guarantee(4.0, 1e-5))
        yield Example(made, *pair, Guarantee(4.0, 1e-5))
        moved = Task(features=1, row_norm=1.0, intercept=False, target=two, unit=Unit("replace"))
        pure = solver.plan(moved, Logistic(), Guarantee(1.0))
        yield Example(pure, pair[1], ArrayRecords(-rows[:1], label[:1]), Guarantee(1.0), detects=0.25)
