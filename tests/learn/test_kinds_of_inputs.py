"""Inputs that merely look like numbers or truth values: refused by name, before anything is paid."""

import datetime
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privet as pv
from privet import learn
from privet.errors import InvalidData, InvalidParameter
from privet.learn.estimators import kinds, reading
from privet.learn.estimators.estimator import PrivateEstimator

N = 12
LABELS = np.arange(N) % 2
DAYS = pd.date_range("2020-01-01", periods=N)
MODELS = [
    kind for name in dir(learn) if isinstance(kind := getattr(learn, name), type) and issubclass(kind, PrivateEstimator)
]
FLAGS = [(kind, each.name) for kind in MODELS for each in fields(kind) if each.type is bool]


def fit(rows, ledger=None):
    model = learn.LogisticRegression(epsilon=1.0, row_norm=2.0, classes=[0, 1], ledger=ledger)
    return model.fit(rows, LABELS)


def texts(kind):
    return pd.Series(np.array(["1", "2"], dtype=object)[LABELS]).astype(kind)


REFUSED = {
    "dates": (np.array(["2020-01-01"] * N, dtype="datetime64[D]")[:, None], "^X holds dates"),
    "durations": (np.ones((N, 1)).astype("timedelta64[h]"), "^X holds durations"),
    "texts": (np.array(["1", "2"])[LABELS][:, None], "^X holds texts"),
    "bytes": (np.array([b"1", b"2"])[LABELS][:, None], "^X holds texts"),
    "texts as objects": (np.array(["1", "2"], dtype=object)[LABELS][:, None], "^X holds texts"),
    "texts in lists": ([["1"]] * N, "^X holds texts"),
    "masked dates": (
        np.ma.masked_array(DAYS.to_numpy()[:, None], mask=[[True]] + [[False]] * (N - 1)),
        "^X holds dates",
    ),
    "frame of dates": (pd.DataFrame({"when": DAYS}), "^column 'when' of X holds dates.*days since"),
    "dates beside numbers": (pd.DataFrame({"a": np.ones(N), "when": DAYS}), "^column 'when' of X holds dates"),
    "dates of a zone": (pd.DataFrame({"when": DAYS.tz_localize("UTC")}), "^column 'when' of X holds dates"),
    "dates as objects": (pd.DataFrame({"when": [datetime.date(2020, 1, 1)] * N}), "^column 'when' of X holds dates"),
    "gaps": (pd.DataFrame({"gap": DAYS - DAYS[0]}), "^column 'gap' of X holds durations"),
    "months": (pd.DataFrame({"month": DAYS.to_period("M")}), "^column 'month' of X holds dates"),
    "categories of texts": (pd.DataFrame({"c": texts("category")}), "^column 'c' of X holds texts"),
    "categories of dates": (pd.DataFrame({"c": pd.Categorical(DAYS)}), "^column 'c' of X holds dates"),
    "strings of pandas": (pd.DataFrame({"c": texts("string")}), "^column 'c' of X holds texts"),
    "Polars dates": (
        pl.DataFrame({"x": [1.0] * N, "d": [datetime.date(2020, 1, 1)] * N}),
        "^column 'd' of X holds dates",
    ),
    "Polars durations": (pl.DataFrame({"d": [datetime.timedelta(1)] * N}), "^column 'd' of X holds durations"),
    "Polars texts": (pl.DataFrame({"d": ["1"] * N}), "^column 'd' of X holds texts"),
    "Polars categories": (
        pl.DataFrame({"d": pl.Series(["1"] * N, dtype=pl.Categorical)}),
        "^column 'd' of X holds texts",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_holds_no_numbers_is_refused_by_name_and_unpaid(name):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0))
    rows, words = REFUSED[name]
    with pytest.raises(InvalidData, match=words) as caught:
        fit(rows, ledger)
    assert "2020" not in str(caught.value)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize("name", ["frame of dates", "gaps", "texts", "dates", "Polars dates"])
def test_without_the_check_they_would_be_read_as_numbers(name, monkeypatch):
    monkeypatch.setattr(reading, "check_kinds", lambda rows, **_: None)
    model = fit(REFUSED[name][0])
    assert np.isfinite(model.coef_).all()


def test_numbers_of_every_type_are_read():
    columns = {
        "bool": LABELS > 0,
        "category": pd.Categorical(LABELS),
        "Int64": pd.array(LABELS, dtype="Int64"),
        "Float32": pd.array(LABELS, dtype="Float32"),
        "object": LABELS.astype(object),
    }
    for values in columns.values():
        assert fit(pd.DataFrame({"c": values})).coef_.shape == (1, 1)
    assert fit(pl.DataFrame({"c": LABELS})).coef_.shape == (1, 1)
    missing = pd.DataFrame({"c": pd.array([1, None] * (N // 2), dtype="Int64")})
    with pytest.raises(InvalidData, match="contains NaN"):
        fit(missing)
    kinds.check_kinds(missing)


@pytest.mark.parametrize(("kind", "name"), FLAGS, ids=[f"{kind.__name__}.{name}" for kind, name in FLAGS])
@pytest.mark.parametrize("value", ["no", 0, None], ids=["text", "number", "none"])
def test_only_a_truth_value_is_one(kind, name, value):
    facts = {"epsilon": 1.0, "delta": 1e-6, name: value}
    with pytest.raises(InvalidParameter, match=f"{name} must be True or False, got {type(value).__name__}"):
        kind(**facts).fit(np.zeros((N, 1)), LABELS)


def test_there_are_flags_and_those_of_numpy_count():
    assert {name for _, name in FLAGS} == {"fit_intercept", "with_mean", "with_std", "clip", "intervals"}
    model = learn.LogisticRegression(epsilon=1.0, row_norm=1.0, classes=[0, 1], fit_intercept=np.bool_(False))
    assert model.fit(np.zeros((N, 1)), LABELS).intercept_ == 0.0
