"""Private least squares with l1 and l2 penalties."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet._validate import at_least, fraction
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import numbered
from privet.learn.estimators.linear import LinearModel
from privet.learn.estimators.penalised import PenalisedRegressor
from privet.learn.solvers import Penalty


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class ElasticNet(PenalisedRegressor, LinearModel):
    """Least squares with l1 and l2 penalties, with differential privacy.

    Minimises mean (y - Xw)^2/2 + alpha l1_ratio |w|_1 + alpha (1 - l1_ratio) |w|_2^2/2, as scikit-learn does. Everything
    else is as for `Lasso`.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Mangold, Bellet, Salmon & Tommasi 2022 and 2023.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(5_000, 3))
    >>> model = ElasticNet(alpha=0.01, epsilon=1.0, delta=1e-6, bounds=(-1, 1), bounds_y=(-2, 2))
    >>> model = model.fit(rows, rows[:, 0] - rows[:, 1])
    >>> bool(model.score(rows, rows[:, 0] - rows[:, 1]) > 0.5)
    True
    """

    called = "elastic-net"

    l1_ratio: float = 0.5

    def _penalty(self) -> Penalty:
        alpha, share = at_least("alpha", self.alpha, 0.0), fraction("l1_ratio", self.l1_ratio)
        return Penalty(l1=alpha * share, l2=alpha * (1.0 - share))

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import ElasticNet as Plain

        plain = Plain(
            alpha=self.alpha,
            l1_ratio=self.l1_ratio,
            fit_intercept=bool(self.fit_intercept),
            tol=1e-10,
            max_iter=100_000,
        )
        self._copy(plain.fit(rows, targets))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("elastic net", cls(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0)), numbered)
