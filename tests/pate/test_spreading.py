"""Labels over a graph of neighbours: what is reached gets one, and what all around speaks against is turned."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from privet import pate
from privet.pate.spreading import spread


def clouds(rows=120, apart=6.0, seed=0):
    """Three clouds in the plane, and the one of each row."""
    rng = np.random.default_rng(seed)
    truth = np.arange(rows) % 3
    centres = apart * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    return centres[truth] + rng.normal(size=(rows, 2)), truth


def test_a_wrong_label_among_many_right_ones_is_turned():
    rows, truth = clouds()
    labels = np.where(np.arange(120) < 60, truth, -1)
    labels[[0, 1]] = [1, 2]  # noise on the votes
    student = pate.Student(KNeighborsClassifier(1), classes=[0, 1, 2], neighbours=6).fit(rows, labels)
    assert student.predict(rows[:2]).tolist() == truth[:2].tolist()
    assert np.mean(student.predict(rows) == truth) > 0.97


def test_a_few_labels_reach_whole_clouds():
    rows, truth = clouds()
    labels = np.full(120, -1)
    labels[:3] = truth[:3]
    assert np.mean(spread(rows, labels, 3, 6) == truth) > 0.97


def test_the_mass_of_classes_is_that_of_the_released_labels():
    """One cloud and two labels at its ends: without masses the class with more ties would take more than its half."""
    rows = np.linspace(0.0, 1.0, 101)[:, None] ** 2
    labels = np.full(101, -1)
    labels[[10, 90]] = [0, 1]
    many = np.bincount(spread(rows, labels, 2, 4), minlength=2)
    labels[[11, 12]] = 0
    more = np.bincount(spread(rows, labels, 2, 4), minlength=2)
    assert 30 < many[0] < 70
    assert more[0] > many[0]


def test_what_no_label_reaches_is_left_out():
    near, far = np.zeros((4, 1)), np.full((4, 1), 100.0)
    rows = np.concatenate([near, far, far + 100.0])
    labels = np.full(12, -1)
    labels[[0, 4]] = [0, 1]
    assert spread(rows, labels, 2, 3).tolist() == [0] * 4 + [1] * 4 + [-1] * 4
    model = pate.Student(LogisticRegression(), classes=["low", "high"], neighbours=3).fit(rows, labels)
    assert model.predict([[0.0], [100.0]]).tolist() == ["low", "high"]


@pytest.mark.parametrize("neighbours", [1, 3, 1_000])
def test_equal_rows_and_few_rows(neighbours):
    rows = np.array([[0.0], [0.0], [0.0], [5.0], [5.0]])
    found = spread(rows, np.array([0, -1, -1, 1, -1]), 2, neighbours)
    assert found[[0, 3]].tolist() == [0, 1]
    assert set(found.tolist()) <= {-1, 0, 1}
