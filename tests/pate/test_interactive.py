"""Rounds of votes and a student: one run paid in advance, the law that runs, and twins that the laws catch."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import privet as pv
from privet import accounting, pate, testing
from privet.errors import BudgetExceeded, InvalidData, InvalidParameter, PrivetError, ReleaseFailed
from privet.mechanisms import Example, Laplace
from privet.pate.small_votes import moved, usual_class
from privet.pate.vote_law import ConfidentVotes
from privet.privacy import Composed, Unit, to_replace
from tests.firsts import ends


def epsilon(loss, delta=1e-5):
    return float(accounting.epsilon(loss, delta=delta).upper)


def made(student=usual_class, **more):
    public = {"threshold": 2.0, "sigma1": 0.01, "sigma2": 0.01, "queries": 4, "answers": 4, "classes": 2, "teachers": 9}
    return pate.InteractiveGNMax(student=student, **(public | more))


def test_rounds_cost_what_one_confident_run_costs():
    public = {"threshold": 200, "sigma1": 150.0, "sigma2": 40.0, "queries": 640, "answers": 286, "classes": 10}
    confident = epsilon(pate.ConfidentGNMax(**public).loss)
    for rounds in (1, 2, 7):
        asked = pate.InteractiveGNMax(**public, teachers=250, student=usual_class, rounds=rounds)
        assert len(asked.blocks) == rounds
        assert epsilon(asked.loss) == pytest.approx(confident, rel=1e-6)
    assert confident == pytest.approx(2.542602, abs=2e-5)


def test_a_replaced_id_touches_two_teachers():
    single, double = (made(sigma1=4.0, sigma2=4.0, classes=3, unit=unit) for unit in (Unit(), Unit("replace")))
    assert epsilon(double.loss) == pytest.approx(epsilon(to_replace(single.loss)))


def test_what_the_student_expects_is_not_asked():
    told = []

    def knows_the_third(labels):
        told.append(labels.tolist())
        chances = np.full((4, 2), 0.5)
        chances[2], chances[3] = (0.99, 0.01), (0.01, 0.99)  # right, and wrong
        return chances

    votes = pate.Votes([[9, 0], [5, 4], [9, 0], [9, 0]], teachers=9)
    labels = made(knows_the_third).release(votes).value
    # the first round expects four votes or five everywhere; the third query is as the student says, the last is not
    assert labels.tolist() == [0, -1, 0, 0]
    assert told == [[0, -1, -1, -1]]
    few = pate.Votes([[9, 0], [5, 4], [9, 0], [5, 4]], teachers=9)
    sure = made(knows_the_third, threshold=9.0).release(few).value
    assert sure.tolist() == [-1, -1, 0, 1]  # nothing is answered: the student's own classes
    unsure = made(knows_the_third, threshold=9.0, confidence=0.995).release(few).value
    assert unsure.tolist() == [-1] * 4


def test_what_a_student_releases_is_paid():
    """It counted as a part of the votes: however much a student asked of other data, nothing was charged."""
    step, kept = Laplace.for_budget(epsilon=0.5, sensitivity=1.0), []

    def asks(labels):
        kept.append(step.release(1.0))
        return np.full((4, 2), 0.5)

    votes = pate.Votes([[9, 0], [5, 4], [9, 0], [9, 0]], teachers=9)
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6, delta=1e-5)) as ledger:
        made(asks, sigma1=4.0, sigma2=4.0).release(votes)
    assert [each.paid["ledger"] for each in kept] == [ledger.policy.ledger]
    assert sum(entry.kind == "reserve" for entry in ledger.entries()) == 2


def test_answers_of_a_round_are_not_carried_over():
    votes = pate.Votes([[5, 4], [5, 4], [9, 0], [9, 0]], teachers=9)
    labels = made(lambda labels: np.full((4, 2), 0.5), answers=2).release(votes).value
    assert labels.tolist() == [-1, -1, 0, -1]


def test_rounds_share_queries_and_answers_evenly():
    asked = made(queries=11, answers=7, rounds=3)
    assert [list(asked.asked(index)) for index in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    paid = [asked.threshold_part(4).loss, asked.answer_part(3).loss]
    assert asked.blocks[0] == Composed(paid)
    with pytest.raises(InvalidParameter, match="there are 3 blocks"):
        asked.block(3, asked._first())


@pytest.mark.parametrize("counts", ends([[6, 3], [4, 3, 2], [3, 2, 1, 1, 1, 1, 0, 0, 0, 0]]))
def test_what_is_drawn_has_the_law_of_thresholds_and_votes(counts):
    """Half and twice either noise are told from the right one."""
    runs, classes = 1_200, len(counts)
    asked = made(threshold=0.0, sigma1=2.0, sigma2=2.0, queries=1, answers=1, rounds=1, classes=classes)
    drawn = np.asarray(asked.simulate(pate.Votes([counts], teachers=9), runs)).ravel()
    seen = np.bincount(drawn + 1, minlength=classes + 1)
    expected = round(9 / classes)

    def likely(sigma1, sigma2):
        chances = np.exp(ConfidentVotes(expected, sigma1, sigma2).log_chances(np.array(counts)))
        return stats.power_divergence(seen, runs * chances / chances.sum(), lambda_="log-likelihood").pvalue

    assert likely(2.0, 2.0) > 1e-6
    for wrong in ((1.0, 2.0), (4.0, 2.0), (2.0, 1.0), (2.0, 4.0)):
        assert likely(*wrong) < 1e-6, wrong


# --- one run, paid in advance --------------------------------------------------------------------------------------------


def run_of(ledger, asked, votes, states):
    def save(done, state):
        states[done] = state

    return ledger.run_blocks(
        asked, votes, key="labels", at=1e-5, load=lambda: max(states.items()) if states else None, save=save
    )


def test_rounds_are_one_run_that_is_stopped_and_resumed():
    votes = pate.Votes([[9, 0], [1, 8], [9, 0], [0, 9]], teachers=9)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6, delta=1e-4))
    asked = made(StopsOnce(), sigma1=0.1, sigma2=0.1)
    states = {}
    with pytest.raises(KeyboardInterrupt):
        run_of(ledger, asked, votes, states)
    spent = dict(ledger.spent)
    assert list(states) == [1]
    resumed = run_of(ledger, asked, votes, states)
    # the round that was stopped had begun, and is paid for again; the first one is not
    again = ledger.spent["basic epsilon"] - spent["basic epsilon"]
    assert again == pytest.approx(epsilon(asked.blocks[1], 1e-5), rel=0.3)
    assert again < 0.8 * spent["basic epsilon"]
    assert resumed.value.tolist() == [0, 1, 0, 1]
    before = dict(ledger.spent)
    assert run_of(ledger, asked, votes, states).value.tolist() == resumed.value.tolist()
    assert dict(ledger.spent) == before


class StopsOnce:
    """A student who is interrupted when first asked."""

    def __init__(self):
        self.stopped = False

    def __call__(self, labels):
        if not self.stopped:
            self.stopped = True
            raise KeyboardInterrupt
        return np.full((4, 2), 0.5)


def test_what_exceeds_the_budget_is_refused_before_it_is_drawn():
    asked_student = []
    asked = made(lambda labels: asked_student.append(1), sigma1=2.0, sigma2=2.0)
    one_round = epsilon(asked.blocks[0], 1e-5)
    assert one_round < 0.9 * epsilon(asked.loss, 1e-5)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=one_round, delta=1e-4))
    votes, states = pate.Votes([[9, 0]] * 4, teachers=9), {}
    with pytest.raises(BudgetExceeded):
        run_of(ledger, asked, votes, states)
    assert states == {}
    assert asked_student == []
    assert ledger.spent["basic epsilon"] == 0.0


@pytest.mark.parametrize(
    "student",
    [
        pytest.param(lambda labels: np.full((4, 3), 0.5), id="another number of classes"),
        pytest.param(lambda labels: np.full((3, 2), 0.5), id="another number of queries"),
        pytest.param(lambda labels: np.full((4, 2), math.nan), id="nan"),
        pytest.param(lambda labels: np.full((4, 2), 7.0), id="votes for chances"),
        pytest.param(lambda labels: None, id="nothing"),
        pytest.param(lambda labels: 1 / 0, id="raises"),
    ],
)
def test_the_charge_stays_where_a_student_fails(student):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9, delta=1e-4))
    with pytest.raises(ReleaseFailed):
        ledger.release(made(student), pate.Votes([[9, 0]] * 4, teachers=9), at=1e-5)
    assert ledger.spent["basic epsilon"] > 0.0


MISTAKES = {
    "no noise on thresholds": {"sigma1": 0.0},
    "no noise on answers": {"sigma2": 0.0},
    "more answers than queries": {"answers": 5},
    "more rounds than answers": {"answers": 1},
    "no student": {"student": None},
    "a class for a student": {"student": LogisticRegression},
    "a threshold that is no number": {"threshold": math.nan},
    "confidence above 1": {"confidence": 1.5},
    "no teachers": {"teachers": 0},
    "groups": {"unit": Unit(group_size=2)},
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_sentence(mistake):
    with pytest.raises(InvalidParameter, match=next(iter(mistake))):
        made(**mistake)


@pytest.mark.parametrize("rows", [[[4, 4]] * 4, [[9, 0]] * 3, [[9, 0, 0]] * 4])
def test_votes_of_another_size_are_refused_before_paying(rows):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6, delta=1e-4))
    with pytest.raises(InvalidData):
        ledger.release(made(), pate.Votes(rows, teachers=sum(rows[0])), at=1e-5)
    assert ledger.spent["basic epsilon"] == 0.0


def test_there_is_no_figure_of_adaptive_rounds():
    assert not hasattr(pate.InteractiveGNMax, "data_dependent_epsilon")


# --- the student of a pool -----------------------------------------------------------------------------------------------


def test_a_student_guesses_on_its_pool():
    pool = np.array([[0.0], [1.0], [9.0], [10.0]])
    guesses = pate.Student(LogisticRegression(), classes=["low", "high", "never"]).guesses(pool)
    assert guesses(np.array([-1, -1, -1, -1])) == pytest.approx(np.full((4, 3), 1 / 3))
    assert guesses(np.array([0, 0, -1, -1])) == pytest.approx(np.full((4, 3), 1 / 3))
    told = guesses(np.array([0, -1, -1, 1]))
    assert told.argmax(axis=1).tolist() == [0, 0, 1, 1]
    assert told[:, 2].tolist() == [0.0] * 4
    votes = pate.Votes([[9, 0, 0], [9, 0, 0], [0, 9, 0], [0, 9, 0]], teachers=9)
    labels = made(guesses, classes=3, rounds=4, confidence=0.6).release(votes).value
    assert labels.tolist() == [0, 0, 1, 1]
    with pytest.raises(PrivetError, match="predict_proba"):
        pate.Student(Nearest(), classes=[0, 1]).guesses(pool)


class Nearest:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


# --- broken twins --------------------------------------------------------------------------------------------------------


def twin(kind, name):
    """An example of an aggregator with a mistake in it: inherited from, which a final class is not meant to be."""
    public = {"threshold": -1e6, "sigma1": 2.0, "sigma2": 2.0, "queries": 4, "answers": 2, "classes": 2, "teachers": 5}
    mechanism = kind(student=usual_class, **public)
    assert mechanism.name == name
    return Example(mechanism, *moved([[4, 1], [2, 3], [5, 0], [1, 4]], [[3, 2], [3, 2], [4, 1], [0, 5]]), cost="costly")


class FreeThresholds(pate.InteractiveGNMax):
    name = "example_free_thresholds"

    @property
    def blocks(self):
        return tuple(self.answer_part(1).loss for _ in range(2))


class BorrowsAnswers(pate.InteractiveGNMax):
    """The first round answers as many as both have paid for."""

    name = "example_borrows_answers"

    def _block(self, index, state, prepared, source):
        asked = np.array(self.asked(index))
        self.threshold_part(len(asked)).release(
            prepared.exact_counts[asked].max(axis=1).astype(np.int64), source=source
        )
        labels = state.copy()
        if index == 0:
            labels[asked] = self.answer_part(len(asked)).release(prepared.exact_part(asked), source=source).value
        return labels


class AnswersUnasked(pate.InteractiveGNMax):
    """What the student is not sure of is answered exactly."""

    name = "example_answers_unasked"

    def _block(self, index, state, prepared, source):
        labels = state.copy()
        asked = np.array(self.asked(index))
        labels[asked] = prepared.exact_counts[asked].argmax(axis=1)
        return labels


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (FreeThresholds, testing.check_parts_are_the_price),
        (BorrowsAnswers, testing.check_blocks_are_their_prices),
        (AnswersUnasked, testing.check_exact_numbers_stay_inside),
    ],
)
def test_twins_are_caught(kind, law):
    testing.check_parts_are_the_price(twin(pate.InteractiveGNMax, "pate_interactive_gn_max"))
    with pytest.raises(AssertionError):
        law(twin(kind, kind.name))
