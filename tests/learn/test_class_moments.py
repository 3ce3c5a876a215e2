"""Naive Bayes on small classes: moments drawn to the pooled ones by their noise, and what that is worth."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privet.learn import GaussianNB
from privet.learn.estimators import gaussian_nb
from privet.learn.estimators.columns import class_moments, column_task, moments
from privet.learn.problem import Classes
from privet.privacy import Unit

TASK = column_task((-2.0, 2.0), 3, Unit(), Classes((0, 1)))


def exact(counts, means, variances):
    """Count, sums and squares less 1/2, of columns in [-1, 1]."""
    counts, means = np.array(counts, dtype=float)[:, None], np.array(means)
    return np.hstack([counts, counts * means, counts * (np.array(variances) + means**2 - 0.5)])


MEANS = [[0.1, -0.2, 0.0], [0.4, 0.3, -0.3]]
VARIANCES = [[0.05, 0.1, 0.2], [0.02, 0.1, 0.3]]


def test_without_noise_nothing_is_drawn_to_anything():
    table = exact([1000, 20], MEANS, VARIANCES)
    for found, plain in zip(class_moments(table, TASK, 1e-9, 1e-4), moments(table, TASK, 1e-4), strict=True):
        assert found == pytest.approx(plain, rel=1e-9)


def test_a_class_within_the_noise_is_all_records():
    """The smaller class is drawn to the pooled moments, the larger stays: both sides of the size of the noise."""
    table = exact([10**6, 20], MEANS, VARIANCES)
    _, means, variances = class_moments(table, TASK, 1000.0, 1e-4)
    pooled = 2.0 * table.sum(axis=0)[1:4] / table[:, 0].sum()
    assert means[0] == pytest.approx(2.0 * np.array(MEANS[0]), abs=1e-3)
    assert np.abs(means[1] - pooled).max() < 0.35 * np.abs(2.0 * np.array(MEANS[1]) - pooled).max()
    assert (variances[1] >= 0.99 * variances[0]).all()  # what is not known of the mean is part of it


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e3, 1e9])
def test_whatever_noise_means_stay_in_bounds_and_variances_above_the_floor(spread):
    rng = np.random.default_rng(3)
    for table in (rng.normal(size=(2, 7)) * spread, np.zeros((2, 7)), np.full((2, 7), -1e12)):
        counts, means, variances = class_moments(table, TASK, spread, 1e-4)
        assert (counts >= 0.0).all()
        assert np.abs(means).max() <= 2.0
        assert variances.min() >= 4.0 * 4e-4 * (1 - 1e-9)
        assert variances.max() <= 4.0


def test_a_rare_class_is_ranked_well_and_better_with_more_budget(monkeypatch):
    """Means over 6 tables with two in a hundred positives; the twin takes the noisy moments as they are."""
    found = {}
    for way in ("ours", "twin"):
        if way == "twin":
            monkeypatch.setattr(
                gaussian_nb, "class_moments", lambda noisy, task, spread, floor: moments(noisy, task, floor)
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
