"""The lectures: noisy aggregation, agreement against cost, the gap against the number of teachers, why a student."""

import math
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import privet as pv
from privet import accounting, pate, report
from privet.errors import BudgetExceeded, SerialisationError
from privet.pate.vote_law import LaplaceVotes


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def trained(digits, parts):
    X, y = digits
    made = pate.Teachers(lambda: KNeighborsClassifier(1), pate.KeyedPartition(parts, b"lecture"), classes=range(10))
    return made.fit(X[:1200], y[:1200], ids=np.arange(1200))


def test_noisy_aggregation_is_the_arg_max_of_counts_with_laplace_noise():
    """f(x) = argmax_j { n_j(x) + Lap(1/gamma) }, by hand and by the mechanism."""
    counts, gamma, runs = np.array([6, 4, 1]), 0.4, 3_000
    by_hand = np.argmax(counts + np.random.default_rng(0).laplace(scale=1 / gamma, size=(200_000, 3)), axis=1)
    asked = pate.LNMax(gamma=gamma, queries=1, classes=3)
    drawn = np.asarray(asked.simulate(pate.Votes([counts], teachers=11), runs)).ravel()
    exact = np.exp(LaplaceVotes(gamma).log_chances(counts))
    for place in range(3):
        assert np.mean(by_hand == place) == pytest.approx(exact[place], abs=0.006)
        assert np.mean(drawn == place) == pytest.approx(exact[place], abs=5 * math.sqrt(0.25 / runs))


def test_agreement_is_cheap_and_close_counts_are_dear():
    """If most teachers agree, the label does not depend on one of them."""
    asked = pate.LNMax(gamma=0.05, queries=100, classes=10)
    costs = [
        asked.data_dependent_epsilon(
            pate.Votes([[top, 250 - top] + [0] * 8] * 100, teachers=250), delta=1e-5
        ).exact_value
        for top in (250, 225, 200, 175, 150, 125)
    ]
    assert costs == sorted(costs)
    assert costs[-1] > 3 * costs[0]
    # what is paid is the same for all of them: a unanimous label is not free
    assert asked.loss.pure() == pytest.approx(10.0)


def test_the_gap_grows_with_the_number_of_teachers_and_their_accuracy_falls(digits):
    X, y = digits
    pool, truth = X[1200:1500], y[1200:1500]
    gaps, right = [], []
    for parts in (10, 50, 100):
        teachers = trained(digits, parts)
        ordered = np.sort(teachers.vote(pool, public=True).exact_counts, axis=1)
        gaps.append(float(np.mean(ordered[:, -1] - ordered[:, -2])))
        right.append(np.mean([np.mean(model.predict(pool) == truth) for model in teachers._models]))
    assert gaps == sorted(gaps)
    assert gaps[-1] > 2 * gaps[0]
    assert right == sorted(right, reverse=True)


def test_why_not_the_teachers_themselves(digits):
    """Each of their answers costs, so that their life is limited; and what they are shows rows."""
    teachers = trained(digits, 10)
    pool = digits[0][1200:1210]
    asked = pate.GNMax(sigma=2.0, queries=10, classes=10)
    price = float(accounting.epsilon(asked.loss, delta=1e-6).upper)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.2 * price, delta=1e-5))
    ledger.release(asked, teachers.vote(pool, public=True), at=1e-6)
    with pytest.raises(BudgetExceeded):
        ledger.release(asked, teachers.vote(pool, public=True), at=1e-6)
    with pytest.raises(SerialisationError):
        pickle.dumps(teachers)
    private = digits[0][0]
    assert any(np.array_equal(private, row) for model in teachers._models for row in model._fit_X)


def test_a_student_answers_for_ever(digits):
    """Its loss is fixed when it is trained; its parameters follow from public rows and released labels."""
    X, y = digits
    votes = trained(digits, 40).vote(X[1200:1400], public=True)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=12.0, delta=1e-5))
    released = ledger.release(pate.GNMax(sigma=9.0, queries=200, classes=10), votes, at=1e-5)
    spent = dict(ledger.spent)
    student = pate.Student(LogisticRegression(max_iter=500), classes=range(10), neighbours=7).fit(
        X[1200:1400], released
    )
    assert np.mean(student.predict(X[1400:]) == y[1400:]) > 0.75
    assert pickle.loads(pickle.dumps(student)).predict(X[:5]).shape == (5,)
    assert dict(ledger.spent) == spent


def test_the_two_reasons_are_told_of_a_plan():
    plan = pate.VotePlan(teachers=250, queries=640, answers=286, sigma=40.0, threshold=200, sigma1=150.0)
    limited, inspected = report.why_a_student(plan, epsilon=2.0, delta=1e-5)
    assert "buys 178 of them" in limited
    assert "sees private rows" in inspected


def test_the_two_figures_are_drawn(tmp_path):
    drawn = {
        "teachers.png": report.teachers_figure([10, 50, 100, 250], [0.8, 0.6, 0.5, 0.4], [0.97, 0.96, 0.94, 0.9]),
        "student.svg": report.student_figure([1.0, 2.0, 4.0], {"GNMax": [0.5, 0.7, 0.8], "confident": [0.6, 0.8, 0.9]}),
    }
    for name, figure in drawn.items():
        report.save_figure(figure, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5_000
    left, right = drawn["teachers.png"].axes
    assert left.lines[0].get_ydata().tolist() == [8.0, 30.0, 50.0, 100.0]
    assert right.lines[0].get_ydata().tolist() == [0.97, 0.96, 0.94, 0.9]
    assert [each.get_text() for each in drawn["student.svg"].axes[0].get_xticklabels()] == ["1", "2", "4"]
    assert [line.get_label() for line in drawn["student.svg"].axes[0].lines] == ["GNMax", "confident"]
