"""The choice by a number of rows: what it takes, what it pays, and that it looks at nothing else."""

import numpy as np
import pytest

import privet as pv
from privet import audit, noise
from privet.errors import PrivetError
from privet.privacy import Guarantee, Unit
from privet.workloads import (
    DAWA,
    AdaptiveGrid,
    AdaptiveQueries,
    AllRanges,
    Automatic,
    Bucketed,
    Buckets,
    Hierarchical,
    Marginals,
    Points,
    Prefix,
    Product,
    RangeQueries,
    ResidualTables,
)
from privet.workloads.adaptive import AdaptiveStrategy, Task
from privet.workloads.adaptive.automatic import uneven_error
from privet.workloads.strategy import Strategy
from tests.firsts import ends


@pytest.mark.parametrize("promise", ends([Guarantee(0.1), Guarantee(rho=0.005), Guarantee(0.1, 1e-6)]), ids=str)
@pytest.mark.parametrize("workload", [Prefix(64), AllRanges(64), Product((AllRanges(24), Prefix(24)))], ids=str)
def test_few_rows_are_asked_of_a_grid_and_many_without_bias(workload, promise):
    task = Task(workload, promise)
    found = [Automatic().choice(task, rows) for rows in (1.0, 100.0, 1e9)]
    assert found[:2] == [AdaptiveGrid()] * 2
    assert isinstance(found[2], Strategy)


def test_single_cells_are_asked_of_dawa_in_between():
    task = Task(Points(64), Guarantee(0.1))
    assert isinstance(Automatic().choice(task, 500.0), DAWA)
    many = [rows for rows in 10.0 ** np.arange(2, 8, 0.25) if isinstance(Automatic().choice(task, rows), Strategy)]
    assert 500.0 < many[0] < 1e5  # beyond DAWA no grid: it would guess the cells that hold most rows
    assert many[-1] == 10.0**7.75
    assert len(many) > 12
    assert not isinstance(Automatic().choice(Task(Points(64), Guarantee(rho=0.005)), 500.0), DAWA)


def test_the_choice_is_ahead_of_answers_without_bias_and_of_even_buckets():
    """A histogram of steps, 1,000 rows, epsilon 0.1."""
    steps = np.repeat([0, 10, 0, 0, 4, 1, 0, 1], 64)
    asked = RangeQueries(workload=Prefix(512))

    def error(strategy):
        drawn = asked.for_budget(epsilon=0.1, strategy=strategy).simulate(steps, 12, source=noise.Seeded(1))
        return np.sqrt(np.mean([np.mean(np.cumsum(each.histogram - steps) ** 2) for each in drawn]))

    chosen = error(Automatic())
    assert chosen < 0.7 * asked.plan(epsilon=0.1, strategy=Hierarchical()).best.rmse
    assert chosen < 0.7 * error(Buckets((256, 512)))
    assert chosen < error(DAWA())


def test_tables_of_two_attributes_stay_unbiased_where_noise_is_small():
    """Residual tables answer them with little noise: a grid would guess them."""
    tables = Marginals((64, 64), ((0,), (1,)))
    assert isinstance(Automatic().choice(Task(tables, Guarantee(rho=0.5)), 10_000.0), ResidualTables)
    found = RangeQueries(workload=tables).release(np.full((64, 64), 3), rho=0.5, strategy=Automatic()).value
    assert not found.answers(tables).noise_only


def test_strategies_that_cannot_answer_are_left_out():
    """A search that needs every cell, and queries that cannot be measured: both were found when the total had been paid."""
    some = pv.workloads.Ranges(8, [(0, 1), (2, 3)])
    odd = pv.workloads.Rows([[1.0, 2**0.5, 0.0, 0.0]])
    for workload, promise in ((some, {"rho": 0.5}), (odd, {"epsilon": 1.0})):
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(rho=2.0) if "rho" in promise else pv.Budget(epsilon=2.0))
        with ledger:
            found = RangeQueries(workload=workload).release([5] * workload.cells, strategy=Automatic(), **promise)
        assert found.value.histogram.shape == (workload.cells,)


def test_a_budget_too_small_for_every_strategy_is_refused_before_the_total():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0))
    opening = [entry.kind for entry in ledger.entries()]
    with ledger, pytest.raises(PrivetError, match="too small"):
        RangeQueries(workload=Prefix(8)).release([5] * 8, strategy=Automatic(share=0.9999999), epsilon=1e-9)
    assert [entry.kind for entry in ledger.entries()] == opening


def test_model_of_bias_is_what_the_note_says():
    """Brute force: halve all cells again and again with imbalances of variance 1/2, spread buckets evenly."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(20_000, 7)) * np.sqrt(0.5)
    cells = np.full((20_000, 1), 100.0)
    place = 0
    for _ in range(3):
        delta = signs[:, place : place + cells.shape[1]]
        place += cells.shape[1]
        cells = np.stack((cells * (1 + delta) / 2, cells * (1 - delta) / 2), axis=2).reshape(20_000, -1)
    foreseen = uneven_error(Prefix(8), [2, 4, 8], 100.0)
    for width, wanted in zip((2, 4, 8), foreseen, strict=True):
        flat = np.repeat(cells.reshape(20_000, -1, width).mean(axis=2), width, axis=1)
        error = np.sqrt(np.mean(np.cumsum(flat - cells, axis=1) ** 2))
        assert error == pytest.approx(wanted, rel=0.03)


@pytest.mark.parametrize("strategy", [Automatic(), Automatic(rows=50)], ids=str)
@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"rho": 0.5}, {"mu": 1.0}, {"epsilon": 1.0, "delta": 1e-6}])
def test_every_promise_is_kept(promise, strategy):
    mechanism = RangeQueries(workload=Prefix(8), unit=Unit("replace")).for_budget(**promise, strategy=strategy)
    assert Guarantee(**promise).covers(mechanism.loss)
    assert mechanism.release([5] * 8).value.histogram.shape == (8,)


@pytest.mark.parametrize("workload", [Prefix(8), Points(8)], ids=str)
@pytest.mark.parametrize("scale", [1, 100_000])
def test_replay_sees_a_total_and_what_is_bought_with_the_rest(workload, scale):
    left = scale * np.array([0, 1, 0, 9, 2, 0, 4, 1])
    right = left + np.array([0, 0, 0, 0, 1, 0, 0, 0])
    mechanism = AdaptiveQueries.for_budget(epsilon=1.0, workload=workload, strategy=Automatic())
    found = audit.replay(mechanism.release, left, right)
    assert found.releases >= 2
    assert not found.refuted


def test_only_the_noisy_number_of_rows_decides():
    """Neighbours on both sides of a number of rows where the choice changes: the choice follows the noisy one."""
    mechanism = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(8), strategy=Automatic())
    low, high = 1, 4096
    ends = [str(Automatic().choice(mechanism.task, float(rows))) for rows in (low, high)]
    assert ends[0] != ends[1]
    while high - low > 1:
        middle = (low + high) // 2
        same = str(Automatic().choice(mechanism.task, float(middle))) == ends[0]
        low, high = (middle, high) if same else (low, middle)
    left = np.array([low - 7, 1, 1, 1, 1, 1, 1, 1])
    found = audit.replay(mechanism.release, left, left + np.eye(8, dtype=np.int64)[3])
    assert not found.refuted


class Peeking(AdaptiveStrategy):
    """A planted twin: the true number of rows decides, and nobody pays for it."""

    name = "peeking"

    def _check(self, task):
        pass

    def _prices(self, task):
        return (task.rest(1.0),)

    def _run(self, task, cells, source):
        chosen = Buckets((8,)) if cells.sum() < 18 else Buckets((4, 8))
        return task.measuring(self._prices(task)[0], chosen).release(cells, source=source).value

    def _most(self, task):
        return 10**6

    def describe(self):
        return "peeking"


def test_a_number_of_rows_that_is_not_paid_for_is_seen():
    left = np.array([0, 1, 0, 9, 2, 0, 4, 1])
    mechanism = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(8), strategy=Peeking())
    assert audit.replay(mechanism.release, left, left + np.eye(8, dtype=np.int64)[4]).refuted


def test_question_of_a_ledger():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=Unit("replace"))
    found = ledger.release(RangeQueries(workload=Prefix(16)).of([3] * 16, strategy=Automatic()), epsilon=1.0)
    assert found.loss.unit == Unit("replace")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Automatic(rows=-1),
        lambda: Automatic(share=1.0),
        lambda: RangeQueries(workload=Marginals((2, 2, 2), ((0,),))).for_budget(epsilon=1.0, strategy=Automatic()),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(PrivetError):
        make()


# --- non-negative answers ------------------------------------------------------------------------------------------------


def test_prefix_sums_never_fall_and_are_never_worse():
    counts = np.zeros(12, dtype=int)
    counts[[2, 9]] = 30
    truth = np.cumsum(counts)
    asked = RangeQueries(workload=Prefix(12))
    for seed in range(3):
        found = asked.release(counts, epsilon=0.5, strategy=Hierarchical(), source=noise.Seeded(seed)).value
        fixed, plain = (found.answers(Prefix(12), non_negative=each) for each in (None, False))
        assert np.all(np.diff(fixed.value) >= -1e-9)
        assert fixed.value[0] >= 0.0
        assert np.sum((fixed.value - truth) ** 2) <= np.sum((plain.value - truth) ** 2) + 1e-9
        low, high = fixed.interval
        assert np.all(low >= 0.0)
        assert high == pytest.approx(np.maximum(plain.interval[1], 0.0))


def test_ranges_stay_unbiased_unless_asked():
    found = RangeQueries(domain=8).release([0, 0, 5, 0, 0, 0, 9, 0], epsilon=0.5, source=noise.Seeded(1)).value
    ranges = AllRanges(8)
    assert found.answers(ranges).value == pytest.approx(ranges.answers(found.histogram))
    assert np.min(found.answers(ranges, non_negative=True).value) >= -1e-9


def test_energies_of_even_buckets_are_those_of_the_matrix(monkeypatch):
    for workload in (Prefix(24), AllRanges(24), Points(24)):
        asked = Bucketed(workload, tuple(range(4, 25, 4)))
        exact = [asked.block_energy(width) for width in (1, 2, 6)]
        monkeypatch.setattr("privet.workloads.bucketed.DENSE", 1)
        assert [asked.block_energy(width) for width in (1, 2, 6)] == pytest.approx(exact)
        monkeypatch.undo()


@pytest.mark.parametrize("k", [1, 2, 3, 30, 3300])
def test_domains_of_any_size(k):
    for workload in (Prefix(k), Points(k)):
        found = RangeQueries(workload=workload).release([1] * k, epsilon=0.5, strategy=Automatic(rows=k / 50)).value
        assert found.histogram.shape == (k,)
