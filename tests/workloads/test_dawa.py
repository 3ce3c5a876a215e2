"""DAWA: the bound of its costs by brute force, the exact law of its partition on small domains, and twins that break it."""

import math
from itertools import product

import numpy as np
import pytest

import privet as pv
from privet import audit, noise, testing
from privet.errors import InvalidParameter, PrivetError
from privet.mechanisms import Example
from privet.privacy import Composed, PrivacyLoss, Unit
from privet.workloads import (
    DAWA,
    AllRanges,
    Answers,
    Buckets,
    Cells,
    EveryQuery,
    Fourier,
    Hierarchical,
    Kronecker,
    LowFrequencies,
    NoisyPartition,
    Optimised,
    PIdentity,
    Points,
    Prefix,
    Quadtree,
    RangeQueries,
    Wavelet,
)
from privet.workloads.adaptive import AdaptiveQueries, AdaptiveStrategy
from privet.workloads.adaptive.noisy_partition import MOST_CELLS, cheapest_ends, reach

REACH = 48  # the grid of the exact law, either side; beyond it lies less than 1e-9


def deviation(cells):
    """Sum of |x - mean|, rounded down, in fractions of whole numbers."""
    return sum(abs(len(cells) * x - sum(cells)) for x in cells) // len(cells)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_cost_of_a_bucket_moves_by_its_bound_and_no_more(width):
    most = 0
    for cells in product(range(4 if width == 4 else 7), repeat=width):
        for place in range(width):
            moved = [*cells[:place], cells[place] + 1, *cells[place + 1 :]]
            most = max(most, abs(deviation(moved) - deviation(cells)))
    assert most == reach(width)


def test_cost_of_a_wide_bucket_stays_within_its_bound():
    rng = np.random.default_rng(5)
    most = 0
    for _ in range(3000):
        cells = rng.integers(0, rng.integers(1, 30), 8)
        moved = cells + np.eye(8, dtype=np.int64)[rng.integers(8)]
        most = max(most, abs(deviation(moved.tolist()) - deviation(cells.tolist())))
    assert most == reach(8)


def test_costs_of_the_code_are_the_deviations():
    mechanism = NoisyPartition.for_budget(epsilon=1.0, cells=9)
    cells = [3, 0, 0, 7, 1, 1, 20, 2, 5]
    for width, costs in zip((1, 2, 4, 8), mechanism._prepare(cells), strict=True):
        assert costs.tolist() == [deviation(cells[i : i + width]) for i in range(10 - width)]


# --- the exact law of the winner, by another road than the dynamic program of the code -----------------------------------


def laplace(scale, shift):
    """Pr[shift + Z = v] for v on the grid; scale 0 is no noise."""
    place = np.arange(-REACH, REACH + 1) - shift
    if scale == 0:
        return (place == 0).astype(float)
    return math.tanh(0.5 / scale) * np.exp(-np.abs(place) / scale)


def shifts(law):
    """Row a: the law of a + X on the grid."""
    size = len(law)
    place = np.arange(size) - (np.arange(size)[:, None] - REACH)
    return np.where((place >= 0) & (place < size), law[np.clip(place, 0, size - 1)], 0.0)


def at_least(laws):
    return np.cumsum(laws[..., ::-1], axis=-1)[..., ::-1]


def above(laws):
    return at_least(laws) - laws


def partition_law(cells, scales, prices):
    """The probability of each partition of two to four cells into buckets of 1, 2 and 4.

    States are pairs of partitions of the first j - 1 and j cells with the joint law of their costs: no minimum is taken
    before both are known. A tie goes to the narrower last bucket.
    """
    k = len(cells)

    def cost(start, width):
        return laplace(scales[width], deviation(list(cells[start : start + width])) + prices[width])

    states = {((), (1,)): np.outer(laplace(0, 0), cost(0, 1))}
    found = {}
    for j in range(1, k):
        narrow, wide = shifts(cost(j, 1)), shifts(cost(j - 1, 2))
        last = j == k - 1
        survives = at_least(cost(0, 4)) if last and k == 4 else 1.0
        following = {}
        for (before, now), joint in states.items():
            wins = narrow * (joint.T @ at_least(wide))
            loses = above(narrow) * (joint.T @ wide)
            for path, law in (((*now, 1), wins), ((*before, 2), loses)):
                if last:
                    found[path] = found.get(path, 0.0) + float(np.sum(law * survives))
                else:
                    following[now, path] = law
        states = following
    if k == 4:
        found[(4,)] = 1.0 - sum(found.values())
    return found


def noise_of(scale, k):
    top = max(1, min(2, 2 ** (k.bit_length() - 1) - 1))
    return {width: scale * (reach(width) + top) for width in (1, 2, 4)}


def worst(laws):
    """The largest logarithm of a ratio over neighbouring pairs and partitions."""
    return max(
        abs(math.log(one[path] / other[path]))
        for one, other in laws
        for path in one
        if min(one[path], other[path]) > 1e-6
    )


def neighbours(k, most):
    for cells in product(range(most), repeat=k):
        for place in range(k):
            yield cells, (*cells[:place], cells[place] + 1, *cells[place + 1 :])


def laws_of(pairs, scales, prices):
    known = {}

    def law(cells):
        if cells not in known:
            known[cells] = partition_law(cells, scales, prices)
        return known[cells]

    return [(law(one), law(other)) for one, other in pairs]


HARD = [
    ((0, 0, 0, 5), (0, 0, 1, 5)),
    ((1, 1, 3, 0), (1, 2, 3, 0)),
    ((0, 1, 0, 0), (0, 2, 0, 0)),
    ((4, 0, 0, 1), (5, 0, 0, 1)),
]
STEEP = {1: 4, 2: 2, 4: 0}
FREE = {1: 0, 2: 0, 4: 0}


@pytest.mark.parametrize("prices", [FREE, {1: 2, 2: 2, 4: 2}], ids=["free", "priced"])
def test_exact_law_keeps_the_price_over_all_neighbours(prices):
    for k, most in ((2, 4), (3, 3)):
        assert worst(laws_of(neighbours(k, most), noise_of(0.6, k), prices)) <= 1.0 / 0.6 + 1e-6


@pytest.mark.parametrize("prices", [FREE, {1: 0, 2: 2, 4: 5}, STEEP], ids=str)
def test_exact_law_keeps_the_price_on_four_cells(prices):
    assert worst(laws_of(HARD, noise_of(0.5, 4), prices)) <= 2.0 + 1e-6


def test_twins_break_the_price():
    pairs = [*neighbours(3, 3), ((0, 4, 9), (0, 5, 9))]
    honest = noise_of(0.5, 3)
    assert 1.0 <= worst(laws_of(pairs, honest, FREE)) <= 2.0 + 1e-6
    half = {width: scale / 2 for width, scale in honest.items()}
    assert worst(laws_of(pairs, half, FREE)) > 2.0
    own = {1: 0.01, 2: 0.5, 4: 0.5}  # s D(w): what others may fall is forgotten
    assert worst(laws_of(pairs, own, FREE)) > 2.0
    smaller = {1: 0.5, 2: 0.75, 4: 1.0}  # as if a row moved a deviation by half of what it does
    assert worst(laws_of(HARD, noise_of(0.5, 4), STEEP)) <= 2.0 < worst(laws_of(HARD, smaller, STEEP))


def test_a_move_between_cells_costs_two_steps_and_more_than_one():
    """Replace: one cell falls, another rises. On three cells the exact law needs more than the price of one step."""
    pairs = [
        (cells, tuple(np.array(cells) + move))
        for cells in product((1, 3), repeat=3)
        for move in ((1, -1, 0), (-1, 1, 0), (1, 0, -1), (0, -1, 1))
    ]
    found = worst(laws_of(pairs, noise_of(1.0, 3), {1: 5, 2: 0}))
    assert 1.0 < found <= 2.0 + 1e-6
    for rows in (1, 3):
        steps = NoisyPartition(cells=4, scale=1.0, unit=Unit("replace"), max_rows=rows).loss.pure()
        assert steps == 2.0 * rows == 2.0 * NoisyPartition(cells=4, scale=1.0, max_rows=rows).loss.pure()


def test_release_has_the_exact_law():
    mechanism = NoisyPartition(cells=3, scale=0.6, penalty=0.5)
    prices = {width: math.ceil(0.5 * 0.6 * (reach(width) + 1)) for width in (1, 2)}
    law = partition_law((0, 1, 3), noise_of(0.6, 3), prices)
    runs = 1500
    drawn = mechanism.simulate([0, 1, 3], runs, source=noise.Seeded(3))
    paths = [tuple(np.diff(ends, prepend=0).tolist()) for ends in drawn]
    for path, chance in law.items():
        assert paths.count(path) == pytest.approx(runs * chance, abs=5 * math.sqrt(runs * chance * (1 - chance)))


# --- around it -----------------------------------------------------------------------------------------------------------


def test_cheapest_partition_is_that_of_all_partitions():
    rng = np.random.default_rng(2)
    for _ in range(50):
        costs = [(w, 1, rng.integers(-5, 20, 8 - w).tolist()) for w in (1, 2, 4)]
        best = min(
            (sum(costs[widths.index(w)][2][s] for s, w in path), path) for widths in [(1, 2, 4)] for path in paths(0, 7)
        )
        ends = cheapest_ends(costs, 7).tolist()
        starts = [0, *ends[:-1]]
        total = sum(costs[(1, 2, 4).index(e - s)][2][s] for s, e in zip(starts, ends, strict=True))
        assert total == best[0]


def paths(start, stop):
    if start == stop:
        return [()]
    return [((start, w), *rest) for w in (1, 2, 4) if start + w <= stop for rest in paths(start + w, stop)]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"rho": 0.5}, {"mu": 1.0}, {"epsilon": 1.0, "delta": 1e-6}])
def test_every_promise_is_kept(relation, promise):
    asked = RangeQueries(domain=6, unit=Unit(relation), max_rows=2)
    mechanism = asked.for_budget(**promise, strategy=DAWA())
    assert pv.privacy.Guarantee(**promise).covers(mechanism.loss)
    assert mechanism.loss.unit == Unit(relation)


def test_even_data_are_merged_and_uneven_ones_kept_apart():
    counts = [500] * 32 + [0] * 32
    found = RangeQueries(domain=64).release(counts, epsilon=1.0, strategy=DAWA(), source=noise.Seeded(1)).value
    assert isinstance(found, Answers)
    assert found.design.inner.cells <= 8
    assert found.answer(0, 31).value == pytest.approx(16_000, rel=0.05)
    assert found.answer(0, 31).noise_only
    assert "noise only" in str(found.answer(0, 31))


def test_intervals_cover_the_noise_given_the_buckets():
    counts = np.array([40] * 8 + [3] * 8)
    mechanism = RangeQueries(workload=AllRanges(16)).for_budget(epsilon=1.0, strategy=Buckets((4, 8, 16)))
    runs = mechanism.simulate(counts, 400, source=noise.Seeded(4))
    radius = runs[0].answer(0, 7).radius
    hits = [abs(run.histogram[:8].sum() - 320) <= radius for run in runs]  # even: no bias here
    assert np.mean(hits) >= 0.92


def test_answers_are_stored_and_paid_once():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    asked = RangeQueries(workload=Points(16)).of([5] * 16, strategy=DAWA(inner=Cells()))
    first = ledger.release(asked, epsilon=1.0, key="cells")
    again = ledger.release(asked, epsilon=1.0, key="cells")
    assert first.value == again.value
    with pytest.raises(PrivetError):
        ledger.release(asked, epsilon=0.1)


@pytest.mark.parametrize(
    "inner", [EveryQuery(), Optimised(), Kronecker(), LowFrequencies(3), Buckets((2, 8)), Quadtree()], ids=str
)
def test_a_strategy_that_some_partitions_break_is_refused_before_it_is_paid(inner):
    """How many buckets there are is known when the partition has been paid for."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=1e-3))
    opening = [entry.kind for entry in ledger.entries()]
    with ledger, pytest.raises(InvalidParameter, match="any number of buckets"):
        RangeQueries(workload=Prefix(8)).release([1] * 8, strategy=DAWA(inner=inner), epsilon=0.5, delta=1e-6)
    assert [entry.kind for entry in ledger.entries()] == opening


@pytest.mark.parametrize("inner", [Cells(), Hierarchical(), Wavelet(), PIdentity(steps=2), Fourier()], ids=str)
@pytest.mark.parametrize("cells", [3_162, 3_163])
def test_matrices_over_buckets_are_for_domains_with_matrices(inner, cells):
    def made():
        return RangeQueries(workload=Prefix(cells)).for_budget(strategy=DAWA(inner=inner), epsilon=0.5)

    if inner.lines == "any" or cells <= 3_162:
        assert made().loss.pure() <= 0.5
    else:
        with pytest.raises(InvalidParameter, match="any number of buckets"):
            made()


@pytest.mark.parametrize(
    "make",
    [
        lambda: DAWA(share=1.0),
        lambda: DAWA(inner="tree"),
        lambda: NoisyPartition.for_budget(epsilon=1.0, cells=0),
        lambda: NoisyPartition.for_budget(epsilon=1.0, cells=MOST_CELLS + 1),
        lambda: NoisyPartition.for_budget(epsilon=1e-17, cells=8),
        lambda: NoisyPartition(cells=4, scale=1.0, penalty=-1.0),
        lambda: RangeQueries(workload=pv.workloads.Marginals((2, 2), ((0,),))).for_budget(epsilon=1.0, strategy=DAWA()),
        lambda: Buckets((3, 2)).design(Prefix(4), "l1"),
        lambda: RangeQueries(domain=8).plan(epsilon=1.0, strategy=DAWA()),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(PrivetError):
        make()


class Peeking(AdaptiveStrategy):
    """A planted twin: it chooses its buckets by the data, and pays for measuring them only."""

    name = "peeking"

    def _check(self, task):
        pass

    def _prices(self, task) -> tuple[PrivacyLoss, ...]:
        return (task.rest(1.0),)

    def _run(self, task, cells, source):
        ends = (2, 4) if cells[0] == cells[1] else (1, 2, 4)
        return task.measuring(self._prices(task)[0], Buckets(ends)).release(cells, source=source).value

    def _most(self, task):
        return 10**6

    def describe(self):
        return "peeking"


class Unpaid(Peeking):
    """A planted twin: its partition is noisy, and nobody pays for it."""

    def _run(self, task, cells, source):
        return DAWA()._run(task, cells, source)

    def _prices(self, task) -> tuple[PrivacyLoss, ...]:
        return DAWA()._prices(task)[1:]


def test_a_choice_that_looks_at_data_unpaid_is_seen():
    left, right = np.array([3, 3, 5, 5]), np.array([3, 4, 5, 5])
    peeking = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(4), strategy=Peeking())
    assert audit.replay(peeking.release, left, right).refuted
    honest = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(4), strategy=DAWA())
    assert not audit.replay(honest.release, left, right).refuted
    unpaid = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(4), strategy=Unpaid())
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(Example(unpaid, left, right))


def test_price_is_the_composition_of_partition_and_measurement():
    mechanism = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(8), strategy=DAWA(share=0.4))
    first, second = DAWA(share=0.4)._prices(mechanism.task)
    assert mechanism.loss == Composed((first, second))
    assert first.pure() == pytest.approx(0.4)
    assert second.pure() == pytest.approx(0.6)
    assert mechanism.loss.pure() <= 1.0


def test_domains_of_one_and_two_cells():
    for k in (1, 2, 3):
        found = RangeQueries(domain=k).release([7] * k, epsilon=100.0, strategy=DAWA()).value
        assert found.answer(0, k - 1).value == pytest.approx(7 * k, abs=3)
    with pytest.raises(InvalidParameter):
        RangeQueries(domain=MOST_CELLS * 2).for_budget(epsilon=1.0, strategy=DAWA())
