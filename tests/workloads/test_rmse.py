"""The error that is said before paying is the error that comes: every strategy, on both sides of every size at which the
code takes another path.

Sizes at which it does: 1,024 cells (`plan._SEARCHED`: searches, the square root as a series beyond; `tree._DENSE`: ragged
trees by matrices), 2,048
(`plan._MATRICES`), 3,162 (`workload.DENSE`: matrices over pairs of cells),
2^16 cells (`noisy_partition.MOST_CELLS`); `plan._LISTED` and `answers._MOST_INTERVALS` are about what
is listed, not about errors.
"""

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.mechanisms.payment import observed
from privet.noise import Seeded
from privet.workloads import (
    DAWA,
    AllRanges,
    Automatic,
    Buckets,
    Cells,
    EveryQuery,
    Fourier,
    Hierarchical,
    LinearQueries,
    LowFrequencies,
    Optimised,
    PIdentity,
    Points,
    Prefix,
    RangeQueries,
    SquareRoot,
    Wavelet,
)
from privet.workloads.families.rectangles import Rectangles
from privet.workloads.workload import DENSE
from tests.firsts import slow
from tests.workloads.test_bucket_energies import AsIfEven, uneven

SLOW = [pytest.param(k, marks=pytest.mark.slow) for k in (1_000, 2_048, 2_049, 10_000, 16_385, 65_536, 65_537)]
SIZES = (1, 2, 3, 1_024, 1_025, 3_162, 3_163, slow(4_096), slow(5_000), *SLOW)
KINDS = (Prefix, AllRanges, Points)
BOUND = 1.015  # of ragged trees beyond 1,024 cells: the bound of the next complete tree


def even_ends(cells, width):
    """The ends of buckets of this width; the last may be narrower."""
    return (*range(width, cells, width), cells)


def anywhere(k):
    """Strategies for any number of cells."""
    yield from (Cells(), Hierarchical(), Hierarchical(weights="uniform", branching=16), Wavelet())
    yield from (Buckets(even_ends(k, 64)), Buckets(uneven(k, k, 0.3)), Buckets(uneven(k, k, 0.1), Cells()))


def some_queries(workload, many):
    """Rows of the workload, spread evenly over them (prefix sums, cells) or drawn (ranges)."""
    k = workload.cells
    if isinstance(workload, AllRanges) and workload.queries > many:
        pairs = np.sort(np.random.default_rng(k).integers(0, k + 1, (4 * many, 2)), axis=1)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]][:many]
        return [((np.arange(k) >= a) & (np.arange(k) < b)).astype(float) for a, b in pairs]
    return [workload.query(i) for i in np.unique(np.linspace(0, workload.queries - 1, many).round().astype(int))]


def variances(mechanism, many=60):
    """Of single queries, exactly: by the passes that rebuild the cells, which know nothing of energies."""
    return mechanism.spread * np.array([mechanism.design.variance(q) for q in some_queries(mechanism.workload, many)])


def assert_rmse_is_true(mechanism, many=60, ragged=1.0):
    if isinstance(mechanism.workload, Points) and mechanism.workload.cells > many:
        assert_comes_true(mechanism, 60)  # the few cells of narrow buckets hold nearly all of the error
        return
    found = variances(mechanism, many)
    claimed = mechanism.rmse**2
    exact = len(found) == mechanism.workload.queries
    doubt = 1e-6 if exact else 0.03 + 5.0 * found.std() / found.mean() / len(found) ** 0.5
    assert found.mean() * (1.0 - doubt) <= claimed <= found.mean() * (1.0 + doubt) * ragged**2


def is_ragged(mechanism):
    design = getattr(mechanism.design, "inner", mechanism.design)
    return hasattr(design, "widths") and design.domain % design.widths[-1] != 0 and design.domain > 1_024


# Both sides of every size for prefix sums; strategies take the same path for other workloads.
PREFIX_FIRST = [
    pytest.param(kind, *size.values, marks=[*size.marks, *further])
    for kind in KINDS
    for size in (pytest.param(each) if isinstance(each, int) else each for each in SIZES)
    for further in [[pytest.mark.slow] if kind is not Prefix and size.values[0] > 3 else []]
]


@pytest.mark.parametrize(("kind", "k"), PREFIX_FIRST)
def test_rmse_is_the_mean_of_the_variances(kind, k):
    for strategy in anywhere(k):
        for norm in ("l1", "l2"):
            mechanism = LinearQueries(workload=kind(k), strategy=strategy, norm=norm, scale=40.0)
            assert_rmse_is_true(mechanism, 60 if k < 20_000 else 16, BOUND if is_ragged(mechanism) else 1.0)


@pytest.mark.parametrize("k", [1, 2, 3, 60])
@pytest.mark.parametrize("kind", KINDS)
def test_rmse_of_matrices_is_the_mean_of_the_variances(kind, k):
    few = LowFrequencies(1 + k // 4)
    for strategy in (
        EveryQuery(),
        Fourier(),
        Optimised(),
        PIdentity(steps=5),
        SquareRoot(),
        SquareRoot(tapered=True),
        few,
    ):
        for norm in strategy.norms:
            assert_rmse_is_true(LinearQueries(workload=kind(k), strategy=strategy, norm=norm, scale=40.0), 2_000)


@pytest.mark.parametrize("strategy", [Fourier(), Optimised(), PIdentity(), SquareRoot(), LowFrequencies(2)], ids=str)
def test_matrices_over_more_cells_are_refused(strategy):
    with pytest.raises(InvalidParameter, match="matrix over pairs"):
        LinearQueries(workload=Points(int(DENSE**0.5) + 1), strategy=strategy, norm=strategy.norms[0], scale=1.0)


@pytest.mark.parametrize("k", [1_024, 1_025, *map(slow, (2_048, 2_049, 3_163, 65_537))])
@pytest.mark.parametrize("kind", [Prefix, slow(AllRanges)])
def test_rmse_of_the_square_root_on_both_sides_of_its_series(kind, k):
    for strategy in (SquareRoot(), SquareRoot(tapered=True), SquareRoot(normalised=False)):
        mechanism = LinearQueries(workload=kind(k), strategy=strategy, norm="l2", scale=40.0)
        assert_rmse_is_true(mechanism, 200 if k < 20_000 else 60)
        assert_comes_true(mechanism, 60 if k < 20_000 else 20)


def squares_of(workload, cells):
    """The mean square of the answers of the cells, without writing all ranges out."""
    if not isinstance(workload, AllRanges):
        return float(np.mean(np.asarray(workload.answers(cells), dtype=float) ** 2))
    sums = np.concatenate(([0.0], np.cumsum(cells)))
    sums -= sums.mean()
    return float(len(sums) * np.sum(sums * sums) / workload.queries)


def simulated(mechanism, runs):
    """The RMSE of the noise over released answers to an empty histogram, and how sure it is."""
    empty = np.zeros(mechanism.workload.cells, dtype=np.int64)
    drawn = mechanism.simulate(empty, runs, source=Seeded(3))
    found = [squares_of(mechanism.workload, answers.histogram) for answers in drawn]
    return np.mean(found) ** 0.5, 0.5 * np.std(found) / np.mean(found) / runs**0.5


def assert_comes_true(mechanism, runs=100):
    found, doubt = simulated(mechanism, runs)
    assert found == pytest.approx(mechanism.rmse, rel=5.0 * doubt + 0.02)


@pytest.mark.parametrize("k", [1_000, 3_162, 3_163, slow(10_000)])
@pytest.mark.parametrize("kind", KINDS)
def test_rmse_is_that_of_released_answers(kind, k):
    for strategy in (Hierarchical(), Wavelet(), Buckets(even_ends(k, 64)), Buckets(uneven(k, k, 0.3))):
        assert_comes_true(LinearQueries(workload=kind(k), strategy=strategy, norm="l1", scale=20.0))


# --- what looks at the data: the mechanism that a run takes is the one whose error is checked ------------------------


def taken(workload, strategy, cells, **promise):
    """The parts of a run that measure by a strategy."""
    parts = []

    class Door:
        def __call__(self, mechanism, value, run):
            parts.append(mechanism)
            return run()

        def coins(self, what, draw, source):
            return draw(source)

    with observed(Door()):
        released = RangeQueries(workload=workload).release(cells, strategy=strategy, **promise)
    return released.value, [part for part in parts if isinstance(part, LinearQueries)]


def counts(k, rows):
    """Half of the rows in an eighth of the cells, the others anywhere."""
    rng = np.random.default_rng(k)
    dense = rng.integers(0, max(1, k // 8), rows // 2)
    return np.bincount(np.concatenate((dense, rng.integers(0, k, rows - rows // 2))), minlength=k)


LONG = [pytest.param(k, marks=pytest.mark.slow) for k in (1_000, 3_162, 4_096, 10_000)]


@pytest.mark.parametrize("k", [1, 2, 3, 3_163, slow(5_000), *LONG])
@pytest.mark.parametrize("kind", KINDS)
def test_what_adaptive_strategies_measure_has_the_error_that_it_says(kind, k):
    for strategy in (DAWA(), DAWA(inner=Cells()), Automatic(), Automatic(rows=3_000)):
        for epsilon in (0.1, 1.0):
            answers, parts = taken(kind(k), strategy, counts(k, 3_000), epsilon=epsilon)
            assert len(parts) == (2 if isinstance(answers.design, Rectangles) else 1)  # of a grid: blocks, then tiles
            for part in parts:
                assert_rmse_is_true(part, 30, BOUND if is_ragged(part) else 1.0)
            off = squares_of(kind(k), answers.histogram - counts(k, 3_000)) ** 0.5
            assert off <= 8.0 * parts[-1].rmse + 3_000.0  # bias is at most all rows


@pytest.mark.slow
@pytest.mark.parametrize("k", [65_536, 65_537])
def test_the_largest_domains_of_adaptive_strategies(k):
    for strategy in (DAWA(), Automatic()):
        if isinstance(strategy, DAWA) and k > 65_536:
            with pytest.raises(InvalidParameter, match="at most 65,536"):
                taken(Prefix(k), strategy, counts(k, 3_000), epsilon=0.1)
            continue
        answers, parts = taken(Prefix(k), strategy, counts(k, 3_000), epsilon=0.1)
        for part in parts:
            assert_rmse_is_true(part, 16, BOUND if is_ragged(part) else 1.0)
        assert squares_of(Prefix(k), answers.histogram - counts(k, 3_000)) ** 0.5 <= 8.0 * parts[-1].rmse + 3_000.0


@pytest.mark.slow
@pytest.mark.parametrize("k", [1_024, 1_025, 2_048, 2_049])
@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"mu": 1.0}], ids=str)
def test_the_default_plan_on_both_sides_of_its_searches(k, promise):
    for kind in (Prefix, AllRanges):
        mechanism = RangeQueries(workload=kind(k)).for_budget(**promise)
        assert_rmse_is_true(mechanism, 200, BOUND if is_ragged(mechanism) else 1.0)
        assert_comes_true(mechanism)


def test_published_examples_of_buckets_beyond_the_largest_matrix():
    flat = np.random.default_rng(0).multinomial(3_000, np.ones(5_000) / 5_000)
    answers, _ = taken(Prefix(5_000), Automatic(), flat, epsilon=0.1)
    assert squares_of(Prefix(5_000), answers.histogram - flat) ** 0.5 < 1_000.0
    planned = RangeQueries(workload=Prefix(5_000)).for_budget(epsilon=0.1, strategy=Buckets(even_ends(5_000, 64)))
    assert min(weight for _, weight in planned.design.groups) > 0.1
    assert_comes_true(planned)
    half = np.where(np.arange(4_096) < 512, 10, 0)
    for _ in range(4):
        answers, _ = taken(Prefix(4_096), DAWA(), half, epsilon=1.0)
        assert squares_of(Prefix(4_096), answers.histogram - half) ** 0.5 < 100.0


# --- twins -----------------------------------------------------------------------------------------------------------


def test_uneven_buckets_priced_as_even_are_caught():
    """The energies of the twin do not always rise: where they fall, its error is wrong, and seen to be."""
    k = 5_000
    ends = (*range(1, 2_001), *range(2_064, k, 64), k)
    honest = LinearQueries(workload=Prefix(k), strategy=Buckets(ends, Cells()), norm="l1", scale=40.0)
    twin = LinearQueries(workload=AsIfEven(k), strategy=Buckets(ends, Cells()), norm="l1", scale=40.0)
    assert_rmse_is_true(honest)
    assert_comes_true(honest)
    for law in (assert_rmse_is_true, assert_comes_true):
        with pytest.raises(AssertionError, match="assert"):
            law(twin)


def test_a_leaf_with_the_least_weight_is_caught(monkeypatch):
    """Claimed from other weights than those that are measured."""
    honest = LinearQueries(workload=Prefix(5_000), strategy=Hierarchical(), norm="l1", scale=40.0)
    claimed = honest.design.trace(honest.workload)
    twin = LinearQueries(workload=Prefix(5_000), strategy=Hierarchical(weights="uniform"), norm="l1", scale=40.0)
    monkeypatch.setattr(type(twin.design), "trace", lambda self, workload: claimed)
    with pytest.raises(AssertionError):
        assert_rmse_is_true(twin)
