"""Sums over records that are exact: the same bits in every order, and no record moves them by more than is priced."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from privet.learn.losses import ClippedPoisson, Huber, HuberHinge, Logistic, Pinball, Softmax
from privet.learn.problem import (
    ArrayRecords,
    Classes,
    GridRows,
    Task,
    gradient_reach,
    gram_matrix,
    gram_reach,
    grid_rows as kernel,
)
from privet.privacy import Unit

TWO = Task(features=5, row_norm=2.0, target=Classes((0, 1)))
FOUR = Task(features=5, row_norm=2.0, target=Classes(range(4)))


def some(n: int, seed: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, 5)) * 10.0 ** random.integers(-6, 6, size=(n, 1))
    return rows, random.integers(0, classes, n)


def grid(task: Task, rows: np.ndarray, labels: np.ndarray) -> GridRows:
    return GridRows(task, ArrayRecords(rows, labels))


def weights(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape) * 10.0 ** (seed % 5 - 2)


@pytest.mark.parametrize("seed", range(4))
def test_order_tiles_and_storage_do_not_matter(seed, monkeypatch):
    rows, labels = some(1_300, seed)
    w, turned = weights(seed, 6), np.random.default_rng(seed).permutation(1_300)
    plain = grid(TWO, rows, labels).gradient(Logistic(), w, 0.3)
    assert np.array_equal(plain, grid(TWO, rows[turned], labels[turned]).gradient(Logistic(), w, 0.3))
    assert np.array_equal(plain, grid(TWO, sparse.csr_array(rows), labels).gradient(Logistic(), w, 0.3))
    gram = grid(TWO, rows, labels).gram()
    assert np.array_equal(gram, grid(TWO, sparse.csr_array(rows[turned]), labels[turned]).gram())
    monkeypatch.setattr(kernel, "_TILE", 7)
    monkeypatch.setattr(kernel, "_FLUSH", 3)
    monkeypatch.setattr(kernel, "_HELD", 100)  # read again for every sum
    assert np.array_equal(plain, grid(TWO, rows, labels).gradient(Logistic(), w, 0.3))
    assert np.array_equal(gram, grid(TWO, rows, labels).gram())


def apart(left: np.ndarray, right: np.ndarray) -> Fraction:
    """The exact squared distance."""
    return sum(((int(a) - int(b)) ** 2 for a, b in zip(left.ravel(), right.ravel(), strict=True)), Fraction(0))


def worst_share(clip_norm: float, loss: object, task: Task, shape: tuple[int, ...], classes: int) -> float:
    """The largest move over many neighbours, as a share of the reach; random ones, and records beyond the bound."""
    largest = 0.0
    for seed in range(12):
        rows, labels = some(40, seed, classes)
        rows[-1] *= 1e9 if seed % 2 else 1.0
        w = weights(seed, *shape) * (1e4 if seed % 3 == 0 else 1.0)
        whole = grid(task, rows, labels).gradient(loss, w, clip_norm)
        fewer = grid(task, rows[:-1], labels[:-1]).gradient(loss, w, clip_norm)
        largest = max(largest, float(apart(whole, fewer) / gradient_reach(clip_norm, Unit()).value ** 2) ** 0.5)
    return largest


@pytest.mark.parametrize(
    ("loss", "task", "shape", "classes"),
    [(Logistic(), TWO, (6,), 2), (HuberHinge(), TWO, (6,), 2), (Softmax(4), FOUR, (4, 6), 4)],
)
def test_a_record_moves_a_sum_by_no_more_than_its_clipping_norm(loss, task, shape, classes):
    assert 0.99 < worst_share(0.3, loss, task, shape, classes) <= 1.0
    assert worst_share(100.0, loss, task, shape, classes) <= 1.0


def test_clipping_to_a_little_more_would_be_noticed(monkeypatch):
    monkeypatch.setattr(kernel, "_BELOW", 1.0 + 1e-3)
    assert worst_share(0.3, Logistic(), TWO, (6,), 2) > 1.0


def test_sums_in_floats_would_depend_on_other_records():
    """The twin that adds up floats: taking away the last record moves the sum by something else than that record."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(5_000, 3)) * 10.0 ** random.integers(-3, 3, size=(5_000, 1))
    moved, alone = rows.sum(axis=0) - rows[1:].sum(axis=0), rows[0]
    assert not np.array_equal(moved, alone)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_gram_matrix_moves_by_its_reach(relation):
    task = Task(features=4, row_norm=1.0, intercept=False)
    largest = 0.0
    for seed in range(30):
        random = np.random.default_rng(seed)
        first, second = random.normal(size=(2, 1, 4)) * 1e3
        if seed == 0:
            first, second = np.eye(4)[:1] * 9.0, np.eye(4)[1:2] * 9.0
        left = GridRows(task, ArrayRecords(first)).gram()
        right = np.zeros_like(left) if relation == "add_remove" else GridRows(task, ArrayRecords(second)).gram()
        largest = max(largest, float(apart(left, right) / gram_reach(Unit(relation)).value ** 2) ** 0.5)
    assert 0.99 < largest <= 1.0


def test_the_gram_matrix_is_that_of_the_rows():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    task = Task(features=3, row_norm=10.0, intercept=False)
    made = gram_matrix(GridRows(task, ArrayRecords(rows)).gram().astype(float), 3)
    assert np.allclose(made, rows.T @ rows / 100.0, atol=1e-3)


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Huber(), Pinball(), ClippedPoisson(10.0, 2.0), Softmax(5)])
def test_slopes_do_not_depend_on_where_a_record_stands(loss):
    random = np.random.default_rng(3)
    shape = (1_003,) if loss.outputs == 1 else (1_003, 5)
    margins = random.normal(size=shape) * 10.0 ** random.integers(-3, 3, size=(1_003, *(1,) * (len(shape) - 1)))
    targets = random.integers(0, 5, 1_003).astype(float) if loss.outputs > 1 else random.choice([-1.0, 1.0], 1_003)
    whole = loss.slope(margins, targets)
    for start, end in ((0, 1), (1, 3), (5, 12), (17, 512), (1_000, 1_003)):
        assert np.array_equal(whole[start:end], loss.slope(margins[start:end].copy(), targets[start:end].copy()))


def test_bad_rows_add_nothing_and_large_weights_are_taken():
    rows, labels = np.array([[np.nan] * 5, [np.inf] * 5, [0.0] * 5]), np.array([0, 1, 0])
    task = Task(features=5, row_norm=1.0, intercept=False, target=Classes((0, 1)))
    for size in (0.0, 1e-300, 1e300):
        assert not grid(task, rows, labels).gradient(Logistic(), np.full(5, size), 1.0).any()
