"""Laws of every strategy on small domains, against brute force and dense linear algebra, and twins that break them."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.privacy import Unit
from privet.workloads import (
    AllRanges,
    Cells,
    EveryQuery,
    Fourier,
    Hierarchical,
    Kronecker,
    LinearQueries,
    Optimised,
    PIdentity,
    Points,
    Prefix,
    Quadtree,
    Ranges,
    ResidualTables,
    Rows,
    SquareRoot,
    Stacked,
    Wavelet,
    Weighted,
    registered_strategies,
)
from privet.workloads.families.dense import Dense
from privet.workloads.families.haar import Haar
from privet.workloads.families.tree import Tree
from privet.workloads.strategy import Strategy

STRATEGIES = [
    Cells(),
    EveryQuery(),
    Fourier(),
    Hierarchical(),
    Hierarchical(branching=3, weights="uniform"),
    Hierarchical(branching=2, weights="uniform", root=False),
    Optimised(),
    PIdentity(steps=5),
    SquareRoot(),
    SquareRoot(tapered=True),
    Wavelet(),
    Wavelet(weights="uniform"),
]
SIZES = (1, 2, 3, 5, 8)
CASES = [(strategy, k, norm) for strategy in STRATEGIES for k in SIZES for norm in strategy.norms]
IDS = [f"{strategy}-{k}-{norm}" for strategy, k, norm in CASES]


def matrix_of(design):
    """A, measured column by column."""
    cells = np.eye(design.cells, dtype=np.int64)
    return np.stack([design.measure(cell) for cell in cells], axis=1) * design._row_weights()[:, None]


def moves(cells, unit, rows):
    """Every change of the histogram that neighbours can make: a person with up to `rows` rows."""
    counts = [np.zeros(cells, dtype=np.int64)]
    for size in range(1, rows + 1):
        for places in combinations_with_replacement(range(cells), size):
            counts.append(np.bincount(places, minlength=cells))
    if unit.relation == "add_remove":
        return counts
    return [a - b for a, b in product(counts, repeat=2)]


def farthest(design, norm, changes):
    """The longest move of the weighted measurements, over all changes at once."""
    moved = matrix_of(design) @ np.array(changes).T
    return np.max(np.abs(moved).sum(axis=0) if norm == "l1" else np.sqrt((moved**2).sum(axis=0)))


@pytest.mark.parametrize(("strategy", "k", "norm"), CASES, ids=IDS)
@pytest.mark.parametrize(("unit", "rows"), [(Unit(), 1), (Unit(), 2), (Unit("replace"), 1), (Unit("replace"), 2)])
def test_sensitivity_is_that_of_all_neighbours(strategy, k, norm, unit, rows):
    design = strategy.design(Prefix(k), norm)
    worst = farthest(design, norm, moves(k, unit, rows))
    assert float(design.sensitivity(norm, unit, max_rows=rows)) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize(("strategy", "k", "norm"), CASES, ids=IDS)
def test_cells_come_back_and_errors_are_those_of_linear_algebra(strategy, k, norm):
    rng = np.random.default_rng(k)
    for workload in (Prefix(k), AllRanges(k), Points(k), Ranges(k, [(0, k - 1), (k // 2, k // 2), (k - 1, 0)])):
        design = strategy.design(Prefix(k), norm)
        matrix, cells = matrix_of(design), rng.integers(0, 100, k)
        assert design.reconstruct(design.measure(cells)) == pytest.approx(cells, abs=1e-6)
        rows = np.stack([workload.query(i) for i in range(workload.queries)])
        measured = rng.normal(size=design.measurements)
        rebuilt = design.reconstruct(measured)
        reference = [design.coefficients(row) @ measured for row in rows]
        assert rows @ rebuilt == pytest.approx(np.array(reference), abs=1e-9)
        each = sum(design.variance(row) for row in rows)
        assert each == pytest.approx(design.trace(workload), rel=1e-9)
        if not (isinstance(design, Haar) and k & (k - 1)):  # filled up with empty cells: unbiased, not least squares
            dense = np.trace(rows @ np.linalg.inv(matrix.T @ matrix) @ rows.T)
            assert each == pytest.approx(dense, rel=1e-6)


def test_every_strategy_is_tested():
    elsewhere = {Kronecker, Quadtree, ResidualTables}  # test_several_dimensions.py
    assert {type(strategy) for strategy in STRATEGIES} | elsewhere == set(registered_strategies().values())


@pytest.mark.parametrize("k", [13, 27, 100])
@pytest.mark.parametrize("widths", [(1, 3, 9, 27), (1, 2, 4, 8, 16), (1, 10), (1, 5, 50)])
def test_ragged_trees_fit_like_dense_least_squares(k, widths):
    rng = np.random.default_rng(k)
    tree = Tree(k, widths, tuple(Fraction(int(w), 16) for w in rng.integers(1, 40, len(widths))))
    weights = tree._row_weights()
    measured = rng.normal(size=tree.measurements)
    dense = np.linalg.lstsq(matrix_of(tree), measured * weights, rcond=None)[0]
    assert tree.reconstruct(measured) == pytest.approx(dense, abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 7, 16, 33])
def test_workloads_agree_with_their_rows(k):
    given = Ranges(k, [(0, k - 1), (k // 3, k // 2), (k - 1, k - 1), (k - 1, 0)])
    for workload in (AllRanges(k), Prefix(k), Points(k), given, Weighted(Prefix(k), 3.0), Stacked((Prefix(k), given))):
        rows = np.stack([workload.query(i) for i in range(workload.queries)])
        weights = 3.0 if isinstance(workload, Weighted) else 1.0
        gram = weights**2 * rows.T @ rows
        assert workload.gram() == pytest.approx(gram)
        cells = np.arange(k) ** 2
        assert workload.answers(cells) == pytest.approx(rows @ cells)
        for width in (1, 2, 3, 8, 64):
            starts = range(0, k, width)
            energy = sum(gram[s : s + width, s : s + width].sum() for s in starts)
            assert workload.block_energy(width) == pytest.approx(energy)


def test_rows_that_leave_a_query_open_are_refused_with_its_number():
    workload = Rows([[1, 1, 0], [0, 0, 1], [1, 0, 0]])
    with pytest.raises(InvalidParameter, match="query 2"):
        LinearQueries(workload=workload, strategy=OnlyFirstTwo(), norm="l1", scale=1.0)


def test_a_matrix_of_real_numbers_is_priced_as_it_is_measured():
    """Rounded up, a row may weigh more than the real number did: the sensitivity is that of what is measured."""
    design = Dense.rounded(np.array([[1 / 3, 2 / 3], [2 / 3, 1 / 3]]), bits=4)
    assert design.rows.tolist() == [[5, 11], [11, 5]]
    assert float(design.sensitivity("l1")) == 1.0
    assert float(Dense.rounded(np.array([[0.35], [0.66]]), bits=4).sensitivity("l1")) == 17 / 16


@dataclass(frozen=True)
class OnlyFirstTwo(Strategy):
    """A twin of EveryQuery that leaves out the last query."""

    name = "first two"

    def _design(self, workload, norm):
        return Dense(np.stack([workload.query(i) for i in range(2)]).astype(np.int64))

    def describe(self):
        return "the first two queries"


class TestBrokenTwins:
    """Each planted fault is told from the truth by the brute force above."""

    def worst(self, design, norm, unit, rows=1):
        return farthest(design, norm, moves(design.cells, unit, rows))

    def test_a_wrong_level_weight(self):
        tree = Tree(8, (1, 2, 4, 8), (Fraction(1), Fraction(2), Fraction(1), Fraction(1)))
        twin = Tree(8, (1, 2, 4, 8), (Fraction(1),) * 4)
        assert float(twin.sensitivity("l1")) < self.worst(tree, "l1", Unit())

    def test_a_forgotten_level(self):
        tree, twin = Tree(8, (1, 2, 4, 8), (Fraction(1),) * 4), Tree(8, (1, 2, 8), (Fraction(1),) * 3)
        assert float(twin.sensitivity("l2")) < self.worst(tree, "l2", Unit())

    def test_the_column_norm_for_replace(self):
        tree = Tree(8, (1, 2, 4, 8), (Fraction(1),) * 4)
        assert float(tree.sensitivity("l1")) < self.worst(tree, "l1", Unit("replace"))

    def test_pairs_alone_where_rows_may_lie_outside(self):
        total = Dense(np.ones((1, 4), dtype=np.int64))
        assert total._farthest("l1") == 0
        assert float(total.sensitivity("l1", Unit("replace"))) == self.worst(total, "l1", Unit("replace")) == 1.0

    def test_the_root_of_the_number_of_rows(self):
        tree = Tree(8, (1, 2, 4, 8), (Fraction(1),) * 4)
        assert 2**0.5 * float(tree.sensitivity("l2")) < self.worst(tree, "l2", Unit(), rows=2)
