"""The network of a student: it learns, is its seed's alone, and may leave."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from privet import pate  # noqa: E402
from privet.errors import InvalidData, InvalidParameter  # noqa: E402


def blobs(many=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(many) % 3
    return rng.normal(size=(many, 2)) + np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[y], y


@pytest.mark.parametrize("how", [{}, {"neighbours": 5}, {"sure": 0.9}])
def test_a_student_with_a_network_learns_from_few_labels(how):
    (pool, truth), (held, wanted) = blobs(), blobs(seed=1)
    told = np.where(np.arange(120) < 30, truth, -1)
    told[0] = (told[0] + 1) % 3  # noise turned one of them
    student = pate.Student(pate.StudentNetwork(hidden=(16,), steps=80), classes=["a", "b", "c"], **how).fit(pool, told)
    assert np.mean(student.predict(held) == np.array(["a", "b", "c"])[wanted]) > 0.9
    chances = student.predict_proba(held)
    assert chances.shape == (120, 3)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(pickle.loads(pickle.dumps(student)).predict(held), student.predict(held))


def test_the_seed_alone_says_where_weights_begin():
    rows, y = blobs(30)
    made = []
    for seed, own in ((1, 0), (2, 0), (2, 7)):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        made.append(pate.StudentNetwork(hidden=(4,), steps=5, seed=own).fit(rows, y).predict_proba(rows))
        assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(made[0], made[1])
    assert not np.array_equal(made[0], made[2])


def test_a_network_guesses_for_interactive_labels():
    pool, truth = blobs(30)
    guess = pate.Student(pate.StudentNetwork(hidden=(8,), steps=60), classes=range(3)).guesses(pool)
    assert np.mean(guess(truth).argmax(axis=1) == truth) > 0.9
    assert guess(np.full(30, -1)) == pytest.approx(1 / 3)


def test_a_column_without_a_width_is_no_fault():
    rows, y = blobs(30)
    flat = np.column_stack([rows, np.full(30, 5.0)])
    assert np.isfinite(pate.StudentNetwork(hidden=(), steps=3).fit(flat, y).predict_proba(flat)).all()


@pytest.mark.parametrize("asked", [{"hidden": (0,)}, {"steps": 0}, {"rate": 0.0}, {"seed": -1}, {"seed": 2**64}])
def test_nonsense_is_refused(asked):
    with pytest.raises(InvalidParameter):
        pate.StudentNetwork(**asked)


def test_rows_that_are_none_are_refused():
    rows, y = blobs(9)
    net = pate.StudentNetwork(hidden=(2,), steps=1)
    with pytest.raises(InvalidParameter, match="call fit"):
        net.predict(rows)
    for X, told in ((rows[:, 0], y), (rows * np.nan, y), (rows, y[:-1]), (rows, np.zeros(9))):
        with pytest.raises(InvalidData):
            net.fit(X, told)
    with pytest.raises(InvalidData, match="2 columns"):
        net.fit(rows, y).predict(rows[:, :1])
