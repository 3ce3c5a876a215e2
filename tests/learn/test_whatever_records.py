"""A law of the room: whatever the records are, a fit that was paid for comes to an end, and says nothing about them."""

import datetime as dt
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet import learn
from privet.learn.problem import Task
from tests.firsts import slow
from tests.learn.whole_room import ESTIMATORS, made, rows_for

COLUMNS = 3


def _filled(value: float, n: int = 5) -> Callable[[str], np.ndarray]:
    return lambda name: np.full((n, COLUMNS), value)


def _mixed(name: str) -> np.ndarray:
    ends = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1.0, -1.0, 1e154, 1e300, -1.7e308, np.nan, np.inf, -np.inf]
    return np.array([[a, b, a] for a in ends for b in ends])


ROWS: dict[str, Callable[[str], np.ndarray]] = {
    "none": lambda name: np.zeros((0, COLUMNS)),
    "one": lambda name: rows_for(name, 1, COLUMNS)[0],
    "two": lambda name: rows_for(name, 2, COLUMNS)[0],
    "zeros": _filled(0.0),
    "negative zeros": _filled(-0.0),
    "denormals": _filled(5e-324),
    "constant": _filled(0.7, 40),
    "huge": _filled(1.7e308),
    "missing": _filled(np.nan),
    "infinite": _filled(np.inf),
    "all of these": _mixed,
    "one column": lambda name: rows_for(name, 50, COLUMNS)[0] * [1.0, 0.0, 0.0],
    "same directions": lambda name: np.outer(rows_for(name, 60, 1)[0][:, 0], [1.0, 1.0, -1.0]),
    "far apart": lambda name: np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]] * 30),
    "single precision": lambda name: rows_for(name, 9, COLUMNS)[0].astype(np.float32) * 1e38,
}
TARGETS: dict[str, Callable[[str, int], Any]] = {
    "usual": lambda name, n: np.resize(rows_for(name, max(n, 1), COLUMNS)[1], n),
    "one class": lambda name, n: np.zeros(n),
    "unknown": lambda name, n: np.full(n, 7.0),
    "extreme": lambda name, n: np.resize([1.7e308, -1.7e308, np.nan, np.inf, 0.0, -0.0, 5e-324, 1.0], n),
    "objects": lambda name, n: np.resize(np.array([None, 2**70, 1.0, 0, True, "x", -(10**400), b"y"], dtype=object), n),
}


def check_fits_whatever_the_records(model: Any, rows: Any, *targets: Any) -> None:
    """One charge, no error, no warning, and an answer that is kept."""
    model.ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0, delta=1e-4))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            model.fit(rows, *targets)
        except Exception as problem:
            raise AssertionError(f"the fit failed: {type(problem).__name__}") from None
    assert not [each for each in seen if not issubclass(each.category, pv.errors.PrivacyWarning)], "it warned"
    kinds = [entry.kind for entry in model.ledger.entries() if entry.kind in ("reserve", "release")]
    assert kinds == ["reserve", "release"]


def promise(name: str) -> dict[str, float]:
    return {"epsilon": 1.0, "delta": 1e-5}


FURTHER = {
    "two",
    "negative zeros",
    "denormals",
    "infinite",
    "one column",
    "far apart",
}  # their like stays, or is in the mix


@pytest.mark.parametrize("records", [slow(each) if each in FURTHER else each for each in ROWS])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows(name, records):
    rows = ROWS[records](name)
    has_targets = len(rows_for(name, 1, COLUMNS)) == 2
    targets = [TARGETS["usual"](name, len(rows))] if has_targets else []
    check_fits_whatever_the_records(made(name, COLUMNS, bad_rows="zero", **promise(name)), rows, *targets)


@pytest.mark.parametrize("records", [each for each in TARGETS if each != "usual"])
@pytest.mark.parametrize("name", [each for each in ESTIMATORS if len(rows_for(each, 1, 1)) == 2])
def test_targets(name, records):
    rows = rows_for(name, 24, COLUMNS)[0]
    model = made(name, COLUMNS, bad_rows="zero", **promise(name))
    check_fits_whatever_the_records(model, rows, TARGETS[records](name, len(rows)))


@pytest.mark.parametrize("records", ["none", "one", "zeros", "constant", "huge", "all of these"])
@pytest.mark.parametrize("name", ["logistic", "softmax", "svm", "linear", "k-means", "naive bayes", "quantile"])
def test_pure_and_replace(name, records):
    rows = ROWS[records](name)
    targets = [TARGETS["usual"](name, len(rows))] if len(rows_for(name, 1, COLUMNS)) == 2 else []
    check_fits_whatever_the_records(made(name, COLUMNS, bad_rows="zero", epsilon=0.1), rows, *targets)
    moved = made(name, COLUMNS, bad_rows="zero", unit=pv.privacy.Unit("replace"), **promise(name))
    moved.ledger = pv.Ledger.create(
        "memory:", budget=pv.Budget(epsilon=9.0, delta=1e-4), unit=pv.privacy.Unit("replace")
    )
    moved.fit(rows, *targets)


def test_no_records_are_nothing_to_complain_about():
    """By default too: 0 of them and 1 of them are neighbours."""
    for n in (0, 1):
        model = learn.LinearRegression(epsilon=1.0, delta=1e-6, row_norm=1.0, bounds_y=(0, 1))
        assert np.isfinite(model.fit(np.zeros((n, 2)), np.zeros(n)).coef_).all()


def _raises(self: Task, records: Any) -> Any:
    for chunk in _SOUND(self, records):
        if len(chunk.rows) and not chunk.rows.any():
            raise ValueError("no direction")
        yield chunk


_SOUND = Task.unit_chunks


def test_the_law_catches_what_depends_on_records(monkeypatch):
    model = made("logistic", COLUMNS, bad_rows="zero", fit_intercept=False, **promise("logistic"))
    labels = np.zeros(5)
    check_fits_whatever_the_records(model, np.zeros((5, COLUMNS)), labels)
    monkeypatch.setattr(Task, "unit_chunks", _raises)
    check_fits_whatever_the_records(model, np.ones((5, COLUMNS)), labels)
    with pytest.raises(AssertionError, match="the fit failed"):
        check_fits_whatever_the_records(model, np.zeros((5, COLUMNS)), labels)


ODD = ["x", b"y", 1j, [1], {}, dt.date(2026, 1, 1), None, 2**70, np.datetime64("2026-01-01"), True]


@pytest.mark.parametrize("kind", [np.array, list, pd.DataFrame], ids=["array", "list", "frame"])
def test_an_object_that_is_no_number_is_no_error(kind):
    """One element of X decided whether a fit was refused, before it was paid for."""
    for odd in ODD:
        rows = np.empty((6, 2), dtype=object)
        rows[:] = 0.25
        rows[3, 1] = odd
        if kind is list and isinstance(odd, list):
            continue  # a list in a list is a shape, not a value
        given = rows.tolist() if kind is list else kind(rows)
        check_fits_whatever_the_records(made("scaler", 2, bad_rows="zero", epsilon=1.0, delta=1e-5), given)
