"""Questions, the one way to pay, and workers that are handed a ledger."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from joblib import Parallel, delayed, parallel_config

import privet as pv
from privet.errors import InvalidParameter, LedgerError, MixedUnits
from privet.ledger import Question, pay
from privet.mechanisms import Laplace
from privet.mechanisms.payment import paid_for
from privet.privacy import Unit

PERSON = Unit("add_remove", 3, "patient_id")
LAPLACE = Laplace.for_budget(epsilon=0.25, sensitivity=1.0)


def opened(place: Any = "memory:", **options: Any) -> pv.Ledger:
    return pv.Ledger.create(place, budget=pv.Budget(8.0, 1e-6), **options)


def spent(ledger: pv.Ledger) -> float:
    return ledger.spent["basic epsilon"]


@dataclass
class Visits:
    """How many visits: a question that leaves the unit open."""

    data: int = 1234
    unit: Unit | None = None
    asked: Any = None

    def for_budget(self, *, unit: Unit | None = None, **promise: Any) -> Laplace:
        self.asked = {"unit": unit, **promise}
        return Laplace.for_budget(sensitivity=1.0, unit=unit or self.unit, **promise)


class Plain:
    """A question that takes the promise alone."""

    data = 7

    def for_budget(self, *, epsilon: float, delta: float = 0.0) -> Laplace:
        return Laplace.for_budget(sensitivity=1.0, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("promise", [{"epsilon": 0.5}, {"epsilon": 0.5, "delta": 1e-9}, {"rho": 0.01}, {"mu": 0.1}])
def test_a_question_is_asked_for_what_it_may_cost(promise: dict[str, float]):
    ledger, question = opened(), Visits()
    assert isinstance(question, Question)
    release = ledger.release(question, **promise, key="k")
    assert question.asked == {"unit": ledger.unit, **promise}
    assert release.loss == Laplace.for_budget(sensitivity=1.0, **promise).loss
    assert ledger.release(question, **promise, key="k").value == release.value
    assert len(ledger.entries()) == 3


def test_the_unit_is_the_ledgers_where_the_question_leaves_it_open():
    ledger = opened(unit=PERSON)
    assert ledger.release(Visits(), epsilon=0.5).loss.unit == PERSON
    assert pay(Visits(), epsilon=0.5, ledger=ledger).loss.unit == PERSON
    with ledger:
        assert pay(Visits(), epsilon=0.5).loss.unit == PERSON
    with pytest.raises(MixedUnits):
        ledger.release(Visits(unit=Unit("replace")), epsilon=0.5)
    with pytest.raises(MixedUnits):
        ledger.release(Plain(), epsilon=0.5)
    assert spent(ledger) == pytest.approx(1.5)


def test_what_is_no_question_is_refused_and_costs_nothing():
    ledger = opened()
    asks = [
        lambda: ledger.release(Visits()),
        lambda: ledger.release(Visits(), epsilon=0.5, rho=0.1),
        lambda: ledger.release(Visits(), 5, epsilon=0.5),
        lambda: ledger.release(LAPLACE, 5, epsilon=0.5),
        lambda: ledger.release(Laplace, epsilon=0.5),
        lambda: ledger.release(LAPLACE),
        lambda: pay(LAPLACE),
        lambda: pay(Visits(), ledger=ledger),
        lambda: pay(LAPLACE, 5, ledger="a.ledger"),
    ]
    for ask in asks:
        with pytest.raises(InvalidParameter):
            ask()
    assert ledger.release(Plain(), epsilon=0.5).paid is not None, "a mechanism may be run on None, and a question asked"
    assert spent(ledger) == 0.5


class NoData:
    def for_budget(self, **promise: Any) -> Laplace:
        return LAPLACE


@pytest.mark.parametrize("ledger", [None, opened()])
def test_a_newcomer_is_told_what_is_missing(ledger: Any):
    for ask, told in [
        (lambda: pay(5, 5, ledger=ledger), "releases a mechanism"),
        (lambda: pay(LAPLACE.loss, 5, ledger=ledger), "releases a mechanism"),
        (lambda: pay(NoData(), epsilon=0.5, ledger=ledger), "NoData has no attribute `data`"),
        (lambda: pay(Plain, epsilon=0.5, ledger=ledger), "Plain is a class"),
    ]:
        with pytest.raises(InvalidParameter, match=told):
            ask()


def test_the_given_ledger_pays_then_the_one_in_force_then_nobody():
    given, ambient = opened(), opened()
    with ambient:
        assert pay(LAPLACE, 42, ledger=given, key="k").paid["ledger"] == given.policy.ledger
        first = pay(LAPLACE, 42, key="k")
        assert first.paid["ledger"] == ambient.policy.ledger
        assert pay(LAPLACE, 42, key="k").value == first.value
    assert pay(LAPLACE, 42, key="k").paid is None
    assert pay(Visits(), epsilon=0.5).paid is None
    assert (spent(given), spent(ambient)) == (0.25, 0.25)


def test_parts_of_a_paid_whole_are_not_paid_again():
    ledger = opened()
    with ledger, paid_for():
        assert pay(LAPLACE, 42).paid is None
    assert spent(ledger) == 0.0


def test_a_slice_pays_for_what_is_inside_it():
    ledger = opened()
    with ledger.start([LAPLACE.loss], key="k").begin():
        assert pay(LAPLACE, 42).paid == {"ledger": ledger.policy.ledger, "entry": 3}
        with pytest.raises(LedgerError, match="Nothing was drawn"):
            pay(LAPLACE, 42)


# --- workers -------------------------------------------------------------------------------------------------------------


def plainly(number: int) -> Any:
    return LAPLACE.release(number).paid


@pytest.mark.parametrize("work", [lambda number: pay(LAPLACE, number).paid, plainly])
def test_threads_of_joblib_keep_the_ledger_of_their_task(work: Any):
    """With two ledgers in force, in two threads."""
    ledgers, told = [opened(), opened()], {}
    both = threading.Barrier(2)

    def call(ledger: pv.Ledger) -> None:
        with ledger:
            both.wait(200)
            jobs = (delayed(ledger.task(work))(i) for i in range(6))
            told[ledger.policy.ledger] = Parallel(n_jobs=2, backend="threading")(jobs)
            both.wait(200)

    with ThreadPoolExecutor(2) as pool:
        [job.result() for job in [pool.submit(call, ledger) for ledger in ledgers]]
    for ledger in ledgers:
        assert [paid["ledger"] for paid in told[ledger.policy.ledger]] == [ledger.policy.ledger] * 6
        assert spent(ledger) == 1.5


def test_one_job_and_no_ledger_are_as_ever():
    with opened() as ledger:
        assert len(Parallel(n_jobs=1)(delayed(plainly)(i) for i in range(2))) == 2
    assert spent(ledger) == 0.5
    assert Parallel(n_jobs=2, backend="threading")([delayed(plainly)(1)]) == [None]


def test_a_task_of_a_slice_draws_from_the_slice():
    ledger = opened()
    slice = ledger.start([LAPLACE.loss], key="k").begin()
    with slice, ThreadPoolExecutor(1) as pool:
        with pytest.raises(LedgerError, match="does not carry"):
            pool.submit(plainly, 1).result()
        assert pool.submit(slice.task(plainly), 1).result() == {"ledger": ledger.policy.ledger, "entry": 3}
        with pytest.raises(LedgerError, match="Nothing was drawn"):
            pool.submit(slice.task(plainly), 1).result()
    with pytest.raises(LedgerError, match="cannot be pickled"):
        pickle.dumps(slice.task(plainly))


@pytest.mark.slow
def test_a_search_of_scikit_learn_pays_for_every_fit(tmp_path):
    from sklearn.base import BaseEstimator, clone
    from sklearn.model_selection import GridSearchCV

    def search(ledger: Any) -> Any:
        mean = _estimator(BaseEstimator)(ledger=ledger)
        return GridSearchCV(mean, {"shift": [0, 1]}, cv=2, n_jobs=2, error_score="raise").fit([[0.0]] * 8, [0, 1] * 4)

    with opened(tmp_path / "a.ledger") as ledger, parallel_config(backend="loky"):
        search(ledger)  # the estimator takes it along
        assert spent(ledger) == pytest.approx(0.25 * 5)  # two candidates on two folds, and the winner on all
        with pytest.raises(LedgerError, match="does not carry"):
            search(None)
    assert spent(ledger) == pytest.approx(0.25 * 5)
    assert clone(_estimator(BaseEstimator)(ledger=ledger)).ledger is ledger


def _estimator(base: Any) -> Any:
    class Mean(base):
        def __init__(self, shift: float = 0.0, ledger: Any = None) -> None:
            self.shift, self.ledger = shift, ledger

        def fit(self, X: Any, y: Any) -> Any:
            self.mean_ = pay(LAPLACE, float(sum(y)), ledger=self.ledger).value + self.shift
            return self

        def score(self, X: Any, y: Any) -> float:
            return 0.0

    return Mean
