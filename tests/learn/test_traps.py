"""Thirty known traps of private learning: where each is tested, and the tests that stand nowhere else.

Every trap names tests that fail on its twin; a test here says that they exist.
"""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import audit, noise, testing
from privet.errors import InvalidParameter, ReleaseFailed
from privet.learn import HuberRegressor, LogisticRegression, PrivateSearchCV
from privet.learn.losses import Huber, HuberHinge, Logistic, Softmax, Squared
from privet.learn.problem import ArrayRecords, Classes, GridRows, Interval, Records, Task
from privet.learn.search import SearchFit
from privet.learn.solvers import (
    FrankWolfe,
    NoisyGD,
    NoisyLloyd,
    ObjectivePerturbation,
    OutputPerturbation,
    Preconditioned,
    ProjectedSGD,
    objective_perturbation,
)
from privet.learn.solvers.output_perturbation import minimum_reach
from privet.mechanisms import Example, Gaussian
from privet.privacy import Guarantee, Unit
from tests.learn.densities import LOGISTIC, Problem, one_dimension

TRAPS = {
    1: ("exact densities for rows of every length, with and without an intercept", "densities::rows_of_every_length"),
    2: (
        "the intercept is inside the bound and penalised",
        "densities::an_intercept_outside_the_bound_is_caught",
        "densities::an_intercept_without_a_penalty_is_caught",
        "attack::the_promise_with_an_intercept",
    ),
    3: (
        "a certificate from exact sums, which no records can spoil; nothing is drawn again",
        "minimise::no_number_of_records_spoils_the_certificate",
        "tolerance::a_tolerance_that_rounding_may_exceed_is_refused_before_it_is_paid",
        "traps::a_minimum_that_is_not_found_is_paid_and_never_drawn_again",
    ),
    4: (
        "both relations; n is public or paid",
        "traps::noise_for_both_relations",
        "traps::where_records_come_n_is_bought",
    ),
    5: (
        "parts add up to the request",
        "traps::all_parts_are_paid",
        "sufficient_statistics::the_parts_add_up_to_the_request",
    ),
    6: (
        "bounds of any place and width, and none of width 0",
        "sufficient_statistics::bounds_of_any_place_and_width",
        "traps::bounds_of_no_width_are_refused",
    ),
    7: (
        "symmetric noise on and off the diagonal",
        "sufficient_statistics::noise_off_the_diagonal_has_half_the_variance",
        "sufficient_statistics::too_little_data_predicts_the_middle_instead_of_running_away",
    ),
    8: (
        "no extreme, label or type of the data steers anything",
        "attack::what_a_model_shows_is_the_same_for_any_data",
        "estimators::wrong_or_missing_facts_are_named_and_nothing_is_paid",
    ),
    9: (
        "no attribute or message that tells about the data",
        "estimators::attributes_and_pickles_hold_nothing_but_what_was_released",
        "estimators::one_class_one_row_constant_columns_and_wide_rows_are_fitted_without_a_word",
    ),
    10: (
        "a scaler before a private model",
        "moments::a_scaler_in_a_pipeline_is_paid_for",
    ),
    11: ("adaptive clipping is charged", "coordinates::what_is_looked_at_is_paid"),
    12: (
        "column moments and eigenvalues are paid",
        "coordinates::what_is_looked_at_is_paid",
    ),
    13: ("every fit has noise of its own", "traps::no_two_fits_share_their_noise"),
    14: ("Poisson samples are that", "laws_of_fits::one_noisy_step_on_a_poisson_sample"),
    15: (
        "noise at the end does not shrink with the batch",
        "sensitivities::bolt_on_noise_does_not_shrink_with_the_batch",
    ),
    16: ("no classic Gaussian noise beyond epsilon 1", "traps::noise_is_never_the_classic_one"),
    17: (
        "NaN, zero, float32 and duplicated rows",
        "task::unit_rows_are_never_longer_than_one",
        "task::rows_that_are_not_finite_and_unknown_labels_count_as_zero_rows",
        "task::sparse_and_dense_rows_are_the_same_rows_and_duplicates_are_added_up",
        "traps::rows_of_32_bits_are_no_longer",
    ),
    18: ("no weights of records or classes", "traps::weights_and_warm_starts_are_not_taken"),
    19: ("no warm start", "traps::weights_and_warm_starts_are_not_taken"),
    20: (
        "softmax: root of two, rank K - 1",
        "steps::softmax_constants_are_attained",
        "softmax_pairs::the_curvature_is_the_largest_at_equal_probabilities",
    ),
    21: (
        "no corner, l1 term or constraint with a linear term",
        "lectures::the_tilted_median_fails_with_probability_one_half_when_it_exists",
        "traps::losses_without_bounds_are_refused",
    ),
    22: ("the regulariser in a ball counts", "sensitivities::bolt_on_noise_for_losses_that_bend"),
    23: (
        "search: no try, a secret number of them, paid scores",
        "search::no_try_gives_a_fixed_public_answer",
        "search::nothing_tells_how_often_it_was_tried",
        "search::scores_are_paid_and_replays_find_nothing",
        "traps::a_search_fits_no_record_that_it_scores",
    ),
    24: (
        "clones, copies and searches pay from one ledger",
        "estimators::copies_and_clones_reach_one_ledger",
        "estimators::searches_pay_for_every_fit_from_one_ledger_and_say_so",
    ),
    25: (
        "fitted again, paid again; pickles hold no data",
        "estimators::a_fit_is_paid_once_and_again_when_it_is_fitted_again",
        "attack::a_pickled_model_holds_neither_data_nor_noise",
    ),
    26: (
        "twins: half the noise, no Jacobian, B for its square, the median",
        "densities::half_the_noise_is_caught",
        "densities::a_price_without_the_jacobian_is_caught",
        "densities::the_length_of_a_row_where_its_square_belongs_is_caught",
        "traps::the_price_of_a_plan_covers_its_exact_law",
    ),
    27: ("an audit of a canary for every fit", "canaries::a_canary_refutes_a_cut_price"),
    28: ("accuracy grows with epsilon", "estimators::accuracy_grows_with_epsilon"),
    29: ("scores on private rows are used nowhere inside", "traps::no_fit_scores_itself"),
    30: (
        "composition by the pair, not by what holds at one epsilon",
        "densities::composition_uses_the_pair_and_not_the_statement_at_one_epsilon",
    ),
}
HERE = Path(__file__).parent


def test_every_trap_has_its_tests():
    assert sorted(TRAPS) == list(range(1, 31))
    known: dict[str, set[str]] = {}
    for trap, (_, *tests) in TRAPS.items():
        assert tests, trap
        for each in tests:
            file, _, name = each.partition("::")
            if file not in known:
                tree = ast.parse((HERE / f"test_{file}.py").read_text(encoding="utf-8"))
                known[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert f"test_{name}" in known[file], each


def task(target: Any = Classes((0, 1)), unit: Unit = Unit(), **facts: Any) -> Task:  # noqa: B008
    return Task(**{"features": 1, "row_norm": 1.0, "intercept": False, "target": target, "unit": unit, **facts})


def records(rows: list[float], targets: list[float]) -> ArrayRecords:
    return ArrayRecords(np.array(rows, dtype=float).reshape(-1, 1), np.array(targets))


REPLACE = Unit("replace")
ROWS = np.random.default_rng(3).normal(size=(60, 2))
LABELS = (ROWS[:, 0] > 0).astype(int)


def test_a_minimum_that_is_not_found_is_paid_and_never_drawn_again(monkeypatch):
    tries = []

    def fails(objective: Any, tolerance: float) -> Any:
        tries.append(objective.linear)
        raise ReleaseFailed("not found")

    monkeypatch.setattr(objective_perturbation, "minimiser", fails)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-5))
    with pytest.raises(ReleaseFailed):
        LogisticRegression(
            epsilon=1.0, delta=1e-6, row_norm=1.0, classes=[0, 1], solver=ObjectivePerturbation(), ledger=ledger
        ).fit(ROWS, LABELS)
    assert len(tries) == 1
    assert ledger.spent["basic epsilon"] > 0.9


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge()], ids=["logistic", "hinge"])
def test_noise_for_both_relations(loss):
    """Twice the noise under replace, for every solver that has one sensitivity."""
    for solver in (NoisyGD(rows=5, steps=2), OutputPerturbation(strength=3.0)):
        one, two = (solver.plan(task(unit=unit), loss, Guarantee(mu=1.0)).noise.scale for unit in (Unit(), REPLACE))
        assert two == pytest.approx(2.0 * one, rel=1e-6)


def test_where_records_come_n_is_bought():
    bought = NoisyGD(steps=2).plan(task(), Logistic(), Guarantee(mu=1.0))
    assert bought.counting is not None
    pair = records([1.0, 1.0], [1, 1]), records([1.0], [1])
    assert audit.replay(bought.release, *pair).releases == 3
    assert NoisyGD(steps=2).plan(task(unit=REPLACE), Logistic(), Guarantee(mu=1.0)).counting is None


@pytest.mark.parametrize("facts", [{"bounds_y": (1.0, 1.0)}, {"bounds": (2.0, 2.0), "bounds_y": (0, 1)}])
def test_bounds_of_no_width_are_refused(facts):
    with pytest.raises(InvalidParameter):
        HuberRegressor(epsilon=1.0, delta=1e-6, **{"row_norm": None if "bounds" in facts else 1.0, **facts}).fit(
            ROWS, ROWS[:, 0]
        )


def test_no_two_fits_share_their_noise():
    """Fits of one data set by one model, and by two threads of it, all differ; none is said to be from a seed."""
    from joblib import Parallel, delayed

    def fitted() -> Any:
        return LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=1.0, classes=[0, 1]).fit(ROWS, LABELS)

    models = [fitted(), fitted(), *Parallel(n_jobs=2, prefer="threads")(delayed(fitted)() for _ in range(2))]
    assert len({tuple(model.coef_[0]) for model in models}) == 4
    assert not any(model.privacy_.insecure for model in models)


def test_every_record_may_be_the_one_of_a_step(monkeypatch):
    seen: set[int] = set()
    real = GridRows.picked
    monkeypatch.setattr(GridRows, "picked", lambda self, places: (seen.update(map(int, places)), real(self, places))[1])
    plan = ProjectedSGD(rows=3, steps=40).plan(task(unit=REPLACE), Logistic(), Guarantee(mu=1.0))
    plan.release(records([1.0, 0.5, -1.0], [1, 0, 1]))
    assert seen == {0, 1, 2}


def test_noise_is_never_the_classic_one():
    """sqrt(2 ln(1.25/delta))/epsilon is too little from about epsilon 8 on at this delta; ours is the exact root."""
    for epsilon in (0.5, 4.0, 10.0):
        plan = OutputPerturbation(strength=1.0).plan(task(), Logistic(), Guarantee(epsilon, 1e-3))
        assert float(plan.loss.profile(epsilon)) == pytest.approx(1e-3, rel=1e-3)
    classic = np.sqrt(2.0 * np.log(1.25 / 1e-3)) / 10.0
    assert float(pv.privacy.GaussianLoss(classic).profile(10.0)) > 1.5e-3


def test_rows_of_32_bits_are_no_longer():
    """Rows at the bound that rounding to 32 bits has lengthened."""
    rows = np.random.default_rng(1).normal(size=(2_000, 7))
    rows = (rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float32)
    assert np.linalg.norm(rows.astype(np.longdouble), axis=1).max() > 1.0
    for intercept in (True, False):
        facts = Task(features=7, row_norm=1.0, intercept=intercept)
        for chunk in facts.unit_chunks(ArrayRecords(rows)):
            assert np.linalg.norm(chunk.rows.astype(np.longdouble), axis=1).max() <= 1.0


def test_weights_and_warm_starts_are_not_taken():
    model = LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=1.0, classes=[0, 1])
    for name in ("class_weight", "warm_start", "sample_weight", "coef_init"):
        assert name not in model.get_params()
        with pytest.raises((TypeError, ValueError)):
            LogisticRegression(**{name: None})
    with pytest.raises(TypeError):
        model.fit(ROWS, LABELS, sample_weight=np.ones(len(LABELS)))
    first = model.set_params(source=noise.Seeded(1)).fit(ROWS, LABELS).coef_
    model.set_params(source=noise.Seeded(2)).fit(-ROWS, LABELS)
    again = model.set_params(source=noise.Seeded(1)).fit(ROWS, LABELS).coef_
    assert (again == first).all()  # nothing of an earlier fit is in a later one


@pytest.mark.parametrize("promise", [Guarantee(1.0, 1e-6), Guarantee(1.0)], ids=["normal", "pure"])
def test_losses_without_bounds_are_refused(promise):
    with pytest.raises(pv.errors.PrivetError):
        ObjectivePerturbation().plan(task(Interval(-1.0, 1.0)), Squared(), promise)
    with pytest.raises(pv.errors.PrivetError):
        ObjectivePerturbation(strength=0.0)
    assert ObjectivePerturbation().plan(task(Interval(-1.0, 1.0)), Huber(1.0), promise).strength > 0.0


def test_empty_clusters_are_told_by_their_noisy_count_alone():
    facts = Task(features=1, row_norm=1.0, intercept=False)
    plan = NoisyLloyd.planned(facts, 2, 2, Guarantee(mu=1.0))
    left, right = (ArrayRecords(np.array(rows).reshape(-1, 1)) for rows in ([0.9, 0.8, -0.9], [0.9, 0.8]))
    for _ in range(3):
        assert not audit.replay(plan.release, left, right).refuted


def test_a_search_fits_no_record_that_it_scores(monkeypatch):
    """Every record is in one of two parts: what is fitted and what is scored together are all of them, once."""
    seen: dict[str, list[int]] = {"fitted": [], "scored": []}

    def held(records: Records) -> list[int]:
        return [round(float(row[0])) for chunk in records.chunks() for row in np.asarray(chunk.rows)]

    kind = type(OutputPerturbation(strength=10.0).plan(task(), Logistic(), Guarantee(1.0)))
    prepare, score = kind._prepare, SearchFit._score
    monkeypatch.setattr(SearchFit, "_number", lambda self, source: 1)
    monkeypatch.setattr(kind, "_prepare", lambda self, r: (seen.update(fitted=held(r)), prepare(self, r))[1])
    monkeypatch.setattr(
        SearchFit, "_score", lambda self, p, v, r: (seen.update(scored=held(r)), score(self, p, v, r))[1]
    )
    model = LogisticRegression(classes=[0, 1], row_norm=1.0, solver=OutputPerturbation(strength=10.0))
    rows = np.arange(60.0)[:, None]
    PrivateSearchCV(model, {"row_norm": [1.0]}, epsilon=9.0, mean_tries=1.5, holdout=0.5).fit(rows, LABELS)
    assert sorted(seen["fitted"] + seen["scored"]) == list(range(60))
    assert seen["scored"]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_price_of_a_plan_covers_its_exact_law(relation):
    """What a ledger is charged with, at every epsilon: a plan whose Jacobian is not priced is below its exact law."""
    at = np.array([0.0, 0.3, 1.0, 2.0])
    # at the second strength the Jacobian has a good share of the promise: a quarter of the curvature is seen
    for strength, promise in ((0.1, Guarantee(3.0, 1e-3)), (0.02, Guarantee(3.0, 1e-5)), (1.0, Guarantee(3.0, 1e-3))):
        plan = ObjectivePerturbation(strength=strength).plan(task(unit=Unit(relation)), Logistic(), promise)
        with_it = Problem(LOGISTIC, (((1.0,), 1.0),), (strength,))
        gone = Problem(LOGISTIC, (), (strength,))
        other = Problem(LOGISTIC, (((-1.0,), 1.0),), (strength,))
        exact = one_dimension(with_it, gone if relation == "add_remove" else other, plan.sigma, at)
        assert np.all(exact[0] <= plan.loss.profile(at, "remove"))
        assert np.all(exact[1] <= plan.loss.profile(at, "add"))


PARTS = {
    "preconditioned": (Preconditioned(steps=2), Classes((0, 1)), Logistic(), Guarantee(mu=1.0)),
    "Frank-Wolfe": (FrankWolfe(steps=3), Interval(-1.0, 1.0), Huber(1.0), Guarantee(1.0)),
    "steps": (NoisyGD(steps=2), Classes((0, 1)), Logistic(), Guarantee(mu=1.0)),
}


@pytest.mark.parametrize("name", PARTS)
def test_all_parts_are_paid(name):
    """What a run releases is what its price is made of: no part is free, and none is left out."""
    solver, target, loss, promise = PARTS[name]
    plan = solver.plan(task(target), loss, promise)
    pair = records([1.0, 0.5], [1, 0]), records([1.0], [1])
    testing.check_parts_are_the_price(Example(plan, *pair))
    assert audit.replay(plan.release, *pair).verdict == "not refuted"


def test_output_noise_covers_what_separates_computed_minima():
    for unit, ends in ((Unit(), 1.0), (REPLACE, 2.0)):
        reach = minimum_reach(Logistic(), 2.0, 0.25, unit)
        assert float(reach) == pytest.approx((ends + 0.5) / 2.0)


def test_no_fit_scores_itself(monkeypatch):
    def forbidden(*args: Any, **names: Any) -> Any:
        raise AssertionError("a fit asked for predictions or a score of its own records")

    for name in ("score", "predict", "predict_proba", "decision_function"):
        monkeypatch.setattr(LogisticRegression, name, forbidden, raising=False)
    model = LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=1.0, classes=[0, 1]).fit(ROWS, LABELS)
    assert model.coef_.shape == (1, 2)


def test_noise_made_for_another_unit_or_less_is_refused():
    made = NoisyGD(rows=5, steps=2).plan(task(unit=REPLACE), Logistic(), Guarantee(mu=1.0))
    small = Gaussian.for_budget(mu=1.0, sensitivity=1.0, unit=REPLACE)
    with pytest.raises(InvalidParameter):
        type(made)(**{**{name: getattr(made, name) for name in made.__dataclass_fields__}, "noise": small})
    with pytest.raises(InvalidParameter):
        ObjectivePerturbation().plan(task(Classes((0, 1)), Unit("add_remove", 2)), Logistic(), Guarantee(1.0, 1e-6))
    assert Softmax(3).lipschitz >= np.sqrt(2.0)
