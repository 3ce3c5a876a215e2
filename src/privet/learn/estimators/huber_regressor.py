"""Private regression that outliers do not move far."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet._validate import above
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import numbered
from privet.learn.estimators.linear import LinearModel
from privet.learn.estimators.regressor import LinearRegressor
from privet.learn.losses import Huber, Loss


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class HuberRegressor(LinearRegressor, LinearModel):
    """Linear regression with Huber's loss and differential privacy: squares within `bend`, lines beyond.

    `bend` is on the scale on which `bounds_y` is [-1, 1]: 0.2 is a tenth of the width of the bounds. At `epsilon=inf` this
    is scikit-learn's `HuberRegressor`, which estimates its scale from the data, with `alpha`, which is not used otherwise.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Huber 1964; Kifer, Smith & Thakurta 2012.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(5_000, 2))
    >>> y = rows @ [3.0, -1.0] + 2.0
    >>> model = HuberRegressor(epsilon=1.0, delta=1e-6, row_norm=1.5, bounds_y=(-2, 6)).fit(rows, y)
    >>> bool(model.score(rows, y) > 0.8)
    True
    """

    called = "huber"

    bend: float = 0.2
    alpha: float = 0.0001

    _without_privacy = ("alpha",)

    def _loss(self) -> Loss:
        return Huber(above("bend", self.bend, 0.0))

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import HuberRegressor as Plain

        plain = Plain(alpha=self.alpha, fit_intercept=bool(self.fit_intercept), tol=1e-8, max_iter=10_000)
        self._copy(plain.fit(rows, targets))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("huber", cls(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0)), numbered)
