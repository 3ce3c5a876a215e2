"""Naive Bayes, components, clusters, scalers: sensitivities by search, answers near scikit-learn's, nothing unpaid."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.errors import InvalidParameter
from privet.learn import PCA, GaussianNB, KMeans, StandardScaler
from privet.learn.problem import ArrayRecords, Classes, NoTarget, Task
from privet.learn.solvers import ColumnMoments, NoisyGram, NoisyLloyd
from privet.learn.solvers.column_moments import exact_moments, moment_reach
from privet.learn.solvers.exact_totals import STEPS
from privet.learn.solvers.noisy_lloyd import exact_clusters, spread_points
from privet.mechanisms import Gaussian
from privet.privacy import Guarantee, Unit

RNG = np.random.default_rng(8)
REPLACE = Unit("replace")
UNITS = pytest.mark.parametrize("unit", [Unit(), REPLACE], ids=["add_remove", "replace"])


def box(columns, unit, classes=2):
    target = Classes(tuple(range(classes))) if classes > 1 else NoTarget()
    ones = (1.0,) * columns
    return Task(
        features=columns,
        row_norm=math.sqrt(columns),
        intercept=False,
        centers=(0.0,) * columns,
        scales=ones,
        target=target,
        unit=unit,
    )


def length(left, right):
    gaps = (left - right).astype(object).ravel()
    return math.sqrt(sum(Fraction(int(gap), STEPS**2) ** 2 for gap in gaps))


@UNITS
@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 2, 5, 16])
def test_moments_move_by_their_sensitivity_and_no_more(unit, classes, columns):
    task, worst = box(columns, unit, classes), 0.0
    for _ in range(60):
        rows = RNG.choice([-9.0, -1.0, 0.0, 0.6, 1.0, np.nan], size=(3, columns), p=[0.1, 0.35, 0.1, 0.1, 0.33, 0.02])
        labels = RNG.integers(0, classes, size=3)
        if RNG.random() < 0.3:
            rows[0] = RNG.choice([-1.0, 1.0], size=columns)  # all at the ends, in many columns as well
        if RNG.random() < 0.5:
            rows[1], labels[1] = -rows[0], RNG.choice([labels[0], labels[1]])
        order = ([0, 2], [1, 2]) if unit == REPLACE else ([0, 2], [2])
        made = [
            exact_moments(task, ArrayRecords(rows[k], labels[k] if classes > 1 else None)) for k in map(list, order)
        ]
        worst = max(worst, length(*made))
    bound = float(moment_reach(columns, classes, unit))
    assert 0.99 * bound < worst <= bound


def test_a_split_by_class_would_be_noticed():
    """Replace touches two classes: half of the squared sensitivity, as for one block, is refuted."""
    task = box(1, REPLACE, 2)
    left = exact_moments(task, ArrayRecords(np.ones((1, 1)), np.array([0])))
    right = exact_moments(task, ArrayRecords(np.ones((1, 1)), np.array([1])))
    assert length(left, right) > 1.4 * float(moment_reach(1, 2, Unit()))
    small = Gaussian.for_budget(mu=1.0, sensitivity=1.5, unit=REPLACE)
    with pytest.raises(InvalidParameter, match="smaller reach"):
        ColumnMoments(task=task, noise=small)


@UNITS
def test_clusters_move_by_their_sensitivity_and_no_more(unit):
    task, worst = Task(features=2, row_norm=1.0, intercept=False, unit=unit), 0.0
    for k in range(60):
        centers = RNG.normal(size=(3, 2)) if k % 2 else np.zeros((1, 2))
        rows = RNG.normal(size=(3, 2)) * 10
        rows[1] = -rows[0]
        order = ([0, 2], [1, 2]) if unit == REPLACE else ([0, 2], [2])
        made = [exact_clusters(task, ArrayRecords(rows[each]), centers) for each in map(list, order)]
        worst = max(worst, length(*made))
    bound = 2.0 if unit == REPLACE else math.sqrt(2.0)
    assert 0.99 * bound < worst <= bound
    with pytest.raises(InvalidParameter, match="smaller reach"):
        NoisyLloyd(task=task, clusters=2, rounds=1, noise=Gaussian.for_budget(mu=1.0, sensitivity=1.0, unit=unit))


@pytest.mark.parametrize("target", [Guarantee(1.0, 1e-6), Guarantee(rho=0.1), Guarantee(mu=0.7), Guarantee(1.0)])
def test_plans_cost_what_was_asked(target):
    rows = Task(features=2, row_norm=1.0, intercept=False)
    plans = [ColumnMoments.planned(box(2, Unit()), target), NoisyLloyd.planned(rows, 3, 5, target)]
    if target.delta or target.epsilon is None:
        plans.append(NoisyGram.planned(Task(features=2, row_norm=1.0), target))
    for plan in plans:
        if target.epsilon is not None and target.delta == 0.0:
            assert 0.99 <= plan.loss.pure() <= 1.0 + 1e-12
        else:
            wanted = 1.0 / 4.2246788893 if target.epsilon else target.mu or math.sqrt(2.0 * (target.rho or 0.0))
            assert 0.99 * wanted <= plan.loss.gaussian() <= wanted * (1.0 + 1e-9)


def blobs(n=6_000, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=n)
    means = np.array([[0.6, 0.6], [-0.6, 0.5], [0.0, -0.7]])
    return np.clip(means[labels] + 0.15 * rng.normal(size=(n, 2)), -1, 1), labels


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_naive_bayes_is_near_the_one_without_noise(delta):
    rows, labels = blobs()
    facts = {"bounds": (-1, 1), "classes": [0, 1, 2], "source": noise.Seeded(3)}
    model = GaussianNB(epsilon=2.0, delta=delta, **facts).fit(rows, labels)
    exact = GaussianNB(epsilon=math.inf).fit(rows, labels)
    assert model.score(rows, labels) > exact.score(rows, labels) - 0.02
    assert np.abs(model.theta_ - exact.theta_).max() < 0.1
    assert np.allclose(model.predict_proba(rows[:5]).sum(axis=1), 1.0)
    from sklearn.naive_bayes import GaussianNB as Plain

    assert np.allclose(exact.predict_proba(rows), Plain().fit(rows, labels).predict_proba(rows), atol=1e-6)


def test_the_least_variance_comes_from_the_public_range():
    rows, labels = np.zeros((2_000, 1)), np.arange(2_000) % 2
    made = [
        GaussianNB(
            epsilon=100.0,
            delta=1e-6,
            bounds=(-width, width),
            classes=[0, 1],
            var_smoothing=1e-2,
            source=noise.Seeded(1),
        ).fit(rows, labels)
        for width in (1.0, 10.0)
    ]
    assert made[0].var_.min() >= 4e-2
    assert made[1].var_.min() == pytest.approx(4.0)
    empty = GaussianNB(epsilon=0.1, delta=1e-6, bounds=(-1, 1), classes=[0, 1, 2], source=noise.Seeded(1))
    empty.fit(rows[:2], labels[:2])
    assert (empty.var_ > 0).all()
    assert (empty.class_prior_ > 0).all()


def test_components_and_the_edge_of_the_noise():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(20_000, 6)) * [1.0, 0.5, 0.01, 0.01, 0.01, 0.01] + 0.3
    model = PCA(epsilon=1.0, delta=1e-6, row_norm=4.0, source=noise.Seeded(1)).fit(rows)
    exact = PCA(epsilon=math.inf).fit(rows)
    assert np.abs(model.components_[:2] - exact.components_[:2]).max() < 0.05
    assert np.abs(model.mean_ - 0.3).max() < 0.05
    assert model.above_noise_.tolist() == [True, True, False, False, False, False]
    few = PCA(epsilon=0.1, delta=1e-6, row_norm=4.0, source=noise.Seeded(1)).fit(rows[:50])
    assert not few.above_noise_.any()
    from sklearn.decomposition import PCA as Plain

    assert np.allclose(exact.explained_variance_, Plain().fit(rows).explained_variance_, atol=1e-6)
    pure = PCA(epsilon=1.0, row_norm=4.0, source=noise.Seeded(1)).fit(rows)  # without a delta
    assert pure.privacy_.loss.pure() <= 1.0
    assert np.abs(pure.components_[0] - exact.components_[0]).max() < 0.05


def test_clusters_are_found_and_nothing_of_the_rows_is_kept():
    rows, _ = blobs()
    model = KMeans(epsilon=2.0, delta=1e-6, n_clusters=3, bounds=(-1, 1), source=noise.Seeded(2)).fit(rows)
    means = np.array([[0.6, 0.6], [-0.6, 0.5], [0.0, -0.7]])
    nearest = np.linalg.norm(model.cluster_centers_[:, None] - means, axis=2).min(axis=0)
    assert nearest.max() < 0.1
    assert not {"labels_", "inertia_", "n_iter_"} & set(vars(model))
    assert model.transform(rows[:4]).shape == (4, 3)
    assert set(model.predict(rows)) == {0, 1, 2}
    from sklearn.cluster import KMeans as Plain

    exact = KMeans(epsilon=math.inf, n_clusters=3, bounds=(-1, 1)).fit(rows)
    start = spread_points(3, 2) * math.sqrt(2.0)
    plain = Plain(n_clusters=3, init=start, n_init=1).fit(rows)
    assert np.allclose(exact.cluster_centers_, plain.cluster_centers_, atol=1e-6)


def test_starts_are_public_and_spread():
    points = spread_points(8, 3)
    assert (np.linalg.norm(points, axis=1) <= 1.0).all()
    apart = np.linalg.norm(points[:, None] - points, axis=2) + np.eye(8)
    assert apart.min() > 0.3
    assert (points == spread_points(8, 3)).all()


def test_a_scaler_in_a_pipeline_is_paid_for():
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    import privet as pv

    rows = np.random.default_rng(1).uniform(0, 10, size=(5_000, 2))
    y = rows @ [1.0, -1.0]
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0, delta=1e-5))
    scaler = StandardScaler(epsilon=1.0, delta=1e-6, bounds=(0, 10))
    model = pv.learn.LinearRegression(epsilon=1.0, delta=1e-6, row_norm=3.0, bounds_y=(-10, 10))
    with ledger:
        made = clone(make_pipeline(scaler, model)).fit(rows, y)
    assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 2
    assert made.score(rows, y) > 0.9
    exact = StandardScaler(epsilon=math.inf).fit(rows)
    assert np.allclose(exact.transform(rows).std(axis=0), 1.0, atol=1e-6)
    assert np.allclose(exact.inverse_transform(exact.transform(rows)), rows)


def test_frames_keep_their_names():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame(np.random.default_rng(1).uniform(-1, 1, size=(500, 2)), columns=["a", "b"])
    scaler = StandardScaler(epsilon=1.0, delta=1e-6, bounds=(-1, 1)).set_output(transform="pandas")
    assert list(scaler.fit_transform(rows).columns) == ["a", "b"]
    parts = PCA(epsilon=1.0, delta=1e-6, bounds=(-1, 1), n_components=1).set_output(transform="pandas").fit(rows)
    assert list(parts.transform(rows).columns) == ["pca0"]


@pytest.mark.parametrize("make", [GaussianNB, StandardScaler])
def test_missing_bounds_are_an_error(make):
    with pytest.raises(InvalidParameter, match="give bounds"):
        make(epsilon=1.0, delta=1e-6, **({"classes": [0, 1]} if make is GaussianNB else {})).fit(
            np.zeros((3, 1)), np.array([0, 1, 0])
        )


def test_centres_of_columns_of_unlike_widths():
    """One ball for all columns gave AGE the noise of an income: centres of 1,180 and -1,205 years."""
    rng = np.random.default_rng(0)
    ages, incomes = rng.integers(18, 80, 30_000), rng.uniform(0, 1e6, 30_000)
    rows, bounds = np.c_[ages, incomes], ([18, 0], [100, 1e6])
    for seed in range(3):
        model = KMeans(n_clusters=3, epsilon=1.0, bounds=bounds, source=noise.Seeded(seed)).fit(rows)
        assert np.abs(model.cluster_centers_[:, 0] - 48.5).max() < 5.0
        assert np.square(model.transform(rows).min(axis=1)).mean() < 1.02 * 96_217.0**2  # scikit-learn's
    box = [np.array(end) for end in bounds]
    for epsilon in (0.001, 0.01):  # and where there is nothing but noise
        found = KMeans(n_clusters=8, epsilon=epsilon, bounds=bounds).fit(rows[:50]).cluster_centers_
        assert (found >= box[0]).all()
        assert (found <= box[1]).all()
    within = KMeans(n_clusters=4, epsilon=0.1, bounds=bounds, row_norm=3e5).fit(rows).cluster_centers_
    assert (within >= box[0]).all()
    assert (within <= box[1]).all()
