"""Linear regression from one noisy Gram, the matrix of all sums of products, of rows and targets together."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidData, InvalidParameter
from privet.learn.losses import Loss, Squared
from privet.learn.problem import ArrayRecords, Interval, Records, Task
from privet.learn.solvers.equations import FORM, check_squared, reach, solved
from privet.learn.solvers.exact_totals import STEPS, exact_gram, exact_person_gram
from privet.learn.solvers.half_matrix import from_half, half, needed_for_half, sigma_of, symmetric_noise
from privet.learn.solvers.level import Mean, bought_mean, flat, level_reach, shrunk_mean
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.penalty import NO_PENALTY, Penalty, least_penalised
from privet.learn.solvers.shrinkage import Noise
from privet.learn.solvers.solver import NUMBERS, Solver, SolverExample, register_solver
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian
from privet.mechanisms import Algorithm, Ball, Example, Form, Mechanism, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit

_LEVEL, _TOLD = 0.15, 5  # of a pure epsilon, for the mean of y; with fewer columns the Gram tells it well enough
_LONGEST = 2  # the Gram of one record in Frobenius norm
_SQUARED_REACH = (4, 8)  # the squared sensitivity of the Gram under add/remove and under replace: see `StatisticsFit`


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class SufficientStatistics(Solver):
    """Linear regression from the Gram of (x, y), released once with noise that is the same in all directions.

    How far the equations are trusted is read off the released matrix itself, at no cost. A pure epsilon has noise of the
    kind `Ball`: far more of it, since its length grows with the number of entries; so .15 of it buys the mean of y
    first, where there are an intercept and five columns or more. `ridge` is scikit-learn's alpha.
    `by_person` is for tables about persons with several records: the Grams of a person's records are added up, and clipped
    as one to what a single record may have, so that a person counts for no more than that.

    The answer is (G + ridge I)^-1 b, shrunk where noise is as large as G: (G, b) is the noisy Gram of (x, y). A `penalty`
    is that of `Lasso` and `ElasticNet`, which hand it in: what it makes of the answer is computed from the same release.

    >>> task = Task(features=2, row_norm=1.0, target=Interval(0.0, 1.0))
    >>> plan = SufficientStatistics().plan(task, Squared(), Guarantee(1.0, 1e-6))
    >>> round(plan.noise.sigma, 2)  # twice 4.22: the squared length of (x, y) is at most 2
    8.45
    """

    ridge: float = 0.0
    by_person: bool = False
    penalty: Penalty = NO_PENALTY

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("penalty", self.penalty, Penalty)

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Any]":
        check_squared(task, loss)
        if self.by_person:  # however many records a person has, they are one sum
            task = replace(task, unit=replace(task.unit, group_size=1))
        level, pure = None, target.epsilon is not None and target.delta == 0.0
        if pure and task.intercept and task.features >= _TOLD and not self.by_person:
            first, target = target.split((_LEVEL, 1.0 - _LEVEL))
            level = Ball.for_budget(sensitivity=level_reach(task.unit), **first.keywords())
        made = symmetric_noise(task.dimension + 1, reach(*_SQUARED_REACH, task.unit), target)
        facts: Any = {"ridge": self.ridge, "by_person": self.by_person, "penalty": self.penalty}
        return StatisticsFit(task=task, noise=made, level=level, at=made.at, **facts)

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(), NUMBERS, Squared(), Guarantee(1.0, 1e-5))
        yield SolverExample(cls(), NUMBERS, Squared(), Guarantee(1.0))


@final
@register
@dataclass(frozen=True, kw_only=True)
class StatisticsFit(OnRecords, Algorithm[Any, Any]):
    """The noisy Gram of (x, y), and the coefficients that follow from it.

    **Guarantee:** that of the one release, and of the mean of y where it is bought before.
    **Sensitivity:** sum of y and 3/4 of the number of records: 5/4 (2 under replace). Of the Gram, Frobenius:
    |z|^2 <= 2 for z = (x, y) with |x|, |y| <= 1 under add/remove; 2 sqrt2 under replace. With `by_person`, which is run
    by `PersonFit`, the same for a person, whose Gram is clipped to 2.
    **Reference:** Vu & Slavkovic 2009; Foulds et al. 2016; Wang 2018.
    **Proof:** docs/proofs/learn/sufficient_statistics.md.
    """

    name = "sufficient_statistics_fit"
    one_pass = by_totals = True

    task: Task
    ridge: float
    noise: SymmetricGaussian | Ball
    at: float | None = field(default=None, repr=False)
    by_person: bool = False
    penalty: Penalty = NO_PENALTY
    level: Ball | None = None  # for the mean of y, of a pure fit with an intercept

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("penalty", self.penalty, Penalty)
        if self.level is not None:
            check_reach("level", instance("level", self.level, Ball).sensitivity, level_reach(self.task.unit))
            if self.by_person or not self.task.intercept:
                raise InvalidParameter("level is for the mean of y beside an intercept, of records one by one")
        if self.by_person and self.task.unit.group_size != 1:
            raise InvalidParameter("the sum of a person is one, however many records it is of: plan it for one")
        instance("noise", self.noise, SymmetricGaussian, Ball)
        needed = reach(*_SQUARED_REACH, self.task.unit)
        if isinstance(self.noise, Ball):
            needed = needed_for_half(needed)
        elif self.noise.size != self.task.dimension + 1:
            raise InvalidParameter("the noise was made for a matrix of another size")
        check_reach("noise", self.noise.sensitivity, needed)

    @property
    def loss(self) -> PrivacyLoss:
        return self.noise.loss if self.level is None else Composed((self.level.loss, self.noise.loss))

    @property
    def form(self) -> Form:
        return FORM

    def _admit(self, value: Any) -> None:
        super()._admit(value)
        if self.by_person and not value.about_persons:
            raise InvalidData("by_person adds up the records of each person: fit a table about persons")

    def _exact_gram(self, records: Records) -> Any:
        if self.by_person:
            return exact_person_gram(self.task, records, _LONGEST)
        return exact_gram(self.task, records, targets=True)

    def _run(self, prepared: Records, source: Source) -> dict[str, Any]:
        size = self.task.dimension
        exact = self._exact_gram(prepared)
        mean = None if self.level is None else bought_mean(self.level, self.task, exact, source)
        moments = self._released(exact, source)
        gram, cross = moments[:size, :size], moments[:size, size]
        # Twice: how trustworthy the equations are depends on the residuals, and those on the coefficients. The variance
        # of the residuals, sum (y - x w)^2 / n, is read off the released matrix too; unit targets have at most 1.
        w, many = self._answer(gram, cross, mean, 0.0)["coefficients"], _records(self.task, gram)
        squares = float(moments[size, size] - 2.0 * w @ cross + w @ gram @ w)
        made = self._answer(gram, cross, mean, min(1.0, max(squares, 0.0) / max(many, 1.0)))
        if self.penalty != NO_PENALTY:
            about = self.penalty.on_unit_rows(self.task, max(many, 1.0))
            made["coefficients"] = least_penalised(made["coefficients"], gram, about)
        return made

    def _answer(self, gram: Array, cross: Array, mean: Mean | None, residual: float) -> dict[str, Any]:
        """The answer to the released equations; where a mean of y was bought, coefficients are moved from it."""
        task, size = self.task, self.task.dimension
        sigma = sigma_of(self.noise, size + 1)
        off_diagonal = sigma * 0.5**0.5  # the standard deviation there, as in `cross`; on the diagonal it is sigma
        edge = sigma * (2.0 * size) ** 0.5  # how large the noise's own eigenvalues are: smaller ones say nothing
        noise = Noise(sigma, off_diagonal, residual)
        made = solved(task, gram, cross, np.zeros(size), noise, edge, self.ridge)
        if mean is not None:
            start = flat(task, round(STEPS * shrunk_mean(mean.value, mean.noise)))
            louder = noise._replace(
                cross=off_diagonal * float(np.sqrt(1.0 + start @ start))
            )  # the Gram's noise times it
            moved = solved(task, gram, cross - gram @ start, start, louder, edge, self.ridge, mean.about(task))
            made["coefficients"] = moved["coefficients"]  # intervals are those of the equations alone
        return made

    def _released(self, gram: object, source: Source) -> Array:
        """The noisy matrix: `SymmetricGaussian` takes it as it is, `Ball` as a vector of its half."""
        if isinstance(self.noise, SymmetricGaussian):
            return np.asarray(self.noise.release(gram, source=source).value)
        return from_half(self.noise.release(half(gram), source=source).value, self.task.dimension + 1)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows, goals = np.array([[0.6, -0.8], [0.0, 1.0], [1.0, 0.0]]), np.array([0.2, 1.0, -1.0])
        task = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0))
        made = SufficientStatistics().plan(task, Squared(), Guarantee(1.0, 1e-5))
        yield Example(
            made, ArrayRecords(rows, goals), ArrayRecords(rows[:2], goals[:2]), Guarantee(1.0, 1e-5), cost="costly"
        )
        moved = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0), unit=Unit("replace"))
        pure = SufficientStatistics().plan(moved, Squared(), Guarantee(1.0))
        one = np.array([[1.0]])
        yield Example(
            pure, ArrayRecords(one, np.ones(1)), ArrayRecords(one, -np.ones(1)), Guarantee(1.0), cost="costly"
        )
        corner = SufficientStatistics(penalty=Penalty(l1=0.1, l2=0.1)).plan(task, Squared(), Guarantee(1.0))
        yield Example(
            corner, ArrayRecords(rows, goals), ArrayRecords(rows[:2], goals[:2]), Guarantee(1.0), cost="costly"
        )
        wide = Task(features=_TOLD, row_norm=1.0, target=Interval(-1.0, 1.0))  # the mean is bought
        most = np.vstack([np.eye(_TOLD), -np.eye(_TOLD)])
        pair = ArrayRecords(most, np.ones(len(most))), ArrayRecords(most[1:], np.ones(len(most) - 1))
        yield Example(
            SufficientStatistics().plan(wide, Squared(), Guarantee(1.0)), *pair, Guarantee(1.0), cost="costly"
        )


def _records(task: Task, gram: Array) -> float:
    """About how many records there are, from the noisy Gram: exact but for the noise where there is a constant column,
    else as if every row had the length 1.
    """
    if not task.intercept:
        return float(np.trace(gram))
    # A unit row holds (row_norm, constant)/length, so that the square of its constant is this divisor.
    return float(gram[-1, -1]) / (1.0 - (task.row_norm / task.length) ** 2)
