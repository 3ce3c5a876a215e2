"""Preconditioned noisy steps: one noisy Gram matrix shows how long steps should be in every direction."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import (
    ArrayRecords,
    Classes,
    GridRows,
    Records,
    Task,
    gradient_grid,
    gradient_reach,
    gram_matrix,
    gram_reach,
)
from privet.learn.problem.crowd import crowd
from privet.learn.solvers.budget import clip_for, gradient_noise, in_units, kept, shape_of, whole_mu
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Gaussian, Mechanism, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Repeated, Unit


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class Preconditioned(Solver):
    """A noisy Gram matrix of the rows, then noisy gradient steps that are scaled by its inverse.

    `share` of mu^2 buys the Gram matrix S, whose eigenvalues are floored at `floor` sigma sqrt(d), sigma its noise. A step
    multiplies by the inverse of smoothness S, and by `step_size` (1; for several classes 2, since the Hessian of a softmax
    is far below its bound): no length has to be tuned, and the number of records is not needed. The mean of the second
    half of the iterates is the answer.

    >>> task = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
    >>> plan = Preconditioned().plan(task, Logistic(), Guarantee(1.0, 1e-6))
    >>> plan.steps, float(plan.loss.profile(1.0)) <= 1e-6
    (20, True)
    """

    share: float = 0.2
    steps: int = 20
    floor: float = 1.0
    step_size: float | None = None
    clip_norm: float | None = None
    strength: float = 0.0

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        mu = whole_mu(target, "Preconditioned")
        clip_norm = clip_for(loss, self.clip_norm)
        size = (1.0 if loss.outputs == 1 else 2.0) if self.step_size is None else self.step_size

        def made(mu: float) -> PreconditionedFit:
            return PreconditionedFit(
                task=task,
                model=loss,
                clip_norm=clip_norm,
                steps=self.steps,
                floor=self.floor,
                step_size=size,
                strength=self.strength,
                gram=Gaussian.for_budget(mu=mu * math.sqrt(self.share), sensitivity=gram_reach(task.unit)),
                noise=gradient_noise(mu * math.sqrt((1.0 - self.share) / self.steps), clip_norm, task.unit),
                at=target.delta or None,
            )

        return kept(made, target, mu)

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(steps=2), TWO_CLASSES, Logistic(), Guarantee(1.0, 1e-5))


@final
@register
@dataclass(frozen=True, kw_only=True)
class PreconditionedFit(OnRecords, Algorithm[Any, Any]):
    """Noisy gradient steps scaled by the inverse of a noisy Gram matrix.

    **Guarantee:** one release of `gram` and `steps` of `noise`: normal noise composes to mu-GDP exactly.
    **Sensitivity:** l2: 1 for the Gram matrix of unit rows in Frobenius norm (sqrt(2) under replace), `clip_norm` for a
    sum of gradients (twice that under replace).
    **Reference:** Dwork, Talwar, Thakurta & Zhang 2014 (Gram matrices); Dong, Roth & Su 2022.
    **Proof:** docs/proofs/learn/preconditioned.md.
    """

    name = "preconditioned_fit"
    by_totals = True

    task: Task
    model: Loss
    clip_norm: float
    steps: int
    floor: float
    step_size: float
    strength: float
    gram: Gaussian
    noise: Gaussian
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, needed in (
            ("noise", gradient_reach(self.clip_norm, self.task.unit)),
            ("gram", gram_reach(self.task.unit)),
        ):
            check_reach(name, instance(name, getattr(self, name), Gaussian).sensitivity, needed)

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.gram.loss, Repeated(self.noise.loss, self.steps)))

    def _run(self, prepared: Records, source: Source) -> Array:
        data = GridRows(self.task, prepared)
        inverse = self._inverse(np.asarray(self.gram.release(data.gram(), source=source).value))
        exponent = gradient_grid(self.clip_norm).exponent
        w = np.zeros(shape_of(self.task, self.model))
        mean, averaged = np.zeros_like(w), 0
        for step in range(self.steps):
            total = data.gradient(self.model, w, self.clip_norm)
            noisy = in_units(self.noise.release(total, source=source).value, exponent)
            w = w - self.step_size * (noisy + self.strength * w) @ inverse
            if 2 * step >= self.steps - 1:  # the second half: early iterates are still on their way
                mean, averaged = mean + w, averaged + 1
        return mean / averaged

    def _inverse(self, noisy: Array) -> Array:
        """The inverse of smoothness S + strength I, from the noisy S with its eigenvalues floored: from a release alone."""
        size = self.task.dimension
        values, vectors = np.linalg.eigh(gram_matrix(noisy, size))
        # sigma sqrt(d): between the usual eigenvalues of the noise, sigma sqrt(d/2), and the largest, sigma sqrt(2d). The
        # scale is in the units of `GridRows.gram`, which holds five times the diagonal in steps of 2^-32.
        spread = self.gram.scale / 5.0 * 2.0**-32 * math.sqrt(size)
        scaled = self.model.smoothness * np.maximum(values, self.floor * spread) + self.strength
        return np.asarray((vectors / scaled) @ vectors.T)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        two, label = Classes((0, 1)), np.array([1, 1])
        rows = np.array([[1.0], [1.0]])
        task = Task(features=1, row_norm=1.0, intercept=False, target=two)
        made = Preconditioned(steps=2).plan(task, Logistic(), Guarantee(1.0, 1e-5))
        pair = ArrayRecords(rows, label), ArrayRecords(rows[:1], label[:1])
        yield Example(made, *pair, Guarantee(1.0, 1e-5), cost="costly", detects=0.25)
        moved = Task(features=1, row_norm=1.0, intercept=False, target=two, unit=Unit("replace"))
        other = Preconditioned(steps=2).plan(moved, Logistic(), Guarantee(rho=0.5))
        yield Example(
            other, pair[1], ArrayRecords(-rows[:1], label[:1]), Guarantee(rho=0.5), cost="costly", detects=0.25
        )
        many = Preconditioned(steps=2).plan(
            Task(features=2, row_norm=1.0, intercept=False, target=two), Logistic(), Guarantee(mu=8.0)
        )
        yield Example(many, *crowd(labels=True), Guarantee(mu=8.0), cost="costly")  # in which the Gram matters
