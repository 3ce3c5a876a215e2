"""Boosted sufficient statistics: a noisy mean and Gram, then noisy products with residuals, each clipped closer."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.losses import Loss, Squared
from privet.learn.problem import ArrayRecords, Interval, Records, Task
from privet.learn.problem.crowd import crowd
from privet.learn.solvers.budget import whole_mu
from privet.learn.solvers.equations import FORM, check_squared, reach, solved
from privet.learn.solvers.exact_totals import STEPS, Factors, WholeRows, margins_by
from privet.learn.solvers.level import (
    LOOSE,
    Mean,
    again_share,
    bought_mean,
    distances,
    flat,
    level_reach,
    nearer,
    shrunk_mean,
    whole_constant,
)
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.shrinkage import Noise, shrunk
from privet.learn.solvers.solver import NUMBERS, Solver, SolverExample, register_solver
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian
from privet.mechanisms import Algorithm, Example, Form, Gaussian, Mechanism, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit

_SHARES = {"gram": 0.4, "first": 0.25, "spread": 0.05, "second": 0.3}
_LEVEL = 0.1  # of mu^2, for the mean of y where there is an intercept; the others share the rest
_SLACK = 2.0**-40  # more noise than shares of a budget need, so that rounding cannot take more than there is
_FAINT = 0.015  # noise of the first product, for one record, below which targets far from the level are not clipped
_WIDTH = 3.0  # residuals are clipped at so many of their standard deviations
_CLIPS = tuple(2.0 ** (-k / 2.0) for k in range(16))  # one of them, which the spread names, is released


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class BoostedSSP(Solver):
    """Linear regression from one noisy Gram and two noisy products: with the targets, then with clipped residuals.

    Bounds on y are often wide; residuals are small. With an intercept, a tenth of the budget buys the mean of y and the
    number of records. These say how much of the rest the mean needs: none with many records, all with too few for slopes;
    then the fit predicts that mean. The first round finds a start, a small share buys the spread of what is left, and the
    second round asks for the product with residuals that are clipped at three times that: its noise, and what the noise of
    the Gram does, shrink with it. `ridge` is scikit-learn's alpha.

    The answer is s w_0 + (G + ridge)^-1 (s c + (1 - s) b), G the noisy Gram, b the first noisy product, w_0 its solution,
    c = sum_i x_i clip(y_i - x_i w_0) + noise. The share s is near 1 where residuals are small, so that c has less noise.

    >>> plan = BoostedSSP().plan(Task(features=2, row_norm=1.0, target=Interval(0.0, 1.0)), Squared(), Guarantee(1.0, 1e-6))
    >>> [round(part.scale, 2) for part in (plan.level, plan.gram.noise, plan.first, plan.spread, plan.second)]
    [16.7, 7.04, 8.91, 28.16, 8.13]
    """

    ridge: float = 0.0

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Any]":
        check_squared(task, loss)
        mu, unit = whole_mu(target, "BoostedSSP"), task.unit
        left = 1.0 - _LEVEL if task.intercept else 1.0
        share = {name: mu * math.sqrt(left * part) for name, part in _SHARES.items()}
        level = (
            Gaussian.for_budget(mu=mu * math.sqrt(_LEVEL), sensitivity=level_reach(unit)) if task.intercept else None
        )
        gram = SymmetricGaussian.for_budget(mu=share["gram"], size=task.dimension, sensitivity=reach(1, 2, unit))
        return BoostedFit(
            task=task,
            ridge=self.ridge,
            level=level,
            gram=gram,
            first=Gaussian.for_budget(mu=share["first"], sensitivity=reach(1, 4, unit)),
            spread=Gaussian.for_budget(mu=share["spread"], sensitivity=reach(2, 1, unit)),
            second=Gaussian.for_budget(mu=share["second"], sensitivity=reach(1, 4, unit)),
            at=target.delta or None,
        )

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(), NUMBERS, Squared(), Guarantee(1.0, 1e-5))


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoostedFit(OnRecords, Algorithm[Any, Any]):
    """Noisy mean of targets, Gram, product with targets, spread of residuals, product with clipped residuals.

    **Guarantee:** the composition of the normal releases: five, or four where there is no intercept. A mean that is bought
    again is paid out of the last four: their noise grows by as much, and with too few records for slopes they are left out.
    **Sensitivity:** on unit rows and targets in [-1, 1]: sum of targets and 3/4 of the number of records 5/4 (2 under
    replace), second sum of targets 1 (2), with their number as the first one; Gram 1 (sqrt2, Frobenius), products 1 (2),
    squared residuals and the number of records sqrt2 (1).
    **Reference:** Wang 2018; Tang et al. 2023.
    **Proof:** docs/proofs/learn/boosted_ssp.md.
    """

    name = "boosted_ssp_fit"
    by_totals = True

    task: Task
    ridge: float
    gram: SymmetricGaussian
    first: Gaussian
    spread: Gaussian
    second: Gaussian
    level: Gaussian | None = None  # of an intercept
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        unit = self.task.unit
        for part, bound in (("first", reach(1, 4, unit)), ("spread", reach(2, 1, unit)), ("second", reach(1, 4, unit))):
            check_reach(part, instance(part, getattr(self, part), Gaussian).sensitivity, bound)
        if self.level is not None:
            check_reach("level", instance("level", self.level, Gaussian).sensitivity, level_reach(unit))
        if (self.level is None) == self.task.intercept:
            raise InvalidParameter(
                "level is the part for the intercept: there must be one with an intercept, else none"
            )
        check_reach("gram", instance("gram", self.gram, SymmetricGaussian).sensitivity, reach(1, 2, unit))
        if self.gram.size != self.task.dimension:
            raise InvalidParameter("gram was made for a matrix of another size")

    @property
    def loss(self) -> PrivacyLoss:
        levels = () if self.level is None else (self.level.loss,)
        return Composed((*levels, self.gram.loss, self.first.loss, self.spread.loss, self.second.loss))

    @property
    def form(self) -> Form:
        return FORM

    def _run(self, prepared: Records, source: Source) -> dict[str, Any]:
        task = self.task
        data = WholeRows(task, prepared)
        moments = data.exact_gram()
        if self.level is None:
            return self._with_slopes(data, moments, Mean(0.0, 0.0, 1.0), source)
        mean = bought_mean(self.level, task, moments, source)
        share = again_share(mean, self._again(1.0).sigma, self.first.sigma * task.dimension)
        if share > 0.0:
            many = int(moments[-2, -2]) // whole_constant(task) ** 2 if share == 1.0 and mean.loose > LOOSE else None
            mean = nearer(self._again(share, many is not None), task, data, mean, source, many)
        mean = mean._replace(value=shrunk_mean(mean.value, mean.noise))
        if share == 1.0:
            return _without_slopes(task, mean)
        return self._louder(share)._with_slopes(data, moments, mean, source)

    def _again(self, share: float, counted: bool = False) -> Gaussian:
        """Noise for a sum of targets (and the number of records), for a share of what the parts after the level cost."""
        parts, unit = (self.gram, self.first, self.spread, self.second), self.task.unit
        mu = math.sqrt(share * sum(part.loss.gaussian() ** 2 for part in parts)) * (1.0 - _SLACK)
        return Gaussian.for_budget(mu=mu, sensitivity=level_reach(unit) if counted else reach(1, 4, unit))

    def _louder(self, share: float) -> "BoostedFit":
        """This fit without that share of what the parts after the level cost."""
        if share == 0.0:
            return self
        factor = (1.0 + _SLACK) / math.sqrt(1.0 - share)
        parts = {name: getattr(self, name) for name in ("first", "spread", "second")}
        made = {name: replace(part, scale=factor * part.scale) for name, part in parts.items()}
        gram = replace(self.gram, noise=replace(self.gram.noise, scale=factor * self.gram.sigma))
        return replace(self, gram=gram, **made)

    def _with_slopes(self, data: WholeRows, moments: Array, mean: Mean, source: Source) -> dict[str, Any]:
        task, level = self.task, round(STEPS * mean.value)
        gram = np.asarray(self.gram.release(moments[:-1, :-1], source=source).value)
        noisy = self.first.sigma * math.sqrt(task.dimension) > _FAINT * mean.records
        totals, farthest = _products(task, data, moments, level, noisy)
        cross = float(farthest) * _released(self.first, totals, source, farthest)
        start, about = flat(task, level), mean.about(task)
        known = Noise(self.gram.sigma, float(farthest) * self.first.sigma)
        moved = shrunk(gram, cross, known, constant=task.intercept, about=about)
        product, others = data.exact_cross(residuals(start + moved), _CLIPS)
        squares, many = _released(self.spread, others, source)
        clip = clip_of(float(squares), float(many), self.spread.sigma)
        rest = _CLIPS[clip] * _released(self.second, product(clip), source)
        left = max(float(squares), 0.0) / max(float(many), 1.0)
        later = Noise(self.gram.sigma, _CLIPS[clip] * self.second.sigma, left)
        share = later_share(known, later, moved)
        both, noise = share * rest + (1.0 - share) * cross, pooled(known, later, share)
        return solved(task, gram, both, start + share * moved, noise, self.gram.edge, self.ridge, about)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows, goals = np.array([[0.6, -0.8], [0.0, 1.0], [1.0, 0.0]]), np.array([0.2, 1.0, -1.0])
        task = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0))
        made = BoostedSSP().plan(task, Squared(), Guarantee(16.0, 1e-5))  # less, and three records show nothing at all
        left, right = ArrayRecords(rows, goals), ArrayRecords(rows[:2], goals[:2])
        yield Example(made, left, right, Guarantee(16.0, 1e-5), cost="costly")
        moved = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0), unit=Unit("replace"))
        other = BoostedSSP().plan(moved, Squared(), Guarantee(mu=1.0))
        one = np.array([[1.0]])
        yield Example(
            other, ArrayRecords(one, np.ones(1)), ArrayRecords(one, -np.ones(1)), Guarantee(mu=1.0), cost="costly"
        )
        yield _steered()
        bounded: dict[str, Any] = {"features": 2, "row_norm": 1.0, "target": Interval(-1.0, 1.0)}
        for task, mu in (
            (Task(**bounded, intercept=False), 4.0),
            (Task(**bounded), 0.3),
        ):  # the second buys its mean twice
            made = BoostedSSP().plan(task, Squared(), Guarantee(mu=mu))
            yield Example(made, *crowd(), Guarantee(mu=mu), cost="costly")


def _steered() -> Example:
    """A pair with enough records for slopes, in which the last one, far off the line, moves the spread of residuals across
    an edge between two clips."""
    turn = np.pi * np.arange(400) * (3.0 - 5.0**0.5)
    rows = 0.6 * np.column_stack([np.cos(turn), np.sin(turn)]) * np.sqrt((np.arange(400) % 20 + 0.5) / 20.0)[:, None]
    goals = rows @ [0.5, -0.3] + 0.148 * np.tile([1.0, -1.0, -1.0, 1.0], 100)
    rows, goals = np.vstack([rows, [[1.0, 0.0]]]), np.append(goals, -1.0)
    made = BoostedSSP().plan(Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0)), Squared(), Guarantee(mu=4.0))
    return Example(
        made, ArrayRecords(rows, goals), ArrayRecords(rows[:-1], goals[:-1]), Guarantee(mu=4.0), cost="costly"
    )


def clip_of(squares: float, many: float, sigma: float) -> int:
    """Which of the clips the noisy spread names: about three standard deviations of the residuals, a little too wide rather
    than too narrow.

    >>> clip_of(1.0, 100.0, 0.0), clip_of(-5.0, 100.0, 0.0), clip_of(90.0, 100.0, 0.0)
    (3, 15, 0)
    """
    variance = max(squares + sigma, sigma) / max(many, 1.0)
    return max(i for i, each in enumerate(_CLIPS) if i == 0 or each >= _WIDTH * math.sqrt(variance))


def _without_slopes(task: Task, mean: Mean) -> dict[str, Any]:
    """The answer that predicts the mean for every row. Nothing is known about slopes."""
    size, made = task.dimension, flat(task, round(STEPS * mean.value))
    unknown = {"covariance": np.full((size, size), np.inf), "gram": np.zeros((size, size)), "noise": np.zeros(4)}
    return {"coefficients": made, "center": made, "start": made, **unknown}


def _products(task: Task, data: WholeRows, moments: Array, level: int, noisy: bool) -> tuple[Any, Fraction]:
    """The exact sum of unit row times (target - level), and how far from the level a target can be: not releasable.

    Where noise is large, distances beyond 1, which are rare, are clipped: that costs less than the noise for them.
    """
    if level and noisy:
        return data.exact_cross(distances(level), (1.0,))[0](0), Fraction(1)
    return exact_products(task, moments, level), Fraction(STEPS + abs(level), STEPS)


def exact_products(task: Task, moments: Array, level: int) -> Any:
    """The exact sum of unit row times (target - level), in steps of 2^-42: not releasable."""
    if level == 0:
        return moments[:-1, -1]
    rows = moments[:-1, -2] // whole_constant(task)  # the sum of unit rows, without a rest
    return moments[:-1, -1] - level * rows


def later_share(first: Noise, later: Noise, moved: Array) -> float:
    """The weight of the second product beside the first, which also bears what the Gram's noise does to its solution.

    >>> one = Noise(1.0, 1.0)
    >>> later_share(one, one, np.zeros(1)), later_share(one, one, np.array([2.0]))
    (0.5, 0.75)
    """
    one = first.cross**2 + 0.5 * first.gram**2 * float(moved @ moved)
    return one / (one + later.cross**2)


def pooled(first: Noise, later: Noise, share: float) -> Noise:
    """Of (1 - share) times the first product and share times the second one.

    >>> pooled(Noise(1.0, 1.0), Noise(1.0, 2.0), 0.0)
    Noise(gram=1.0, cross=1.0, residual=0.0)
    """
    return Noise(later.gram, math.hypot((1.0 - share) * first.cross, share * later.cross), later.residual)


def residuals(weights: Array) -> Factors:
    """y - x.w of every record by itself, for rows in whole steps: not releasable."""
    margins = margins_by(weights)
    return lambda rows, goals: np.asarray(goals - margins(rows))


def _released(part: Gaussian, totals: Any, source: Source, unit: Fraction = Fraction(1)) -> Array:
    return np.asarray(part.release([Fraction(int(each), STEPS**2) / unit for each in totals], source=source).value)
