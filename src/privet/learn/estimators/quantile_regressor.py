"""Private quantile regression."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import numbered
from privet.learn.estimators.linear import LinearModel
from privet.learn.estimators.regressor import LinearRegressor
from privet.learn.losses import Loss, Pinball


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class QuantileRegressor(LinearRegressor, LinearModel):
    """Linear regression of a quantile, with differential privacy. Its loss is quadratic within `half_width` of y (on the
    scale on which `bounds_y` is [-1, 1]): with its corner there, the best line would pass through single records.

    At `epsilon=inf` this is scikit-learn's `QuantileRegressor`, with `alpha`, which is not used otherwise.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Koenker & Bassett 1978; Kifer, Smith & Thakurta 2012.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(5_000, 1))
    >>> y = np.random.default_rng(1).uniform(0, 10, size=5_000)
    >>> model = QuantileRegressor(quantile=0.9, epsilon=1.0, delta=1e-6, row_norm=1.0, bounds_y=(0, 10)).fit(rows, y)
    >>> bool(0.8 < (y < model.predict(rows)).mean() < 0.98)
    True
    """

    called = "quantile"

    quantile: float = 0.5
    half_width: float = 0.1
    alpha: float = 1.0

    _without_privacy = ("alpha",)

    def _loss(self) -> Loss:
        return Pinball(self.quantile, self.half_width)

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import QuantileRegressor as Plain

        plain = Plain(quantile=self.quantile, alpha=self.alpha, fit_intercept=bool(self.fit_intercept))
        self._copy(plain.fit(rows, targets))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("quantile", cls(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0)), numbered)
