"""The contract of every estimator, through the public door: public facts, payment, attributes, inputs."""

import copy
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import privet as pv
from privet import learn, noise, privacy
from privet.errors import BudgetExceeded, InvalidData, InvalidParameter, KeyConflict, PrivacyWarning, PrivetError
from privet.learn.estimators import surroundings
from privet.learn.solvers import ObjectivePerturbation, OutputPerturbation

RNG = np.random.default_rng(7)
ROWS = RNG.normal(size=(300, 3))
LABELS = (ROWS @ [1.0, -2.0, 0.5] > 0).astype(int)
NUMBERS = ROWS @ [1.0, -2.0, 0.5] + 0.1 * RNG.normal(size=300)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
CLASSIFIERS = [
    learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1]),
    learn.LogisticRegression(epsilon=1.0, bounds=(-3, 3), classes=[0, 1]),
    learn.LinearSVC(**BUDGET, row_norm=3.0, classes=[0, 1]),
    learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1], solver=OutputPerturbation(strength=20.0)),
]
REGRESSORS = [
    learn.HuberRegressor(**BUDGET, row_norm=3.0, bounds_y=(-8, 8)),
    learn.QuantileRegressor(**BUDGET, bounds=([-3, -3, -3], [3, 3, 3]), bounds_y=(-8, 8)),
    learn.PoissonRegressor(**BUDGET, row_norm=3.0, bounds_y=(0, 20)),
]
EVERY = CLASSIFIERS + REGRESSORS


def names(estimators):
    return [f"{type(each).__name__}-{i}" for i, each in enumerate(estimators)]


def target_of(estimator):
    if isinstance(estimator, learn.PoissonRegressor):
        return np.abs(np.rint(NUMBERS))
    return LABELS if hasattr(estimator, "classes") else NUMBERS


def seeded(estimator, seed=1, **changes):
    return clone(estimator).set_params(source=noise.Seeded(seed), **changes)


def ledger_of(epsilon=10.0, unit=None):
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon, 1e-4), **({} if unit is None else {"unit": unit}))


def reserves(ledger):
    return [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize("estimator", EVERY, ids=names(EVERY))
def test_a_fit_is_paid_once_and_again_when_it_is_fitted_again(estimator):
    with ledger_of() as ledger:
        model = clone(estimator).fit(ROWS, target_of(estimator))
        assert len(reserves(ledger)) == 1
        assert model.privacy_.paid is not None
        assert ledger.total(delta=1e-4).upper <= 1.0 + 1e-9
        model.fit(ROWS, target_of(estimator))
        assert len(reserves(ledger)) == 2
    if estimator.delta == 0.0:
        assert 0.97 <= model.privacy_.loss.pure() <= 1.0


def test_the_ledger_may_be_an_argument_and_a_key_answers_again_for_nothing():
    ledger = ledger_of()
    model = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1], ledger=ledger)
    first = clone(model).fit(ROWS, LABELS, key="May").coef_
    second = clone(model).fit(ROWS, LABELS, key="May").coef_
    assert (first == second).all()
    assert len(reserves(ledger)) == 1
    with pytest.raises(PrivetError):
        clone(model).set_params(row_norm=2.0).fit(ROWS, LABELS, key="May")
    other = clone(model).fit(ROWS[:-1], LABELS[:-1], key="May")  # data are not compared
    assert (other.coef_ == first).all()
    assert "read back from entry 3" in str(other.privacy_)
    with pytest.raises(KeyConflict):
        clone(model).fit(ROWS, LABELS, key="May", about="a new version")


def test_an_empty_budget_refuses_before_the_data_are_looked_at():
    with ledger_of(0.5) as ledger:
        model = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1])
        with pytest.raises(BudgetExceeded):
            model.fit(ROWS, LABELS)
        assert not hasattr(model, "coef_")
        assert reserves(ledger) == []


def test_the_unit_is_the_ledgers_unless_it_is_given():
    ours = privacy.Unit("replace")
    with ledger_of(unit=ours):
        model = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1]).fit(ROWS, LABELS)
    assert model.privacy_.unit == ours
    alone = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1], unit=ours).fit(ROWS, LABELS)
    assert alone.privacy_.unit == ours


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"row_norm": None}, "row_norm"),
        ({"classes": None}, "classes"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1.5}, "delta"),
        ({"rho": 0.1}, "exactly one"),
        ({"row_norm": -1.0}, "row_norm"),
        ({"row_norm": float("nan")}, "row_norm"),
        ({"bounds": (1, 0), "row_norm": None}, "bounds"),
        ({"bounds": 3}, "bounds"),
        ({"classes": "01"}, "classes"),
        ({"classes": [0]}, "classes"),
        ({"classes": [0, 0, 1]}, "classes"),
        ({"classes": [0, "1"]}, "classes"),
        ({"solver": "lbfgs"}, "solver"),
        ({"unit": "replace"}, "unit"),
        ({"bad_rows": "ignore"}, "bad_rows"),
        ({"ledger": "a.db"}, "ledger"),
    ],
    ids=str,
)
def test_wrong_or_missing_facts_are_named_and_nothing_is_paid(change, word):
    model = learn.LogisticRegression(**{**BUDGET, "row_norm": 3.0, "classes": [0, 1], **change})
    with ledger_of() as ledger:
        with pytest.raises(PrivetError, match=word):
            model.fit(ROWS, LABELS)
        assert reserves(ledger) == []


def hostile():
    secret = 123456.789
    yield "NaN", np.where(np.arange(900).reshape(300, 3) == 5, np.nan, ROWS), LABELS
    yield "infinity", np.where(np.arange(900).reshape(300, 3) == 5, np.inf, ROWS), LABELS
    yield "one dimension", ROWS[:, 0], LABELS
    yield "no columns", ROWS[:, :0], LABELS
    yield "texts", np.array([["secret123456.789", "b", "c"]] * 300, dtype=object), LABELS
    yield "too few labels", ROWS, LABELS[:-1]
    yield "an unknown label", ROWS, np.where(np.arange(300) == 3, 123456, LABELS)
    yield "labels of texts", ROWS, np.where(LABELS == 1, "yes", "secret123456")
    yield "no labels", ROWS, None
    yield "complex", ROWS * 1j * secret, LABELS
    yield "labels in two columns", ROWS, np.stack([LABELS, LABELS], axis=1)
    yield "dicts", np.array([[{"secret": secret}] * 3] * 300, dtype=object), LABELS


@pytest.mark.parametrize(("what", "rows", "labels"), list(hostile()), ids=[each[0] for each in hostile()])
def test_wrong_data_get_one_error_of_ours_without_a_value_and_without_payment(what, rows, labels):
    with ledger_of() as ledger:
        model = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1])
        with pytest.raises(InvalidData) as caught:
            model.fit(rows, labels)
        assert "123456" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert reserves(ledger) == []


@pytest.mark.parametrize("labels", [np.zeros(300, dtype=int), np.ones(300, dtype=int)])
def test_one_class_one_row_constant_columns_and_wide_rows_are_fitted_without_a_word(labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1])
        assert set(copy.deepcopy(base).fit(ROWS, labels).classes_) == {0, 1}
        copy.deepcopy(base).fit(ROWS[:1], labels[:1])
        copy.deepcopy(base).fit(np.zeros((5, 2)), labels[:5])
        copy.deepcopy(base).fit(RNG.normal(size=(4, 30)), labels[:4])


def test_bad_rows_may_count_as_zero_rows_in_silence():
    rows, labels = ROWS.copy(), LABELS.astype(float)
    rows[3, 1], labels[9] = np.nan, 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = seeded(CLASSIFIERS[0], bad_rows="zero").fit(rows, labels)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("estimator", EVERY, ids=names(EVERY))
def test_frames_and_sparse_rows_give_the_same_model(estimator):
    y = target_of(estimator)
    plain = seeded(estimator).fit(ROWS, y)
    same = [pd.DataFrame(ROWS), ROWS.tolist(), np.asfortranarray(ROWS)]
    same.append(pl.DataFrame(ROWS, schema=["a", "b", "c"]))
    if estimator.bounds is None:
        same.append(sparse.csr_matrix(ROWS))
    for rows in same:
        assert np.allclose(seeded(estimator).fit(rows, y).coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    assert np.allclose(seeded(estimator).fit(ROWS, pd.Series(y)).coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    assert plain.privacy_.insecure
    assert "INSECURE" in str(plain.privacy_)
    assert not clone(estimator).fit(ROWS, y).privacy_.insecure


PUBLIC = {"coef_", "intercept_", "classes_", "privacy_", "n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("estimator", EVERY, ids=names(EVERY))
def test_attributes_and_pickles_hold_nothing_but_what_was_released(estimator):
    marked = ROWS.copy()
    marked[0] = [0.123456789, 0.987654321, 0.192837465]
    model = clone(estimator).fit(marked, target_of(estimator))
    assert {name for name in vars(model) if name.endswith("_")} <= PUBLIC
    kept = {name for name in vars(model) if not name.endswith("_")} - {*model.get_params(deep=False), "_cloned"}
    if isinstance(model, learn.LogisticRegression):  # what intervals are made of: the release, and the public plan
        assert kept == {"_released", "_facts"}
        assert model._facts.task.raw(np.asarray(model._released))[0] == pytest.approx(np.ravel(model.coef_))
        assert isinstance(model._facts, pv.mechanisms.Mechanism)
    else:
        assert kept == set()
    stored = pickle.dumps(model)
    assert marked[0].tobytes() not in stored
    assert len(stored) < 20_000
    assert np.allclose(pickle.loads(stored).coef_, model.coef_)
    assert isinstance(repr(model.privacy_.to_dict()), str)


def test_copies_and_clones_reach_one_ledger():
    ledger = ledger_of()
    model = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1], ledger=ledger)
    for copied in (clone(model), copy.copy(model), copy.deepcopy(model)):
        copied.fit(ROWS, LABELS)
    assert len(reserves(ledger)) == 3


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_searches_pay_for_every_fit_from_one_ledger_and_say_so(jobs, tmp_path, monkeypatch):
    with pv.Ledger.create(str(tmp_path / "books"), budget=pv.Budget(20.0, 1e-3)) as ledger:
        model = learn.LogisticRegression(epsilon=0.5, delta=1e-6, row_norm=3.0, classes=[0, 1])
        if jobs > 1:  # workers do not carry the block: the model takes its ledger along
            model.set_params(ledger=ledger)
        grid = GridSearchCV(model, {"row_norm": [1.0, 3.0]}, cv=2, n_jobs=jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grid.fit(ROWS, LABELS)
        assert len(reserves(ledger)) == 5  # two settings, two folds, and the refit
        if jobs == 1:
            monkeypatch.setattr(surroundings, "_told", set())
            with pytest.warns(PrivacyWarning, match="paid for"):
                cross_val_score(model, ROWS, LABELS, cv=2)
            assert len(reserves(ledger)) == 7


def private_warnings(run):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return [str(each.message) for each in seen if issubclass(each.category, PrivacyWarning)]


def test_fits_of_copies_warn_once_in_a_process_and_other_fits_never(monkeypatch):
    monkeypatch.setattr(surroundings, "_told", set())
    model = learn.LogisticRegression(**BUDGET, row_norm=3.0, classes=[0, 1])
    search = GridSearchCV(model, {"row_norm": [1.0, 3.0]}, cv=2)
    assert not private_warnings(lambda: make_pipeline(StandardScaler(), model).fit(ROWS, LABELS))
    assert not private_warnings(lambda: copy.deepcopy(model).fit(ROWS, LABELS))
    assert not private_warnings(lambda: clone(model).set_params(epsilon=math.inf, delta=0.0).fit(ROWS, LABELS))
    with ledger_of():
        assert not private_warnings(lambda: clone(model).fit(ROWS, LABELS, key="May"))  # one fit, named
    (said,) = private_warnings(lambda: search.fit(ROWS, LABELS))
    assert "nobody pays" in said
    assert not private_warnings(lambda: search.fit(ROWS, LABELS))
    with ledger_of():
        (said,) = private_warnings(lambda: clone(model).fit(ROWS, LABELS))  # a sentence of its own
        assert "each fit is paid for" in said


def test_without_privacy_nothing_runs_while_a_ledger_is_in_force():
    model = learn.LogisticRegression(epsilon=float("inf"))
    assert "not private" in str(model.fit(ROWS, LABELS).privacy_)
    with ledger_of(), pytest.raises(InvalidParameter, match="nothing runs unpaid"):
        model.fit(ROWS, LABELS)


def test_a_seed_and_a_ledger_do_not_go_together():
    with pytest.raises(InvalidParameter):
        seeded(CLASSIFIERS[0], ledger=ledger_of()).fit(ROWS, LABELS)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("solver", [ObjectivePerturbation(), OutputPerturbation(strength=30.0)], ids=repr)
def test_accuracy_grows_with_epsilon(relation, solver):
    rows = RNG.normal(size=(4_000, 5))
    labels = (rows @ [1, 1, -1, 0.5, 2] + RNG.logistic(size=4_000) > 0).astype(int)
    found = []
    for epsilon in (0.05, 0.5, 5.0):
        models = [
            learn.LogisticRegression(
                epsilon=epsilon,
                delta=1e-6,
                row_norm=3.0,
                classes=[0, 1],
                unit=privacy.Unit(relation),
                solver=solver,
                source=noise.Seeded(seed),
            ).fit(rows, labels)
            for seed in range(5)
        ]
        found.append(np.median([model.score(rows, labels) for model in models]))
    assert found[0] < found[2]
    assert found[2] > 0.8
