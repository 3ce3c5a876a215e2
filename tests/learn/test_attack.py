"""Attacks through the public door: the exact law of what `fit` returns, promises against exact laws, and leaks."""

import pickle
import traceback

import numpy as np
import pytest

from privet import noise
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.learn import LogisticRegression
from privet.learn.losses import ClippedPoisson, Huber, HuberHinge, Logistic, Loss, Pinball
from privet.learn.problem import Classes, Task
from privet.learn.solvers import ObjectivePerturbation, OutputPerturbation
from privet.learn.solvers.objective_perturbation import PureObjectiveFit, pure_price
from privet.privacy import Guarantee, Unit
from tests.learn.densities import (
    LOGISTIC,
    Problem,
    agrees,
    laplace_tails,
    minimisers,
    normal_tails,
    one_dimension,
    two_dimensions,
)

FACTS = {"row_norm": 2.0, "classes": [0, 1], "fit_intercept": False}
ROWS, LABELS = np.array([[2.0], [-1.0], [1.5]]), np.array([1, 1, 0])


def law_of(model: LogisticRegression, rows, labels) -> tuple[Problem, float]:
    """The problem that a fitted model solved, on unit rows, and its noise: from its published plan alone."""
    plan = model.privacy_.plan
    length = float(model.row_norm) * (np.hypot(1.0, 1.0 / 3.0) if model.fit_intercept else 1.0)
    whole = np.c_[rows, np.full(len(rows), model.row_norm / 3.0)] if model.fit_intercept else np.asarray(rows)
    records = tuple((tuple(x / length), 2.0 * y - 1.0) for x, y in zip(whole, labels, strict=True))
    penalty = (float(plan["strength"]),) * whole.shape[1]
    return Problem(LOGISTIC, records, penalty), float(plan.get("sigma", plan.get("scale", 0.0)))


FITS = 60


@pytest.mark.parametrize(("delta", "tails"), [(1e-5, normal_tails), (0.0, laplace_tails)])
def test_a_fit_has_the_law_that_was_paid_for(delta, tails):
    """One column, no intercept: the distribution function is exact. A third of the noise, or three times, is seen."""
    model, drawn = LogisticRegression(epsilon=1.0, delta=delta, solver=ObjectivePerturbation(), **FACTS), []
    for seed in range(FITS):
        model.set_params(source=noise.Seeded(seed)).fit(ROWS, LABELS)
        drawn.append(model.coef_[0, 0] * FACTS["row_norm"])  # on unit rows
    problem, scale = law_of(model, ROWS, LABELS)

    def below(scale: float):
        return lambda w: tails(problem.slope(w[None, :])[0], scale)[0]

    assert agrees(np.array(drawn), below(scale))
    assert not agrees(np.array(drawn), below(scale / 3.0))
    assert not agrees(np.array(drawn), below(scale * 3.0))


@pytest.mark.parametrize("row_norm", [0.5, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_the_promise_of_a_fit_holds_for_its_exact_law(row_norm, epsilon):
    """Row norms, both relations, with and without the record, from the plan that the fitted model shows."""
    for relation in ("add_remove", "replace"):
        facts = {**FACTS, "row_norm": row_norm, "unit": Unit(relation)}
        model = LogisticRegression(epsilon=epsilon, delta=1e-4, solver=ObjectivePerturbation(), **facts).fit(
            row_norm * ROWS / 2.0, LABELS
        )
        base = row_norm * np.array([[0.3], [0.3], [0.3]]), [0, 0, 0]
        first, sigma = law_of(model, np.vstack((base[0], [[row_norm]])), [*base[1], 1])
        gone = law_of(model, *base)[0]
        other = law_of(model, np.vstack((base[0], [[-row_norm]])), [*base[1], 1])[0]
        second = gone if relation == "add_remove" else other
        assert one_dimension(first, second, sigma, np.array([epsilon])).max() <= 1e-4
        assert one_dimension(first, second, sigma / 8.0, np.array([epsilon])).max() > 1e-4


def test_the_promise_with_an_intercept():
    model = LogisticRegression(
        epsilon=1.0, delta=1e-3, row_norm=3.0, classes=[0, 1], solver=ObjectivePerturbation()
    ).fit(ROWS, LABELS)
    rows = np.array([[3.0], [-2.0]])
    with_it, sigma = law_of(model, np.vstack((rows, [[3.0]])), [0, 1, 1])
    without, _ = law_of(model, rows, [0, 1])
    for pair in ((with_it, without), (without, with_it)):
        assert two_dimensions(*pair, sigma, np.array([1.0]))[0] <= 1e-3
    assert two_dimensions(without, with_it, sigma / 3.0, np.array([1.0]))[0] > 1e-3


def test_every_output_of_a_replayed_fit_is_near_the_exact_minimum():
    """Beside the noise that the plan shows nothing moves: the minimiser of the oracle for the same linear term."""
    model = LogisticRegression(
        epsilon=1.0, delta=1e-5, source=noise.Seeded(5), solver=ObjectivePerturbation(), **FACTS
    ).fit(ROWS, LABELS)
    problem, sigma = law_of(model, ROWS, LABELS)
    b = -problem.slope(model.coef_[:, :] * FACTS["row_norm"])  # the term that leads here
    assert abs(b[0, 0]) < 8.0 * sigma
    assert minimisers(problem, b)[0, 0] == pytest.approx(model.coef_[0, 0] * FACTS["row_norm"], rel=1e-6)


# --- promises that a plan must keep, or refuse ---


@pytest.mark.parametrize("strength", [1e-9, 1e-3, 0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_plan_costs_more_than_it_promises(strength, epsilon, relation):
    task = Task(features=1, row_norm=1.0, target=Classes((0, 1)), unit=Unit(relation))
    for loss in (Logistic(), HuberHinge(0.1)):
        pure = ObjectivePerturbation(strength=strength).plan(task, loss, Guarantee(epsilon))
        assert pure.loss.pure() <= epsilon
        assert pure.strength >= strength
    output = OutputPerturbation(strength=strength).plan(task, Logistic(), Guarantee(epsilon))
    assert output.loss.pure() <= epsilon * (1.0 + 1e-12)


def test_a_long_linear_term_does_not_hide_the_jacobian():
    for strength in (1e-6, 0.01, 1.0):
        exact = np.log1p(0.25 / strength)
        for scale in (1e2, 1e6, 1e12, 1e30, 1e300):
            assert pure_price(Logistic(), scale, strength, 1.0) == pytest.approx(exact, rel=0.05)
            assert pure_price(Logistic(), scale, strength, 1.0) >= exact * (1.0 - 1e-12)


def test_the_pure_price_is_the_largest_over_all_slopes():
    t = np.linspace(0.0, 1.0, 20_001)
    for strength, scale in ((0.05, 1.0), (1.0, 1.0), (0.3, 0.2), (1e-4, 30.0), (50.0, 1e-3)):
        found = np.max(t / scale + np.log1p(t * (1.0 - t) / strength))
        assert found * (1.0 - 1e-12) <= pure_price(Logistic(), scale, strength, 1.0) <= found * (1.0 + 1e-6)


def test_a_regulariser_that_is_too_weak_is_refused():
    with pytest.raises(NoGuarantee):
        LogisticRegression(epsilon=0.1, delta=1e-6, solver=ObjectivePerturbation(strength=1e-6), **FACTS).fit(
            ROWS, LABELS
        )


def test_output_noise_for_less_than_the_tolerance_is_refused():
    task = Task(features=1, row_norm=1.0, target=Classes((0, 1)))
    plan = ObjectivePerturbation().plan(task, Logistic(), Guarantee(1.0))
    assert isinstance(plan, PureObjectiveFit)
    with pytest.raises(InvalidParameter):
        PureObjectiveFit(
            task=task, model=Logistic(), strength=plan.strength, tolerance=1.0, output=plan.output, scale=plan.scale
        )


# --- constants of the losses, for targets that should not be there ---


LOSSES = [Logistic(), HuberHinge(0.2), Huber(0.7), Pinball(0.9, 0.05), ClippedPoisson(5.0, 2.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_no_target_makes_a_record_count_for_more(loss: Loss):
    """A label of 2, a count beyond the largest: slopes and their differences stay within the constants."""
    margins = np.linspace(-9.0, 9.0, 40_001)
    for target in (-50.0, -2.0, -1.0, 0.0, 0.3, 1.0, 2.0, 7.0, 50.0):
        slope = loss.slope(margins, np.full_like(margins, target))
        assert np.abs(slope).max() <= loss.lipschitz
        steps = np.diff(slope) / np.diff(margins)
        assert steps.min() >= -1e-9
        assert steps.max() <= loss.smoothness * (1.0 + 1e-9)
        if loss.shape != "general":
            assert not (slope.min() < 0.0 < slope.max())


def test_several_classes_are_not_fitted_by_a_loss_of_two():
    task = Task(features=1, row_norm=1.0, target=Classes((0, 1, 2)))
    for solver in (ObjectivePerturbation(), OutputPerturbation(strength=1.0)):
        with pytest.raises(InvalidParameter):
            solver.plan(task, Logistic(), Guarantee(1.0, 1e-6))


# --- leaks ---


SECRET = 1.2345678


@pytest.mark.parametrize(
    "rows",
    [
        np.array([SECRET, 2.0]),
        SECRET,
        np.array([[SECRET + 1j]]),
        [["1.2345678x"]],
        np.array([[{"age": SECRET}]], dtype=object),
        np.array([[SECRET, np.nan]]),
        [[SECRET], [SECRET, 2.0]],
        [[10**400]],
    ],
    ids=["one dimension", "a number", "complex", "text", "objects", "NaN", "ragged", "too large"],
)
def test_no_complaint_quotes_the_data(rows):
    with pytest.raises(InvalidData) as caught:
        LogisticRegression(epsilon=1.0, delta=1e-6, **FACTS).fit(rows, [1])
    shown = "".join(traceback.format_exception_only(caught.value)) + repr(caught.value)
    assert "1.23" not in shown
    assert "1000" not in shown
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("labels", [["Ada", "Bob", "Eve"], [0, 1, 77], [0.5, 1.0, 0.0], [[0, 1], [1, 0], [1, 1]]])
def test_no_complaint_quotes_a_label(labels):
    with pytest.raises(InvalidData) as caught:
        LogisticRegression(epsilon=1.0, delta=1e-6, **FACTS).fit(ROWS, labels)
    assert not any(word in str(caught.value) for word in ("Ada", "Eve", "77", "0.5"))


def test_a_pickled_model_holds_neither_data_nor_noise():
    rows = np.array([[SECRET], [0.7654321], [1.9]])
    model = LogisticRegression(epsilon=1.0, delta=1e-6, **FACTS).fit(rows, LABELS)
    packed = pickle.dumps(model)
    for value in rows.ravel():
        assert np.float64(value).tobytes() not in packed
        assert np.float64(value / 2.0).tobytes() not in packed
    again = pickle.loads(packed)
    assert again.coef_ == pytest.approx(model.coef_)
    assert set(vars(model)) - set(model.get_params()) == {
        "_facts",  # the public plan
        "_released",
        "n_features_in_",
        "coef_",
        "intercept_",
        "classes_",
        "privacy_",
    }


def test_what_a_model_shows_is_the_same_for_any_data():
    """Everything but the coefficients: attributes, plan, words."""
    shown = []
    for rows, labels in (
        (ROWS, LABELS),
        (0.0 * ROWS, LABELS),
        (np.repeat(ROWS, 50, axis=0), np.repeat(1 - LABELS, 50)),
    ):
        model = LogisticRegression(epsilon=1.0, delta=1e-6, **FACTS).fit(rows, labels)
        shown.append((str(model.privacy_), model.privacy_.to_dict(), sorted(vars(model)), model.classes_.tolist()))
    assert shown[0] == shown[1] == shown[2]
