"""Private principal components."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from privet._calls import door
from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidParameter
from privet.learn.estimators.columns import row_task
from privet.learn.estimators.estimator import EstimatorExample, PrivateEstimator, register
from privet.learn.estimators.example_records import plain
from privet.learn.estimators.reading import dense, read_made, rows_to_move
from privet.learn.problem import Records
from privet.learn.solvers import NoisyGram
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """Principal components with differential privacy: the Gram of clipped rows and a constant, released once.

    Public facts: `row_norm`, or `bounds` (the middle of the box is the centre of clipping, its half diagonal the norm). The
    mean is part of the release. Noise alone has eigenvalues up to about `noise_edge_` (in the units of
    `explained_variance_`): `above_noise_` says which components stand out of it. Signs are such that the largest entry of a
    component is positive. A pure epsilon (delta = 0) has far more noise, whose length grows with the number of entries.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Dwork, Talwar, Thakurta & Zhang 2014.

    >>> rows = np.random.default_rng(0).normal(size=(20_000, 3)) * [1.0, 0.3, 0.1]
    >>> model = PCA(epsilon=1.0, delta=1e-6, row_norm=3.0, n_components=2).fit(rows)
    >>> bool(abs(model.components_[0, 0]) > 0.99), model.transform(rows).shape, model.above_noise_.tolist()
    (True, (20000, 2), [True, True])
    """

    n_components: int | None = None
    row_norm: float | None = None
    bounds: Any = None

    _has_targets = False

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        self._kept(columns)
        return NoisyGram.planned(row_task(self.row_norm, self.bounds, columns, unit, intercept=True), promise)

    def _kept(self, columns: int) -> int:
        kept = columns if self.n_components is None else count("n_components", self.n_components, 1)
        if kept > columns:
            raise InvalidParameter(f"n_components must be at most the number of columns, {columns}")
        return kept

    def _set(self, value: object, plan: Any) -> None:
        task, gram = plan.task, np.asarray(value)
        columns, length = task.features, task.length
        constant = (1.0 - (task.row_norm / length) ** 2) ** 0.5
        many = max(float(gram[-1, -1]) / constant**2, 1.0)
        mean = gram[:-1, -1] / (constant * many) * length
        spread = gram[:-1, :-1] * (length**2 / many) - np.outer(mean, mean)
        values, turn = np.linalg.eigh((spread + spread.T) / 2.0)
        places = np.argsort(values)[::-1][: self._kept(columns)]
        total = max(float(np.maximum(values, 0.0).sum()), 1e-300)
        self.components_ = fixed_signs(turn[:, places].T)
        self.explained_variance_ = np.maximum(values[places], 0.0)
        self.explained_variance_ratio_ = self.explained_variance_ / total
        self.mean_ = mean + (np.zeros(columns) if task.centers is None else np.array(task.centers))
        self.noise_edge_ = plan.edge * length**2 / many
        self.above_noise_ = self.explained_variance_ > self.noise_edge_
        self.n_components_ = len(places)

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.decomposition import PCA as Plain

        plain = Plain(n_components=self.n_components, svd_solver="full").fit(dense(rows))
        self.components_, self.mean_ = fixed_signs(plain.components_), plain.mean_
        self.explained_variance_ = plain.explained_variance_
        self.explained_variance_ratio_ = plain.explained_variance_ratio_
        self.noise_edge_, self.n_components_ = 0.0, plain.n_components_
        self.above_noise_ = np.ones(self.n_components_, dtype=bool)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: object) -> Array:
        """Rows in the coordinates of the components."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        with np.errstate(all="ignore"):  # a warning would tell of a value beyond all bounds
            return self._encoded(rows_to_move(self, X))

    def _encoded(self, rows: Array) -> Array:
        """Each row by itself: a product would add up in an order that other rows have a part in."""
        moved, made = rows - self.mean_, np.zeros((len(rows), len(self.components_)))
        for j in range(rows.shape[1]):
            made += moved[:, j, None] * self.components_[:, j]
        return made

    def inverse_transform(self, X: object) -> Array:
        """Rows in the units of the data, from coordinates of the components."""
        return np.asarray(read_made(self, X, "components_") @ self.components_ + self.mean_)

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("pca", cls(bounds=(-1.0, 1.0), n_components=1), plain)


def fixed_signs(components: Array) -> Array:
    """Each row with its largest entry positive.

    >>> fixed_signs(np.array([[-1.0, 0.5]])).tolist()
    [[1.0, -0.5]]
    """
    largest = np.abs(components).argmax(axis=1)
    signs = np.where(components[np.arange(len(components)), largest] < 0.0, -1.0, 1.0)
    return np.asarray(components * signs[:, None])
