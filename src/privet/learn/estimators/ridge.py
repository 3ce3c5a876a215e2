"""Private ridge regression."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import RegressorMixin

from privet._numerics import Array
from privet._validate import at_least
from privet.learn.estimators.linear import LinearModel, check_numbers, known_interval
from privet.learn.estimators.regression import Method, intervals, set_coefficients, usual_solver
from privet.learn.losses import Loss, Squared
from privet.learn.problem import Target, Task
from privet.learn.solvers import Solver
from privet.privacy import Guarantee


@final
@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(RegressorMixin, LinearModel):
    """Least squares with `alpha` times the squared length of the coefficients added, with differential privacy.

    Public facts as of `LinearRegression`. `alpha` is scikit-learn's, in the units of the data; the intercept is free of it.
    A `solver` has a ridge of its own, and then `alpha` does not count.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Wang 2018; Tang et al. 2023.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 2))
    >>> model = Ridge(epsilon=1.0, delta=1e-6, alpha=10.0, bounds=(-1, 1), bounds_y=(-3, 3)).fit(rows, rows @ [1.0, -2.0])
    >>> bool(np.abs(model.coef_ - [1.0, -2.0]).max() < 0.1)
    True
    """

    bounds_y: Any = None
    alpha: float = 1.0

    def _target(self) -> Target:
        return known_interval(self.bounds_y)

    def _loss(self) -> Loss:
        return Squared()

    def _default_solver(self, task: Task, promise: Guarantee) -> tuple[Solver, str]:
        return usual_solver(
            promise, at_least("alpha", self.alpha, 0.0)
        ), "squares: a few noisy sums say everything about them"

    def _check_targets(self, targets: Array) -> None:
        check_numbers(targets)

    def _set(self, value: Any, plan: Any) -> None:
        set_coefficients(self, value, plan)

    def _fit_exactly(self, rows: Any, targets: Any) -> None:
        from sklearn.linear_model import Ridge as Plain

        plain = Plain(alpha=self.alpha, fit_intercept=bool(self.fit_intercept), tol=1e-12).fit(rows, targets)
        self.coef_, self.intercept_, self._released = np.asarray(plain.coef_), plain.intercept_, None

    def predict(self, X: Any) -> Array:
        """The expected target of each row."""
        return self._margins(X)

    def confidence_intervals(self, level: float = 0.95, *, method: Method = "normal", draws: int = 500) -> Array:
        """An interval (low, high) for every coefficient, and for the intercept last if there is one: computed from what
        was released, so free of charge.

        **Error:** each holds its coefficient with probability about `level`: the variance is that of sampling and of the
        noise, to first order. Where the data do not stand out of the noise, an interval is the whole line. "bootstrap"
        repeats noise and sampling around the released values instead, `draws` times.
        """
        return intervals(self, level, method, draws)
