"""Raw records to unit rows: never longer than 1 in exact arithmetic, whatever is thrown at them."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from privet.errors import InvalidData, InvalidParameter
from privet.learn.problem import ArrayRecords, Classes, Interval, Task, task as tasks

RNG = np.random.default_rng(16)
HOSTILE = np.concatenate(
    [
        RNG.normal(size=(40, 3)) * 10.0 ** RNG.integers(-320, 300, size=(40, 1)).astype(float),
        [[np.nan, 1, 2], [np.inf, 0, 0], [0, 0, 0], [1e308, 1e308, 1e308], [-0.0, 5e-324, 0], [3, 4, 0], [2, 2, 1]],
    ]
)


def _single(rows):
    with np.errstate(over="ignore", under="ignore"):
        return rows.astype(np.float32)


def exact_square(row):
    return sum(Fraction(float(x)) ** 2 for x in row)


def unit(task, rows, targets=None):
    return np.concatenate(
        [c.rows.toarray() if sparse.issparse(c.rows) else c.rows for c in task.unit_chunks(ArrayRecords(rows, targets))]
    )


@pytest.mark.parametrize("norm", [1e-3, 0.5, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_unit_rows_are_never_longer_than_one(norm, intercept, scaled):
    more = {"centers": (1.0, -2.0, 0.0), "scales": (0.5, 3.0, 1e-9)} if scaled else {}
    task = Task(features=3, row_norm=norm, intercept=intercept, **more)
    for rows in (HOSTILE, _single(HOSTILE)):
        made = unit(task, rows)
        assert np.isfinite(made).all()
        assert all(exact_square(row) <= 1 for row in made)
    assert max(exact_square(row) for row in unit(task, HOSTILE)) > Fraction(99, 100)  # and it is used up


def test_rows_that_are_not_finite_and_unknown_labels_count_as_zero_rows():
    task = Task(features=2, row_norm=1.0, target=Classes(("a", "b")))
    made = unit(task, np.array([[np.nan, 1.0], [1.0, 0.0], [1.0, 0.0]]), np.array(["a", "b", "?"]))
    assert (made[0] == 0).all()
    assert (made[2] == 0).all()
    assert made[1, 2] > 0


def test_sparse_and_dense_rows_are_the_same_rows_and_duplicates_are_added_up():
    dense = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [0.1, 0.0, 0.0]])
    task = Task(features=3, row_norm=2.0)
    assert np.allclose(unit(task, sparse.csr_array(dense)), unit(task, dense), atol=1e-15)
    doubled = sparse.csr_array((np.array([2.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 3))
    made = unit(task, doubled)
    assert exact_square(made[0]) <= 1
    assert made[0, 0] > 0.9


def test_coefficients_lead_back_to_the_units_of_the_data():
    task = Task(features=2, row_norm=9.0, centers=(10.0, -5.0), scales=(2.0, 0.5), target=Interval(0.0, 100.0))
    rows = RNG.uniform([8, -5.5], [12, -4.5], size=(50, 2))  # inside the bounds: nothing is clipped
    theta = np.array([0.3, -0.7, 0.2])
    coefficients, intercept = task.raw(theta)
    scaled = unit(task, rows, np.zeros(50)) @ theta
    assert np.allclose(rows @ coefficients + intercept, 50.0 + 50.0 * scaled, rtol=1e-5)


@pytest.mark.parametrize(
    "facts",
    [
        {"row_norm": 0.0},
        {"row_norm": float("nan")},
        {"features": 0},
        {"scales": (1.0, 0.0)},
        {"centers": (1.0,)},
        {"unit": "replace"},
    ],
)
def test_wrong_facts_are_refused(facts):
    with pytest.raises(InvalidParameter):
        Task(**({"features": 2, "row_norm": 1.0} | facts))


def test_records_are_admitted_by_type_and_shape_alone():
    task = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
    for wrong in (np.zeros((3, 2)), ArrayRecords(np.zeros((3, 3)), np.zeros(3)), ArrayRecords(np.zeros((3, 2)))):
        with pytest.raises(InvalidData):
            task.admit(wrong)
    with pytest.raises(InvalidData):
        task.admit(ArrayRecords(np.zeros((2, 2)), np.array(["x", "y"])))


@pytest.mark.parametrize("columns", [3, 7, 33, 9_001])
def test_a_unit_row_comes_from_its_record_alone(columns):
    """However the array lies in memory, and whoever else is in it: a sum down columns rounds by the number of rows, and so
    does a sum of products of more than 8,192 columns.
    """
    rows = np.random.default_rng(4).normal(size=(40, columns))
    task = Task(features=columns, row_norm=0.5)

    def units(array):
        return np.concatenate([chunk.rows for chunk in task.unit_chunks(ArrayRecords(array))])

    alone = np.concatenate([units(rows[i : i + 1]) for i in range(40)])
    held = np.zeros((80, 2 * columns))
    held[::2, ::2] = rows
    for array in (rows, np.asfortranarray(rows), held[::2, ::2], np.asfortranarray(held)[::2, ::2]):
        assert (units(array) == alone).all()
        assert (units(array[5:6]) == alone[5]).all()


@pytest.mark.parametrize("scaled", [True, False])
def test_whole_tiles_are_the_unit_rows_times_the_steps_cut_towards_zero(scaled):
    """To the last bit, in tiles of any size, of arrays and of sparse rows; the rows that were given stay as they are."""
    more = {"centers": (0.0, -2.0, 0.0), "scales": (0.5, 1.0, 3.0)} if scaled else {}
    task = Task(features=3, row_norm=0.7, target=Interval(-1.0, 1.0), **more)
    given, goals = HOSTILE.copy(), np.where(np.arange(len(HOSTILE)) % 9 == 4, np.nan, 0.25)
    expected = np.trunc(unit(task, given, goals) * 2.0**21)
    for many in (7, 2**10):
        held = [
            (c.rows.copy(), c.targets) for c in task.whole_tiles(ArrayRecords(given, goals), rows=many, steps=2**21)
        ]
        assert max(len(rows) for rows, _ in held) <= many
        assert np.array_equal(np.concatenate([rows for rows, _ in held]), expected)
        assert sum(len(targets) for _, targets in held) == len(given)
    assert np.array_equal(given, HOSTILE, equal_nan=True)
    if not scaled:
        csr = ArrayRecords(sparse.csr_array(np.nan_to_num(given[40:])), goals[40:])
        made = np.concatenate([c.rows.copy() for c in task.whole_tiles(csr, rows=3, steps=2**21)])
        assert np.array_equal(made, np.trunc(unit(task, np.nan_to_num(given[40:]), goals[40:]) * 2.0**21))


@pytest.mark.parametrize("kept", [True, False])
def test_passes_are_the_unit_rows_cut_towards_zero(kept, monkeypatch):
    """To the last bit, whether rows are kept or made anew, over the end of a piece, and of sparse rows too."""
    task = Task(features=3, row_norm=0.7, target=Interval(-1.0, 1.0))
    monkeypatch.setattr(tasks, "_TILE", 64)  # numbers: pieces of sixteen rows
    if not kept:
        monkeypatch.setattr(tasks, "_KEPT", 0)
    goals = np.full(len(HOSTILE), 0.25)
    for given in (HOSTILE, sparse.csr_array(np.nan_to_num(HOSTILE[40:]))):
        some = goals[: given.shape[0]]
        expected = np.trunc(unit(task, given, some) * 2.0**21) / 2.0**21
        passes = task.passes(ArrayRecords(given, some))
        for _ in range(2):
            held = [c.rows.toarray() if sparse.issparse(c.rows) else c.rows for c in passes()]
            assert np.array_equal(np.concatenate(held), expected)
