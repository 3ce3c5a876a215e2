"""The lectures' strategies for range queries and their four counts, each with the exact figure."""

import math

import numpy as np
import pytest

from privet import workloads
from privet.privacy import Unit
from privet.workloads import AllRanges, Cells, EveryQuery, Fourier, Hierarchical, Prefix, RangeQueries, Rows, Wavelet

FOUR = Rows([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])  # males, males with BMI < 25, females, ...
TOTALS = {  # k: strategy 1, 2, tree + least squares, without root, Haar
    2: (24, 8, 16, 8, 16),
    4: (720, 40, 876 / 7, 224 / 3, 108),
    8: (28_800, 240, 2816 / 3, 4344 / 7, 748),
    16: (1_410_048, 1632, 6576.098310, 4686.019048, 5140.625),
    64: (4_638_965_760, 91_520, 264_672.151542, 207_836.136406, 212_673.78125),
}


def total(strategy, workload):
    design = strategy.design(workload, "l1")
    return 2.0 * float(design.sensitivity("l1")) ** 2 * design.trace(workload)


@pytest.mark.parametrize("k", TOTALS)
def test_strategy_1_answers_each_range_directly(k):
    reach = float(EveryQuery().design(AllRanges(k), "l1").sensitivity("l1"))
    assert reach == (k + 1) ** 2 // 4
    assert 2.0 * reach**2 * AllRanges(k).queries == TOTALS[k][0]


@pytest.mark.parametrize("k", TOTALS)
def test_strategies_2_and_3_and_the_wavelet(k):
    assert total(Cells(), AllRanges(k)) == pytest.approx(TOTALS[k][1], rel=1e-12)
    assert total(Cells(), AllRanges(k)) == pytest.approx(k * (k + 1) * (k + 2) / 3, rel=1e-12)
    assert total(Hierarchical(weights="uniform"), AllRanges(k)) == pytest.approx(TOTALS[k][2], rel=1e-9)
    assert total(Hierarchical(weights="uniform", root=False), AllRanges(k)) == pytest.approx(TOTALS[k][3], rel=1e-9)
    assert total(Wavelet(weights="uniform"), AllRanges(k)) == pytest.approx(TOTALS[k][4], rel=1e-9)


def fewest_blocks(k):
    """How many blocks of the binary tree over k cells each range is the union of, summed over all ranges; and the most."""
    total, most = 0, 0
    for first in range(k):
        for last in range(first, k):
            here, blocks = first, 0
            while here <= last:
                width = here & -here or k
                while here + width - 1 > last:
                    width //= 2
                here, blocks = here + width, blocks + 1
            total, most = total + blocks, max(most, blocks)
    return total, most


@pytest.mark.parametrize(("k", "exact"), [(2, 24), (4, 234), (8, 2080), (16, 16_850), (64, 846_818)])
def test_strategy_3_as_the_lectures_have_it(k, exact):
    """Without inference: a range adds its fewest blocks, each with the noise of log2 k + 1 levels."""
    tree = Hierarchical(weights="uniform").design(AllRanges(k), "l1")
    assert float(tree.sensitivity("l1")) == math.log2(k) + 1
    blocks, most = fewest_blocks(k)
    assert 2.0 * float(tree.sensitivity("l1")) ** 2 * blocks == exact
    assert most <= 2 * math.log2(k)  # so that the worst range has O(log^3 k)
    assert exact >= total(Hierarchical(weights="uniform"), AllRanges(k))  # least squares never hurts


def test_growth_of_the_totals():
    """k^6, k^3 and k^2 log^3 k: the slope between two large domains."""

    def slope(totals):
        return math.log2(totals[1] / totals[0])

    k = 2**14
    sizes = (k, 2 * k)
    direct = [2.0 * ((n + 1) ** 2 // 4) ** 2 * n * (n + 1) / 2 for n in sizes]
    assert slope(direct) == pytest.approx(6.0, abs=1e-3)
    assert slope([total(Cells(), AllRanges(n)) for n in sizes]) == pytest.approx(3.0, abs=1e-3)
    trees = [total(Hierarchical(weights="uniform"), AllRanges(n)) / math.log2(n) ** 3 for n in sizes]
    assert slope(trees) == pytest.approx(2.0, abs=0.05)


def test_a_tree_beats_cells_only_from_1024_on():
    tree = Hierarchical(weights="uniform")
    assert total(tree, AllRanges(512)) > total(Cells(), AllRanges(512))
    assert total(tree, AllRanges(1024)) < total(Cells(), AllRanges(1024))


def test_four_counts():
    naive = 4 * 2 * 4**2
    joint = EveryQuery().design(FOUR, "l1")
    assert naive == 128
    assert 4 * 2 * float(joint.sensitivity("l1")) ** 2 == 32  # add/remove: nobody is in more than two
    assert 4 * 2 * float(joint.sensitivity("l1", Unit("replace"))) ** 2 == 128
    assert total(Cells(), FOUR) == pytest.approx(12)
    moved = Cells().design(FOUR, "l1")
    assert 2 * float(moved.sensitivity("l1", Unit("replace"))) ** 2 * moved.trace(FOUR) == pytest.approx(48)


def test_child_above_parent_has_the_probability_of_the_lectures():
    """q1 + q2 noisy below q1 noisy where each cell has its own Laplace noise: exp(-epsilon q2) / 2 in the limit of the
    continuous law; for the discrete law Pr[noise < -q2] = a^(q2 + 1) / (1 + a)."""
    from privet import noise

    drawn = noise.discrete_laplace(scale=1, size=400_000)
    a = math.exp(-1.0)
    exact = a**2 / (1.0 + a)
    assert np.mean(np.asarray(drawn) < -1) == pytest.approx(exact, abs=6 * math.sqrt(exact / 400_000))
    fine = math.exp(-1e-3)  # steps of a thousandth: the continuous law
    assert fine ** (1_000 + 1) / (1.0 + fine) == pytest.approx(0.5 * math.exp(-1.0), rel=1e-3)


def test_projection_of_the_pair():
    """(q1, total) = (7, 5) on q1 <= total is (6, 6)."""
    assert workloads.inference.isotonic(np.array([7.0, 5.0])).tolist() == [6.0, 6.0]


def test_projection_lowers_the_error_of_the_pair_by_the_exact_amount():
    """Errors of q1 and q1 + q2 with q2 = 1, epsilon = 1: 6 falls to 6 - 1/e (continuous noise, quadrature)."""
    step, reach = 0.02, 15.0
    x = np.arange(-reach, reach, step) + step / 2
    density = np.exp(-np.abs(x)) / 2 * step
    first, second = np.meshgrid(x, x, indexing="ij")
    weight = np.outer(density, density)
    child, parent = first, first + second  # errors of q1 and of q1 + q2
    over = second < -1.0  # noisy child above noisy parent
    # Pooled, both answers are their mean: q1 is off by the mean of the errors plus 1/2, the sum by that minus 1/2.
    mean = (child + parent) / 2.0
    pooled = np.where(over, (mean + 0.5) ** 2 + (mean - 0.5) ** 2, child**2 + parent**2)
    assert float(np.sum((child**2 + parent**2) * weight)) == pytest.approx(6.0, abs=2e-3)
    assert float(np.sum(pooled * weight)) == pytest.approx(6.0 - math.exp(-1.0), abs=2e-3)


def test_child_above_parent_in_releases():
    """Cells measured by themselves: a child of a parent that has one row more lies above it as often as the law says."""
    runs = 20_000
    mechanism = RangeQueries(workload=Rows([[1, 0], [1, 1]])).for_budget(epsilon=1.0, strategy=Cells())
    found = np.array([run.measured for run in mechanism.simulate([3, 1], runs)])
    a = math.exp(-1.0)
    exact = a**2 / (1.0 + a)  # noise of the other cell below -1
    share = float(np.mean(found[:, 0] > found[:, 0] + found[:, 1]))
    assert share == pytest.approx(exact, abs=6 * math.sqrt(exact / runs))


def test_consistency_by_hand():
    """Root 10, inner (4, 7), leaves (1, 2, 5, 1): least squares makes children add up to parents."""
    tree = Hierarchical(weights="uniform").design(Prefix(4), "l1")
    leaves = tree.reconstruct(np.array([1.0, 2.0, 5.0, 1.0, 4.0, 7.0, 10.0]))
    assert leaves == pytest.approx(np.array([9, 16, 37, 9]) / 7)
    assert tree.measure(leaves)[4:] == pytest.approx(np.array([25, 46, 71]) / 7)


def test_least_squares_never_hurts_and_is_the_best_of_all_unbiased():
    """No range is worse after inference than as the sum of its fewest blocks, and none than as a sum of cells."""
    tree = Hierarchical(weights="uniform").design(AllRanges(16), "l1")
    for number in range(AllRanges(16).queries):
        query = AllRanges(16).query(number)
        first, last = np.flatnonzero(query)[[0, -1]]
        here, blocks = int(first), 0
        while here <= last:
            width = here & -here or 16
            while here + width - 1 > last:
                width //= 2
            here, blocks = here + width, blocks + 1
        assert tree.variance(query) <= min(blocks, query.sum()) + 1e-9


def test_wavelet_by_hand():
    """Differences of halves and the total, and back again; over two cells the rows are (1, -1) and (1, 1)."""
    haar = Wavelet(weights="uniform").design(Prefix(4), "l1")
    assert haar.measure(np.array([1, 2, 5, 1])).tolist() == [-1, 4, -3, 9]
    assert haar.reconstruct(np.array([-1.0, 4.0, -3.0, 9.0])).tolist() == [1.0, 2.0, 5.0, 1.0]
    assert float(haar.sensitivity("l1")) == 3.0  # a cell is in one difference of each level, and in the total


@pytest.mark.parametrize("kept", [1, 5, 9, 31])
def test_fourier_coefficients_have_their_exact_sensitivity(kept):
    """The first m of n real coefficients: every cell has the length sqrt(m / n), not sqrt m."""
    n = 32
    place = np.arange(n)
    rows = [np.full(n, n**-0.5)]
    for f in range(1, (kept + 1) // 2):
        rows += [g(2.0 * np.pi * f * place / n) * (2.0 / n) ** 0.5 for g in (np.cos, np.sin)]
    assert np.linalg.norm(np.array(rows[:kept]), axis=0) == pytest.approx(np.full(n, math.sqrt(kept / n)))
    design = Fourier().design(Prefix(n), "l2")
    columns = np.sqrt(np.sum(design._columns**2, axis=1))
    assert columns == pytest.approx(np.full(n, columns[0]), rel=1e-6)  # weights by frequency keep cells alike
    assert design.reconstruct(design.measure(place)) == pytest.approx(place, abs=1e-6)


def test_parallel_composition_needs_add_and_remove():
    """Disjoint cells cost the largest of their prices; under replace a row moves between two of them: their sum."""
    cells = Cells().design(AllRanges(6), "l1")
    assert float(cells.sensitivity("l1")) == 1.0
    assert float(cells.sensitivity("l1", Unit("replace"))) == 2.0


def test_tree_answers_are_consistent():
    found = RangeQueries(workload=Prefix(8)).release(
        [3, 1, 4, 1, 5, 9, 2, 6], epsilon=1.0, strategy=Hierarchical(weights="uniform")
    )
    halves = found.value.answer(0, 3).value + found.value.answer(4, 7).value
    assert halves == pytest.approx(found.value.answer(0, 7).value)
