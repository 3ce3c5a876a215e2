"""What regressions by squares share: bounds of y, statistics as the usual solver, intervals of coefficients."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privet._numerics import Array, ndtri
from privet._validate import count, open_fraction
from privet.errors import InvalidParameter
from privet.learn.estimators.linear import LinearModel, check_numbers, known_interval
from privet.learn.losses import Loss, Squared
from privet.learn.problem import Target, Task
from privet.learn.solvers import Solver
from privet.privacy import Guarantee


@dataclass(kw_only=True, eq=False, repr=False)
class Regression(LinearModel):
    """Base of `LinearRegression` and `Ridge`."""

    bounds_y: Any = None

    @abstractmethod
    def _statistics(self, pure: bool) -> Solver:
        """The usual solver."""

    def _target(self) -> Target:
        return known_interval(self.bounds_y)

    def _loss(self) -> Loss:
        return Squared()

    def _default_solver(self, task: Task, promise: Guarantee) -> Solver:
        return self._statistics(promise.epsilon is not None and promise.delta == 0.0)

    def _check_targets(self, targets: Array) -> None:
        check_numbers(targets)

    def _set(self, value: Any, plan: Any) -> None:
        self._released = value if isinstance(value, dict) else None
        theta = value["coefficients"] if isinstance(value, dict) else value
        self._task_ = plan.task
        self.coef_, intercept = plan.task.raw(np.asarray(theta))
        self.intercept_ = float(intercept)

    def confidence_intervals(
        self,
        level: float = 0.95,
        *,
        method: Literal["normal", "bootstrap"] = "normal",
        draws: int = 2_000,
        seed: int = 0,
    ) -> Array:
        """An interval (low, high) for every coefficient, and for the intercept last if there is one: computed from what was
        released, so free of charge.

        **Error:** each holds its coefficient with probability about `level`: the variance is that of sampling and of the
        noise, to first order. Where the data do not stand out of the noise, an interval is the whole line. "bootstrap"
        repeats noise and sampling from the released values instead, `draws` times.
        """
        tail = (1.0 - open_fraction("level", level)) / 2.0
        released = getattr(self, "_released", None)
        if released is None:
            raise InvalidParameter("intervals need a private fit by BoostedSSP() or SufficientStatistics()")
        if method not in ("normal", "bootstrap"):
            raise InvalidParameter('method must be "normal" or "bootstrap"')
        center, spread = np.asarray(released["center"]), np.asarray(released["covariance"])
        size = len(center)
        change = self._unit_change(size)
        if not np.isfinite(spread).all():
            return np.tile([-np.inf, np.inf], (size, 1))
        if method == "bootstrap":
            errors = _repeated(released, count("draws", draws, 100), np.random.default_rng(seed)) @ change.T
            low, high = np.quantile(errors, [tail, 1.0 - tail], axis=0)
            middle = self._raw(center)
            return np.column_stack([middle - high, middle - low])
        deviation = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", change, spread, change), 0.0))
        reach = -ndtri(tail) * deviation
        middle = self._raw(center)
        return np.column_stack([middle - reach, middle + reach])

    def _raw(self, theta: Array) -> Array:
        slopes, constant = self._task_.raw(theta)
        return np.append(slopes, constant) if self._task_.intercept else np.asarray(slopes)

    def _unit_change(self, size: int) -> Array:
        """The matrix that leads from coefficients of unit rows to those of the data."""
        zero = self._raw(np.zeros(size))
        return np.column_stack([self._raw(each) - zero for each in np.eye(size)])


def _repeated(released: dict[str, Any], draws: int, rng: np.random.Generator) -> Array:
    """Errors of the solution when noise and sampling are repeated around the released values."""
    gram = np.asarray(released["gram"])
    sigma_a, sigma_b, residual = (float(each) for each in np.asarray(released["noise"])[:3])
    center, size = np.asarray(released["center"]), len(gram)
    moved = center - np.asarray(released["start"])
    values, turn = np.linalg.eigh(gram)
    root = turn * np.sqrt(np.maximum(values, 0.0) * residual)
    errors = np.empty((draws, size))
    for i in range(draws):
        half = np.triu(rng.normal(size=(size, size)) * sigma_a * 0.5**0.5, 1)
        again = gram + half + half.T + np.diag(rng.normal(size=size) * sigma_a)
        cross = gram @ moved + root @ rng.normal(size=size) + sigma_b * rng.normal(size=size)
        errors[i] = np.linalg.solve(again, cross) - moved
    return errors
