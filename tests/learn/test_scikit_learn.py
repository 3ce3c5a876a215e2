"""scikit-learn's own checks, and equality with its models where nothing is promised.

The checks know no public facts, so they run at `epsilon=inf`; what privacy adds is held by `test_estimators.py`.
"""

import numpy as np
import pytest
from sklearn import cluster, decomposition, linear_model, naive_bayes, preprocessing, svm
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.utils.estimator_checks import parametrize_with_checks

from privet import learn
from privet.learn.estimators import registered_estimators

INF = float("inf")
# a search is as good as the model that it is given, and is none without one
EVERY = [kind(epsilon=INF) for kind in registered_estimators().values() if kind is not learn.PrivateSearchCV]


def all_checks():
    """Their decorator with its pairs in a list: 1.6 hands over a generator, which pytest 9 warns about."""
    theirs = parametrize_with_checks(EVERY)
    return pytest.mark.parametrize(theirs.args[0], list(theirs.args[1]), **theirs.kwargs)


@pytest.mark.filterwarnings("ignore")
@all_checks()
def test_scikit_learns_checks(estimator, check):
    assert check(estimator) is None  # it raises


TUMOURS, KINDS = load_breast_cancer(return_X_y=True)
TUMOURS = (TUMOURS - TUMOURS.mean(axis=0)) / TUMOURS.std(axis=0)  # public data
PATIENTS, PROGRESS = load_diabetes(return_X_y=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ours", "theirs", "rows", "y"),
    [
        (
            learn.LogisticRegression(epsilon=INF),
            linear_model.LogisticRegression(tol=1e-10, max_iter=9_999),
            TUMOURS,
            KINDS,
        ),
        (
            learn.LogisticRegression(epsilon=INF, C=0.1, fit_intercept=False),
            linear_model.LogisticRegression(C=0.1, fit_intercept=False, tol=1e-10, max_iter=9_999),
            TUMOURS,
            KINDS,
        ),
        (
            learn.LinearSVC(epsilon=INF, C=0.01),
            svm.LinearSVC(loss="hinge", C=0.01, max_iter=100_000, random_state=0),
            TUMOURS,
            KINDS,
        ),
        (learn.HuberRegressor(epsilon=INF), linear_model.HuberRegressor(tol=1e-8, max_iter=9_999), PATIENTS, PROGRESS),
        (
            learn.QuantileRegressor(epsilon=INF, quantile=0.8, alpha=0.001),
            linear_model.QuantileRegressor(quantile=0.8, alpha=0.001),
            PATIENTS,
            PROGRESS,
        ),
        (
            learn.PoissonRegressor(epsilon=INF, alpha=0.1),
            linear_model.PoissonRegressor(alpha=0.1, tol=1e-10, max_iter=9_999),
            PATIENTS,
            PROGRESS,
        ),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "fit") else None,
)
def test_without_privacy_it_is_scikit_learns_model(ours, theirs, rows, y):
    ours.fit(rows, y)
    theirs.fit(rows, y)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)
    assert np.allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-6)
    assert np.allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ours", "theirs", "y", "attributes"),
    [
        (learn.LinearRegression(), linear_model.LinearRegression(), PROGRESS, ["coef_", "intercept_"]),
        (
            learn.Ridge(alpha=0.3, fit_intercept=False),
            linear_model.Ridge(alpha=0.3, fit_intercept=False),
            PROGRESS,
            ["coef_", "intercept_"],
        ),
        (learn.Lasso(alpha=0.1), linear_model.Lasso(alpha=0.1, tol=1e-10), PROGRESS, ["coef_", "intercept_"]),
        (
            learn.ElasticNet(alpha=0.1, l1_ratio=0.3),
            linear_model.ElasticNet(alpha=0.1, l1_ratio=0.3, tol=1e-10),
            PROGRESS,
            ["coef_", "intercept_"],
        ),
        (
            learn.GaussianNB(),
            naive_bayes.GaussianNB(),
            PROGRESS > 150.0,
            ["theta_", "var_", "class_prior_", "classes_"],
        ),
        (learn.PCA(n_components=3), decomposition.PCA(3), None, ["mean_", "explained_variance_"]),
        (
            learn.KMeans(n_clusters=3),
            cluster.KMeans(3, n_init=1, random_state=0),
            None,
            ["cluster_centers_", "labels_"],
        ),
        (learn.StandardScaler(), preprocessing.StandardScaler(), None, ["mean_", "scale_", "var_"]),
        (
            learn.MinMaxScaler(feature_range=(-1, 2), clip=True),
            preprocessing.MinMaxScaler((-1, 2), clip=True),
            None,
            ["min_", "scale_", "data_min_", "data_max_", "data_range_"],
        ),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "fit") else None,
)
def test_without_privacy_attributes_and_answers_are_scikit_learns(ours, theirs, y, attributes):
    ours.set_params(epsilon=INF).fit(PATIENTS, y)
    theirs.fit(PATIENTS, y)
    for name in attributes:
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-6)
    for answer in ("predict", "predict_proba", "transform"):
        assert hasattr(ours, answer) == hasattr(theirs, answer)
        if hasattr(ours, answer):
            made, wanted = getattr(ours, answer)(PATIENTS), getattr(theirs, answer)(PATIENTS)
            assert np.allclose(np.abs(made), np.abs(wanted), rtol=1e-6, atol=1e-6)  # signs of components are free


def test_labels_of_clusters_do_not_outlive_a_fit_without_privacy():
    model = learn.KMeans(epsilon=INF, n_clusters=2, bounds=(-1, 1)).fit(PATIENTS)
    assert (model.labels_ == model.predict(PATIENTS)).all()
    assert not hasattr(model.set_params(epsilon=1.0, delta=1e-6).fit(PATIENTS), "labels_")
