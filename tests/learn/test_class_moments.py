"""Naive Bayes on small classes: moments drawn to the pooled ones by their noise, and what that is worth."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privet import noise
from privet.learn import GaussianNB
from privet.learn.estimators import gaussian_nb
from privet.learn.estimators.class_moments import above_zero, class_moments
from privet.learn.estimators.columns import column_task, moments
from privet.learn.problem import ArrayRecords, Classes
from privet.learn.solvers import ColumnMoments
from privet.learn.solvers.column_moments import exact_moments
from privet.learn.solvers.exact_totals import STEPS
from privet.privacy import Guarantee, Unit

TASK = column_task((-2.0, 2.0), 3, Unit(), Classes((0, 1)))


def exact(counts, means, variances):
    """Count, sums and squares less 1, of columns in [-1, 1]."""
    counts, means = np.array(counts, dtype=float)[:, None], np.array(means)
    return np.hstack([counts, counts * means, counts * (np.array(variances) + means**2 - 1.0)])


MEANS = [[0.1, -0.2, 0.0], [0.4, 0.3, -0.3]]
VARIANCES = [[0.05, 0.1, 0.2], [0.02, 0.1, 0.3]]


def test_without_noise_nothing_is_drawn_to_anything():
    table = exact([1000, 20], MEANS, VARIANCES)
    for found, plain in zip(class_moments(table, TASK, 1e-9, 1e-9, 1e-4), moments(table, TASK, 1e-4), strict=True):
        assert found == pytest.approx(plain, rel=1e-9)


def test_a_class_within_the_noise_is_all_records():
    """The smaller class is drawn to the pooled moments, the larger stays: both sides of the size of the noise."""
    table = exact([10**6, 20], MEANS, VARIANCES)
    _, means, variances = class_moments(table, TASK, 1000.0, 1000.0, 1e-4)
    pooled = 2.0 * table.sum(axis=0)[1:4] / table[:, 0].sum()
    assert means[0] == pytest.approx(2.0 * np.array(MEANS[0]), abs=1e-3)
    assert np.abs(means[1] - pooled).max() < 0.35 * np.abs(2.0 * np.array(MEANS[1]) - pooled).max()
    assert variances[0] == pytest.approx(4.0 * np.array(VARIANCES[0]), rel=0.02)
    assert (variances[1] > 0.5 * variances[0]).all()  # noise makes none narrow


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e3, 1e9])
def test_whatever_noise_means_stay_in_bounds_and_variances_above_the_floor(spread):
    rng = np.random.default_rng(3)
    for table in (rng.normal(size=(2, 7)) * spread, np.zeros((2, 7)), np.full((2, 7), -1e12)):
        counts, means, variances = class_moments(table, TASK, spread, spread, 1e-4)
        assert (counts > 0.0).all()
        assert np.abs(means).max() <= 2.0
        assert variances.min() >= 4.0 * 4e-4 * (1 - 1e-9)
        assert variances.max() <= 4.0
    assert class_moments(table, TASK, spread, spread, 0.5)[2] == pytest.approx(4.0)  # a floor beyond what bounds allow


def test_a_number_above_zero_is_expected_where_its_noise_says():
    """Against sums over the density; a value far above 0 is itself, and without noise nothing moves."""
    at = np.linspace(0.0, 60.0, 600_001)[1:]
    for value, spread in ((3.0, 2.0), (0.0, 1.0), (-4.0, 1.5), (20.0, 3.0)):
        density = np.exp(-0.5 * ((at - value) / spread) ** 2)
        assert above_zero(np.array(value), spread) == pytest.approx((at * density).sum() / density.sum(), rel=1e-3)
    assert above_zero(np.array([7.0, 0.0]), 0.0) == pytest.approx([7.0, 0.0], abs=1e-100)


@pytest.mark.parametrize(
    ("unit", "delta"),
    [
        pytest.param(Unit(), 1e-6, id="add_remove-1e-06"),
        pytest.param(Unit("replace"), 0.0, id="replace-0.0"),
        pytest.param(Unit(), 0.0, id="add_remove-0.0", marks=pytest.mark.slow),
        pytest.param(Unit("replace"), 1e-6, id="replace-1e-06", marks=pytest.mark.slow),
    ],
)
def test_a_plan_knows_the_noise_of_its_numbers(unit, delta):
    """One number of a ball of 11 was once taken for the whole of it: its noise was held for a third of what it is."""
    task = column_task((-1.0, 1.0), 5, unit, Classes((0, 1)))
    plan = ColumnMoments.planned(task, Guarantee(2.0, delta))
    nobody = ArrayRecords(np.zeros((0, 5)), np.zeros(0, dtype=int))
    drawn = np.array(plan.simulate(nobody, runs=400, source=noise.Seeded(4)))
    assert np.sqrt(np.square(drawn[:, :, 1:]).mean()) == pytest.approx(plan.spread, rel=0.05)
    assert np.sqrt(np.square(drawn[:, :, 0]).mean()) == pytest.approx(plan.count_spread, rel=0.12)
    weight = 2.0 if unit.relation == "replace" else 1.0
    assert plan.spread == pytest.approx(weight * plan.count_spread)


@pytest.mark.slow
def test_a_rare_class_is_ranked_better_the_less_noise_there_is():
    """Means of 40 draws of noise, the same ones at each size; a twin that takes moments as they come is far behind."""
    rng = np.random.default_rng(1)
    labels = (rng.random(9_000) < 0.02).astype(int)
    rows = np.clip(rng.normal(size=(9_000, 6)) / 4.0 + 0.25 * labels[:, None], -1.0, 1.0)
    task = column_task((-1.0, 1.0), 6, Unit(), Classes((0, 1)))
    table = np.array(exact_moments(task, ArrayRecords(rows[:6_000], labels[:6_000])) / STEPS**2, dtype=float)
    test, truth = rows[6_000:], labels[6_000:]

    def areas(spread, way):
        made = []
        for seed in range(40):
            noisy = table + spread * np.random.default_rng(seed).normal(size=table.shape)
            _, means, variances = way(noisy, spread)
            scores = [
                (np.log(var) + (test - mean) ** 2 / var).sum(axis=1) for mean, var in zip(means, variances, strict=True)
            ]
            made.append(roc_auc_score(truth, scores[0] - scores[1]))
        return float(np.mean(made))

    sizes = (200.0, 40.0, 20.0, 10.0, 5.0, 2.5)
    ours = [areas(size, lambda noisy, size: class_moments(noisy, task, size, size, 1e-4)) for size in sizes]
    twin = [areas(size, lambda noisy, _: moments(noisy, task, 1e-4)) for size in sizes[2:4]]
    assert ours == sorted(ours)
    assert min(np.array(ours[2:4]) - twin) > 0.1


def test_a_rare_class_is_ranked_well_and_better_with_more_budget(monkeypatch):
    """Means over 6 tables with two in a hundred positives; the twin takes the noisy moments as they are."""
    found = {}
    for way in ("ours", "twin"):
        if way == "twin":
            monkeypatch.setattr(
                gaussian_nb, "class_moments", lambda noisy, task, _, __, floor: moments(noisy, task, floor)
            )
        for epsilon in (0.1, 3.0):
            found[way, epsilon] = float(np.mean([ranked(seed, epsilon) for seed in range(6)]))
    assert found["ours", 0.1] > found["twin", 0.1] + 0.1
    assert found["ours", 3.0] > max(0.93, found["ours", 0.1], found["twin", 3.0])


def ranked(seed, epsilon):
    """The area under the curve on a table of its own."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(6000) < 0.02).astype(int)
    rows = np.clip(rng.normal(size=(6000, 6)) * 0.7 + 0.7 * labels[:, None], -4, 4)
    model = GaussianNB(epsilon=epsilon, delta=1e-5, bounds=(-4, 4), classes=[0, 1]).fit(rows[:4000], labels[:4000])
    return roc_auc_score(labels[4000:], model.predict_proba(rows[4000:])[:, 1])
