"""A law of the room: a mistake that public facts show is one sentence, and nothing is paid for it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import privet as pv
from privet import learn
from privet.errors import InvalidCall, PrivetError, ReleaseFailed
from privet.learn import solvers
from privet.learn.problem import Task
from privet.privacy import Unit
from tests.firsts import ends
from tests.learn.whole_room import ESTIMATORS, made, rows_for

COLUMNS, N = 3, 300
REPLACE = Unit("replace")
DELTA = {"epsilon": 1.0, "delta": 1e-6}


def check_nothing_is_paid(model: Any, rows: Any, *targets: Any, unit: Unit | None = None) -> None:
    """One sentence that names what is wrong, and no entry in the ledger."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0, delta=1e-3), unit=unit or Unit())
    model.ledger = ledger
    try:
        model.fit(rows, *targets)
    except ReleaseFailed:
        raise AssertionError("the mistake was found after the payment") from None
    except (PrivetError, ValueError, TypeError) as problem:
        said = str(problem)
        assert len(said) > 15, "nothing is said"
    else:
        raise AssertionError("the mistake was not found")
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"], "a mistake was paid for"


Change = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]


def _set(**facts: Any) -> Change:
    def change(model: Any, data: tuple[Any, ...]) -> tuple[Any, ...]:
        model.set_params(**facts)
        return data

    change.facts = set(facts)  # an estimator without such a parameter cannot make the mistake
    return change


def _data(what: Callable[..., tuple[Any, ...]]) -> Change:
    return lambda model, data: what(*data)


def _csr_with_moved_bounds(model: Any, data: tuple[Any, ...]) -> tuple[Any, ...]:
    model.set_params(bounds=(0.0, 1.0))
    return sparse.csr_array(data[0]), *data[1:]


_csr_with_moved_bounds.facts = {"bounds"}
MISTAKES: dict[str, Change] = {
    "sparse rows with bounds": _csr_with_moved_bounds,
    "bounds of another number of columns": _set(bounds=([0.0, 0.0], [1.0, 1.0])),
    "bounds upside down": _set(bounds=(1.0, -1.0)),
    "no bounds": _set(bounds=None),
    "bounds that are NaN": _set(bounds=(float("nan"), 1.0)),
    "no promise": _set(epsilon=None, delta=0.0),
    "a negative epsilon": _set(epsilon=-1.0),
    "a delta of one": _set(delta=1.0),
    "two promises": _set(rho=0.1),
    "another unit than the ledger's": _set(unit=REPLACE),
    "no unit": _set(unit="replace"),
    "bad_rows": _set(bad_rows="drop"),
    "a flag that is a text": _set(fit_intercept="no"),
    "one class": _set(classes=[0]),
    "classes twice": _set(classes=[0, 0]),
    "no classes": _set(classes=None),
    "bounds of y upside down": _set(bounds_y=(1.0, 0.0)),
    "no bounds of y": _set(bounds_y=None),
    "a solver that is a text": _set(solver="objective"),
    "no clusters": _set(n_clusters=0),
    "a row norm of zero": _set(row_norm=0.0, bounds=None),
    "a quantile of one": _set(quantile=1.0),
    "one dimension": _data(lambda rows, *rest: (rows[:, 0], *rest)),
    "no columns": _data(lambda rows, *rest: (rows[:, :0], *rest)),
    "texts": _data(lambda rows, *rest: (np.full(rows.shape, "x"), *rest)),
    "dates": _data(lambda rows, *rest: (np.full(rows.shape, "2026-01-01", dtype="datetime64[D]"), *rest)),
    "complex numbers": _data(lambda rows, *rest: (rows * 1j, *rest)),
}


CASES = [
    (name, mistake)
    for name in ESTIMATORS
    for mistake, change in MISTAKES.items()
    if getattr(change, "facts", set()) <= set(made(name, COLUMNS).get_params(deep=False))
    and (name, mistake) != ("min-max", "no promise")  # scaling by public bounds costs nothing
]


@pytest.mark.parametrize(("name", "mistake"), CASES)
def test_of_every_estimator(name, mistake):
    model = made(name, COLUMNS, **DELTA)
    data = MISTAKES[mistake](model, rows_for(name, N, COLUMNS))
    check_nothing_is_paid(model, *data)


WITH_TARGETS = [name for name in ESTIMATORS if len(rows_for(name, 1, 1)) == 2]


@pytest.mark.parametrize("name", WITH_TARGETS)
@pytest.mark.parametrize("targets", ends(["missing", "too short", "two columns", "texts", "dates"], also=["texts"]))
def test_of_targets(name, targets):
    rows, y = rows_for(name, N, COLUMNS)
    wrong = {
        "missing": None,
        "too short": y[:-1],
        "two columns": np.column_stack([y, y]),
        "texts": np.full(N, "x"),
        "dates": np.full(N, "2026-01-01", dtype="datetime64[D]"),
    }[targets]
    for bad_rows in ("error", "zero"):
        check_nothing_is_paid(
            made(name, COLUMNS, bad_rows=bad_rows, **DELTA), rows, *(() if wrong is None else (wrong,))
        )


S = solvers
SOLVERS: dict[str, tuple[str, Any, Unit]] = {  # estimator, solver, unit
    "projected, another number": ("logistic", S.ProjectedSGD(rows=N + 1, steps=50), REPLACE),
    "projected, add or remove": ("logistic", S.ProjectedSGD(rows=N, steps=50), Unit()),
    "tukey, too few": ("linear", S.TukeyEM(), REPLACE),
    "tukey, too few by what is said": ("linear", S.TukeyEM(rows=N), Unit()),
    "tukey of classes": ("logistic", S.TukeyEM(), Unit()),
    "boosted of classes": ("logistic", S.BoostedSSP(), Unit()),
    "statistics of classes": ("logistic", S.SufficientStatistics(), Unit()),
    "statistics by person without persons": ("linear", S.SufficientStatistics(by_person=True), Unit()),
    "gradients by person without persons": ("logistic", S.NoisyGD(by_person=True), Unit()),
    "objective of squares": ("linear", S.ObjectivePerturbation(), Unit()),
    "objective for groups": ("logistic", S.ObjectivePerturbation(), Unit(group_size=2)),
    "objective with a tiny tolerance": ("logistic", S.ObjectivePerturbation(tolerance=1e-13), Unit()),
    "output with a tiny tolerance": ("logistic", S.OutputPerturbation(strength=1.0, tolerance=1e-13), Unit()),
    "output without rows": ("logistic", S.OutputPerturbation(), Unit()),
    "output of squares": ("linear", S.OutputPerturbation(rows=N), Unit()),
    "output of squares with a strength": ("linear", S.OutputPerturbation(strength=1.0), REPLACE),
    "output of several classes": ("softmax", S.OutputPerturbation(strength=1.0), Unit()),
    "cms11 with a delta": ("logistic", S.ObjectivePerturbation(analysis="cms11"), Unit()),
    "a grid of many columns": ("logistic", S.GridExponential(), Unit()),
    "moments of other columns": ("lasso", S.CoordinateDescent(moments=(1.0,), records=5.0), Unit()),
}


@pytest.mark.parametrize("case", SOLVERS)
def test_of_every_solver(case):
    name, solver, unit = SOLVERS[case]
    check_nothing_is_paid(made(name, COLUMNS, solver=solver, **DELTA), *rows_for(name, N, COLUMNS), unit=unit)


@pytest.mark.parametrize("kind", [made for made in vars(S).values() if isinstance(made, type)])
def test_of_making_a_solver(kind):
    """One sentence of ours, which names what is missing or not known, where Python would say that `__init__` lacks it."""
    if not issubclass(kind, S.Solver) or kind is S.Solver:
        assert kind.__name__ not in ("ProjectedSGD", "NoisySGD")
        return
    with pytest.raises(InvalidCall, match=f"{kind.__name__} takes no 'rwos'"):
        kind(rwos=N)
    if kind in (S.ProjectedSGD, S.NoisySGD):
        with pytest.raises(InvalidCall, match="needs rows"):
            kind()


NORMAL = [S.NoisyGD(), S.NoisySGD(rows=N), S.Preconditioned(), S.CoordinateDescent()]


@pytest.mark.parametrize("solver", NORMAL, ids=lambda each: type(each).__name__)
def test_of_pure_promises(solver):
    """Normal noise has no pure guarantee."""
    check_nothing_is_paid(made("logistic", COLUMNS, solver=solver, epsilon=1.0), *rows_for("logistic", N, COLUMNS))


def test_records_of_the_right_number_are_taken():
    """What the refusals above are about is wrong, not the solvers."""
    solver = S.ProjectedSGD(rows=N, steps=20)
    model = made("logistic", COLUMNS, solver=solver, unit=REPLACE, **DELTA).fit(*rows_for("logistic", N, COLUMNS))
    assert np.isfinite(model.coef_).all()
    rows = sparse.csr_array(rows_for("logistic", N, COLUMNS)[0])
    assert made("logistic", COLUMNS, **DELTA).fit(rows, np.arange(N) % 2).coef_.shape == (1, COLUMNS)


def test_too_few_records_for_tukey_are_no_zeros():
    """Parts without records agreed on zero, and that was the answer: coefficients of 0, and no word."""
    model = learn.LinearRegression(row_norm=1.0, bounds_y=(-1, 1), solver=S.TukeyEM(), **DELTA)
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, size=(N, 2))
    with pytest.raises(ReleaseFailed, match="test of the solver was not passed"):
        model.fit(rows, rows[:, 0])


def test_the_law_catches_a_mistake_that_is_found_too_late(monkeypatch):
    """As it was: sparse rows were refused where they were read."""
    model, data = made("logistic", COLUMNS, **DELTA), rows_for("logistic", N, COLUMNS)
    data = _csr_with_moved_bounds(model, data)
    check_nothing_is_paid(model, *data)

    def late(self: Task, rows: Any, bad: Any) -> Any:
        raise ValueError("sparse rows are not moved")

    monkeypatch.setattr(Task, "admit", lambda self, records: None)
    with pytest.raises(AssertionError, match="was not found"):
        check_nothing_is_paid(model, *data)
    monkeypatch.setattr(Task, "_unit_csr", late)
    with pytest.raises(AssertionError, match="after the payment"):
        check_nothing_is_paid(model, *data)
