"""The common ground of regressions by squares: their usual solver, and intervals of coefficients from what it
released."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privet import noise
from privet._numerics import Array, ndtri
from privet._validate import count, open_fraction
from privet.errors import InvalidParameter, ReleaseFailed
from privet.learn.estimators.margin_intervals import raw_changes
from privet.learn.estimators.regressor import LinearRegressor
from privet.learn.losses import Loss, Squared
from privet.learn.problem import Task
from privet.learn.solvers import BoostedSSP, Solver, SufficientStatistics
from privet.privacy import Guarantee

_FINE = 2.0**24  # steps of a standard deviation: finer than what the intervals are simulated for

Method = Literal["normal", "bootstrap"]


@dataclass(kw_only=True, eq=False, repr=False)
class SquaresRegressor(LinearRegressor):
    """A `LinearModel` from noisy sums: its usual solver, and intervals of coefficients."""

    def _loss(self) -> Loss:
        return Squared()

    def _ridge(self) -> float:
        """The ridge that the usual solver adds to the diagonal."""
        return 0.0

    def _default_solver(self, task: Task, promise: Guarantee) -> tuple[Solver, str]:
        return usual_solver(promise, self._ridge()), "squares: a few noisy sums say everything about them"

    def _set(self, value: object, plan: Any) -> None:
        released = value if isinstance(value, dict) else None
        self._released, self._facts = released, plan.task
        found = np.asarray(value if released is None else released["coefficients"])
        if np.isnan(found).any():  # a refusal is a release like any other
            raise ReleaseFailed(
                "the test of the solver was not passed: nothing was fitted, and the charge stays; more records for each "
                "model are needed, so give fewer models=, or take BoostedSSP()"
            )
        coef, intercept = plan.task.raw(found)
        self.coef_, self.intercept_ = coef, np.asarray(intercept)[()]

    def _copy(self, plain: object) -> None:
        super()._copy(plain)
        self._released = None

    def confidence_intervals(self, level: float = 0.95, *, method: Method = "normal", draws: int = 500) -> Array:
        """An interval (low, high) for every coefficient, and for the intercept last if there is one: computed from what
        was released, so free of charge.

        **Error:** each holds its coefficient with probability about `level`: the variance is that of sampling and of the
        noise, to first order. Where the data do not stand out of the noise, an interval is the whole line. "bootstrap"
        repeats noise and sampling around the released values instead, `draws` times.
        """
        return intervals(self, level, method, draws)


def usual_solver(promise: Guarantee, ridge: float) -> Solver:
    """Boosted statistics; for a pure epsilon those with pure noise.

    >>> type(usual_solver(Guarantee(1.0), 0.0)).__name__
    'SufficientStatistics'
    """
    pure = promise.epsilon is not None and promise.delta == 0.0
    return SufficientStatistics(ridge=ridge) if pure else BoostedSSP(ridge=ridge)


def intervals(model: Any, level: float, method: Method, draws: int) -> Array:
    """(low, high) for every coefficient, and for the intercept last: from what was released."""
    tail = (1.0 - open_fraction("level", level)) / 2.0
    released = getattr(model, "_released", None)
    if released is None:
        raise InvalidParameter("intervals need a private fit by BoostedSSP() or SufficientStatistics()")
    if method not in ("normal", "bootstrap"):
        raise InvalidParameter('method must be "normal" or "bootstrap"')
    center, spread = np.asarray(released["center"]), np.asarray(released["covariance"])
    if not np.isfinite(spread).all():
        return np.tile([-np.inf, np.inf], (len(center), 1))
    zero, change = raw_changes(model._facts)
    middle = zero + change @ center
    if method == "bootstrap":
        errors = _repeated(released, count("draws", draws, 100)) @ change.T
        low, high = np.quantile(errors, [tail, 1.0 - tail], axis=0)
        return np.column_stack([middle - high, middle - low])
    reach = -ndtri(tail) * np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", change, spread, change), 0.0))
    return np.column_stack([middle - reach, middle + reach])


def _repeated(released: dict[str, Any], draws: int) -> Array:
    """Errors of the solution when noise and sampling are repeated around the released values."""
    gram = np.asarray(released["gram"])
    sigma_a, sigma_b, residual = (float(each) for each in np.asarray(released["noise"])[:3])
    size = len(gram)
    moved = np.asarray(released["center"]) - np.asarray(released["start"])
    values, turn = np.linalg.eigh(gram)
    root = turn * np.sqrt(np.maximum(values, 0.0) * residual)
    errors = np.empty((draws, size))
    for i in range(draws):
        drawn = noise.rounded_gaussian(sigma=_FINE, size=size * (size + 2)) / _FINE
        square, rest = drawn[: size * size].reshape(size, size), drawn[size * size :]
        half = np.triu(square * sigma_a * 0.5**0.5, 1)
        again = gram + half + half.T + np.diag(np.diagonal(square) * sigma_a)
        cross = gram @ moved + root @ rest[:size] + sigma_b * rest[size:]
        errors[i] = np.linalg.solve(again, cross) - moved
    return errors
