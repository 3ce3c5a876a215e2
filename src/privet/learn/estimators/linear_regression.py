"""Private linear regression."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import numbered
from privet.learn.estimators.linear import LinearModel
from privet.learn.estimators.regression import SquaresRegressor


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(SquaresRegressor, LinearModel):
    """Linear regression by least squares, with differential privacy.

    Public facts: `bounds_y`, and `row_norm` or `bounds`. Without a `solver` it is `BoostedSSP`, and `SufficientStatistics`
    for a pure epsilon.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Wang 2018; Tang et al. 2023.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 2))
    >>> y = rows @ [1.0, -2.0] + 3.0
    >>> model = LinearRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1), bounds_y=(0, 6)).fit(rows, y)
    >>> bool(np.abs(model.coef_ - [1.0, -2.0]).max() < 0.1), bool(abs(model.intercept_ - 3.0) < 0.1)
    (True, True)
    >>> low, high = model.confidence_intervals(0.95)[0]
    >>> bool(low < high)
    True
    """

    called = "linear"

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import LinearRegression as Plain

        self._copy(Plain(fit_intercept=bool(self.fit_intercept)).fit(rows, targets))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("linear", cls(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0)), numbered)
