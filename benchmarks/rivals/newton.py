"""Newton's method with noise twice a step: on the gradient, and on the direction that the Hessian makes of it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, instance, open_fraction, set_frozen
from privet.errors import InvalidParameter, ReleaseFailed
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, GridRows, Records, Task, gradient_grid, gradient_reach
from privet.learn.solvers.budget import gradient_noise, in_units, kept, whole_mu
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Gaussian, Mechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.sensitivity import Sensitivity
from privet.privacy import Composed, Guarantee, PrivacyLoss, Repeated, Unit

_ALLOWED = Fraction(1, 100)  # of the direction's sensitivity, for what the solution of linear equations rounds


@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class Newton(Solver):
    """Noisy Newton steps: noise on the clipped gradient, then noise on the direction (H + damping)^-1 gradient.

    `share` of mu^2 is for the directions. `damping`, which bounds what a record can do to a direction, follows from
    public facts (`rows`, the number of records where it is public, among them) unless it is given. The mean of the second
    half of the iterates is the answer.

    A step is w <- w - ((H + damping I)^-1 (g + N(0, s^2 I)) + N(0, t^2 I)), H the Hessian and g the clipped gradient.

    >>> task = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
    >>> plan = Newton().plan(task, Logistic(), Guarantee(1.0, 1e-6))
    >>> plan.steps, float(plan.loss.profile(1.0)) <= 1e-6
    (8, True)
    """

    rows: int | None = None
    steps: int = 8
    share: float = 0.3
    damping: float | None = None
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        set_frozen(self, steps=count("steps", self.steps, 1), share=open_fraction("share", self.share))
        if self.rows is not None:
            set_frozen(self, rows=count("rows", self.rows, 1))
        for name in ("damping", "clip_norm"):
            if getattr(self, name) is not None:
                set_frozen(self, **{name: above(name, getattr(self, name), 0.0)})

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        if loss.outputs != 1:
            raise InvalidParameter("this solver is for losses of one margin; for several classes take Preconditioned()")
        mu = whole_mu(target, "Newton")
        clip_norm = 0.35 * loss.lipschitz if self.clip_norm is None else self.clip_norm
        damping = self.damping
        if damping is None:
            damping = self._damping(task, loss, mu)

        def made(mu: float) -> NewtonFit:
            return NewtonFit(
                task=task,
                model=loss,
                clip_norm=clip_norm,
                steps=self.steps,
                damping=damping,
                noise=gradient_noise(mu * math.sqrt((1.0 - self.share) / self.steps), clip_norm, task.unit),
                direction=Gaussian.for_budget(
                    mu=mu * math.sqrt(self.share / self.steps), sensitivity=direction_reach(task.unit)
                ),
                at=target.delta or None,
            )

        return kept(made, target, mu)

    def _damping(self, task: Task, loss: Loss, mu: float) -> float:
        """So that the noise on a direction is half as long as a direction whose eigenvalue is h = n smoothness/d:
        damping^2/(damping + h) = a. Without a public n, h is taken for 100 a."""
        a = 2.0 * loss.smoothness * math.sqrt(task.dimension * self.steps / self.share) / mu
        h = 100.0 * a if self.rows is None else self.rows * loss.smoothness / task.dimension
        return (a + math.sqrt(a * a + 4.0 * a * h)) / 2.0

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(steps=2), TWO_CLASSES, Logistic(), Guarantee(1.0, 1e-5))


def direction_reach(unit: Unit) -> Sensitivity:
    """How far a direction moves between neighbours, in units of smoothness |gradient|/(damping (damping + smoothness)).

    >>> float(direction_reach(Unit("replace")))
    2.01
    """
    ends = unit.group_size * (2 if unit.relation == "replace" else 1)
    return Sensitivity(ends + _ALLOWED, norm="l2", unit=unit)


@final
@register
@dataclass(frozen=True, kw_only=True)
class NewtonFit(OnRecords, Algorithm[Any, Any]):
    """Newton steps with noise on gradients and on directions.

    **Guarantee:** `steps` releases each of `noise` and `direction`: normal noise composes to mu-GDP exactly.
    **Sensitivity:** l2: `clip_norm` for a gradient; for a direction, given the noisy gradient g, smoothness |g|/(damping
    (damping + smoothness)); both twice as much under replace.
    **Reference:** Ganesh, Haghifam, Steinke & Thakurta 2023.
    **Proof:** benchmarks/rivals/newton.md.
    """

    name = "newton_fit"
    by_totals = True

    task: Task
    model: Loss
    clip_norm: float
    steps: int
    damping: float
    noise: Gaussian
    direction: Gaussian
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("task", self.task, Task)
        instance("model", self.model, Loss)
        set_frozen(self, clip_norm=above("clip_norm", self.clip_norm, 0.0), steps=count("steps", self.steps, 1))
        set_frozen(self, damping=above("damping", self.damping, 0.0))
        for name, needed in (
            ("noise", gradient_reach(self.clip_norm, self.task.unit)),
            ("direction", direction_reach(self.task.unit)),
        ):
            check_reach(name, instance(name, getattr(self, name), Gaussian).sensitivity, needed)

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((Repeated(self.noise.loss, self.steps), Repeated(self.direction.loss, self.steps)))

    def _run(self, prepared: Records, source: Source) -> Array:
        data, w = GridRows(self.task, prepared), np.zeros(self.task.dimension)
        exponent = gradient_grid(self.clip_norm).exponent
        mean, averaged = np.zeros_like(w), 0
        for step in range(self.steps):
            total = data.gradient(self.model, w, self.clip_norm)
            gradient = in_units(self.noise.release(total, source=source).value, exponent)
            length = max(float(np.linalg.norm(gradient)), 1e-300)
            unit = self.model.smoothness * length / (self.damping * (self.damping + self.model.smoothness))
            exact = self._solved(data.hessian(self.model, w), gradient, unit)
            w = w - unit * np.asarray(self.direction.release(exact / unit, source=source).value)
            if 2 * step >= self.steps - 1:
                mean, averaged = mean + w, averaged + 1
        return mean / averaged

    def _solved(self, hessian: Array, gradient: Array, unit: float) -> Array:
        """(H + damping)^-1 gradient to within 1/200 of `unit`, or nothing at all."""
        whole = hessian + self.damping * np.eye(len(gradient))
        found = np.linalg.solve(whole, gradient)
        rest = gradient.astype(np.longdouble) - whole.astype(np.longdouble) @ found.astype(np.longdouble)
        # the residual, what rounding did to it, and the entries of H, which were rounded once
        size = float(np.abs(whole).sum(axis=1).max())
        error = float(np.sqrt((rest * rest).sum())) + 2.0**-50 * len(gradient) * size * float(np.linalg.norm(found))
        if not error / self.damping <= unit / 200.0:
            raise ReleaseFailed(
                "a direction was not found to the precision that the guarantee needs, so nothing is released; the charge "
                "stays. Give a larger damping= to the solver"
            )
        return found

    @classmethod
    def examples(cls) -> Iterable[Example]:
        two, label = Classes((0, 1)), np.array([1, 1])
        rows = np.array([[1.0], [1.0]])
        task = Task(features=1, row_norm=1.0, intercept=False, target=two)
        made = Newton(steps=2, damping=0.5).plan(task, Logistic(), Guarantee(1.0, 1e-5))
        pair = ArrayRecords(rows, label), ArrayRecords(rows[:1], label[:1])
        yield Example(made, *pair, Guarantee(1.0, 1e-5), cost="costly", detects=0.25)
        moved = Task(features=1, row_norm=1.0, intercept=False, target=two, unit=Unit("replace"))
        other = Newton(steps=1).plan(moved, Logistic(), Guarantee(mu=1.0))
        yield Example(
            other, pair[1], ArrayRecords(-rows[:1], label[:1]), Guarantee(mu=1.0), cost="costly", detects=0.25
        )
