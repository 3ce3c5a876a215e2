"""Objective perturbation: the minimiser of the objective with a random linear term."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, final, get_args

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array, bisect
from privet._validate import above, fraction, instance, open_fraction, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn.losses import HuberHinge, Logistic, Loss, Softmax
from privet.learn.problem import ArrayRecords, Classes, Records, Task
from privet.learn.solvers.analyses import (
    Analysis,
    Point,
    cms11_price,
    ends,
    jacobian_of,
    least_strength,
    proved_price,
    proved_sigma,
    pure_price,
    rkw_curvature,
)
from privet.learn.solvers.budget import shape_of
from privet.learn.solvers.minimise import Objective, minimiser
from privet.learn.solvers.on_records import OnRecords
from privet.learn.solvers.solver import TWO_CLASSES, Solver, SolverExample, register_solver
from privet.learn.solvers.tolerance import chosen_tolerance, least_tolerance, linear_grid
from privet.mechanisms import Ball, ErrorBar, Example, Gaussian, Mechanism, Sensitivity, Source, register
from privet.noise import Grid
from privet.privacy import (
    Composed,
    Guarantee,
    ObjectivePerturbationLoss,
    PrivacyLoss,
    PureLoss,
    SoftmaxPerturbationLoss,
    Unit,
    analytic_noise_multiplier,
)

_SHARE = 0.005  # of epsilon and of delta, for the noise that covers what separates a minimum from a computed one
_ROUNDED = 0.02  # where the price is one point: what accountants round when they compose it, too
_STRENGTH_OF_CLASSES = 8.0  # times 1/epsilon: with less, determinants cost more than a weaker regulariser gives


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation(Solver):
    """Minimise the loss plus a regulariser plus a random linear term; then a little noise on the minimum.

    The strength of the regulariser, on the scale of unit rows and sums, is 1/epsilon up to epsilon 1/2, a quarter of that
    from epsilon 2 on, and in between 1/(2 epsilon^2), unless `strength` says otherwise; for several classes it is
    8/epsilon, since a record then changes the Hessian in as many directions as there are other classes.

    The answer is argmin sum_i psi(x_i w; y_i) + strength |w|^2/2 + b w with b ~ N(0, sigma^2 I), plus a little noise.

    `analysis` names the theorem that prices it: "sharp" (the usual one, with the least noise), or, to compare, "rkw"
    (Redberg, Koskela & Wang 2023), "kst12" (Kifer, Smith & Thakurta 2012), "amp" (Iyengar et al. 2019), and for a pure
    epsilon "cms11" (Chaudhuri, Monteleoni & Sarwate 2011). They need a stronger regulariser, which they then get.

    `tolerance` is how short a gradient has to be at the computed minimum: 1e-7, or more where the linear term is so large
    that less means nothing.

    >>> task = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
    >>> plan = ObjectivePerturbation().plan(task, Logistic(), Guarantee(1.0, 1e-6))
    >>> plan.strength, round(plan.sigma, 1)
    (0.5, 4.6)
    """

    strength: float | None = None
    tolerance: float | None = None
    analysis: Analysis = "sharp"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.analysis not in get_args(Analysis):
            raise InvalidParameter(f"analysis must be one of {', '.join(get_args(Analysis))}")
        if self.strength is not None:
            set_frozen(self, strength=above("strength", self.strength, 0.0))

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        if loss.outputs != 1 and self.analysis != "sharp":
            raise InvalidParameter(
                'the published analyses are of one margin: for several classes take analysis="sharp"'
            )
        if target.epsilon is None:
            raise InvalidParameter(
                "objective perturbation is planned for epsilon (and delta); for rho or mu take NoisyGD()"
            )
        if task.unit.group_size != 1:
            raise InvalidParameter("objective perturbation is priced for persons with one record each; take NoisyGD()")
        pure = target.delta == 0.0
        if self.analysis != "sharp" and pure != (self.analysis == "cms11"):
            raise InvalidParameter('"cms11" is for a pure epsilon, "rkw", "kst12" and "amp" are for a delta')
        strength = self._strength(loss, target.epsilon)
        if pure:
            return PureObjectiveFit.planned(task, loss, target.epsilon, strength, self.tolerance, self.analysis)
        return ObjectiveFit.planned(task, loss, target, strength, self.tolerance, self.analysis)

    def _strength(self, loss: Loss, epsilon: float) -> float:
        least = least_strength(self.analysis, loss, epsilon * (1.0 - _ROUNDED)) * (1.0 + 2.0**-30)
        if self.analysis == "rkw" and self.strength is None:
            least *= 2.0  # at the smoothness itself there is no price
        if self.strength is None and loss.outputs > 1:
            return _STRENGTH_OF_CLASSES / epsilon
        if self.strength is None:
            return max(default_strength(epsilon) * loss.smoothness * 4.0, least)
        if self.strength < least:
            raise InvalidParameter(f"this analysis needs a strength of at least {least:.6g} here")
        return self.strength

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(strength=1.0), TWO_CLASSES, Logistic(), Guarantee(2.0, 1e-5))
        yield SolverExample(cls(strength=1.0), TWO_CLASSES, Logistic(), Guarantee(2.0))


def default_strength(epsilon: float) -> float:
    """The regulariser for unit rows and the logistic loss, from epsilon alone.

    >>> [default_strength(epsilon) for epsilon in (0.1, 0.5, 1.0, 2.0, 8.0)]
    [10.0, 2.0, 0.5, 0.125, 0.03125]
    """
    return min(1.0, max(0.25, 0.5 / epsilon)) / epsilon


@dataclass(frozen=True, kw_only=True)
class _Fit(OnRecords, Mechanism[Any, Any]):
    """The common ground of both kinds of noise: the objective, its minimum, and noise on that."""

    task: Task
    model: Loss
    strength: float
    tolerance: float
    output: Gaussian | Ball
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_classes(self.task, self.model)
        if self.task.unit.group_size != 1:
            raise InvalidParameter("objective perturbation is priced for persons with one record each")
        strength, tolerance = above("strength", self.strength, 0.0), above("tolerance", self.tolerance, 0.0)
        set_frozen(self, strength=strength, tolerance=tolerance)
        instance("output", self.output, Gaussian, Ball)
        if self.output.sensitivity.value < Fraction(2) * Fraction(tolerance) / Fraction(strength):
            raise InvalidParameter("the output noise must cover twice the tolerance over the strength")
        if self.output.sensitivity.unit != self.task.unit:
            raise InvalidParameter("the output noise is priced for another unit than the task")

    def _prepare(self, value: Records) -> Records:
        return value

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """None: how far coefficients are off depends on the data; see the intervals of the estimators."""
        open_fraction("confidence", confidence)
        return None

    @abstractmethod
    def _linear(self, runs: int, source: Source) -> Array:
        """The random linear terms, a row for each run, in steps of `_grid`."""

    def _draw(self, prepared: Records, runs: int, source: Source) -> Array:
        passes = self.task.passes(prepared)
        terms = np.ldexp(np.asarray(self._linear(runs, source), dtype=np.float64), self._grid.exponent)
        nearly = self.tolerance - self._rounding
        minima = [minimiser(Objective(passes, self.model, self.strength, b), nearly) for b in terms]
        parts: Any = minima  # noise of the kind Ball is one vector for each minimum; normal noise is drawn at once
        if isinstance(self.output, Gaussian) and all(isinstance(each, np.ndarray) for each in minima):
            parts = [np.array(minima)]
        drawn = [np.asarray(self.output._draw(self.output._prepare(each), 1, source))[0] for each in parts]
        return np.array(drawn).reshape(runs, *shape_of(self.task, self.model))

    @property
    def _grid(self) -> Grid:
        """Of the linear term."""
        return linear_grid(self.tolerance, self._spread, self._size)

    @property
    @abstractmethod
    def _spread(self) -> float:
        """The standard deviation of each number of the linear term."""

    def _check_tolerance(self) -> None:
        chosen_tolerance(self.tolerance, least_tolerance(self.model, self._spread, self._size))

    @property
    def _rounding(self) -> float:
        """The distance by which the rounded linear term can be from the one that is priced: it counts against the
        tolerance."""
        return float(2.0**self._grid.exponent) * math.sqrt(self._size)

    @property
    def _size(self) -> int:
        """The number of coefficients."""
        return self.task.dimension * self.model.outputs


@final
@register
@dataclass(frozen=True, kw_only=True)
class ObjectiveFit(_Fit):
    """The minimum of the objective with a normal linear term of standard deviation `sigma`, plus noise for its rounding.

    **Guarantee:** the composition of `ObjectivePerturbationLoss` and of the noise on the minimum.
    **Sensitivity:** the gradient of a record is at most the loss's `lipschitz`, its Hessian at most `smoothness`.
    **Reference:** Kifer, Smith & Thakurta 2012; Iyengar et al. 2019; Redberg, Koskela & Wang 2023.
    **Proof:** docs/proofs/learn/objective_fit.md.
    """

    name = "objective_fit"
    by_totals = True
    sigma: float = 0.0
    analysis: Analysis = "sharp"
    point: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, sigma=above("sigma", self.sigma, 0.0))
        if self.analysis not in get_args(Analysis) or self.analysis == "cms11":
            raise InvalidParameter('analysis must be "sharp", "rkw", "kst12" or "amp" where noise is normal')
        if self.point is not None:
            set_frozen(self, point=Point(*self.point))
        self._check_tolerance()
        self._price()  # refuses what the analysis does not prove

    @property
    def _spread(self) -> float:
        return self.sigma

    @classmethod
    def planned(
        cls,
        task: Task,
        model: Loss,
        target: Guarantee,
        strength: float,
        tolerance: float | None = None,
        analysis: Analysis = "sharp",
    ) -> "ObjectiveFit":
        """The least noise for the target: one in 200 of epsilon and delta goes to the output."""
        assert target.epsilon is not None
        share = _SHARE if analysis in ("sharp", "rkw") else _ROUNDED
        main = Point(target.epsilon * (1.0 - share), target.delta * (1.0 - _SHARE))
        sigma = _least_sigma(model, main, strength, analysis, task.unit)
        tolerance = chosen_tolerance(tolerance, least_tolerance(model, sigma, task.dimension * model.outputs))
        moved = Sensitivity(Fraction(2) * Fraction(tolerance) / Fraction(strength), norm="l2", unit=task.unit)
        output = Gaussian.for_budget(epsilon=target.epsilon * _SHARE, delta=target.delta * _SHARE, sensitivity=moved)
        return cls(
            task=task,
            model=model,
            strength=strength,
            tolerance=tolerance,
            sigma=sigma,
            output=output,
            at=target.delta,
            analysis=analysis,
            point=main if analysis in ("kst12", "amp") else None,
        )

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self._price(), self.output.loss))

    def _price(self) -> PrivacyLoss:
        if self.analysis != "sharp":
            point = None if self.point is None else Point(*self.point)
            return proved_price(self.analysis, self.model, self.strength, self.sigma, point, self.task.unit)
        curvature = strength_over(self.model, self.strength)
        multiplier = self.sigma / self.model.lipschitz * (1.0 - 2.0**-45)
        if self.model.shape == "softmax":
            return SoftmaxPerturbationLoss(multiplier, curvature, self.model.outputs, unit=self.task.unit)
        return ObjectivePerturbationLoss(multiplier, curvature, self.model.shape, unit=self.task.unit)

    def _linear(self, runs: int, source: Source) -> Array:
        size = runs, self._size
        return np.asarray(noise.rounded_gaussian(sigma=self._grid.length(self.sigma), size=size, source=source))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        two, target = Classes((0, 1)), Guarantee(4.0, 1e-5)
        task = Task(features=2, row_norm=1.0, target=two)
        made = ObjectivePerturbation(strength=1.0).plan(task, Logistic(), target)
        yield Example(made, *_against_the_rest([1.0, 0.0]), target, detects=0.4)
        moved = Task(features=1, row_norm=2.0, intercept=False, target=two, unit=Unit("replace"))
        # So strong a regulariser keeps the margin at 0, where the hinge is steepest.
        other = ObjectivePerturbation(strength=50.0).plan(moved, HuberHinge(), target)
        one, label = np.array([[2.0]]), np.array([1])
        yield Example(other, ArrayRecords(one, label), ArrayRecords(-one, label), target)
        three = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1, 2)))
        several = ObjectivePerturbation(strength=2.0).plan(three, Softmax(3), target)
        yield Example(several, *_against_the_rest([1.0]), target, detects=0.4)


def _against_the_rest(row: list[float]) -> tuple[ArrayRecords, ArrayRecords]:
    """A record and six equal ones of the other class, which push its margin to where its gradient is near its largest;
    and without that record."""
    rows, labels = np.array([row] * 7), np.array([0] * 6 + [1])
    return ArrayRecords(rows, labels), ArrayRecords(rows[:6], labels[:6])


@final
@register
@dataclass(frozen=True, kw_only=True)
class PureObjectiveFit(_Fit):
    """The minimum of the objective with a random linear term of uniform direction and Gamma length, plus noise for its
    rounding.

    **Guarantee:** pure epsilon: lipschitz/scale (twice under replace), what the Jacobian adds, and the output noise.
    **Sensitivity:** as of `ObjectiveFit`.
    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011.
    **Proof:** docs/proofs/learn/objective_fit.md.
    """

    name = "pure_objective_fit"
    by_totals = True
    scale: float = 0.0
    analysis: Analysis = "sharp"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.analysis not in ("sharp", "cms11"):
            raise InvalidParameter('analysis must be "sharp" or "cms11" for a pure guarantee')
        set_frozen(self, scale=above("scale", self.scale, 0.0))
        if not isinstance(self.output, Ball):
            raise InvalidParameter("a pure guarantee needs output noise of the kind Ball")
        self._check_tolerance()

    @property
    def _spread(self) -> float:
        return self.scale * math.sqrt(self._size + 1.0)

    @classmethod
    def planned(
        cls,
        task: Task,
        model: Loss,
        epsilon: float,
        strength: float,
        tolerance: float | None = None,
        analysis: Analysis = "sharp",
    ) -> "PureObjectiveFit":
        """The least noise for epsilon; where the Jacobian alone costs more than half of it, a stronger regulariser."""
        main = epsilon * (1.0 - _SHARE) * (1.0 - 2.0**-40)  # so that rounding up does not lead above epsilon
        times = 2.0 if analysis == "cms11" else 1.0
        while times * jacobian_of(model, strength) > main / 2.0:
            strength *= 1.25

        def enough(scale: float) -> bool:
            return cls._cost(model, scale * model.lipschitz, strength, analysis, task.unit) <= main

        scale = bisect(enough, 1e-9, 8.0 / main * (1.0 + main))
        size = task.dimension * model.outputs
        spread = scale * model.lipschitz * math.sqrt(size + 1.0)
        tolerance = chosen_tolerance(tolerance, least_tolerance(model, spread, size))
        moved = Sensitivity(Fraction(2) * Fraction(tolerance) / Fraction(strength), norm="l2", unit=task.unit)
        output = Ball.for_budget(epsilon=epsilon * _SHARE, sensitivity=moved)
        made = cls(
            task=task,
            model=model,
            strength=strength,
            tolerance=tolerance,
            output=output,
            scale=scale * model.lipschitz,
            analysis=analysis,
        )
        if made.loss.pure() > epsilon:
            raise NoGuarantee("no length of the linear term keeps this promise; raise epsilon or the strength")
        return made

    @property
    def loss(self) -> PrivacyLoss:
        cost = self._cost(self.model, self.scale * (1.0 - 2.0**-45), self.strength, self.analysis, self.task.unit)
        return Composed((PureLoss(cost * (1.0 + 2.0**-45), unit=self.task.unit), self.output.loss))

    @staticmethod
    def _cost(model: Loss, scale: float, strength: float, analysis: Analysis, unit: Unit) -> float:
        if analysis == "cms11":
            return cms11_price(model, scale, strength)
        return pure_price(model, scale / model.lipschitz, strength, ends(unit))

    def _linear(self, runs: int, source: Source) -> Array:
        scale, p = self._grid.length(self.scale), self._size
        return np.asarray(noise.ball(scale=scale, dimension=p, size=runs, source=source)).reshape(runs, p)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)))
        made = ObjectivePerturbation(strength=1.0).plan(task, Logistic(), Guarantee(2.0))
        yield Example(made, *_against_the_rest([1.0]), Guarantee(2.0))


def strength_over(model: Loss, strength: float) -> float:
    """The curvature in the price, rounded up: 1/strength if logistic or softmax, else smoothness/strength."""
    whole = 1.0 if model.shape in ("logistic", "softmax") else model.smoothness
    return whole / strength * (1.0 + 2.0**-45)


def check_classes(task: Task, model: Loss) -> None:
    """Refuse classes that the loss does not tell apart: one margin is for two, several are for as many classes."""
    if model.outputs == 1:
        task.one_margin()
    elif model.shape != "softmax":
        raise InvalidParameter("objective perturbation is proved for one margin and for the softmax loss")
    elif not isinstance(task.target, Classes) or len(task.target.labels) != model.outputs:
        raise InvalidParameter("this loss has a margin for each class, and classes= holds another number of them")


def _least_sigma(model: Loss, point: Point, strength: float, analysis: Analysis, unit: Unit) -> float:
    """The least noise at which the analysis proves this point."""
    if analysis in ("kst12", "amp"):
        return proved_sigma(analysis, model, point, unit)
    if analysis == "rkw":
        least = least_multiplier(*point, rkw_curvature(model, strength), "general", unit)
    else:
        least = least_multiplier(*point, strength_over(model, strength), model.shape, unit, model.outputs)
    return least * model.lipschitz * (1.0 + 2.0**-39)


@lru_cache(maxsize=256)
def least_multiplier(epsilon: float, delta: float, curvature: float, shape: Any, unit: Unit, classes: int = 1) -> float:
    """The smallest sigma/L at which the price meets (epsilon, delta), to about 1e-4 and on the safe side."""
    if fraction("delta", delta) == 0.0:
        raise NoGuarantee("normal noise has no pure guarantee")
    floor = analytic_noise_multiplier(epsilon, delta) * (1.0 if unit.relation == "add_remove" else 2.0)

    def price(log_factor: float) -> ObjectivePerturbationLoss | SoftmaxPerturbationLoss:
        if shape == "softmax":
            return SoftmaxPerturbationLoss(floor * math.exp(log_factor), curvature, classes, unit=unit)
        return ObjectivePerturbationLoss(floor * math.exp(log_factor), curvature, shape, unit=unit)

    def missing(log_factor: float) -> float:
        """The excess of delta as the logarithm of a factor; smooth."""
        return math.log(max(price(log_factor).bound(epsilon, quick=True), 5e-324) / delta)

    good, short = 0.0, missing(0.0)
    bad = good, short
    while short > 0.0:
        bad, good = (good, short), 2.0 * good or 0.25
        if good > 64.0:
            raise NoGuarantee("the regulariser is too weak for this epsilon: the Jacobian costs more than all of it")
        short = missing(good)
    found = _smallest(missing, bad, (good, short)) if good else 0.0
    while _charged(price(found), epsilon) > delta:
        found += 1e-4
    return floor * math.exp(found)


def _charged(price: ObjectivePerturbationLoss | SoftmaxPerturbationLoss, epsilon: float) -> float:
    """No less than the delta that a ledger charges: a little above the theorem."""
    if isinstance(price, ObjectivePerturbationLoss):
        return price.connected(epsilon)
    return float(price.profile(epsilon))


def _smallest(missing: Callable[[float], float], bad: tuple[float, float], good: tuple[float, float]) -> float:
    """Where `missing`, nearly a straight line between two points given with their values, is no longer positive: a point
    at which that was seen, to within a thousandth."""
    for turn in range(60):
        width = 1e-3 * good[0]
        if good[0] - bad[0] <= width:
            break
        guess = bad[0] + (good[0] - bad[0]) * bad[1] / max(bad[1] - good[1], 1e-300)
        guess += width / 3.0 if guess + width / 3.0 < good[0] else -width / 3.0  # next to it, on either side in turn
        if turn % 4 == 3 or not bad[0] < guess < good[0]:
            guess = 0.5 * (bad[0] + good[0])
        seen = guess, missing(guess)
        bad, good = (bad, seen) if seen[1] <= 0.0 else (seen, good)
    return good[0]
