"""Boosted sufficient statistics: one noisy Gram, then rounds of noisy products with residuals, each clipped closer."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import at_least, instance, set_frozen
from privet.errors import InvalidParameter
from privet.learn.losses import Loss, Squared
from privet.learn.problem import ArrayRecords, Interval, Records, Task
from privet.learn.solvers.budget import whole_mu
from privet.learn.solvers.equations import FORM, check_squared, penalties, reach, solved
from privet.learn.solvers.exact_totals import STEPS, Factors, exact_cross, exact_gram, exact_margins
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.shrinkage import Noise, shrunk
from privet.learn.solvers.solver import Solver
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian
from privet.mechanisms import Algorithm, Gaussian, Mechanism
from privet.mechanisms.form import Form
from privet.mechanisms.mechanism import Example, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit

_SHARES = {"gram": 0.4, "first": 0.25, "spread": 0.05, "second": 0.3}
_WIDTH = 3.0  # residuals are clipped at so many of their standard deviations
_CLIPS = tuple(2.0 ** (-k / 2.0) for k in range(16))  # all are tried in one pass; one of them is released


@final
@dataclass(frozen=True, kw_only=True)
class BoostedSSP(Solver):
    """Linear regression from one noisy Gram and two noisy products: with the targets, then with clipped residuals.

    Bounds on y are often wide; residuals are small. The first round finds a start, a small share of the budget buys the
    spread of what is left, and the second round asks for the product with residuals that are clipped at three times that:
    its noise, and what the noise of the Gram does, shrink with it. `ridge` is scikit-learn's alpha.

    The answer is w_0 + (G + ridge)^-1 (sum_i x_i clip(y_i - x_i w_0) + noise), G the noisy Gram, w_0 the first
    solution.

    >>> plan = BoostedSSP().plan(Task(features=2, row_norm=1.0, target=Interval(0.0, 1.0)), Squared(), Guarantee(1.0, 1e-6))
    >>> [round(part.scale, 2) for part in (plan.gram.noise, plan.first, plan.spread, plan.second)]
    [6.68, 8.45, 26.72, 7.71]
    """

    ridge: float = 0.0

    def __post_init__(self) -> None:
        set_frozen(self, ridge=at_least("ridge", self.ridge, 0.0))

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Any]":
        check_squared(task, loss)
        mu, unit = whole_mu(target, "BoostedSSP"), task.unit
        share = {name: mu * math.sqrt(part) for name, part in _SHARES.items()}
        gram = SymmetricGaussian.for_budget(mu=share["gram"], size=task.dimension, sensitivity=reach(1, 2, unit))
        return BoostedFit(
            task=task,
            ridge=self.ridge,
            gram=gram,
            first=Gaussian.for_budget(mu=share["first"], sensitivity=reach(1, 4, unit)),
            spread=Gaussian.for_budget(mu=share["spread"], sensitivity=reach(2, 1, unit)),
            second=Gaussian.for_budget(mu=share["second"], sensitivity=reach(1, 4, unit)),
            at=target.delta or None,
        )


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoostedFit(OnRecords, Algorithm[Any, Any]):
    """Noisy Gram, noisy product with targets, noisy spread of residuals, noisy product with clipped residuals.

    **Guarantee:** the composition of the four normal releases.
    **Sensitivity:** on unit rows and targets in [-1, 1]: Gram 1 (sqrt2 under replace, Frobenius), products 1 (2), squared
    residuals and the number of records sqrt2 (1).
    **Reference:** Wang 2018; Tang et al. 2023.
    **Proof:** docs/proofs/learn/boosted_ssp.md.
    """

    name = "boosted_ssp_fit"

    task: Task
    ridge: float
    gram: SymmetricGaussian
    first: Gaussian
    spread: Gaussian
    second: Gaussian
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        instance("task", self.task, Task)
        set_frozen(self, ridge=at_least("ridge", self.ridge, 0.0))
        unit = self.task.unit
        for part, bound in (("first", reach(1, 4, unit)), ("spread", reach(2, 1, unit)), ("second", reach(1, 4, unit))):
            check_reach(part, instance(part, getattr(self, part), Gaussian).sensitivity, bound)
        check_reach("gram", instance("gram", self.gram, SymmetricGaussian).sensitivity, reach(1, 2, unit))
        if self.gram.size != self.task.dimension:
            raise InvalidParameter("gram was made for a matrix of another size")

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.gram.loss, self.first.loss, self.spread.loss, self.second.loss))

    @property
    def form(self) -> Form:
        return FORM

    def _run(self, prepared: Records, source: Source) -> dict[str, Any]:
        task = self.task
        moments = exact_gram(task, prepared, targets=True)
        gram = np.asarray(self.gram.release(moments[:-1, :-1], source=source).value)
        cross = _released(self.first, moments[:-1, -1], source)
        ridged = gram + np.diag(penalties(task, self.ridge))
        start = shrunk(ridged, cross, Noise(self.gram.sigma, self.first.sigma), constant=task.intercept)
        products, others = exact_cross(task, prepared, residuals(start), _CLIPS)
        squares, many = _released(self.spread, others, source)
        variance = max(float(squares) + self.spread.sigma, self.spread.sigma) / max(float(many), 1.0)
        place = max(i for i, each in enumerate(_CLIPS) if i == 0 or each >= _WIDTH * math.sqrt(variance))
        clip = _CLIPS[place]
        rest = clip * _released(self.second, products[place], source)
        noise = Noise(self.gram.sigma, clip * self.second.sigma, max(float(squares), 0.0) / max(float(many), 1.0))
        return solved(task, gram, rest, start, noise, self.gram.edge, self.ridge)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows, goals = np.array([[0.6, -0.8], [0.0, 1.0], [1.0, 0.0]]), np.array([0.2, 1.0, -1.0])
        task = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0))
        made = BoostedSSP().plan(task, Squared(), Guarantee(1.0, 1e-5))
        left, right = ArrayRecords(rows, goals), ArrayRecords(rows[:2], goals[:2])
        yield Example(made, left, right, Guarantee(1.0, 1e-5), cost="dear")
        moved = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0), unit=Unit("replace"))
        other = BoostedSSP().plan(moved, Squared(), Guarantee(mu=1.0))
        one = np.array([[1.0]])
        yield Example(
            other, ArrayRecords(one, np.ones(1)), ArrayRecords(one, -np.ones(1)), Guarantee(mu=1.0), cost="dear"
        )


def residuals(weights: Array) -> Factors:
    """y - x.w of every record by itself, for rows in whole steps: not releasable."""
    return lambda rows, goals: np.asarray(goals - exact_margins(rows, weights))


def _released(part: Gaussian, totals: Any, source: Source) -> Array:
    return np.asarray(part.release([Fraction(int(each), STEPS**2) for each in totals], source=source).value)
