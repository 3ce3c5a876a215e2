"""Bolt-on private SGD: plain passes over the records in a random order, and noise on the last iterate alone."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import above, at_least, count, instance, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, Records, Task
from privet.learn.problem.array_records import dense
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Ball, Gaussian, Mechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.sensitivity import Sensitivity
from privet.privacy import Guarantee, PrivacyLoss, Unit

_ROUNDING = 2.0**-50  # eight units of rounding in a double


@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class BoltOn(Solver):
    """Stochastic gradient descent in a random order of the records, without noise; then noise on what comes out.

    `rows` is the number of records, public where one is exchanged for another. With a regulariser of `strength` (on the
    scale of sums) step t is min(1/(beta + gamma), 1/(gamma t)), gamma = strength/rows, for a loss whose slope is at most L
    and changes by at most beta (`lipschitz`, `smoothness`); the sensitivity is 2L/strength, whatever the size of a batch
    and the number of passes. With `strength=0` and a constant `step_size` eta it is 2 passes L eta/batch. Without
    `strength` the regulariser costs about as much as the noise, for coefficients as long as `radius`, to which all
    iterates are projected. A pure guarantee has noise of Gamma length.

    The answer is w_T + Z: w <- w - eta_t (mean gradient of a batch), then Z normal for the sensitivity of w_T.

    >>> task = Task(features=2, row_norm=1.0, target=Classes((0, 1)), unit=Unit("replace"))
    >>> plans = [BoltOn(rows=1_000, strength=20.0, batch=b).plan(task, Logistic(), Guarantee(1.0)) for b in (1, 50)]
    >>> [round(float(plan.noise.sensitivity), 6) for plan in plans]
    [0.1, 0.1]
    """

    rows: int
    strength: float | None = None
    radius: float = 10.0
    passes: int = 10
    batch: int = 10
    step_size: float | None = None

    def __post_init__(self) -> None:
        set_frozen(self, rows=count("rows", self.rows, 1), radius=above("radius", self.radius, 0.0))
        set_frozen(self, passes=count("passes", self.passes, 1), batch=count("batch", self.batch, 1))
        if self.batch > self.rows:
            raise InvalidParameter("batch must be at most rows")
        if self.strength is not None:
            set_frozen(self, strength=at_least("strength", self.strength, 0.0))
        if self.step_size is not None:
            set_frozen(self, step_size=above("step_size", self.step_size, 0.0))

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        if task.unit.relation != "replace":
            raise InvalidParameter('passes over n records are analysed under Unit("replace"); else take NoisyGD()')
        if loss.outputs != 1:
            raise InvalidParameter("this solver is for losses of one margin; for several classes take Preconditioned()")
        pure = target.epsilon is not None and target.delta == 0.0
        kind: type[Gaussian] | type[Ball] = Ball if pure else Gaussian

        def noise_for(moved: Sensitivity) -> Any:
            return kind.for_budget(
                epsilon=target.epsilon, delta=target.delta, rho=target.rho, mu=target.mu, sensitivity=moved
            )

        strength = self.strength
        if strength is None:
            # The noise is 2L spread/strength long and costs at most L times that a record; the regulariser costs
            # strength radius^2/2. This strength makes the sum of both least.
            one = noise_for(Sensitivity(Fraction(1), norm="l2", unit=task.unit))
            spread = one.scale * (task.dimension if pure else math.sqrt(task.dimension))
            strength = math.sqrt(4.0 * loss.lipschitz**2 * spread * task.unit.group_size * self.rows) / self.radius
        size = self.step_size
        if strength == 0.0 and size is None:
            size = min(1.0 / loss.smoothness, self.radius / (loss.lipschitz * math.sqrt(self.passes * self.rows)))
        facts = Facts(self.rows, float(strength), self.radius, self.passes, self.batch, size)
        return BoltOnFit(task=task, model=loss, facts=facts, noise=noise_for(last_reach(task, loss, facts)))

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(rows=6, strength=4.0, passes=2, batch=1), TWO_CLASSES, Logistic(), Guarantee(1.0))


@dataclass(frozen=True)
class Facts:
    """The public facts of the passes.

    >>> Facts(100, 1.0, 10.0, 5, 7, None).updates
    75
    """

    rows: int
    strength: float
    radius: float
    passes: int
    batch: int
    step_size: float | None

    def __post_init__(self) -> None:
        # below 0 a "regulariser" would push iterates apart, and nothing of the analysis would hold
        set_frozen(self, strength=at_least("strength", self.strength, 0.0), radius=above("radius", self.radius, 0.0))
        for name in ("rows", "passes", "batch"):
            set_frozen(self, **{name: count(name, getattr(self, name), 1)})
        if self.step_size is not None:
            set_frozen(self, step_size=above("step_size", self.step_size, 0.0))

    @property
    def updates(self) -> int:
        """How many batches all passes have together."""
        return self.passes * math.ceil(self.rows / self.batch)


def last_reach(task: Task, loss: Loss, facts: Facts) -> Sensitivity:
    """How far the last iterate moves where records are exchanged, and twice what rounding can have done to it.

    >>> task = Task(features=2, row_norm=1.0, unit=Unit("replace"))
    >>> round(float(last_reach(task, Logistic(), Facts(100, 0.0, 10.0, 5, 10, 0.5))), 6)
    0.5
    """
    lipschitz = Fraction(loss.lipschitz)
    if facts.strength > 0.0:
        moved = 2 * lipschitz / Fraction(facts.strength)
    else:
        if facts.step_size is None or not 0.0 < facts.step_size <= 2.0 / loss.smoothness:
            raise InvalidParameter("without a regulariser step_size must be above 0 and at most 2/smoothness")
        moved = 2 * facts.passes * lipschitz * Fraction(facts.step_size) / facts.batch
    # what one update can lose by rounding: benchmarks/rivals/bolt_on.md
    largest = 1.0 / loss.smoothness if facts.step_size is None or facts.strength > 0.0 else facts.step_size
    each = (task.dimension + facts.batch + 32) * (
        facts.radius * (1.0 + largest * loss.smoothness) + largest * loss.lipschitz
    )
    rounding = Fraction(2.0 * facts.updates * each * _ROUNDING)
    return Sensitivity(task.unit.group_size * moved + rounding, norm="l2", unit=task.unit)


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoltOnFit(OnRecords, Algorithm[Any, Any]):
    """The last iterate of stochastic gradient descent in a random order, plus noise.

    **Guarantee:** that of `noise`, `Gaussian` or, for a pure guarantee, `Ball`.
    **Sensitivity:** l2, under replace: 2L/strength, or 2 passes L step_size/batch without a regulariser.
    **Reference:** Wu et al. 2017.
    **Proof:** benchmarks/rivals/bolt_on.md.
    """

    name = "bolt_on_fit"

    task: Task
    model: Loss
    facts: Facts
    noise: Gaussian | Ball

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("task", self.task, Task)
        instance("model", self.model, Loss)
        instance("facts", self.facts, Facts)
        instance("noise", self.noise, Gaussian, Ball)
        if self.task.unit.relation != "replace":
            raise InvalidParameter('passes over n records are analysed under Unit("replace") alone')
        check_reach("noise", self.noise.sensitivity, last_reach(self.task, self.model, self.facts))

    @property
    def at(self) -> float | None:  # type: ignore[override]
        """The delta at which the noise is charged."""
        return self.noise.at

    @property
    def loss(self) -> PrivacyLoss:
        return self.noise.loss

    def _admit(self, value: Any) -> None:
        super()._admit(value)
        self.task.admit_number(value, self.facts.rows)

    def _run(self, prepared: Records, source: Source) -> Array:
        chunks = list(self.task.unit_chunks(prepared))
        rows = np.concatenate([dense(chunk.rows) for chunk in chunks]) if chunks else np.zeros((0, self.task.dimension))
        targets = np.concatenate([chunk.targets for chunk in chunks]) if chunks else np.zeros(0)
        if len(targets) != self.facts.rows:  # public: no neighbour under replace has another number
            raise InvalidData("the plan is for another number of records: give rows= as it is")
        order = self._coins("order", lambda s: noise.permutation(len(targets), source=s), source)
        last = exact_last(rows[order], targets[order], self.model, self.facts)
        return np.asarray(self.noise.release(last, source=source).value)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))
        rows, labels = np.array([[1.0], [1.0]]), np.array([1, 1])
        pair = ArrayRecords(rows, labels), ArrayRecords(np.array([[1.0], [-1.0]]), labels)
        for target in (Guarantee(1.0), Guarantee(1.0, 1e-5)):
            made = BoltOn(rows=2, strength=4.0, passes=2, batch=1).plan(task, Logistic(), target)
            yield Example(made, *pair, target, cost="costly", detects=0.25)


def exact_last(rows: Array, targets: Array, loss: Loss, facts: Facts) -> Array:
    """The last iterate over records in this order: not releasable.

    >>> exact_last(np.ones((1, 1)), np.ones(1), Logistic(), Facts(1, 0.0, 9.0, 1, 1, 1.0)).tolist()
    [0.5]
    """
    w, gamma, update = np.zeros(rows.shape[1]), facts.strength / facts.rows, 0
    for _ in range(facts.passes):
        for start in range(0, len(rows), facts.batch):
            update += 1
            piece = slice(start, start + facts.batch)
            step = facts.step_size or 0.0
            if gamma > 0.0:  # these steps are what the sensitivity was proved for; a step_size has no say
                step = min(1.0 / (loss.smoothness + gamma), 1.0 / (gamma * update))
            slopes = loss.slope(rows[piece] @ w, targets[piece])
            # by the size of a full batch also in the last, shorter one: a record there must not weigh more
            w = w - step * (slopes @ rows[piece] / facts.batch + gamma * w)
            length = float(np.sqrt((w * w).sum()))
            if length > facts.radius:
                w = w * (facts.radius / length)
    return w
