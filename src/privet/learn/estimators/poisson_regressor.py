"""Private regression of counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import above
from privet.errors import InvalidData, InvalidParameter
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import counted
from privet.learn.estimators.linear import LinearModel, known_interval
from privet.learn.estimators.regressor import LinearRegressor
from privet.learn.losses import ClippedPoisson, Loss
from privet.learn.problem import Counts, Target


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class PoissonRegressor(LinearRegressor, LinearModel):
    """Regression of counts with a logarithmic link and differential privacy. The slope of the loss, the prediction minus
    y, is clipped at `bend` (half of the upper bound of y unless it is given).

    `bounds_y` is (0, largest count). At `epsilon=inf` this is scikit-learn's `PoissonRegressor`, with `alpha`, which is not
    used otherwise.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Kifer, Smith & Thakurta 2012.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(5_000, 2))
    >>> y = np.random.default_rng(1).poisson(np.exp(rows @ [1.0, -0.5] + 0.5))
    >>> model = PoissonRegressor(epsilon=2.0, delta=1e-6, row_norm=1.5, bounds_y=(0, 20)).fit(rows, y)
    >>> bool((model.predict(rows) > 0).all())
    True
    """

    called = "poisson"

    bend: float | None = None
    alpha: float = 1.0

    _without_privacy = ("alpha",)

    def _target(self) -> Target:
        bounds = known_interval(self.bounds_y)
        if bounds.low != 0.0:
            raise InvalidParameter("bounds_y of counts must be (0, largest)")
        return Counts(bounds.high)

    def _loss(self) -> Loss:
        largest = known_interval(self.bounds_y).high
        return ClippedPoisson(largest, largest / 2.0 if self.bend is None else above("bend", self.bend, 0.0))

    def _check_targets(self, targets: Array) -> None:
        super()._check_targets(targets)
        if (targets < 0).any():
            raise InvalidData("y must not be negative: counts are regressed")

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import PoissonRegressor as Plain

        plain = Plain(alpha=self.alpha, fit_intercept=bool(self.fit_intercept), tol=1e-10, max_iter=10_000)
        self._copy(plain.fit(rows, targets))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _row_margins(self, rows: Array) -> Array:
        return np.exp(super()._row_margins(rows))  # what is predicted, which a search scores

    def predict(self, X: object) -> Array:
        """The expected count for each row."""
        with np.errstate(over="ignore"):
            return np.exp(self._margins(X))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("poisson", cls(bounds=(-1.0, 1.0), bounds_y=(0.0, 5.0)), counted)
