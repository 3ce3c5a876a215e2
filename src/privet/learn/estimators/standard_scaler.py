"""Private scaling of columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from privet._calls import door
from privet._numerics import Array
from privet.learn.estimators.columns import column_task, moments
from privet.learn.estimators.estimator import EstimatorExample, PrivateEstimator, register
from privet.learn.estimators.example_records import plain
from privet.learn.estimators.reading import dense, read_made, rows_to_move
from privet.learn.problem import Records
from privet.learn.solvers import ColumnMoments
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):
    """Columns less their mean, divided by their standard deviation, with differential privacy: one release for all columns.

    Public facts: `bounds`, which means and deviations are kept within. Deviations are at least a hundredth of the range.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** the joint vector of queries of means and variances.

    >>> rows = np.random.default_rng(0).uniform(0, 10, size=(20_000, 2))
    >>> model = StandardScaler(epsilon=1.0, delta=1e-6, bounds=(0, 10)).fit(rows)
    >>> bool(np.abs(model.transform(rows).std(axis=0) - 1.0).max() < 0.05)
    True
    """

    bounds: Any = None
    with_mean: bool = True
    with_std: bool = True

    _has_targets = False

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        return ColumnMoments.planned(column_task(self.bounds, columns, unit), promise)

    def _set(self, value: object, plan: Any) -> None:
        _, means, variances = moments(np.asarray(value), plan.task, 1e-4)
        self.mean_, self.var_ = means[0], variances[0]
        self.scale_ = np.sqrt(self.var_)

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.preprocessing import StandardScaler as Plain

        plain = Plain().fit(dense(rows))
        self.mean_, self.var_, self.scale_ = plain.mean_, plain.var_, plain.scale_

    def transform(self, X: object) -> Array:
        """Rows on the common scale."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        with np.errstate(all="ignore"):  # a warning would tell of a value beyond all bounds
            return self._encoded(rows_to_move(self, X))

    def _encoded(self, rows: Array) -> Array:
        """Each row by itself."""
        moved = rows - self.mean_ if self.with_mean else rows
        return np.asarray(moved / self.scale_ if self.with_std else moved)

    def inverse_transform(self, X: object) -> Array:
        """Rows in the units of the data."""
        made = read_made(self, X, "mean_")
        values = made * self.scale_ if self.with_std else made
        return np.asarray(values + self.mean_ if self.with_mean else values)

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("scaler", cls(bounds=(-1.0, 1.0)), plain)
