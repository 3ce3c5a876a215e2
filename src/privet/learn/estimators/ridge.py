"""Private ridge regression."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet._validate import at_least
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import numbered
from privet.learn.estimators.linear import LinearModel
from privet.learn.estimators.regression import SquaresRegressor


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(SquaresRegressor, LinearModel):
    """Least squares with `alpha` times the squared length of the coefficients added, with differential privacy.

    Public facts as of `LinearRegression`. `alpha` is scikit-learn's, in the units of the data; the intercept is free of it.
    A `solver` has a ridge of its own, and then `alpha` does not count.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Wang 2018; Tang et al. 2023.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 2))
    >>> model = Ridge(epsilon=1.0, delta=1e-6, alpha=10.0, bounds=(-1, 1), bounds_y=(-3, 3)).fit(rows, rows @ [1.0, -2.0])
    >>> bool(np.abs(model.coef_ - [1.0, -2.0]).max() < 0.1)
    True
    """

    called = "ridge"

    alpha: float = 1.0

    def _ridge(self) -> float:
        return at_least("alpha", self.alpha, 0.0)

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import Ridge as Plain

        self._copy(Plain(alpha=self.alpha, fit_intercept=bool(self.fit_intercept), tol=1e-12).fit(rows, targets))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("ridge", cls(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0)), numbered)
