"""Scaling of columns to a range, by public bounds or by bought ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from privet._calls import door
from privet._numerics import Array
from privet._validate import finite, flag, open_fraction
from privet.errors import InvalidParameter
from privet.learn.estimators.columns import column_task
from privet.learn.estimators.estimator import EstimatorExample, PrivateEstimator, register
from privet.learn.estimators.example_records import plain
from privet.learn.estimators.linear import column_ends
from privet.learn.estimators.reading import dense, read_made, rows_to_move
from privet.learn.problem import Records
from privet.learn.solvers import ColumnRanges
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class MinMaxScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):
    """Columns moved and scaled to `feature_range`, as scikit-learn does it, from their smallest and largest values.

    Public facts: `bounds`. Without a promise (no epsilon, rho or mu) they are the smallest and largest values: nothing is
    read from the data, and the fit is free of charge. With a promise the range is bought inside of the bounds, as
    quantiles with a share `tail` of the records beyond each of them: for bounds that are far wider than the data, and for
    many records (`tail` of them should be more than 50 times the columns over epsilon). `clip` cuts what lies beyond the
    range.

    **Guarantee:** none is needed without a promise; else that of the plan, in `privacy_`.
    **Reference:** Smith 2011 for the quantiles.

    >>> rows = np.array([[0.0, 20.0], [5.0, 60.0]])
    >>> MinMaxScaler(bounds=([0, 0], [10, 100])).fit_transform(rows).tolist()
    [[0.0, 0.2], [0.5, 0.6]]
    >>> many = np.random.default_rng(0).uniform(40, 60, size=(20_000, 1))
    >>> model = MinMaxScaler(epsilon=1.0, bounds=(0, 1_000)).fit(many)
    >>> model.data_min_.round().tolist(), model.data_max_.round().tolist()
    ([40.0], [60.0])
    """

    bounds: Any = None
    feature_range: Any = (0, 1)
    clip: bool = False
    tail: float = 0.02

    _has_targets = False

    def _from_public_facts(self, columns: int) -> bool:
        if not (self.epsilon is None and self.rho is None and self.mu is None):
            return False
        if self.bounds is None:
            raise InvalidParameter(
                "give bounds=(low, high), public bounds of the columns: scaling by them is free of charge, and read off "
                "the data they would tell about it; with epsilon= beside them a narrower range is bought"
            )
        self._set_range(*(end.copy() for end in column_ends(self.bounds, columns)))
        return True

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        self._asked_range()
        if not open_fraction("tail", self.tail) < 0.5:
            raise InvalidParameter("tail must be below 1/2: the share of the records beyond each end of the range")
        return ColumnRanges.planned(column_task(self.bounds, columns, unit), self.tail, promise)

    def _set(self, value: object, plan: object) -> None:
        self._set_range(*np.asarray(value))

    def _fit_exactly(self, rows: object, targets: object) -> None:
        values = dense(rows)
        self._set_range(values.min(axis=0), values.max(axis=0))

    def _asked_range(self) -> tuple[float, float]:
        flag("clip", self.clip)
        try:
            low, high = self.feature_range
        except (TypeError, ValueError):
            raise InvalidParameter("feature_range must be (low, high)") from None
        if not finite("feature_range", low) < finite("feature_range", high):
            raise InvalidParameter("feature_range must be (low, high) with low < high")
        return float(low), float(high)

    def _set_range(self, lows: Array, highs: Array) -> None:
        low, high = self._asked_range()
        self.data_min_, self.data_max_, self.data_range_ = lows, highs, highs - lows
        wide = (
            self.data_range_ >= 10.0 * np.finfo(np.float64).eps
        )  # scikit-learn leaves columns alone that are constant
        self.scale_ = (high - low) / np.where(wide, self.data_range_, 1.0)
        self.min_ = low - self.data_min_ * self.scale_

    def transform(self, X: object) -> Array:
        """Rows on the common range."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        with np.errstate(all="ignore"):  # a warning would tell of a value beyond all bounds
            return self._encoded(rows_to_move(self, X))

    def _encoded(self, rows: Array) -> Array:
        """Each row by itself."""
        made = rows * self.scale_ + self.min_
        return np.asarray(np.clip(made, *self._asked_range()) if self.clip else made)

    def inverse_transform(self, X: object) -> Array:
        """Rows in the units of the data."""
        return np.asarray((read_made(self, X, "min_") - self.min_) / self.scale_)

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("min-max", cls(bounds=(-1.0, 1.0)), plain)
