"""The adaptive grid: prices, least error where rows are few, replays on both sides of an edge, and twins that break it."""

import inspect
import textwrap

import numpy as np
import pytest

import privet as pv
from privet import audit, noise, testing
from privet.errors import PrivetError
from privet.mechanisms import Example
from privet.privacy import Guarantee, Unit
from privet.workloads import (
    DAWA,
    MWEM,
    AdaptiveGrid,
    AdaptiveQueries,
    AllRanges,
    Automatic,
    Marginals,
    Points,
    Prefix,
    Product,
    RangeQueries,
    Ranges,
    Rows,
    Stacked,
    Weighted,
)
from privet.workloads.adaptive import adaptive_grid
from privet.workloads.adaptive.adaptive_grid import block_lines, grid_error, noise_of, tile_cuts
from privet.workloads.adaptive.foreseen_grid import grid_energy
from tests.firsts import ends, slow

PLACES = Product((Prefix(32), Prefix(32)))
PROMISES = [{"epsilon": 1.0}, {"rho": 0.5}, {"mu": 1.0}, {"epsilon": 1.0, "delta": 1e-6}]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(
    "strategy", ends([AdaptiveGrid(), AdaptiveGrid(rows=300), Automatic(), Automatic(rows=300)]), ids=str
)
def test_every_promise_is_kept_by_the_parts_that_run(promise, relation, strategy):
    """The whole is the promise or a rounding less, for persons with two rows; the parts of a run add up to it."""
    asked = RangeQueries(workload=Product((Prefix(6), Prefix(8))), unit=Unit(relation), max_rows=2)
    mechanism = asked.for_budget(**promise, strategy=strategy)
    assert Guarantee(**promise).covers(mechanism.loss)
    left = np.zeros((6, 8), dtype=int)
    left[0, 0], left[3, 3] = 250, 20
    right = left.copy()
    right[3, 3] += 1
    testing.check_parts_are_the_price(Example(mechanism, left, right))


@pytest.mark.parametrize("unit", [Unit(), Unit("replace"), Unit(group_size=2)], ids=["add_remove", "replace", "group"])
@pytest.mark.parametrize("strategy", [AdaptiveGrid(), Automatic(), DAWA(), MWEM(rounds=2)], ids=str)
def test_no_part_is_moved_further_than_its_noise_is_for(strategy, unit):
    """By all three rows of a person, in one cell: the total, blocks, tiles, buckets and choices."""
    mechanism = RangeQueries(domain=16, unit=unit, max_rows=3).for_budget(epsilon=1.0, strategy=strategy)
    assert (mechanism.unit, mechanism.max_rows) == (unit, 3)
    left = np.arange(16) * 40 + 100
    right, moved = left.copy(), 3 * unit.group_size
    right[5] += moved
    right[11] -= moved if unit.relation == "replace" else 0
    testing.check_replay_sees_nothing(Example(mechanism, left, right, lengths="protected"))


@pytest.mark.parametrize("shape", [(1,), (2,), (100,), (1, 7), (7, 1), (1, 1), (2, 3), (40, 3)])
def test_domains_of_any_shape(shape):
    workload = Prefix(*shape) if len(shape) == 1 else Product((Prefix(shape[0]), Prefix(shape[1])))
    for rows in (0, 1, 5_000):
        counts = np.zeros(shape, dtype=int)
        counts.reshape(-1)[-1] = rows
        found = RangeQueries(workload=workload).release(counts, epsilon=2.0, strategy=AdaptiveGrid()).value
        assert found.histogram.shape == shape
        assert found.histogram.sum() == pytest.approx(rows, abs=150)


def test_blocks_with_many_rows_are_cut_finer():
    counts = np.zeros((32, 32), dtype=int)
    counts[20, 20] = 1_000
    found = RangeQueries(workload=PLACES).release(counts, epsilon=1.0, strategy=AdaptiveGrid(), source=noise.Seeded(3))
    design = found.value.design
    tiles = np.array(design.cuts).prod(axis=1)
    held = np.argmax(design.measure(counts)[: len(tiles)])
    assert tiles[held] >= 16 > 4 >= np.median(tiles)
    assert found.value.histogram[20, 20] == pytest.approx(1_000, abs=50)


def test_few_rows_are_answered_with_a_fraction_of_the_unbiased_error():
    """Three towns, 1,000 rows, 64 x 64 cells, epsilon 0.1: all rectangles."""
    row, column = np.indices((64, 64))
    towns = sum(np.exp(-((row - a) ** 2 + (column - b) ** 2) / 18.0) for a, b in ((10, 12), (30, 50), (55, 20)))
    places = np.random.default_rng(0).multinomial(1_000, (towns / towns.sum()).reshape(-1)).reshape(64, 64)
    asked = RangeQueries(workload=Product((AllRanges(64), AllRanges(64))))
    gram = AllRanges(64).gram()
    for strategy in (AdaptiveGrid(), Automatic()):
        drawn = asked.for_budget(epsilon=0.1, strategy=strategy).simulate(places, 4, source=noise.Seeded(2))
        off = [each.histogram - places for each in drawn]
        error = np.sqrt(np.mean([np.sum(e * (gram @ e @ gram)) for e in off]) / asked.workload.queries)
        assert error < 0.35 * asked.plan(epsilon=0.1).best.rmse


def test_intervals_hold_the_noise():
    """Even cells, so that nothing is guessed wrongly: a 90% interval holds the truth in 90% of the runs."""
    even = np.full((8, 8), 20)
    made = RangeQueries(workload=Product((Prefix(8), Prefix(8)))).for_budget(epsilon=1.0, strategy=AdaptiveGrid())
    corner = np.zeros((8, 8))
    corner[:3, :5] = 1.0
    held = []
    for found in made.simulate(even, 100, source=noise.Seeded(4)):
        answer = found.linear(corner, confidence=0.9)
        held.append(abs(answer.value - 300.0) <= answer.radius)
    assert 0.8 <= np.mean(held) <= 0.98


# --- the noisy numbers steer, and they alone ------------------------------------------------------------------------------


def corner(rows, far=0):
    found = np.zeros((32, 32), dtype=int)
    found[0, 0], found[31, 31] = rows, far
    return found


def edge(choice, low=150, high=10**6):
    first = choice(float(low))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if choice(float(middle)) == first else (low, middle)
    return high


def edges(mechanism):
    """The numbers of rows at which the corner is cut finer, and at which there are more blocks."""
    task, strategy = mechanism.task, AdaptiveGrid()
    left = mechanism.strategy._left(task)
    fine = noise_of(task, strategy._halves(task, left)[1])
    yield edge(lambda rows: tile_cuts(((8,), (8,)), np.array([rows]), fine))
    yield edge(lambda rows: block_lines(task, left, rows))


@pytest.mark.parametrize("promise", ends([{"epsilon": 0.1}, {"rho": 0.005}, {"epsilon": 0.2, "delta": 1e-6}]), ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("strategy", [AdaptiveGrid(), slow(Automatic())], ids=str)  # which has replays of its own
def test_a_replay_sees_nothing_on_both_sides_of_an_edge(strategy, relation, promise):
    made = AdaptiveQueries.for_budget(workload=PLACES, strategy=strategy, unit=Unit(relation), **promise)
    for rows in edges(made):
        right = corner(rows - 1) if relation == "add_remove" else corner(rows - 1, far=1)
        found = audit.replay(made.release, corner(rows), right)
        assert found.releases == 3
        assert not found.refuted


def broken(monkeypatch, method, old, new):
    """The strategy with a piece of the source of a method, or of a function beside it, changed."""
    home = AdaptiveGrid if hasattr(AdaptiveGrid, method) else adaptive_grid
    source = textwrap.dedent(inspect.getsource(getattr(home, method)))
    assert source.count(old) == 1, "the planted bug must follow the source"
    names = dict(vars(adaptive_grid))
    exec(compile(source.replace(old, new), "<twin>", "exec"), names)
    monkeypatch.setattr(home, method, names[method])


PEEKS = {
    "cuts by the true counts": ("two_levels", "blocks.measured, noise_of", "blocks.design.measure(table), noise_of", 0),
    "blocks by the true rows": ("_run", "self._left(task), rows,", "self._left(task), float(cells.sum()),", 1),
}


@pytest.mark.parametrize("name", PEEKS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_exact_numbers_that_steer_are_caught(monkeypatch, name, relation):
    method, old, new, which = PEEKS[name]
    made = AdaptiveQueries.for_budget(epsilon=0.1, workload=PLACES, strategy=AdaptiveGrid(), unit=Unit(relation))
    rows = list(edges(made))[which]
    broken(monkeypatch, method, old, new)
    inside = relation == "replace" and which == 0  # of the number of rows, replace turns one that leaves the domain
    assert audit.replay(made.release, corner(rows), corner(rows - 1, far=int(inside))).refuted


def test_a_level_that_is_not_paid_for_is_seen(monkeypatch):
    made = AdaptiveQueries.for_budget(epsilon=0.1, workload=PLACES, strategy=AdaptiveGrid())
    sound = AdaptiveGrid._prices
    monkeypatch.setattr(AdaptiveGrid, "_prices", lambda self, task: sound(self, task)[:1])
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(Example(made, corner(300), corner(299)))


def test_parts_of_a_price_make_the_whole():
    for promise in PROMISES:
        task = AdaptiveQueries.for_budget(workload=PLACES, strategy=AdaptiveGrid(rows=9), **promise).task
        price = task.rest(1.0)
        first, second = task.part_of(price, 0.4), task.part_of(price, 0.6)
        if task.norm == "l1":
            assert 0.999 * price.pure() < first.pure() + second.pure() <= price.pure()
        else:
            spent, whole = first.noise_multiplier**-2 + second.noise_multiplier**-2, price.noise_multiplier**-2
            assert 0.999 * whole < spent <= whole


# --- public mistakes, and the model -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: AdaptiveGrid(rows=-1),
        lambda: AdaptiveGrid(share=0.0),
        lambda: AdaptiveGrid(first=0.01),
        lambda: AdaptiveGrid(first=0.95),
        lambda: RangeQueries(workload=Marginals((2, 2, 2), ((0,),))).for_budget(epsilon=1.0, strategy=AdaptiveGrid()),
        lambda: RangeQueries(workload=PLACES).for_budget(epsilon=1e-16, strategy=AdaptiveGrid()),
        lambda: RangeQueries(workload=PLACES).for_budget(rho=1e-32, strategy=AdaptiveGrid()),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(PrivetError):
        make()


def test_release_is_stored_and_comes_back():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    asked = RangeQueries(workload=PLACES).of(corner(500), strategy=AdaptiveGrid())
    first = ledger.release(asked, epsilon=1.0, key="a")
    assert ledger.release(asked, epsilon=1.0, key="a").value == first.value


@pytest.mark.parametrize(
    "workload",
    [
        Product((AllRanges(5), Prefix(4))),
        Marginals((5, 4), ((0,), (1,), (0, 1))),
        Weighted(Marginals((5, 4), ((), (1,))), 3.0),
        Stacked((Product((Points(5), Prefix(4))), Marginals((5, 4), ((0,),)))),
        Ranges(9, [(0, 3), (2, 8)]),
        Rows([[1.0, 2.0, -1.0, 0.0, 4.0]]),
    ],
    ids=str,
)
def test_energies_are_those_of_the_gram_matrix(workload):
    shape = workload.shape if len(workload.shape) == 2 else (1, *workload.shape)
    gram = workload.gram()
    for high, wide in ((1, 1), (1, 2), (2, 3), (3, 1), (5, 4)):
        if high > shape[0]:
            continue
        blocks = np.arange(shape[0])[:, None] // high * 100 + np.arange(shape[1]) // wide
        hot = (blocks.reshape(-1) == np.unique(blocks)[:, None]).astype(float)
        assert grid_energy(workload, (high, wide)) == pytest.approx(np.trace(hot @ gram @ hot.T))


def test_foreseen_error_is_near_that_of_made_up_towns():
    """Within a factor of two and a half, from 300 rows to 30,000: it decides between strategies that differ by more."""
    row, column = np.indices((64, 64))
    towns = sum(np.exp(-((row - a) ** 2 + (column - b) ** 2) / 18.0) for a, b in ((10, 12), (30, 50), (55, 20)))
    asked = RangeQueries(workload=Product((AllRanges(64), AllRanges(64))))
    made, gram = asked.for_budget(epsilon=0.1, strategy=AdaptiveGrid()), AllRanges(64).gram()
    for rows in (300, 3_000, 30_000):
        places = np.rint(rows * towns / towns.sum()).astype(int)
        off = [each.histogram - places for each in made.simulate(places, 4, source=noise.Seeded(1))]
        error = np.sqrt(np.mean([np.sum(e * (gram @ e @ gram)) for e in off]) / asked.workload.queries)
        assert 0.4 < grid_error(made.task, AdaptiveGrid()._left(made.task), rows) / error < 2.5


@pytest.mark.parametrize("shape", [(16,), (8, 8)])
def test_intervals_of_a_grid_say_that_they_know_no_bias(shape):
    asked = RangeQueries(
        workload=Product(tuple(AllRanges(side) for side in shape)) if len(shape) > 1 else AllRanges(16)
    )
    found = asked.release(np.ones(shape, dtype=int), epsilon=1.0, strategy=AdaptiveGrid(rows=64)).value
    assert found.linear(np.ones(shape)).noise_only
    cells = asked.release(np.ones(shape, dtype=int), epsilon=1.0, strategy=pv.workloads.Cells()).value
    assert not cells.linear(np.ones(shape)).noise_only
