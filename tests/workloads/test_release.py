"""Through the public door: release, ledger, stored values, and a newcomer's inputs."""

import math
from fractions import Fraction

import numpy as np
import pytest

import privet as pv
from privet import noise
from privet.errors import InvalidData, InvalidParameter, NoGuarantee, PrivetError
from privet.mechanisms import Release
from privet.privacy import Unit
from privet.workloads import (
    AllRanges,
    Answers,
    Cells,
    Hierarchical,
    LinearQueries,
    Marginals,
    Optimised,
    PIdentity,
    Points,
    Prefix,
    RangeQueries,
    Ranges,
    Rows,
    SquareRoot,
    Wavelet,
    Weighted,
)

COUNTS = [3, 1, 4, 1, 5, 9, 2, 6]
AGES = RangeQueries(domain=8)


@pytest.mark.parametrize("strategy", [None, Cells(), Hierarchical(), Wavelet(), PIdentity(steps=3)], ids=str)
def test_release_answers_every_range_within_its_interval(strategy):
    found = AGES.release(COUNTS, epsilon=200.0, strategy=strategy)
    assert isinstance(found.value, Answers)
    assert found.loss.pure() <= 200.0
    for first in range(8):
        for last in range(first, 8):
            answer = found.value.answer(first, last, confidence=1.0 - 1e-9)
            assert abs(answer.value - sum(COUNTS[first : last + 1])) <= answer.radius


@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.1}, {"mu": 0.5}])
@pytest.mark.parametrize("unit", [Unit(), Unit("replace"), Unit(group_size=3)], ids=str)
def test_every_promise_is_kept_and_hardly_less(promise, unit):
    mechanism = RangeQueries(domain=16, unit=unit, max_rows=2).for_budget(**promise, strategy=Hierarchical())
    loss = mechanism.loss
    assert loss.unit == unit
    if "rho" in promise:
        assert 0.099 <= loss.zcdp().rho <= 0.1
    elif "mu" in promise:
        assert 0.495 <= loss.gdp() <= 0.5
    elif "delta" in promise:
        assert pv.accounting.epsilon(loss, delta=1e-6).upper <= 1.0 + 1e-9
    else:
        assert 1.0 - 1e-9 <= loss.pure() <= 1.0


def test_more_rows_a_person_need_more_noise():
    one, five = (RangeQueries(domain=16, max_rows=rows).for_budget(epsilon=1.0, strategy=Cells()) for rows in (1, 5))
    assert five.scale == 5.0 * one.scale


def log_ratio(mechanism, left, right):
    """The largest logarithm of a ratio of probabilities of one output, exactly: independent discrete Laplace noise."""
    one, other = (mechanism.design.measure(mechanism._prepare(value)) for value in (left, right))
    scales = np.repeat(
        [mechanism.scale / float(w) for _, w in mechanism.design.groups], [n for n, _ in mechanism.design.groups]
    )
    return float(np.sum(np.abs(one - other) / scales))


@pytest.mark.parametrize("strategy", [Cells(), Hierarchical(), Wavelet(), PIdentity(steps=3)], ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_price_holds_where_cells_are_cut_or_missing(strategy, relation):
    """A cell at the end of what can be measured, or without a number, stays as it is when a row enters it."""
    workload = Rows([[1, 1, 1, 1], [0.001, 0, 0, 0]])
    for asked in (workload, AllRanges(4)):
        mechanism = RangeQueries(workload=asked, unit=Unit(relation)).for_budget(epsilon=1.0, strategy=strategy)
        most = mechanism.design.most
        left = [[most, 5, 5, 5], [math.nan, 5, 5, 5], [2.0**60, 5, 5, 5], [0, 5, 5, 5]]
        right = [[most + 1, 5, 5, 4], [math.nan, 5, 5, 4], [2.0**60 + 1, 5, 5, 4], [1, 5, 5, 4]]
        for one, other in zip(left, right, strict=True):
            if relation == "replace":
                assert log_ratio(mechanism, one, other) <= mechanism.loss.pure() * (1.0 + 1e-12)
            assert log_ratio(mechanism, one, [*other[:3], 5]) <= mechanism.loss.pure() * (1.0 + 1e-12)


def test_noise_too_large_for_whole_numbers_is_refused_before_payment():
    with pytest.raises(InvalidParameter, match="too small"):
        LinearQueries.for_budget(epsilon=1e-10, workload=Prefix(16), strategy=PIdentity(steps=3))


def test_what_is_priced_is_what_is_drawn():
    mechanism = RangeQueries(workload=Prefix(16)).for_budget(rho=1.0, strategy=SquareRoot())
    assert mechanism.design is mechanism.design
    assert mechanism.simulate(np.zeros(16), 1)[0].design is mechanism.design


def test_answers_that_were_not_measured_are_refused():
    """A release about one range knows nothing of its cells, and says so instead of a narrow interval."""
    found = RangeQueries(workload=Ranges(4, [(0, 3)])).release([1000, 0, 0, 0], epsilon=1.0).value
    assert found.answer(0, 3, confidence=1.0 - 1e-6).radius >= abs(found.answer(0, 3).value - 1000)
    for ask in (lambda: found.answer(0, 0), lambda: found.histogram, found.cdf, lambda: found.quantile(0.5)):
        with pytest.raises(InvalidParameter, match="determine"):
            ask()
    tables = Marginals((2, 3), ((0,), (1,)))
    cells = RangeQueries(workload=tables).release([[1000, 0, 0], [0, 0, 0]], rho=1.0).value
    with pytest.raises(InvalidParameter, match="determine"):
        cells.linear(np.eye(6)[0].reshape(2, 3))
    assert cells.answers(tables).value == pytest.approx([1000, 0, 1000, 0, 0], abs=30)


def test_fractional_queries_stay_unbiased_at_large_counts():
    workload = Rows(np.random.default_rng(1).normal(size=(4, 15)))
    mechanism = RangeQueries(workload=workload).for_budget(rho=1.0)
    counts = np.arange(1, 16) * 10**9
    runs = np.array([workload.answers(run._cells) for run in mechanism.simulate(counts, 200)])
    errors = runs - workload.answers(counts.astype(float))
    assert np.all(np.abs(errors.mean(axis=0)) < 6 * errors.std(axis=0) / math.sqrt(200))
    assert math.sqrt(np.mean(errors**2)) == pytest.approx(mechanism.rmse, rel=0.25)


@pytest.mark.parametrize(("rows", "epsilon"), [(1000, 0.01), (1, 1e-5)])
def test_intervals_cover_where_noise_is_huge(rows, epsilon):
    mechanism = RangeQueries(domain=64, max_rows=rows).for_budget(epsilon=epsilon, strategy=PIdentity(steps=5))
    runs = mechanism.simulate(np.zeros(64, dtype=int), 400)
    query = (np.arange(64) >= 10).astype(float)
    found = np.array([run.measured for run in runs]) @ mechanism.design.coefficients(query)
    assert np.mean(np.abs(found) <= runs[0].answer(10, 63).radius) >= 0.95 - 5.5 * math.sqrt(0.95 * 0.05 / 400)


@pytest.mark.parametrize(("epsilon", "sigma"), [(4.0, None), (None, 0.5), (None, 1.0)])
def test_planned_errors_know_the_steps_of_the_noise(epsilon, sigma):
    norm, scale = ("l1", 1.0 / epsilon) if epsilon else ("l2", sigma)
    mechanism = LinearQueries(workload=Prefix(16), strategy=Cells(), norm=norm, scale=scale)
    runs = np.array([np.cumsum(run.measured) for run in mechanism.simulate(np.zeros(16, dtype=int), 20_000)])
    assert math.sqrt(np.mean(runs.astype(float) ** 2)) == pytest.approx(mechanism.rmse, rel=0.1)


def test_levels_that_no_query_needs_drop_out():
    blocks = Ranges(1024, [(64 * i, 64 * i + 63) for i in range(16)])
    assert RangeQueries(workload=blocks).plan(epsilon=1.0, strategy=Hierarchical()).best.rmse < 3.0


def test_weights_are_in_both_columns_of_the_plan():
    plain, thrice = (
        RangeQueries(workload=w).plan(epsilon=1.0, strategy=Cells()).best for w in (Prefix(8), Weighted(Prefix(8), 3.0))
    )
    assert thrice.rmse == pytest.approx(3.0 * plain.rmse)
    assert thrice.worst == pytest.approx(3.0 * plain.worst)


@pytest.mark.parametrize(("confidence", "size"), [(0.95, 1), (0.999, 1), (0.95, 16)])
def test_for_error_is_what_a_release_then_has(confidence, size):
    queries = RangeQueries(workload=Points(size))
    epsilon = queries.for_error(within=20.0, confidence=confidence, strategy=Cells())
    found = queries.release([0] * size, epsilon=epsilon, strategy=Cells()).value
    assert found.answer(0, 0, confidence=confidence).radius == pytest.approx(20.0, rel=0.05)


def test_noise_of_each_level_follows_its_weight():
    """Variances of the measurements of a weighted tree, held against the law that is priced."""
    mechanism = RangeQueries(domain=64).for_budget(epsilon=0.5, strategy=Hierarchical())
    runs = np.array([run.measured for run in mechanism.simulate(np.zeros(64, dtype=int), 4_000)])
    start = 0
    for size, weight in mechanism.design.groups:
        scale = float(Fraction(mechanism.scale) / weight)
        a = math.exp(-1.0 / scale)
        drawn = runs[:, start : start + size].astype(float)
        expected = 2.0 * a / (1.0 - a) ** 2
        assert np.mean(drawn**2) == pytest.approx(expected, rel=6 * math.sqrt(5.0 / drawn.size))
        start += size
    assert start == runs.shape[1]


def test_ledger_pays_stores_and_replays():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0))
    with ledger:
        first = AGES.release(COUNTS, epsilon=0.5)
    assert first.paid is not None
    assert ledger.spent.epsilon == pytest.approx(0.5)
    mechanism = AGES.for_budget(epsilon=0.5)
    stored = ledger.release(mechanism, COUNTS, key="ages")
    again = ledger.release(mechanism, COUNTS, key="ages")
    assert again.value == stored.value
    assert ledger.spent.epsilon == pytest.approx(1.0)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_question_is_asked_about_the_unit_of_the_ledger(relation):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0), unit=Unit(relation))
    found = ledger.release(AGES.of(COUNTS, strategy=Cells()), epsilon=0.5)
    assert found.loss == pv.privacy.PureLoss(0.5, unit=Unit(relation))
    assert found.value.scale == (2 if relation == "add_remove" else 4)
    with pytest.raises(InvalidData):
        ledger.release(AGES.of(COUNTS[:3]), epsilon=0.5)
    other = RangeQueries(domain=8, unit=Unit("replace" if relation == "add_remove" else "add_remove"))
    with pytest.raises(PrivetError, match="this ledger protects against"):
        ledger.release(other.of(COUNTS), epsilon=0.5)
    assert ledger.spent.epsilon == pytest.approx(0.5)
    assert "3" not in repr(AGES.of([3] * 8)).partition(" at ")[0]


@pytest.mark.parametrize("strategy", [Cells(), Hierarchical(), Wavelet(), PIdentity(steps=3)], ids=str)
def test_answers_come_back_from_json(strategy):
    found = AGES.release(COUNTS, epsilon=1.0, strategy=strategy)
    back = Release.from_json(found.to_json())
    assert back.value == found.value
    assert back.value.answer(2, 5) == found.value.answer(2, 5)


def test_a_seed_is_stamped():
    assert AGES.release(COUNTS, epsilon=1.0, source=noise.Seeded(3)).insecure


@pytest.mark.parametrize(
    "value",
    [
        COUNTS,
        tuple(COUNTS),
        np.array(COUNTS),
        np.array(COUNTS, dtype=np.uint8),
        np.array(COUNTS, dtype=float),
        [Fraction(count) for count in COUNTS],
        [*COUNTS[:7], 6.4],
        [*COUNTS[:7], 5.5],
    ],
)
def test_equal_histograms_are_one_input(value):
    mechanism = AGES.for_budget(epsilon=1.0, strategy=Cells())
    prepared = mechanism._prepare(value)
    assert prepared.tolist() == COUNTS
    assert prepared.dtype == np.int64


def test_columns_of_data_frames_are_read():
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    mechanism = AGES.for_budget(epsilon=1.0, strategy=Cells())
    for value in (pandas.Series(COUNTS), polars.Series(COUNTS), pyarrow.array(COUNTS)):
        mechanism.check(value)
        assert mechanism._prepare(value).tolist() == COUNTS
    with pytest.raises(InvalidData):
        mechanism.check(pandas.Series(["A", "B", "A"] * 3).value_counts())


@pytest.mark.parametrize(
    "value",
    [
        [1, 2, 3],
        [],
        None,
        "12345678",
        {"a": 1},
        np.zeros((2, 4)),
        np.array(["a"] * 8),
        3,
        iter(COUNTS),
        [COUNTS],
        np.arange(8).astype("datetime64[D]"),
    ],
)
def test_a_wrong_histogram_is_refused_before_payment(value):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0))
    with pytest.raises(PrivetError):
        ledger.release(AGES.for_budget(epsilon=1.0, strategy=Cells()), value)
    assert ledger.spent.epsilon == 0.0


@pytest.mark.parametrize(
    "value", [[None] * 8, [math.nan] * 8, [math.inf, *COUNTS[1:]], [10**30, *COUNTS[1:]], [-(10**30)] * 8]
)
def test_no_value_is_refused(value):
    """What is missing counts as 0, what is too large is cut: nothing is said about it, and no overflow."""
    for strategy in (Cells(), Hierarchical(weights="uniform"), PIdentity(steps=3)):
        found = AGES.release(value, epsilon=1.0, strategy=strategy).value
        assert np.all(np.isfinite(found.histogram))


def test_cut_cells_do_not_overflow():
    design = Hierarchical(weights="uniform").design(AllRanges(8), "l1")
    assert int(design.measure(np.full(8, design.most)).max()) == 8 * design.most <= 2**61


@pytest.mark.parametrize(
    "call",
    [
        lambda: RangeQueries(),
        lambda: RangeQueries(domain=0),
        lambda: RangeQueries(domain=-3),
        lambda: RangeQueries(domain=2.5),
        lambda: RangeQueries(domain="8"),
        lambda: RangeQueries(domain=2**40),
        lambda: RangeQueries(domain=8, workload=Prefix(8)),
        lambda: RangeQueries(workload="ranges"),
        lambda: AGES.plan(),
        lambda: AGES.plan(epsilon=-1.0),
        lambda: AGES.plan(epsilon=math.nan),
        lambda: AGES.plan(epsilon=1.0, strategy="tree"),
        lambda: AGES.plan(epsilon=1.0, strategy=Hierarchical),
        lambda: AGES.plan(epsilon=1.0, strategy=SquareRoot()),
        lambda: AGES.plan(epsilon=1.0, strategy=Optimised()),
        lambda: AGES.for_error(within=0.0),
        lambda: RangeQueries(workload=Ranges(4, [(2, 1)])).plan(epsilon=1.0),
        lambda: RangeQueries(workload=Rows([[0, 0]])).plan(epsilon=1.0),
        lambda: Rows([[1e200, 0.0], [0.0, 1.0]]),
        lambda: RangeQueries(domain=8, unit="replace"),
        lambda: Cells().design(Prefix(4), "l1").sensitivity("l1", "replace"),
        lambda: AGES.for_error(within=1.0, confidence=1.0),
        lambda: RangeQueries(domain=8, max_rows=0).plan(epsilon=1.0),
        lambda: LinearQueries(workload=Prefix(4), strategy=Cells(), norm="l3", scale=1.0),
        lambda: LinearQueries(workload=Prefix(4), strategy=Cells(), norm="l1", scale=0.0),
        lambda: Hierarchical(branching=1),
        lambda: Hierarchical(weights="some"),
        lambda: Wavelet(weights="some"),
        lambda: Ranges(4, [(0, 4)]),
        lambda: Ranges(4, [(-1, 2)]),
        lambda: Ranges(4, []),
        lambda: Ranges(4, [3]),
        lambda: Ranges(4, "ab"),
        lambda: Rows([]),
        lambda: Rows([[1, 2], [3]]),
        lambda: Rows([[math.nan]]),
        lambda: Rows("ab"),
        lambda: PIdentity(steps=0),
        lambda: AllRanges(10_000).answers(np.zeros(10_000)),
        lambda: AllRanges(5_000).gram(),
    ],
)
def test_wrong_calls_get_one_sentence(call):
    with pytest.raises((InvalidParameter, NoGuarantee)) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.answer(0, 8),
        lambda found: found.answer(-1, 3),
        lambda found: found.answer(0.5, 3),
        lambda found: found.linear(np.ones(3)),
        lambda found: found.linear(np.full(8, np.nan)),
        lambda found: found.answers(Prefix(9)),
        lambda found: found.quantile(1.5),
        lambda found: found.answer(3, 2, confidence=7),
        lambda found: found.answers(Prefix(8), confidence=-1.0, simultaneous=True),
    ],
)
def test_wrong_questions_about_answers(ask):
    with pytest.raises(InvalidParameter):
        ask(AGES.release(COUNTS, epsilon=1.0, strategy=Cells()).value)


def test_distribution_function_and_quantiles():
    found = AGES.release([0, 0, 100, 0, 0, 300, 0, 0], epsilon=50.0, strategy=Cells()).value
    assert np.all(np.diff(found.cdf()) >= 0.0)
    assert found.cdf()[-1] == 1.0
    assert (found.quantile(0.1), found.quantile(0.9)) == (2, 5)


def test_plan_needs_no_data_and_is_the_default():
    plan = AGES.plan(epsilon=1.0)
    assert plan.mechanism == AGES.for_budget(epsilon=1.0)
    assert [each.rmse for each in plan.candidates] == sorted(each.rmse for each in plan.candidates)
    assert plan.bound <= plan.best.rmse
    assert all(each.worst >= each.rmse * (1.0 - 1e-9) for each in plan.candidates)
    assert "no strategy" in plan.explain()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_smallest_domains(k):
    found = RangeQueries(domain=k).release([7] * k, epsilon=100.0).value
    assert found.answer(0, k - 1).value == pytest.approx(7 * k, abs=3)


def test_a_workload_is_known_by_all_of_its_numbers():
    """What a ledger compares when a key comes again: matrices that print alike are different."""
    one, other = np.zeros((60, 60)), np.zeros((60, 60))
    other[30, 30] = 1.0
    names = {
        repr(LinearQueries(workload=Rows(np.vstack((np.eye(60), m))), strategy=Cells(), norm="l1", scale=1.0).to_dict())
        for m in (one, other)
    }
    assert len(names) == 2


def test_measured_errors_are_those_that_were_planned():
    mechanism = RangeQueries(workload=Prefix(32)).for_budget(epsilon=1.0, strategy=Hierarchical())
    truth = np.arange(32)
    runs = np.array([run.measured for run in mechanism.simulate(truth, 4_000)])
    rebuilt = np.array([mechanism.design.reconstruct(row) for row in runs])
    errors = np.cumsum(rebuilt - truth, axis=1)
    assert math.sqrt(np.mean(errors**2)) == pytest.approx(mechanism.rmse, rel=0.05)
