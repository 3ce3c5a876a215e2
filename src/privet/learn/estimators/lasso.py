"""Private least squares with an l1 penalty."""

from dataclasses import dataclass
from typing import Any, final

from sklearn.base import RegressorMixin

from privet._numerics import Array
from privet._validate import at_least
from privet.learn.estimators.linear import LinearModel, check_numbers, known_interval
from privet.learn.estimators.penalised import clipped_squares, penalised_plan, proximal_solver
from privet.learn.losses import Loss
from privet.learn.problem import Records, Target, Task
from privet.learn.solvers import Penalty, Solver
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit


@final
@dataclass(kw_only=True, eq=False, repr=False)
class Lasso(RegressorMixin, LinearModel):
    """Least squares with an l1 penalty, with differential privacy.

    Minimises mean (y - Xw)^2/2 + alpha |w|_1, as scikit-learn does; the residual is clipped at the width of `bounds_y`.
    Public facts: `bounds_y`, and `row_norm` or `bounds`. From 50 columns on, and unless `solver` says otherwise, steps go
    along privately chosen coordinates, else along random ones.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Mangold, Bellet, Salmon & Tommasi 2022 and 2023.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(5_000, 3))
    >>> model = Lasso(alpha=0.01, epsilon=1.0, delta=1e-6, bounds=(-1, 1), bounds_y=(-2, 2))
    >>> model = model.fit(rows, rows[:, 0] - rows[:, 1])
    >>> model.coef_.shape, bool(model.score(rows, rows[:, 0] - rows[:, 1]) > 0.5)
    ((3,), True)
    """

    alpha: float = 1.0
    bounds_y: Any = None

    def _penalty(self) -> Penalty:
        return Penalty(l1=at_least("alpha", self.alpha, 0.0))

    def _target(self) -> Target:
        return known_interval(self.bounds_y)

    def _loss(self) -> Loss:
        return clipped_squares()

    def _default_solver(self, task: Task, promise: Guarantee) -> tuple[Solver, str]:
        return proximal_solver(task, promise), "a penalty with a corner: proximal steps by coordinates"

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        task = self._task(columns, unit)
        solver = self._default_solver(task, promise)[0] if self.solver is None else self.solver
        return penalised_plan(solver, self._penalty(), task, promise)

    def _check_targets(self, targets: Array) -> None:
        check_numbers(targets)

    def _fit_exactly(self, rows: Any, targets: Any) -> None:
        from sklearn.linear_model import Lasso as Plain

        plain = Plain(alpha=self.alpha, fit_intercept=bool(self.fit_intercept), tol=1e-10, max_iter=100_000)
        plain.fit(rows, targets)
        self.coef_, self.intercept_ = plain.coef_, plain.intercept_

    def predict(self, X: Any) -> Array:
        """The prediction for each row."""
        return self._margins(X)
