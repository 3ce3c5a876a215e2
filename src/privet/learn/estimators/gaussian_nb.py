"""Private Gaussian naive Bayes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import ClassifierMixin

from privet._calls import door
from privet._numerics import Array, special
from privet._validate import above
from privet.learn.estimators.class_moments import class_moments
from privet.learn.estimators.columns import column_task
from privet.learn.estimators.estimator import EstimatorExample, PrivateEstimator, register
from privet.learn.estimators.example_records import labelled
from privet.learn.estimators.linear import check_labels, known_classes
from privet.learn.estimators.reading import dense, read_rows
from privet.learn.problem import Records
from privet.learn.solvers import ColumnMoments
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(ClassifierMixin, PrivateEstimator):
    """Naive Bayes with normal columns, with differential privacy: counts, sums and squares of all classes in one release.

    Public facts: `classes` and `bounds`. `var_smoothing` is the least variance, as a share of the squared public range.
    Means and variances of a class that is small beside the noise are drawn to those of all records, by how much of their
    difference is expected to be noise.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Vaidya, Shafiq, Basu & Hong 2013.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, size=4_000)
    >>> rows = np.clip(rng.normal(size=(4_000, 2)) + 2 * labels[:, None] - 1, -4, 4)
    >>> model = GaussianNB(epsilon=1.0, delta=1e-6, bounds=(-4, 4), classes=[0, 1]).fit(rows, labels)
    >>> bool(model.score(rows, labels) > 0.88)
    True
    """

    called = "bayes"

    classes: Any = None
    bounds: Any = None
    var_smoothing: float = 1e-4

    _after_release = ("var_smoothing",)

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        above("var_smoothing", self.var_smoothing, 0.0)
        return ColumnMoments.planned(column_task(self.bounds, columns, unit, known_classes(self.classes)), promise)

    def _set(self, value: object, plan: Any) -> None:
        noisy = np.asarray(value)
        made = class_moments(noisy, plan.task, plan.spread, plan.count_spread, self.var_smoothing)
        sizes, self.theta_, self.var_ = made
        self.class_count_ = np.maximum(noisy[:, 0], 0.0)
        self.class_prior_ = sizes / sizes.sum()  # a class that noise hides is not taken for an empty one
        self.classes_ = plan.task.target.array

    def _check_targets(self, targets: Array) -> None:
        if self.classes is not None:
            check_labels(known_classes(self.classes), targets)

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.naive_bayes import GaussianNB as Plain

        plain = Plain().fit(dense(rows), targets)
        self.theta_, self.var_, self.class_prior_ = plain.theta_, plain.var_, plain.class_prior_
        self.class_count_, self.classes_ = plain.class_count_, plain.classes_

    def _likelihoods(self, X: object) -> Array:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        rows = dense(read_rows(self, X, reset=False))
        made = [
            np.log(prior) - 0.5 * (np.log(2.0 * np.pi * var).sum() + ((rows - mean) ** 2 / var).sum(axis=1))
            for prior, mean, var in zip(self.class_prior_, self.theta_, self.var_, strict=True)
        ]
        return np.column_stack(made)

    def _row_margins(self, rows: Array) -> Array:
        """Likelihoods of rows, column by column: those of a row depend on no other."""
        made = np.log(self.class_prior_) - 0.5 * np.log(2.0 * np.pi * self.var_).sum(axis=1)
        out = np.repeat(made[None, :], len(rows), axis=0)
        for j in range(rows.shape[1]):
            out -= 0.5 * (rows[:, j, None] - self.theta_[:, j]) ** 2 / self.var_[:, j]
        return out

    def predict(self, X: object) -> Array:
        """The likeliest class of each row."""
        places = self._likelihoods(X).argmax(axis=1)  # first, since it refuses a model that is not fitted
        return np.asarray(self.classes_[places])

    def predict_log_proba(self, X: object) -> Array:
        """Logarithms of `predict_proba`."""
        made = self._likelihoods(X)
        return np.asarray(made - special().logsumexp(made, axis=1, keepdims=True))

    def predict_proba(self, X: object) -> Array:
        """The probability of each class."""
        return np.exp(self.predict_log_proba(X))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("naive bayes", cls(bounds=(-1.0, 1.0), classes=[0, 1]), labelled(2))
