"""What a newcomer gives to a fit first: a right answer or one clear error, and nothing half done."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import privet as pv
from privet.errors import InvalidData, InvalidParameter, PrivetError, ReleaseFailed
from privet.learn import (
    PCA,
    KMeans,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MinMaxScaler,
    PrivateSearchCV,
    StandardScaler,
)
from privet.learn.solvers import TukeyEM
from privet.noise import Seeded

RNG = np.random.default_rng(5)
ROWS = RNG.uniform(-1, 1, size=(200, 2))
LABELS = (ROWS[:, 0] > 0).astype(int)
PAID = {"epsilon": 1.0, "delta": 1e-6}
PURE = {"epsilon": 1.0}  # tries of a pure price are planned at once
COLUMNS = {"a": pv.Float(-1, 1), "b": pv.Float(-1, 1), "ill": pv.Int(0, 1)}
FRAME = pd.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1], "ill": LABELS})


def logistic(**facts):
    return LogisticRegression(**{**PAID, "row_norm": 2.0, "classes": [0, 1], **facts})


def ledger(unit=None):
    facts = {} if unit is None else {"unit": unit}
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0, delta=0.1), **facts)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([["73.5", "b"]] * 2, [0, 1]),
        (np.array([["CANARY", 1.0]] * 2, dtype=object), [0, 1]),
        (ROWS[:2] + 73.5j, [0, 1]),
        (73.5, [0, 1]),
        (ROWS[:2], np.array([73.5j, 1.0])),
    ],
)
def test_no_error_on_the_way_quotes_what_was_given(rows, labels):
    with pytest.raises(InvalidData) as caught:
        logistic().fit(rows, labels)
    seen, left = [], [caught.value]
    while left:
        error = left.pop()
        if error is not None and error not in seen:
            seen.append(error)
            left += [error.__cause__, error.__context__]
    assert not any("73.5" in str(error) or "CANARY" in str(error) for error in seen)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = logistic().fit(FRAME[["a", "b"]], LABELS)
    before = dict(vars(model))
    wide = pd.DataFrame({"c": ROWS[:, 0], "d": ROWS[:, 1], "e": ROWS[:, 1]})
    for wrong in ({"epsilon": -1.0}, {"ledger": ledger(pv.privacy.Unit("replace")), "unit": pv.privacy.Unit()}):
        model.set_params(**wrong)
        with pytest.raises(PrivetError):
            model.fit(wide, LABELS)
        model.set_params(epsilon=1.0, ledger=None, unit=None)
        assert vars(model) == before
    model.predict(FRAME[["a", "b"]])


def test_a_model_whose_first_fit_failed_is_not_fitted():
    model = logistic(epsilon=-1.0)
    with pytest.raises(InvalidParameter):
        model.fit(ROWS, LABELS)
    with pytest.raises(NotFittedError):
        model.predict(ROWS)
    tukey = LinearRegression(epsilon=4.0, delta=0.01, row_norm=2.0, bounds_y=(0, 1), solver=TukeyEM(models=16, least=4))
    with pytest.raises(ReleaseFailed):
        tukey.fit(ROWS, RNG.permutation(LABELS))
    assert not hasattr(tukey, "_released")


def test_nothing_of_an_earlier_fit_stays():
    model = logistic().fit(pv.Table(FRAME, columns=COLUMNS), target="ill")
    assert model.encoding_.names == ("a", "b")
    model.fit(ROWS, LABELS)
    assert not hasattr(model, "encoding_")


def test_a_frame_is_not_taken_for_the_encoded_rows_of_a_table():
    model = LogisticRegression(**PAID).fit(pv.Table(FRAME, columns=COLUMNS), target="ill")
    with pytest.raises(InvalidData, match=r"encoding_\.of"):
        model.predict(FRAME[["b", "a"]])
    assert len(model.predict(model.encoding_.of(FRAME).rows)) == 200


def test_what_is_masked_is_missing():
    hidden = np.ma.masked_array(ROWS, mask=np.abs(ROWS) > 0.9)
    with pytest.raises(InvalidData, match="NaN"):
        logistic().fit(hidden, LABELS)
    with pytest.raises(InvalidData, match="labels"):
        logistic().fit(ROWS, np.ma.masked_array(LABELS, mask=LABELS == 1))
    fits = [
        logistic(bad_rows="zero", source=Seeded(3)).fit(rows, LABELS).coef_
        for rows in (hidden, np.ma.masked_array(np.where(hidden.mask, 73.5, ROWS), mask=hidden.mask))
    ]
    assert (fits[0] == fits[1]).all()  # nothing under the mask was read


@pytest.mark.parametrize("bounds", [(0, 10**400), {0, 1}, "01", (-1.7e308, 1.7e308), {"a": 0, "b": 1}])
def test_bounds_that_are_none(bounds):
    for model in (MinMaxScaler(bounds=bounds), StandardScaler(**PAID, bounds=bounds)):
        with pytest.raises(InvalidParameter):
            model.fit(ROWS)


def test_bounds_with_labels_are_refused_and_plain_ones_taken():
    low, high = pd.Series({"b": 0.0, "a": -1.0}), pd.Series({"b": 1.0, "a": 1.0})
    with pytest.raises(InvalidParameter, match="order of the columns"):
        MinMaxScaler(bounds=(low, high)).fit(FRAME[["a", "b"]])
    taken = MinMaxScaler(bounds=(pd.Series([-1.0, 0.0]), pd.Series([1.0, 2.0]))).fit(ROWS)
    assert taken.data_max_.tolist() == [1.0, 2.0]


def test_classes_that_are_no_list():
    with pytest.raises(InvalidParameter, match="list of labels"):
        logistic(classes=5).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "model",
    [
        StandardScaler(**PAID, bounds=(-1, 1)),
        MinMaxScaler(bounds=(-1, 1)),
        PCA(**PAID, row_norm=2.0),
    ],
)
def test_the_way_back(model):
    with pytest.raises(NotFittedError):
        model.inverse_transform(ROWS)
    made = model.fit(ROWS).transform(ROWS)
    assert np.allclose(model.inverse_transform(made), ROWS)
    assert np.allclose(model.inverse_transform(sparse.csr_array(made)), ROWS)
    for wrong in (np.ones((3, 5)), [["CANARY", "b"]], None):
        with pytest.raises(InvalidData):
            model.inverse_transform(wrong)


@pytest.mark.parametrize(
    "search",
    [
        PrivateSearchCV(KMeans(n_clusters=2, bounds=(-1, 1)), {"n_clusters": [2, 3]}, **PURE),
        PrivateSearchCV(PCA(row_norm=1.0), {"n_components": [1, 2]}, **PURE),
        PrivateSearchCV(LogisticRegression(row_norm=1.0), {"classes": [[0, 1], ["a", "b"]]}, **PURE),
        PrivateSearchCV(LinearSVC(classes=[0, 1]), {"nope": [1.0]}, **PURE),
        PrivateSearchCV(LinearSVC(classes=[0, 1]), {"row_norm": [1.0]}, mean_tries=1e9, **PURE),
        PrivateSearchCV(KMeans, {"row_norm": [1.0]}, **PURE),
    ],
)
def test_a_search_that_cannot_be_run_is_refused_before_it_is_paid(search):
    search.set_params(ledger=ledger())
    with pytest.raises((InvalidParameter, InvalidData)):
        search.fit(ROWS, LABELS)
    assert search.ledger.length == 1


@pytest.mark.parametrize("unit", [pv.Rows(), pv.Person("id", max_rows=2)])
def test_a_search_on_a_table_takes_the_facts_of_its_schema(unit):
    table = pv.Table(FRAME.assign(id=np.arange(200) // 2), columns=COLUMNS, unit=unit)
    search = PrivateSearchCV(LogisticRegression(), {"row_norm": [0.5, 1.0]}, epsilon=2.0, mean_tries=2)
    search.fit(table, target="ill")
    assert search.predict(search.encoding_.of(FRAME).rows).shape == (200,)
    assert search.estimator.classes is None
    with pytest.raises(InvalidData, match="encoding_"):
        search.predict(FRAME)


def test_a_test_that_no_data_pass_is_refused():
    model = LinearRegression(epsilon=1.0, delta=1e-6, row_norm=1.0, bounds_y=(0, 1), solver=TukeyEM(models=8))
    with pytest.raises(InvalidParameter, match="models"):
        model.fit(ROWS, LABELS)


def test_a_model_without_intervals_says_which_ones_have_them():
    with pytest.raises(InvalidParameter, match=r"LinearSVC has no intervals.*LinearRegression, Ridge and Logistic"):
        LinearSVC(epsilon=1.0, row_norm=1.0, classes=[0, 1]).confidence_intervals()
