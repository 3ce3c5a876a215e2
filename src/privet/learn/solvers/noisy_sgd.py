"""Noisy stochastic gradient descent: every step looks at a Poisson sample of the records."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.accounting import calibrate
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, GridRows, Records, Task, gradient_grid, gradient_reach
from privet.learn.solvers.budget import clip_for, in_units, shape_of
from privet.learn.solvers.on_records import OnRecords
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Gaussian, Mechanism, Source, register
from privet.privacy import Composed, GaussianLoss, Grouped, Guarantee, PoissonSampled, PrivacyLoss, Repeated, Unit


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class NoisySGD(Solver):
    """Gradient descent on Poisson samples, each gradient clipped to `clip_norm`, with normal noise on every sum.

    `rows` is the public number of records: every step divides by q `rows`, the number that is expected, never by the
    number that was drawn, which is secret. `step_size` is for the mean loss of unit rows. The noise comes from the privacy
    loss distribution of all steps.

    The answer is the mean of w over the later half of the steps. A step is
    w <- w - eta ((sum of clip(g_i, C) over the sample + N(0, z^2 C^2 I))/(q n) + strength w/n).

    >>> task = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
    >>> plan = NoisySGD(rows=1_000, q=0.1, steps=50).plan(task, Logistic(), Guarantee(1.0, 1e-6))
    >>> plan.expected_batch, bool(plan.noise.loss.noise_multiplier < 4.0)
    (100.0, True)
    """

    rows: int
    q: float = 0.05
    steps: int = 200
    clip_norm: float | None = None
    step_size: float | None = None
    strength: float = 0.0

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        if target.epsilon is not None and target.delta == 0.0:
            raise NoGuarantee("NoisySGD has normal noise, which has no pure guarantee: give delta")
        clip_norm = clip_for(loss, self.clip_norm)
        multiplier = sampled_multiplier(target, self.q, self.steps, task.unit)
        one = gradient_reach(clip_norm, Unit())  # of one record; what the task's unit makes of it is in `step_price`
        return NoisySGDFit(
            task=task,
            model=loss,
            clip_norm=clip_norm,
            steps=self.steps,
            q=self.q,
            step_size=2.0 / loss.smoothness if self.step_size is None else self.step_size,
            strength=self.strength,
            rows=self.rows,
            # slightly more, so that rounding leaves no less noise than was asked for
            noise=Gaussian(scale=multiplier * float(one) * (1.0 + 2.0**-40), sensitivity=one),
            at=target.delta or None,
        )

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(rows=6, q=0.5, steps=2), TWO_CLASSES, Logistic(), Guarantee(1.0, 1e-5))


@lru_cache(maxsize=256)
def sampled_multiplier(target: Guarantee, q: float, steps: int, unit: Unit) -> float:
    """The least noise multiplier, relative to the clipping norm, at which all steps keep the promise.

    >>> round(sampled_multiplier(Guarantee(1.0, 1e-5), 0.1, 50, Unit()), 1)
    2.9
    """
    return calibrate(
        lambda z: Repeated(step_price(GaussianLoss(z), q, unit), steps),
        epsilon=target.epsilon,
        delta=target.delta if target.epsilon is not None else None,
        rho=target.rho,
        mu=target.mu,
    )


def step_price(one: PrivacyLoss, q: float, unit: Unit) -> PrivacyLoss:
    """The price of one step: of a release on a Poisson sample, for the unit of the task.

    Replacing a record is removing one and adding another; a person with k records is a group of k.

    >>> step_price(GaussianLoss(4.0), 0.01, Unit("replace")).unit.relation
    'replace'
    """
    sampled: PrivacyLoss = PoissonSampled(one, q)
    if unit.relation == "replace":
        return Grouped(sampled, 2 * unit.group_size, "replace")
    return sampled if unit.group_size == 1 else Grouped(sampled, unit.group_size)


@final
@register
@dataclass(frozen=True, kw_only=True)
class NoisySGDFit(OnRecords, Algorithm[Any, Any]):
    """Noisy gradient descent on Poisson samples: the coefficients, as the mean over the later half of the steps.

    **Guarantee:** `steps` releases of `noise` on samples to which every record belongs with probability `q`.
    **Sensitivity:** l2: a record's gradient is clipped to `clip_norm`.
    **Reference:** Abadi et al. 2016; Mironov, Talwar & Zhang 2019; Zhu, Dong & Wang 2022.
    **Proof:** docs/proofs/learn/noisy_sgd.md.
    """

    name = "noisy_sgd_fit"

    task: Task
    model: Loss
    clip_norm: float
    steps: int
    q: float
    step_size: float
    strength: float
    rows: int
    noise: Gaussian
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, Gaussian)
        needed = gradient_reach(self.clip_norm, Unit())
        if self.noise.sensitivity.value < needed.value or self.noise.sensitivity.unit != Unit():
            raise InvalidParameter("the noise must be made for one record that is added or removed, and this clip norm")

    @property
    def expected_batch(self) -> float:
        """By what a sum is divided: public, unlike the number of records that were drawn."""
        return self.q * self.rows

    @property
    def loss(self) -> PrivacyLoss:
        return Repeated(step_price(self.noise.loss, self.q, self.task.unit), self.steps)

    def _run(self, prepared: Records, source: Source) -> Array:
        data = GridRows(self.task, prepared)
        exponent, size = gradient_grid(self.clip_norm).exponent, data.exact_count()
        w = np.zeros(shape_of(self.task, self.model))
        added, many = np.zeros_like(w), 0
        for step in range(self.steps):
            drawn = self._coins("sample", lambda s: noise.poisson_subset(size, q=self.q, source=s), source)
            sample = data.picked(drawn)  # a replay may hold the coins of a record that is not here: it is passed over
            # A release on a sample costs less than the same release on all records: `_priced` says how much.
            with self._priced(lambda parts: step_price(Composed(parts), self.q, self.task.unit)):
                total = sample.gradient(self.model, w, self.clip_norm)
                noisy = in_units(self.noise.release(total, source=source).value, exponent)
            w = w - self.step_size * (noisy / self.expected_batch + self.strength / self.rows * w)
            if 2 * step >= self.steps - 1:  # the later half: the steps before are still on their way
                added, many = added + w, many + 1
        return added / many

    @classmethod
    def examples(cls) -> Iterable[Example]:
        two, labels = Classes((0, 1)), np.array([1, 0, 1])
        rows = np.array([[1.0], [0.5], [1.0]])
        task = Task(features=1, row_norm=1.0, intercept=False, target=two)
        made = NoisySGD(rows=3, q=0.5, steps=2).plan(task, Logistic(), Guarantee(1.0, 1e-5))
        pair = ArrayRecords(rows, labels), ArrayRecords(rows[:2], labels[:2])
        yield Example(made, *pair, Guarantee(1.0, 1e-5), cost="costly", detects=0.25)
