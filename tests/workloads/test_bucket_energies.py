"""What queries put on blocks of buckets: closed forms against brute force, on both sides of the largest matrix."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.workloads import AllRanges, Points, Prefix, Product, Ranges, Rows, Stacked, Weighted
from privet.workloads.bucketed import Bucketed
from privet.workloads.families.spectral import best_weights, energies
from privet.workloads.partition import Partition
from tests.firsts import slow


def uneven(cells, seed, share=0.5):
    """The ends of buckets of many widths, single cells among them."""
    rng = np.random.default_rng(seed)
    inner = np.flatnonzero(rng.random(cells - 1) < rng.random(cells - 1) ** (2 / share)) + 1
    return (*inner.tolist(), cells)


def workloads(k, seed=0):
    rng = np.random.default_rng(seed)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, k, (7, 2))]  # some of them empty
    given = Ranges(k, [(0, k - 1), *pairs])
    yield from (Prefix(k), AllRanges(k), Points(k), given, Rows(rng.integers(-3, 4, (5, k))))
    yield from (Stacked((Prefix(k), given)), Weighted(AllRanges(k), 3.0), Product((Prefix(k),)))


def brute_force(workload, ends, width):
    """Every query, every block of buckets, in fractions."""
    queries = [workload.query(i) for i in range(workload.queries)]
    weight = Fraction(getattr(workload, "weight", 1.0)) ** 2
    taken = [
        [sum(map(Fraction, query[a:b].tolist()), Fraction(0)) / (b - a) for a, b in pairwise((0, *ends))]
        for query in queries
    ]
    return weight * sum(sum(row[i : i + width]) ** 2 for row in taken for i in range(0, len(ends), width))


@pytest.mark.parametrize("k", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("seed", [1, slow(2), slow(3)])
def test_energies_of_buckets_are_those_of_all_queries(k, seed):
    ends = uneven(k, seed)
    for workload in workloads(k, seed):
        for width in (1, 2, 3, 8, 32):
            found = Bucketed(workload, ends).block_energy(width)
            exact = brute_force(workload, ends, width)
            if isinstance(workload, Prefix | AllRanges | Points):
                assert found == exact
            assert float(found) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5, 17])
def test_matrices_over_buckets_are_those_of_their_queries(k):
    for seed in (1, 2, 3):
        ends = uneven(k, seed)
        for workload in workloads(k, seed):
            asked = Bucketed(workload, ends)
            rows = np.stack([asked.query(i) for i in range(asked.queries)]) * getattr(workload, "weight", 1.0)
            assert asked.gram() == pytest.approx(rows.T @ rows, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("k", [3_162, 3_163, 10_000])
@pytest.mark.parametrize("kind", [Prefix, AllRanges, Points])
def test_energies_are_exact_beyond_the_largest_matrix_over_cells(kind, k):
    """A few buckets over many cells: the matrix over buckets says the same as the sums over blocks."""
    ends = (*sorted({1, 2, 17, 900, 901, k // 2, k - 40}), k)
    asked = Bucketed(kind(k), ends)
    gram = asked.gram()
    for width in (1, 2, 4, 8):
        blocks = sum(gram[i : i + width, i : i + width].sum() for i in range(0, len(ends), width))
        assert float(asked.block_energy(width)) == pytest.approx(blocks, rel=1e-11)


@pytest.mark.parametrize("k", [3_162, 3_163, 5_000, 65_537])
@pytest.mark.parametrize("kind", [Prefix, AllRanges, Points])
def test_single_cells_are_buckets_too(kind, k):
    ends = tuple(range(1, k + 1))
    for width in (1, 2, 16, 4_096):
        assert Bucketed(kind(k), ends).block_energy(width) == kind(k).block_energy(width)


@pytest.mark.parametrize("k", [20, 3_163, 9_000])
def test_energies_fall_with_the_width(k):
    for kind in (Prefix, AllRanges):
        for seed in (1, 2):
            ends = uneven(k, seed, share=0.2)
            widths = tuple(2**j for j in range(len(ends).bit_length()))
            assert energies(Bucketed(kind(k), ends), widths).min() >= 0.0


class AsIfEven(Prefix.__bases__[0]):
    """The broken twin: uneven buckets are priced as if they were even, with rounded widths."""

    queries, answers, query, gram, describe = Prefix.queries, Prefix.answers, Prefix.query, Prefix.gram, Prefix.describe
    block_energy = Prefix.block_energy

    def bucket_energy(self, partition: Partition, width: int) -> float:
        mean = self.cells / len(partition.ends)
        return float(self.block_energy(max(1, round(width * mean)))) / mean**2


def test_energies_that_rise_are_refused():
    ends = (*range(64, 5_000, 64), 5_000)
    widths = tuple(2**j for j in range(8))
    assert energies(Bucketed(Prefix(5_000), ends), widths)[0] == pytest.approx(833.7, abs=0.1)
    with pytest.raises(InvalidParameter, match="rise with the width"):
        energies(Bucketed(AsIfEven(5_000), ends), widths)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_cells_are_measured_as_well_as_the_queries_ask(norm):
    widths = (1, 16)
    for least in (1e-3, 1e-6, 1e-12):
        found = best_weights(np.array([least, 1.0]), widths, norm)
        assert found[0] > 2.0**-20
        power = 1 / 3 if norm == "l1" else 1 / 4
        best = (least / (1.0 / 16)) ** power  # where single cells matter little
        assert found[0] / found[1] == pytest.approx(best, rel=0.5)
    assert best_weights(np.array([0.0, 1.0]), widths, norm)[0] == pytest.approx(2.0**-20, rel=1e-3)
    with pytest.raises(InvalidParameter, match="so little on single cells"):
        best_weights(np.array([1e-60, 1.0]), widths, norm)
