"""Tiles and blocks of a rectangle: least squares, variances and sensitivities beside dense linear algebra."""

from fractions import Fraction

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidParameter
from privet.privacy import Unit
from privet.workloads import AllRanges, Prefix, Product, RangeQueries, Tiles
from privet.workloads.families.rectangles import Rectangles

RAGGED = Rectangles(((3, 7), (2, 5, 6)), ((2, 1), (1, 3), (1, 1), (4, 2), (2, 2), (1, 1)), Fraction(3, 4))
LINE = Rectangles(((1,), (4, 6, 11)), ((1, 3), (1, 1), (1, 5)), Fraction(2))
ONE = Rectangles(((2,), (3,)), ((1, 1),), Fraction(1, 3))
FLAT = Rectangles(((2, 4), (3,)), ((2, 2), (1, 1)))
DESIGNS = [RAGGED, LINE, ONE, FLAT]


def matrices(design):
    """The measurements of cells, with their weights, and the cells that each tile stands for."""
    rows = np.stack([design.measure(cell) for cell in np.eye(design.cells)], axis=1)
    tiles = Rectangles(design.lines, design.cuts)
    even = np.stack([tiles.reconstruct(each) for each in np.eye(tiles.measurements)], axis=1)
    return rows * design._row_weights()[:, None], even


@pytest.mark.parametrize("design", DESIGNS)
def test_measurements_are_whole_numbers_exactly(design):
    cells = np.arange(design.cells) + 2**53
    rows = np.rint(matrices(design)[0] / design._row_weights()[:, None]).astype(int)
    assert design.measure(cells).tolist() == (rows.astype(object) @ cells.astype(object)).tolist()


@pytest.mark.parametrize("design", DESIGNS)
def test_reconstruction_is_that_of_least_squares(design):
    rows, even = matrices(design)
    noisy = np.random.default_rng(0).normal(size=design.measurements)
    tiles = np.linalg.lstsq(rows @ even, noisy * design._row_weights(), rcond=None)[0]
    assert design.reconstruct(noisy) == pytest.approx(even @ tiles, abs=1e-12)
    query = np.random.default_rng(1).normal(size=design.cells)
    assert design.coefficients(query) @ noisy == pytest.approx(query @ design.reconstruct(noisy), abs=1e-12)
    seen = even.T @ query
    assert design.variance(query) == pytest.approx(seen @ np.linalg.solve((rows @ even).T @ (rows @ even), seen))


def test_trace_is_the_sum_of_the_variances(monkeypatch):
    workload = Product((AllRanges(7), AllRanges(6)))
    listed = RAGGED.trace(workload)
    assert listed == pytest.approx(sum(RAGGED.variance(workload.query(i)) for i in range(workload.queries)))
    monkeypatch.setattr("privet.workloads.families.rectangles._LISTED", 1)
    assert RAGGED.trace(workload) == pytest.approx(listed)
    line = Rectangles(((1,), (4, 6, 11)), ((1, 3), (1, 1), (1, 5)))
    for asked in (Prefix(11), AllRanges(11)):
        assert line.trace(asked) == pytest.approx(sum(line.variance(asked.query(i)) for i in range(asked.queries)))
    with pytest.raises(InvalidParameter, match="tiles"):
        Rectangles(((64,), (64,)), ((1, 1),)).trace(Product((AllRanges(64), AllRanges(64))))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("design", DESIGNS)
def test_sensitivity_is_that_of_all_neighbours(design, norm):
    """One row enters or leaves a cell; under replace it moves to another cell, or out of the domain."""
    columns = [*matrices(design)[0].T, np.zeros(design.measurements)]

    def size(move):
        return np.abs(move).sum() if norm == "l1" else np.sqrt(np.sum(move**2))

    assert float(design.sensitivity(norm)) == pytest.approx(max(size(each) for each in columns))
    moved = max(size(one - other) for one in columns for other in columns)
    assert float(design.sensitivity(norm, Unit("replace"))) == pytest.approx(moved)


@pytest.mark.parametrize("design", DESIGNS)
def test_no_measurement_overflows(design):
    full = np.full(design.cells, design.most)
    assert max(design.measure(full).tolist()) == max(design.measure(full.astype(object)).tolist()) <= 2**61


def test_release_is_stored_and_comes_back():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    asked = RangeQueries(workload=Prefix(8)).of([4] * 8, strategy=Tiles(((1,), (2, 8)), ((1, 2), (1, 3))))
    first = ledger.release(asked, epsilon=1.0, key="a")
    assert ledger.release(asked, epsilon=1.0, key="a").value == first.value
    assert first.value.design.groups == ((5, Fraction(1)),)
    assert Rectangles.from_arrays(RAGGED.to_arrays()) == RAGGED


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rectangles(((2,), (2,)), ()),
        lambda: Rectangles(((2, 2), (2,)), ((1, 1), (1, 1))),
        lambda: Rectangles(((2,), (2,)), ((3, 1),)),
        lambda: Rectangles(((2,), (2,)), ((0, 1),)),
        lambda: RangeQueries(workload=Prefix(8)).for_budget(epsilon=1.0, strategy=Tiles(((1,), (4, 7)))),
        lambda: RangeQueries(workload=Product((Prefix(2),) * 3)).for_budget(epsilon=1.0, strategy=Tiles(((2,), (4,)))),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()
