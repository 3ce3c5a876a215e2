"""Projected noisy stochastic gradient descent: one record a step, as in the lecture, with its noise or the exact one."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.accounting import calibrate
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, GridRows, Records, Task, gradient_grid, gradient_reach
from privet.learn.solvers.budget import in_units, shape_of
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Gaussian, Mechanism, Source, register
from privet.privacy import Composed, FixedSampled, GaussianLoss, Guarantee, PrivacyLoss, Repeated, Unit

_MOST = 20_000  # steps: n^2 of the lecture beyond it only where it is asked for


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class ProjectedSGD(Solver):
    """Steps on one record each, drawn uniformly, with noise, and projected to a ball: PN-SGD of the lectures.

    `rows` is the number of records, public where one is exchanged for another (the only relation that this analysis
    knows), `radius` that of the ball. There are `steps` of them: n^2 in the lecture, here at most 20,000 unless more are
    asked for. With a `strength`, the regulariser for the sum of losses, steps become shorter as 1/t where that has the
    smaller bound. `noise="lecture"` takes sigma^2 = 64 n^2 L^2 ln(2n/delta) ln(2/delta)/epsilon^2 for n^2 steps, "exact"
    the least that keeps the promise: about a fifteenth.

    A step is w <- P(w - eta_t (n (g_I + N(0, sigma^2 I)) + strength w)), I uniform, P the projection to the ball.

    >>> task = Task(features=2, row_norm=1.0, target=Classes((0, 1)), unit=Unit("replace"))
    >>> plan = ProjectedSGD(rows=100, noise="lecture").plan(task, Logistic(), Guarantee(1.0, 1e-5))
    >>> plan.steps, round(plan.multiplier, 4)
    (10000, 57.2991)
    """

    rows: int
    radius: float = 10.0
    steps: int | None = None
    noise: Literal["exact", "lecture"] = "exact"
    strength: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in ("exact", "lecture"):
            raise InvalidParameter('noise must be "exact" or "lecture"')

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        if task.unit != Unit("replace"):
            raise InvalidParameter(
                'one record a step is priced under Unit("replace"), for one record a person; else take NoisySGD()'
            )
        if target.epsilon is not None and target.delta == 0.0:
            raise NoGuarantee("ProjectedSGD has normal noise, which has no pure guarantee: give delta")
        steps = self.steps if self.steps is not None else min(self.rows**2, _MOST)
        if self.noise == "lecture":
            multiplier = lecture_multiplier(target, self.rows)
            if steps > self.rows**2:
                raise InvalidParameter("the noise of the lecture is for n^2 steps; take fewer, or noise='exact'")
        else:
            multiplier = exact_multiplier(target, self.rows, steps)
        reach = gradient_reach(loss.lipschitz, task.unit)
        return ProjectedSGDFit(
            task=task,
            model=loss,
            rows=self.rows,
            radius=self.radius,
            steps=steps,
            strength=self.strength,
            noise=Gaussian(scale=multiplier * float(reach) * (1.0 + 2.0**-40), sensitivity=reach),
            at=target.delta or None,
        )

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(rows=6, steps=3), TWO_CLASSES, Logistic(), Guarantee(1.0, 1e-5))


def lecture_multiplier(target: Guarantee, rows: int) -> float:
    """sigma/(2 n L) of the lecture: 4 sqrt(ln(2n/delta) ln(2/delta))/epsilon, proved where 2 epsilon/n of one step is.

    >>> round(lecture_multiplier(Guarantee(1.0, 1e-6), 1_000), 4)
    70.5094
    """
    if target.epsilon is None or target.delta == 0.0 or target.epsilon > 1.0:
        raise InvalidParameter("the noise of the lecture is for 0 < epsilon <= 1 and delta > 0; take noise='exact'")
    return 4.0 * math.sqrt(math.log(2.0 * rows / target.delta) * math.log(2.0 / target.delta)) / target.epsilon


@lru_cache(maxsize=64)
def exact_multiplier(target: Guarantee, rows: int, steps: int) -> float:
    """The least sigma/(2L) at which `steps` releases on one of n records keep the promise.

    >>> round(exact_multiplier(Guarantee(1.0, 1e-5), 100, 10_000), 2)
    4.13
    """
    return calibrate(
        lambda z: Repeated(FixedSampled(GaussianLoss(z, unit=Unit("replace")), 1, rows), steps),
        epsilon=target.epsilon,
        delta=target.delta if target.epsilon is not None else None,
        rho=target.rho,
        mu=target.mu,
    )


@final
@register
@dataclass(frozen=True, kw_only=True)
class ProjectedSGDFit(OnRecords, Algorithm[Any, Any]):
    """Noisy steps on one uniform record each, projected to a ball; the mean of the later iterates.

    **Guarantee:** `steps` releases of `noise` on one of `rows` records.
    **Sensitivity:** l2: twice the loss's `lipschitz`, under replace.
    **Reference:** Bassily, Smith & Thakurta 2014; Balle, Barthe & Gaboardi 2018.
    **Proof:** docs/proofs/learn/projected_sgd.md.
    """

    name = "projected_sgd_fit"

    task: Task
    model: Loss
    rows: int
    radius: float
    steps: int
    strength: float
    noise: Gaussian
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, Gaussian)
        if self.task.unit != Unit("replace"):
            raise InvalidParameter('one record a step is priced under Unit("replace") alone')
        check_reach("noise", self.noise.sensitivity, gradient_reach(self.model.lipschitz, self.task.unit))

    @property
    def multiplier(self) -> float:
        """sigma over the sensitivity."""
        return self.noise.loss.noise_multiplier

    @property
    def loss(self) -> PrivacyLoss:
        return Repeated(FixedSampled(self.noise.loss, 1, self.rows), self.steps)

    def _admit(self, value: Any) -> None:
        super()._admit(value)
        self.task.admit_number(value, self.rows)

    def _run(self, prepared: Records, source: Source) -> Array:
        data = GridRows(self.task, prepared)
        if data.exact_count() != self.rows:  # public: no neighbour under replace has another number
            raise InvalidData("the plan is for another number of records: give rows= as it is")
        lipschitz, exponent = self.model.lipschitz, gradient_grid(self.model.lipschitz).exponent
        w = np.zeros(shape_of(self.task, self.model))
        sigma = self.noise.scale * 2.0**exponent
        # as in the lecture, for the sum of losses: n L and the noise of all coordinates, with L + lambda R in a ball
        regular = self.strength * self.radius
        bound = math.hypot(self.rows * lipschitz + regular, self.rows * sigma * math.sqrt(w.size))
        rule = step_rule(bound, self.radius, self.strength, self.steps)
        mean, weights = np.zeros_like(w), 0.0
        for step in range(1, self.steps + 1):
            place = self._coins("record", lambda s: noise.fixed_subset(self.rows, m=1, source=s), source)
            with self._priced(lambda parts: FixedSampled(Composed(parts), 1, self.rows)):
                total = data.picked(place).gradient(self.model, w, lipschitz)
                noisy = in_units(self.noise.release(total, source=source).value, exponent)
            size, weight = rule(step)
            w = projected(w - size * (self.rows * noisy + self.strength * w), self.radius)
            mean, weights = mean + weight * w, weights + weight
        return mean / weights

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))
        made = ProjectedSGD(rows=2, steps=3).plan(task, Logistic(), Guarantee(1.0, 1e-5))
        rows, labels = np.array([[1.0], [1.0]]), np.array([1, 1])
        pair = ArrayRecords(rows, labels), ArrayRecords(np.array([[1.0], [-1.0]]), labels)
        yield Example(made, *pair, cost="costly", detects=0.25)
        in_mu = ProjectedSGD(rows=2, steps=3).plan(task, Logistic(), Guarantee(mu=1.0))
        yield Example(in_mu, *pair, Guarantee(mu=1.0), cost="costly", detects=0.25)


def step_rule(bound: float, radius: float, strength: float, steps: int) -> Callable[[int], tuple[float, float]]:
    """For steps 1, 2, ...: the length, and the weight of what comes out in the mean, by the rule with the smaller bound.

    `bound` is G, the root of the mean square of a noisy gradient. For a convex sum of losses the length is 2R/(G sqrt t),
    and the second half counts: G R/sqrt T, up to a constant. With a regulariser Lambda it is 2/(Lambda (t + 1)), with
    weights that grow with t: 2 G^2/(Lambda (T + 2)).

    >>> step_rule(10.0, 1.0, 0.0, 4)(4), step_rule(10.0, 1.0, 20.0, 4)(4)
    ((0.1, 1.0), (0.02, 5.0))
    """
    if strength * radius * math.sqrt(steps) > bound:
        return lambda t: (2.0 / (strength * (t + 1.0)), t + 1.0)
    return lambda t: (2.0 * radius / (bound * math.sqrt(t)), float(2 * t > steps))


def projected(w: Array, radius: float) -> Array:
    """The nearest point of the ball.

    >>> projected(np.array([3.0, 4.0]), 1.0).tolist()
    [0.6000000000000001, 0.8]
    """
    length = float(np.sqrt((w * w).sum()))
    return w if length <= radius else w * (radius / length)
