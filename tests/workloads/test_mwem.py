"""Multiplicative weights: the update and its entropy, sensitivities by brute force, intervals of the fit, twins."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import privet as pv
from privet import noise, testing
from privet.errors import InvalidParameter, PrivetError
from privet.mechanisms import Example
from privet.privacy import Guarantee, Repeated, Unit
from privet.workloads import (
    MWEM,
    AdaptiveQueries,
    AllRanges,
    Fitted,
    Marginals,
    Points,
    Prefix,
    RangeQueries,
    Ranges,
    Rows,
    Stacked,
    Weighted,
)
from privet.workloads.adaptive import AdaptiveStrategy
from privet.workloads.adaptive.mwem import query_reach
from privet.workloads.inference import multiplicative_weights
from privet.workloads.inference.multiplicative_weights import weights_fit


def entropy(goal, now):
    p, q = goal / goal.sum(), now / now.sum()
    return float(np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / q), 0.0)))


def test_update_lowers_the_relative_entropy_by_what_the_note_says():
    rng = np.random.default_rng(1)
    for _ in range(200):
        goal, now = rng.gamma(0.5, size=12) + 1e-9, rng.gamma(1.0, size=12) + 1e-6
        goal, now = 50 * goal / goal.sum(), 50 * now / now.sum()
        query = rng.integers(-2, 4, 12).astype(float)
        if not query.any():
            continue
        after = multiplicative_weights(now, query, float(query @ goal))
        gap = float(query @ (goal - now)) / (50 * np.max(np.abs(query)))
        assert after.sum() == pytest.approx(50)
        assert entropy(goal, now) - entropy(goal, after) >= 3 / 8 * gap**2 - 1e-12


def test_update_of_several_histograms_is_that_of_each():
    cells, query = np.array([[1.0, 2.0, 3.0], [4.0, 1.0, 1.0]]), np.array([1.0, 0.0, 1.0])
    both = multiplicative_weights(cells, query, np.array([2.0, 5.5]))
    for row, answer, wanted in zip(cells, (2.0, 5.5), both, strict=True):
        assert multiplicative_weights(row, query, answer) == pytest.approx(wanted)


def test_fit_reaches_answers_that_agree():
    truth = np.array([8.0, 1.0, 0.5, 0.5])
    rows = np.tril(np.ones((4, 4)))
    assert weights_fit(10.0, rows, rows @ truth, passes=600) == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize(
    "workload",
    [
        Prefix(3),
        AllRanges(3),
        Points(3),
        Ranges(3, [(0, 1), (2, 0)]),
        Rows([[2, -1, 0], [0, 3, 3]]),
        Rows([[-2, -2, -1]]),
        Weighted(Prefix(3), 4.0),
        Stacked((Points(3), Rows([[0, 0, 5]]))),
    ],
    ids=str,
)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_reach_of_queries_is_that_of_all_neighbours(workload, relation):
    units = [*np.eye(3), np.zeros(3)]
    moves = units if relation == "add_remove" else [a - b for a, b in product(units, repeat=2)]
    worst = max(float(np.max(np.abs(workload.answers(move)))) for move in moves)
    assert query_reach(workload, replace=relation == "replace") == max(1.0, worst)


@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"rho": 0.5}, {"mu": 1.0}, {"epsilon": 1.0, "delta": 1e-6}])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_every_promise_is_kept(promise, relation):
    asked = RangeQueries(workload=Prefix(6), unit=Unit(relation), max_rows=2)
    mechanism = asked.for_budget(**promise, strategy=MWEM(rounds=3))
    assert Guarantee(**promise).covers(mechanism.loss)


def test_answers_are_near_and_their_intervals_hold_the_noise():
    counts = [400, 10, 10, 10, 300, 10, 10, 250]
    asked = RangeQueries(workload=AllRanges(8))
    found = asked.release(counts, epsilon=20.0, strategy=MWEM(rounds=8), source=noise.Seeded(2)).value
    assert isinstance(found, Fitted)
    assert np.min(found.histogram) >= 0.0
    whole = found.answers(AllRanges(8))
    assert whole.noise_only
    assert np.mean(np.abs(whole.value - AllRanges(8).answers(np.array(counts)))) < 60
    assert 0.0 < found.answer(0, 3).radius < 60
    assert found.answer(3, 2).value == 0.0
    assert found.quantile(0.5) in (3, 4)
    with pytest.raises(InvalidParameter, match="confidence"):
        found.answer(0, 3, confidence=0.9999)


def test_simulated_intervals_are_those_of_the_fit():
    """One query, measured: the fit passes its noise on, and the interval is that of the noise."""
    fitted = Fitted(np.array([[1.0, 0.0]]), np.array([500]), Fraction(4), 1000.0, Fraction(1), (2,), 200)
    assert fitted.answer(0, 0).radius == pytest.approx(4 * np.log(20), rel=0.35)


def test_several_dimensions():
    tables = Marginals((2, 3), ((0,), (1,)))
    found = (
        RangeQueries(workload=tables).release([[50, 0, 10], [0, 40, 0]], epsilon=50.0, strategy=MWEM(rounds=5)).value
    )
    assert found.histogram.shape == (2, 3)
    assert found.answers(tables).value == pytest.approx([60, 40, 50, 40, 10], abs=12)


def test_release_is_stored_and_comes_back():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    asked = RangeQueries(workload=Prefix(8)).of([4] * 8, strategy=MWEM(rounds=2))
    first = ledger.release(asked, epsilon=1.0, key="a")
    assert ledger.release(asked, epsilon=1.0, key="a").value == first.value


class OneMore(AdaptiveStrategy):
    """A planted twin: four rounds for the price of three."""

    name, kept = "one more", "workloads.fitted"

    def _check(self, task):
        pass

    def _prices(self, task):
        total, choice, answer = MWEM(rounds=4)._prices(task)
        return total, Repeated(choice.of, 3), Repeated(answer.of, 3)

    def _run(self, task, cells, source):
        return MWEM(rounds=4)._run(task, cells, source)

    def _most(self, task):
        return 10**6

    def describe(self):
        return "one more"


def test_a_round_that_is_not_paid_for_is_seen():
    left, right = np.array([0, 0, 9, 9]), np.array([0, 1, 9, 9])
    honest, twin = (
        AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(4), strategy=strategy)
        for strategy in (MWEM(rounds=3), OneMore())
    )
    testing.check_parts_are_the_price(Example(honest, left, right))
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(Example(twin, left, right))


@pytest.mark.parametrize(
    "make",
    [
        lambda: MWEM(rounds=0),
        lambda: MWEM(share=1.5),
        lambda: RangeQueries(domain=1024).for_budget(epsilon=1.0, strategy=MWEM()),
        lambda: RangeQueries(workload=Rows([[0.5, 1.0]])).for_budget(epsilon=1.0, strategy=MWEM()),
        lambda: multiplicative_weights(np.array([0.0, 0.0]), np.ones(2), 1.0),
        lambda: multiplicative_weights(np.array([1.0, -1.0]), np.ones(2), 1.0),
        lambda: multiplicative_weights(np.ones(2), np.ones(3), 1.0),
        lambda: multiplicative_weights(np.ones(2), np.array([np.nan, 1.0]), 1.0),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(PrivetError):
        make()


@pytest.mark.parametrize("rounds", [2, 10])
def test_a_delta_is_used_and_kept(rounds):
    """Rounds are composed exactly: less noise than parts of epsilon that add up, and all of them within the promise."""
    facts = {"workload": Prefix(64), "strategy": MWEM(rounds=rounds)}
    pure = AdaptiveQueries.for_budget(epsilon=1.0, **facts)
    loose = AdaptiveQueries.for_budget(epsilon=1.0, delta=1e-5, **facts)
    scales = [made.strategy._parts(made.task, rounds)[2].scale for made in (pure, loose)]
    assert Guarantee(1.0, 1e-5).covers(loose.loss)
    assert scales[1] <= scales[0] * (1.0 + 1e-9)
    if rounds == 10:
        assert scales[1] < 0.7 * scales[0]
        assert not Guarantee(1.0).covers(loose.loss)


FALLING = np.exp(-np.arange(256) / 40.0)


def small_budget(strategy, epsilon, runs):
    """256 prefix sums, 1,000 rows."""
    cells = np.random.default_rng(3).multinomial(1_000, FALLING / FALLING.sum())
    asked = RangeQueries(workload=Prefix(256))
    return cells, asked.for_budget(epsilon=epsilon, strategy=strategy).simulate(cells, runs, source=noise.Seeded(2))


@pytest.mark.slow
def test_ten_answers_with_ten_times_the_noise_are_worse_than_three():
    def error(strategy):
        cells, drawn = small_budget(strategy, 0.1, 12)
        return np.sqrt(np.mean([np.mean(np.cumsum(each.histogram - cells) ** 2) for each in drawn]))

    assert error(MWEM()) < 0.8 * error(MWEM(rounds=10))


def test_small_budgets_have_few_rounds():
    assert len(small_budget(MWEM(), 0.1, 1)[1][0].measured) == 3
    cells, drawn = small_budget(MWEM(), 1.0, 1)
    assert len(drawn[0].measured) == 10
    asked = RangeQueries(workload=Prefix(256))
    loose = asked.for_budget(rho=0.005, strategy=MWEM()).simulate(cells, 1)
    assert len(loose[0].measured) == 10


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_noisy_total_alone_says_how_many_rounds_there_are(relation):
    """Hundreds of rows on both sides of the number where three rounds become ten, and the price of all parts."""
    made = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(8), strategy=MWEM(), unit=Unit(relation))
    edge = int(15.0 * float(made.strategy._parts(made.task, 10)[2].scale))
    assert edge > 200
    left = np.array([edge - 7, 1, 1, 1, 1, 1, 1, 1])  # edge rows: one more, and an exact number would turn
    right = left + (np.eye(8, dtype=np.int64)[7] if relation == "add_remove" else np.array([0, -1, 0, 0, 0, 0, 0, 1]))
    assert not pv.audit.replay(made.release, left, right).refuted
    for rounds in (3, 10):
        total, choice, answer = made.strategy._parts(made.task, rounds)
        assert total.loss.pure() + rounds * (choice.loss.pure() + answer.loss.pure()) <= 1.0
    assert made.loss.pure() <= 1.0


def test_a_twin_that_counts_the_rows_exactly_is_caught(monkeypatch):
    made = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(8), strategy=MWEM())
    edge = int(15.0 * float(made.strategy._parts(made.task, 10)[2].scale))
    sound = MWEM._run

    def peeking(self, task, cells, source):
        few = int(cells.sum()) <= edge
        return sound(MWEM(rounds=3 if few else 10), task, cells, source)

    monkeypatch.setattr(MWEM, "_run", peeking)
    left = np.array([edge - 7, 1, 1, 1, 1, 1, 1, 1])
    assert pv.audit.replay(made.release, left, left + np.eye(8, dtype=np.int64)[7]).refuted
