"""The common ground of linear regressions: public bounds of y, and predictions within them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin

from privet._numerics import Array
from privet.learn.estimators.linear import check_numbers, known_interval
from privet.learn.problem import Target


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegressor(RegressorMixin):
    """A `LinearModel` that predicts numbers. `bounds_y` are public bounds of y; what lies outside is clipped."""

    bounds_y: Any = None

    if TYPE_CHECKING:  # of LinearModel

        def _margins(self, X: object) -> Array: ...

    def _target(self) -> Target:
        return known_interval(self.bounds_y)

    def _predicts_numbers(self) -> bool:
        return True

    def _check_targets(self, targets: Array) -> None:
        check_numbers(targets)

    def _copy(self, plain: Any) -> None:
        """The attributes of a fitted scikit-learn model."""
        self.coef_, self.intercept_ = np.asarray(plain.coef_), np.asarray(plain.intercept_)[()]

    def predict(self, X: object) -> Array:
        """The prediction for each row."""
        return self._margins(X)
