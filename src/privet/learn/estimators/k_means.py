"""Private k-means."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from privet._calls import door
from privet._numerics import Array
from privet._validate import count
from privet.learn.estimators.columns import column_task, row_task
from privet.learn.estimators.estimator import EstimatorExample, PrivateEstimator, register
from privet.learn.estimators.example_records import plain
from privet.learn.estimators.linear import column_ends
from privet.learn.estimators.reading import dense, read_rows, rows_to_move
from privet.learn.problem import Records, Task
from privet.learn.solvers import NoisyLloyd
from privet.learn.solvers.noisy_lloyd import spread_points
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, PrivateEstimator):
    """Centres of clusters with differential privacy: a few rounds from a public start, one noisy vector a round.

    Public facts: `n_clusters`, `rounds`, and `row_norm` or `bounds`. With `bounds` the noise of a column follows its width,
    and centres lie within them; distances are in the units of the data, as everywhere in k-means. There is no `labels_` and
    no `inertia_`: those of the private rows would tell about them. (At `epsilon=inf`, where nothing is promised, `labels_`
    are scikit-learn's.)

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Blum, Dwork, McSherry & Nissim 2005; Su et al. 2016.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(size=(4_000, 2)) * 0.1 + center for center in ([0.7, 0.7], [-0.7, -0.7])])
    >>> model = KMeans(epsilon=1.0, delta=1e-6, n_clusters=2, bounds=(-1, 1)).fit(rows)
    >>> np.sort(model.cluster_centers_[:, 0]).round(1).tolist()
    [-0.7, 0.7]
    """

    n_clusters: int = 8
    rounds: int = 6
    row_norm: float | None = None
    bounds: Any = None

    _has_targets = False

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        task = self._task(columns, unit)
        return NoisyLloyd.planned(
            task, count("n_clusters", self.n_clusters, 1), count("rounds", self.rounds, 1), promise
        )

    def _task(self, columns: int, unit: Unit) -> Task:
        if self.row_norm is None and self.bounds is not None:
            return column_task(self.bounds, columns, unit)
        return row_task(self.row_norm, self.bounds, columns, unit, intercept=False)

    def _set(self, value: object, plan: Any) -> None:
        made = _in_units(np.asarray(value), plan.task)
        self.cluster_centers_ = made if self.bounds is None else np.clip(made, *column_ends(self.bounds, made.shape[1]))

    def _fit_exactly(self, rows: Any, targets: object) -> None:
        from sklearn.cluster import KMeans as Plain

        clusters = count("n_clusters", self.n_clusters, 1)
        start: Any = "k-means++"
        if self.row_norm is not None or self.bounds is not None:
            task = self._task(rows.shape[1], Unit())
            start = _in_units(spread_points(clusters, rows.shape[1]), task)
        made = Plain(n_clusters=clusters, init=start, n_init=1, random_state=0).fit(rows)
        self.cluster_centers_ = made.cluster_centers_
        self.labels_ = self._distances(rows).argmin(axis=1)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def transform(self, X: object) -> Array:
        """The distance of every row to every centre."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        with np.errstate(all="ignore"):  # a warning would tell of a value beyond all bounds
            return self._from_centers(rows_to_move(self, X))

    def predict(self, X: object) -> Array:
        """The number of the nearest centre of each row."""
        return self._distances(X).argmin(axis=1)

    def _distances(self, X: object) -> Array:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return self._from_centers(dense(read_rows(self, X, reset=False)))

    def _from_centers(self, values: Array) -> Array:
        return np.column_stack([np.linalg.norm(values - center, axis=1) for center in self.cluster_centers_])

    def fit_predict(self, X: object, y: object = None) -> Array:
        """Fit, and the numbers of the nearest centres of these rows: not private, for whoever may see the rows."""
        return self.fit(X).predict(X)

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("k-means", cls(bounds=(-1.0, 1.0), n_clusters=3), plain)


def _in_units(points: Array, task: Task) -> Array:
    scales = 1.0 if task.scales is None else np.array(task.scales)
    return np.asarray(points * task.length * scales + (0.0 if task.centers is None else np.array(task.centers)))
