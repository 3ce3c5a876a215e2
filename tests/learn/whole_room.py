"""Every estimator with public facts, and records that it can be fitted to: what laws over the whole room go through."""

from typing import Any

import numpy as np

from privet import learn

_CLASSES = {"bounds": (-1.0, 1.0), "classes": [0, 1]}
_NUMBERS = {"bounds": (-1.0, 1.0), "bounds_y": (-1.0, 1.0)}

ESTIMATORS: dict[str, tuple[type, dict[str, Any]]] = {
    "logistic": (learn.LogisticRegression, _CLASSES),
    "softmax": (learn.LogisticRegression, {**_CLASSES, "classes": [0, 1, 2, 3, 4]}),
    "svm": (learn.LinearSVC, _CLASSES),
    "naive bayes": (learn.GaussianNB, _CLASSES),
    "linear": (learn.LinearRegression, _NUMBERS),
    "ridge": (learn.Ridge, _NUMBERS),
    "huber": (learn.HuberRegressor, _NUMBERS),
    "quantile": (learn.QuantileRegressor, _NUMBERS),
    "lasso": (learn.Lasso, _NUMBERS),
    "elastic net": (learn.ElasticNet, _NUMBERS),
    "poisson": (learn.PoissonRegressor, {**_NUMBERS, "bounds_y": (0.0, 5.0)}),
    "k-means": (learn.KMeans, {"bounds": (-1.0, 1.0), "n_clusters": 3}),
    "pca": (learn.PCA, {"bounds": (-1.0, 1.0), "n_components": 1}),
    "scaler": (learn.StandardScaler, {"bounds": (-1.0, 1.0)}),
    "min-max": (learn.MinMaxScaler, {"bounds": (-1.0, 1.0)}),
}


def made(name: str, columns: int, **more: Any) -> Any:
    """The estimator, not yet fitted."""
    kind, facts = ESTIMATORS[name]
    return kind(**{**facts, **more})


def rows_for(name: str, n: int, columns: int) -> tuple[np.ndarray, ...]:
    """X, and y where there is one."""
    rng = np.random.default_rng(n + columns)
    rows = rng.uniform(-1.0, 1.0, size=(n, columns))
    facts = ESTIMATORS[name][1]
    if "classes" in facts:
        return rows, np.arange(n) % len(facts["classes"])
    if "bounds_y" not in facts:
        return (rows,)
    return (rows, rng.integers(0, 5, n).astype(float)) if name == "poisson" else (rows, rows[:, 0])
