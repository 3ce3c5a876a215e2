"""Rectangles, squares and marginals: golden values, brute force over neighbours, and the faults of products."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.privacy import Unit
from privet.workloads import (
    AllRanges,
    Cells,
    Hierarchical,
    Kronecker,
    Marginals,
    Optimised,
    Points,
    Prefix,
    Product,
    Quadtree,
    RangeQueries,
    ResidualTables,
    Wavelet,
)
from privet.workloads.families.dense import Dense
from privet.workloads.families.kronecker import Grid
from privet.workloads.families.residuals import Residuals
from privet.workloads.families.tree import Tree
from tests.workloads.test_designs import farthest, matrix_of, moves

UNIFORM = Hierarchical(weights="uniform")
RECTANGLES = Product((AllRanges(16), AllRanges(16)))
TABLES = Marginals((2, 3, 2), ((0,), (0, 1), (1, 2)))
SMALL = [
    (Kronecker(), Product((Prefix(3), Prefix(2)))),
    (Kronecker((UNIFORM, UNIFORM)), Product((Prefix(2), Prefix(4)))),
    (Kronecker((Hierarchical(weights="uniform", root=False), Cells())), Product((AllRanges(4), Points(2)))),
    (Quadtree(), Product((Prefix(2), Prefix(2)))),
    (Quadtree(root=False), Product((Prefix(4), Prefix(2)))),
    (Quadtree(), Product((Prefix(3), Prefix(2)))),
    (ResidualTables(), TABLES),
    (Cells(), TABLES),
]
CASES = [(strategy, workload, norm) for strategy, workload in SMALL for norm in strategy.norms]


@pytest.mark.parametrize(
    ("strategy", "laplace", "gaussian"),
    [
        (Cells(), 8.485281, 6.0),
        (Kronecker((UNIFORM, UNIFORM)), 34.191204, 4.835366),
        (Kronecker((Hierarchical(branching=4, weights="uniform"),) * 2), 20.321892, 4.789916),
        (Kronecker((Wavelet(weights="uniform"),) * 2), 26.727726, 3.779871),
        (Quadtree(), 19.006460, 6.010370),
        (Quadtree(root=False), 15.299303, 5.409121),
    ],
    ids=str,
)
def test_all_rectangles_of_16_by_16(strategy, laplace, gaussian):
    found = []
    for norm, factor in (("l1", 2.0), ("l2", 1.0)):
        design = strategy.design(RECTANGLES, norm)
        variance = factor * float(design.sensitivity(norm)) ** 2 * design.trace(RECTANGLES) / RECTANGLES.queries
        found.append(math.sqrt(variance))
    assert found == pytest.approx([laplace, gaussian], abs=1e-6)


@pytest.mark.parametrize(("strategy", "workload", "norm"), CASES, ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
def test_sensitivity_is_that_of_all_neighbours(strategy, workload, norm, relation, rows):
    design, unit = strategy.design(workload, norm), Unit(relation)
    changes = moves(workload.cells, unit, rows)
    worst = farthest(design, norm, changes)
    assert float(design.sensitivity(norm, unit, max_rows=rows)) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize(("strategy", "workload", "norm"), CASES, ids=str)
def test_answers_come_back_with_the_error_of_linear_algebra(strategy, workload, norm):
    design = strategy.design(workload, norm)
    cells = np.random.default_rng(1).integers(0, 50, workload.cells)
    rows = np.stack([workload.query(i).reshape(-1) for i in range(workload.queries)])
    assert design.uncovered(workload) is None
    assert rows @ design.reconstruct(design.measure(cells)) == pytest.approx(rows @ cells, abs=1e-8)
    assert workload.gram() == pytest.approx(rows.T @ rows)
    assert workload.answers(cells.reshape(workload.shape)) == pytest.approx(rows @ cells)
    each = [design.variance(row.reshape(workload.shape)) for row in rows]
    assert sum(each) == pytest.approx(design.trace(workload), rel=1e-9)
    if not isinstance(strategy, Quadtree) or workload.shape[0] == workload.shape[1]:
        matrix = matrix_of(design)
        assert sum(each) == pytest.approx(np.trace(rows @ np.linalg.pinv(matrix.T @ matrix) @ rows.T), rel=1e-9)


def test_a_product_of_replace_sensitivities_is_no_sensitivity():
    """Total x cells: the factors say 0 and 2, a person who moves to another cell changes two counts by one each."""
    total = Dense(np.ones((1, 2), dtype=np.int64))
    product = Grid((total, Tree(2, (1,), (Fraction(1),))))
    factors = [factor._farthest("l1") for factor in product.factors]
    worst = farthest(product, "l1", moves(4, Unit("replace"), 1))
    assert factors == [0, 2]
    assert math.prod(factors) < worst == 2.0 <= float(product.sensitivity("l1", Unit("replace")))


def test_marginals_reach_the_optimum_of_the_papers():
    tables = Marginals((2, 3, 4), ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)))
    design = ResidualTables().design(tables, "l2")
    assert design.trace(tables) * float(design.sensitivity("l2")) ** 2 == pytest.approx(85.842331, abs=1e-6)


@pytest.mark.parametrize(("d", "wanted"), [(5, 1.831139), (10, 3.045085), (20, 5.277151)])
def test_all_pairs_of_binary_attributes(d, wanted):
    tables = Marginals.all_ways((2,) * d, 2)
    design = ResidualTables().design(tables, "l2")
    found = math.sqrt(design.trace(tables) * float(design.sensitivity("l2")) ** 2 / tables.queries)
    assert found == pytest.approx(wanted, abs=1e-6)


def test_a_hundred_attributes_are_planned_without_their_domain():
    plan = RangeQueries(workload=Marginals.all_ways((2,) * 100, 2)).plan(rho=0.5)
    assert plan.best.mechanism.strategy == ResidualTables()
    assert plan.best.rmse == pytest.approx(21.374593, rel=1e-3)  # of noise that is not rounded


def test_tables_that_are_not_determined_are_named():
    narrow = ResidualTables().design(Marginals((2, 2), ((0,),)), "l2")
    assert narrow.uncovered(Marginals((2, 2), ((0,), (0, 1)))) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: Marginals((2, 2), ()),
        lambda: Marginals((2, 2), ((0, 2),)),
        lambda: Marginals((2, 2), ((0,), (0,))),
        lambda: Marginals((2, 2), "ab"),
        lambda: Marginals.all_ways((2, 2), 3),
        lambda: Product(()),
        lambda: Product((Points((2, 2)),)),
        lambda: Product("xy"),
        lambda: Kronecker().design(Prefix(4), "l1"),
        lambda: Kronecker((Cells(),)).design(Product((Prefix(2), Prefix(2))), "l1"),
        lambda: Quadtree().design(Prefix(4), "l1"),
        lambda: ResidualTables().design(Prefix(4), "l2"),
        lambda: ResidualTables().design(Marginals((2, 2), ((0,),)), "l1"),
        lambda: Hierarchical().design(Product((Prefix(2), Prefix(2))), "l1"),
    ],
)
def test_wrong_calls_are_refused(call):
    with pytest.raises(InvalidParameter):
        call()


def test_optimised_is_no_worse_than_products():
    workload = Product((Prefix(4), Prefix(4)))
    best, product = Optimised().design(workload, "l2"), Kronecker().design(workload, "l2")
    errors = [design.trace(workload) * float(design.sensitivity("l2")) ** 2 for design in (best, product)]
    assert errors[0] <= errors[1]


def test_residuals_with_a_column_of_one_value_are_those_without_it():
    """Two cells: columns (1; 1, -1) and (1; -1, 1), whose distance is the root of 8."""
    every, one = ((), (0,), (1,), (0, 1)), (Fraction(1),)
    with_it = Residuals((1, 2), every, one * 4)
    without = Residuals((2,), ((), (0,)), one * 2)
    assert with_it._farthest("l2") == without._farthest("l2") == 8
