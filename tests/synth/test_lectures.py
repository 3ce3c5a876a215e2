"""What the lecture on private data release says, with its numbers."""

import math

import numpy as np
import pytest

from privet import synth
from privet.errors import InvalidParameter
from privet.noise import Seeded
from privet.privacy import Guarantee
from privet.synth.small_db import databases, exact_scores, log_orders, rows_for
from privet.synth.small_examples import data_of, task_of
from privet.tables import Coding, Int
from privet.workloads.inference.multiplicative_weights import multiplicative_weights

COUNTS = np.array([8, 6, 4, 2])
THRESHOLDS = np.array([np.arange(4) <= last for last in range(3)]).astype(np.int64)
QUERIES = [synth.LinearQuery(row) for row in THRESHOLDS]
GOLDEN = [  # epsilon, measure, log Z, Pr[error = .1], E[max error], bound at 5% with OPT = .1
    (1.0, "multisets", 1.2396879389, 0.4259669245, 0.1950948362, 0.8021),
    (1.0, "sequences", 4.6175448512, 0.5450326613, 0.1694043017, 1.0927),
    (4.0, "multisets", -2.5767409221, 0.9637101375, 0.1037296153, 0.2755),
    (4.0, "sequences", 1.0354339230, 0.9755063310, 0.1025170355, 0.3482),
]


def plan(epsilon: float, measure: str, **facts: object) -> synth.SmallDBPlan:
    return synth.SmallDB(queries=QUERIES, measure=measure, **facts)._plan(
        task_of("replace", (4,), rows=20), Guarantee(epsilon)
    )


def law(counts: np.ndarray, made: synth.SmallDBPlan) -> tuple[np.ndarray, np.ndarray, float]:
    """The probability of every database, its largest mean error, and the logarithm of the normaliser."""
    items, units = databases(4, made.m), made._units(20)
    choice = made._choice(units)
    scores = exact_scores(items, THRESHOLDS, THRESHOLDS @ counts, 20, units)
    errors = -scores / units / 20.0
    if made.measure == "sequences":
        scores = scores + np.rint(choice.scale * log_orders(items)).astype(np.int64)
    log_z = float(np.logaddexp.reduce(scores / choice.scale))
    return choice.exact_probabilities(scores), errors, log_z


def test_linear_queries_count_and_average() -> None:
    coding = Coding.of({"age": Int(0, 3)})
    query = synth.LinearQuery.threshold(coding, "age", 1)
    assert query.count(COUNTS) == 14
    assert query.mean(COUNTS) == 0.7
    assert synth.LinearQuery.between(coding, "age", 1, 2).count(COUNTS) == 10
    assert synth.LinearQuery.cell(coding, age=3).count(COUNTS) == 2
    assert synth.LinearQuery.where(coding, lambda age: age % 2 == 0).count(COUNTS) == 12
    with pytest.raises(InvalidParameter, match="whole numbers"):
        synth.LinearQuery(np.array([0.5, 1.0]))


def test_the_size_of_a_small_database() -> None:
    assert rows_for(3, 0.5) == 5  # ln 3/.25 = 4.39
    assert rows_for(3, 0.5, "hoeffding") == 4
    assert rows_for(1, 0.5) == 1  # the lecture's formula says 0
    assert all(rows_for(q, 0.1, "hoeffding") <= rows_for(q, 0.1) for q in range(3, 200))
    assert len(databases(4, 5)) == 56
    assert np.exp(log_orders(databases(4, 5))).sum() == pytest.approx(1024)


@pytest.mark.parametrize(("epsilon", "measure", "log_z", "best", "mean", "bound"), GOLDEN)
def test_small_db_has_the_law_of_the_page(
    epsilon: float, measure: str, log_z: float, best: float, mean: float, bound: float
) -> None:
    made = plan(epsilon, measure)
    chances, errors, found = law(COUNTS, made)
    assert found == pytest.approx(log_z, abs=1e-6)
    assert chances[np.isclose(errors, 0.1)].sum() == pytest.approx(best, abs=1e-7)
    assert chances @ errors == pytest.approx(mean, abs=1e-7)
    assert errors.min() == pytest.approx(0.1)
    assert errors.max() == pytest.approx(0.9)
    assert np.isclose(errors, 0.1).sum() == 4
    assert made.bound(0.05, best=2.0) / 20.0 == pytest.approx(bound, abs=1e-4)


@pytest.mark.parametrize(("measure", "largest"), [("multisets", 0.6014098448), ("sequences", 0.6983010749)])
def test_small_db_is_private_by_enumeration(measure: str, largest: float) -> None:
    made = plan(1.0, measure)
    here = law(COUNTS, made)[0]
    worst = 0.0
    for i in range(4):
        for j in range(4):
            moved = COUNTS - (np.arange(4) == i) + (np.arange(4) == j)
            worst = max(worst, float(np.abs(np.log(law(moved, made)[0] / here)).max()))
    assert worst == pytest.approx(largest, abs=1e-6)
    assert worst <= 1.0


@pytest.mark.parametrize("measure", ["multisets", "sequences"])
def test_the_bound_of_small_db_holds(measure: str) -> None:
    """In at least 1 - beta of all runs, by the law itself: every database with its chance."""
    made = plan(1.0, measure)
    chances, errors, _ = law(COUNTS, made)
    for beta in (0.5, 0.2, 0.05):
        assert chances[errors * 20.0 > made.bound(beta, best=2.0)].sum() <= beta


def test_small_db_draws_what_its_law_says() -> None:
    made = plan(4.0, "multisets")
    drawn = made.simulate(data_of(np.repeat(np.arange(4), COUNTS)[:, None]), 60, source=Seeded(5))
    shares = [model.marginal("a") / 20.0 for model in drawn]
    near = np.mean([np.abs(THRESHOLDS @ (share - COUNTS / 20.0)).max() < 0.1 + 1e-9 for share in shares])
    assert near == pytest.approx(0.9637, abs=0.1)


def test_the_score_is_exact_for_a_million_rows() -> None:
    made = synth.SmallDB(queries=QUERIES)._plan(task_of("replace", (4,), rows=10**6), Guarantee(1.0))
    units = made._units(10**6)
    scores = exact_scores(databases(4, 5), THRESHOLDS, THRESHOLDS @ (COUNTS * 50_000), 10**6, units)
    assert np.abs(scores).max() < 2**62
    assert -scores.max() / units == pytest.approx(100_000.0)
    assert np.isfinite(made._choice(units).exact_probabilities(scores)).all()


def test_a_large_output_space_is_costly_and_less_accurate() -> None:
    bounds = [plan(1.0, "multisets", m=m).bound() for m in (1, 2, 4, 8)]
    spaces = [plan(1.0, "multisets", m=m).databases for m in (1, 2, 4, 8)]
    assert bounds == sorted(bounds)
    assert spaces == [4, 10, 35, 165]
    with pytest.raises(InvalidParameter, match="take MWEM"):
        plan(1.0, "multisets", m=1_000)
    told = plan(1.0, "multisets").describe()
    assert "56 databases of 5 rows" in told
    with pytest.raises(InvalidParameter, match="Markov"):
        plan(1.0, "mcmc")


def test_one_query_and_many_queries() -> None:
    one = synth.SmallDB(queries=QUERIES[:1])._plan(task_of(sizes=(4,)), Guarantee(1.0))
    assert one.m == 1
    assert one.release(data_of([[0]] * 5)).value.total >= 1.0


def test_mwem_has_the_numbers_of_the_page() -> None:
    cells = np.full(4, 5.0)
    assert np.abs(THRESHOLDS @ COUNTS - THRESHOLDS @ cells).tolist() == [3.0, 4.0, 3.0]
    made = synth.MWEM(queries=QUERIES, rounds=2)._plan(task_of("replace", (4,), rows=20), Guarantee(1.0))
    choice, answer = made._parts(0.5)
    assert choice.scale == pytest.approx(8.0, rel=1e-9)  # weights exp(score/8): epsilon/(4T) times the score
    assert answer.scale == pytest.approx(4.0, rel=1e-9)  # 2T/epsilon
    assert np.allclose(choice.exact_probabilities([3, 4, 3]), [0.31916777, 0.36166446, 0.31916777], atol=1e-8)
    first = multiplicative_weights(cells, THRESHOLDS[1].astype(float), 14.0)
    assert np.allclose(first, [5.24979187, 5.24979187, 4.75020813, 4.75020813], atol=1e-8)
    second = multiplicative_weights(first, THRESHOLDS[1].astype(float), 14.0)
    assert np.allclose(second, [5.46740731, 5.46740731, 4.53259269, 4.53259269], atol=1e-8)
    for rounds, error in ((10, 1.53620404), (100, 0.03883116), (1000, 1.39e-6)):
        cells = np.full(4, 5.0)
        for _ in range(rounds):
            worst = int(np.argmax(np.abs(THRESHOLDS @ (COUNTS - cells))))
            cells = multiplicative_weights(cells, THRESHOLDS[worst].astype(float), float(THRESHOLDS[worst] @ COUNTS))
        assert np.abs(THRESHOLDS @ (COUNTS - cells)).max() == pytest.approx(error, rel=1e-2)


def test_the_rounds_of_mwem_make_the_papers_bound_least() -> None:
    asked = [synth.LinearQuery(np.arange(64) <= last) for last in range(60)]
    made = synth.MWEM(queries=asked)._plan(task_of(sizes=(64,)), Guarantee(1.0))
    n = 5_000.0
    best = made.rounds_for(n)

    def bound(rounds: int) -> float:
        return 2.0 * n * math.sqrt(math.log(64) / rounds) + 10.0 * rounds * math.log(60)

    assert bound(best) <= min(bound(best - 1), bound(best + 1)) * (1 + 1e-9)
    assert made.error_bound(n)[0] == pytest.approx(bound(best))
    assert made.rounds_for(1.0) == 1
    assert made.rounds_for(1e12) == 60
    assert made.error_bound(1e12)[1] == 1.0  # the theorem says nothing there


def test_mwem_outputs_the_average_or_the_last_model() -> None:
    data = data_of(np.repeat(np.arange(4), 50 * COUNTS)[:, None])
    for output in ("average", "last"):
        made = synth.MWEM(queries=QUERIES, rounds=3, output=output)._plan(task_of(sizes=(4,)), Guarantee(20.0))
        model = made.release(data, source=Seeded(2)).value
        assert np.abs(THRESHOLDS @ (model.marginal("a") - 50 * COUNTS)).max() < 120.0
