"""One bad record with `bad_rows="zero"`, in lists, pipelines and searches: no error, warning or charge tells of it."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import privet as pv
from privet import learn
from privet.learn.solvers import OutputPerturbation

ROWS = np.random.default_rng(0).random((60, 3))
LABELS = (ROWS[:, 0] > 0.5).astype(int)
QUIET: dict[str, Any] = {"epsilon": 1.0, "bad_rows": "zero"}
GRID: dict[str, Any] = {"solver": [OutputPerturbation(strength=each) for each in (1.0, 10.0)]}
STEPS = {
    "scaler": lambda: learn.StandardScaler(bounds=(0.0, 1.0), **QUIET),
    "range": lambda: learn.MinMaxScaler(bounds=(0.0, 1.0), **QUIET),
    "components": lambda: learn.PCA(n_components=2, bounds=(0.0, 1.0), **QUIET),
    "centres": lambda: learn.KMeans(n_clusters=2, bounds=(0.0, 1.0), **QUIET),
}


def model(**facts: Any) -> Any:
    return learn.LogisticRegression(classes=[0, 1], **(QUIET | {"bounds": (0.0, 1.0)} | facts))


def piped(step: Any) -> Any:
    return make_pipeline(step(), model(bounds=None, row_norm=2.0))


def searched() -> Any:
    return learn.PrivateSearchCV(model(), GRID, epsilon=1.0, mean_tries=3)


def charges(fitted: Any, rows: Any, labels: Any) -> list[str]:
    """The kinds of the entries of a fit and the number of columns, without an error and without a warning."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3))
    with warnings.catch_warnings(), ledger:
        warnings.simplefilter("error")
        fitted.fit(rows, labels)
    return [*(entry.kind for entry in ledger.entries()), str(fitted.n_features_in_)]


def with_odd(values: Any, value: Any) -> Any:
    changed = values.copy()
    changed[4] = value
    return changed


MADE = {"model": model, "search": searched} | {name: lambda step=step: piped(step) for name, step in STEPS.items()}
BAD = {
    "not a number": (with_odd(ROWS, np.nan), LABELS),
    "infinite": (with_odd(ROWS, -np.inf), LABELS),
    "beyond all bounds": (with_odd(ROWS, 1.7e308), LABELS),
    "a text": (with_odd(ROWS.astype(object), "x"), LABELS),
    "unknown label": (ROWS, with_odd(LABELS, 9)),
    "short row": (with_odd(ROWS.tolist(), [1.0]), LABELS.tolist()),
    "short first row": ([[1.0], *ROWS.tolist()[1:]], LABELS.tolist()),
    "no row": (with_odd(ROWS.tolist(), None), LABELS.tolist()),
    "a list in a row": (with_odd(ROWS.tolist(), [[1.0], 1.0, 1.0]), LABELS.tolist()),
    "a text among labels": (ROWS.tolist(), with_odd(LABELS.tolist(), "x")),
    "a list among labels": (ROWS.tolist(), with_odd(LABELS.tolist(), [1, 2])),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_one_bad_record_is_told_of_by_nothing(made: Any) -> None:
    usual = charges(made(), ROWS, LABELS)
    for name, (rows, labels) in BAD.items():
        assert charges(made(), rows, labels) == usual, name


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_one_record_and_none_are_alike(step: Any) -> None:
    assert charges(piped(step), ROWS[:0], LABELS[:0]) == charges(piped(step), ROWS[:1], LABELS[:1])


def test_what_is_no_list_of_rows_is_still_refused() -> None:
    for wrong in ([1.0, 2.0], [[[1.0]], [[2.0]]]):
        with pytest.raises(pv.errors.InvalidData, match=r"dim|2D"):
            model().fit(wrong, [0, 1])


def test_a_list_and_an_array_are_the_same_records() -> None:
    listed = (ROWS.tolist(), [[int(each)] for each in LABELS])
    made = [model(source=pv.noise.Seeded(1)).fit(rows, labels) for rows, labels in ((ROWS, LABELS), listed)]
    assert np.array_equal(made[0].coef_, made[1].coef_)


@pytest.mark.parametrize("step", STEPS)
def test_a_row_is_moved_alike_in_any_company(step):
    """A product over all rows adds up in an order that follows from their number: one person more changed all others."""
    made = np.random.default_rng(0).uniform(size=(400, 13))
    fitted = STEPS[step]().fit(made)
    whole = fitted.transform(made)
    assert all(np.array_equal(fitted.transform(made[:many]), whole[:many]) for many in range(1, 400))
