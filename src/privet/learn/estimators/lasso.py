"""Private least squares with an l1 penalty."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet._validate import at_least
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import numbered
from privet.learn.estimators.linear import LinearModel
from privet.learn.estimators.penalised import PenalisedRegressor
from privet.learn.solvers import Penalty


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class Lasso(PenalisedRegressor, LinearModel):
    """Least squares with an l1 penalty, with differential privacy.

    Minimises mean (y - Xw)^2/2 + alpha |w|_1, as scikit-learn does; the residual is clipped at the width of `bounds_y`.
    Public facts: `bounds_y`, and `row_norm` or `bounds`. From 50 columns on, and unless `solver` says otherwise, steps go
    along privately chosen coordinates, else along random ones; for a pure epsilon (delta = 0) it is fitted from one noisy
    Gram, `SufficientStatistics`.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Mangold, Bellet, Salmon & Tommasi 2022 and 2023.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(5_000, 3))
    >>> model = Lasso(alpha=0.01, epsilon=1.0, delta=1e-6, bounds=(-1, 1), bounds_y=(-2, 2))
    >>> model = model.fit(rows, rows[:, 0] - rows[:, 1])
    >>> model.coef_.shape, bool(model.score(rows, rows[:, 0] - rows[:, 1]) > 0.5)
    ((3,), True)
    """

    called = "lasso"

    def _penalty(self) -> Penalty:
        return Penalty(l1=at_least("alpha", self.alpha, 0.0))

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import Lasso as Plain

        plain = Plain(alpha=self.alpha, fit_intercept=bool(self.fit_intercept), tol=1e-10, max_iter=100_000)
        self._copy(plain.fit(rows, targets))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("lasso", cls(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0)), numbered)
