"""A law of the room: whatever is asked of a table, a mistake that public facts show is one sentence, and costs nothing."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidData, PrivetError, ReleaseFailed
from privet.privacy import Unit
from privet.queries import aggregate
from privet.queries.question import TableAlgorithm, TableQuestion
from tests.firsts import slow
from tests.queries.kinds import COLUMNS, KINDS, WARDS, asked, check_costs_nothing, other, table, visits, without

# --- the law is about every kind ----------------------------------------------------------------------------------------


def test_every_kind_of_question_is_here() -> None:
    asks = {
        name
        for owner in (pv.Table, pv.queries.table.Groups)
        for name, method in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_") and name not in ("draft",)
    }
    used = {word for kind in KINDS.values() for word in kind.ask.__code__.co_names} | {"agg"}
    assert asks <= used | {"linked"}, "a way to ask has no kind here"
    short = {name for name in pv.__all__ if name in aggregate.spellings()}
    assert "mean" in short
    assert short <= {*KINDS}, "an aggregate has no kind here"
    made = {type(asked(name, table())) for name in KINDS}
    assert set(TableQuestion.__subclasses__()) <= made, "a class of questions has no kind here"


@pytest.mark.parametrize("name", KINDS)
def test_what_is_right_is_answered(name: str, ledger: pv.Ledger) -> None:
    """What the refusals below are about is wrong, not the question."""
    many = len(list(ledger.entries()))
    release = ledger.release(asked(name, table()), epsilon=1.0, delta=1e-6)
    assert release.paid is not None
    assert len(list(ledger.entries())) == many + 2


# --- what it may cost ---------------------------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf
PROMISES: list[dict[str, Any]] = [
    {},
    *({"epsilon": wrong} for wrong in (0, 0.0, -1.0, NAN, INF, "1", None, True, [0.5], np.array([0.5]), 1e-80, 1e80)),
    *({"epsilon": 0.5, "delta": wrong} for wrong in (-1e-6, 1.0, 2.0, NAN, INF, "x", [1e-6])),
    *({"rho": wrong} for wrong in (0.0, -0.5, NAN, INF, "x")),
    *({"mu": wrong} for wrong in (0.0, -0.5, NAN, INF, "x")),
    {"epsilon": 0.5, "rho": 0.1},
    {"epsilon": 0.5, "mu": 0.1},
    {"rho": 0.5, "delta": 1e-6},
    {"delta": 1e-6},
    {"epsilom": 0.5},
    {"epsilon": 30.0, "delta": 1e-6},  # more than there is
    {"epsilon": 1e-14, "delta": 1e-6},  # wider noise than can be drawn
]


# One of each: the words of a promise are read before it is known what is asked.
FEW = (
    PROMISES[0],
    {"epsilon": NAN},
    {"epsilon": "1"},
    {"epsilon": 0.5, "delta": 2.0},
    {"rho": -0.5},
    {"mu": INF},
    *PROMISES[-7:],
)


@pytest.mark.parametrize("promises", [FEW, slow(PROMISES)], ids=["few", "all"])
@pytest.mark.parametrize("name", KINDS)
def test_of_promises(name: str, promises: list[dict[str, Any]], unspent: pv.Ledger) -> None:
    question = asked(name, table())
    for promise in promises:
        if promise.get("epsilon") == 1e-14 and _is_answered(question, promise):
            continue
        check_costs_nothing(unspent, f"{name}, {promise}", lambda it, p=promise: it.release(question, **p))


def _is_answered(question: Any, promise: dict[str, Any]) -> bool:
    """Whether there is such noise: then a ledger in memory answers."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-3), unit=question.unit)
    try:
        return ledger.release(question, **promise).paid is not None
    except ReleaseFailed:
        raise AssertionError("noise that cannot be drawn was paid for") from None
    except PrivetError:
        return False


@pytest.mark.parametrize("name", [name for name in KINDS if "discovered" in name])
def test_of_a_delta_that_is_missing(name: str, unspent: pv.Ledger) -> None:
    for promise in ({"epsilon": 0.5}, {"epsilon": 0.5, "delta": 0.0}, {"rho": 0.1}, {"mu": 0.5}):
        check_costs_nothing(unspent, f"{name}, {promise}", lambda it, p=promise: it.release(asked(name, table()), **p))


# --- how it is asked of a ledger ----------------------------------------------------------------------------------------

CALLS: dict[str, dict[str, Any]] = {
    "a key that is a number": {"key": 3},
    "a key of bytes": {"key": b"k"},
    "an empty key": {"key": ""},
    "a key that is a list": {"key": ["k"]},
    "a key without an end": {"key": "x" * 100_000},
    "a label that is a number": {"about": 3},
    "a purpose that is a number": {"purpose": 3},
    "an analyst that is a number": {"analyst": 3},
    "a delta to be charged at that is none": {"at": 2.0},
    "a text to be charged at": {"at": "x"},
    "a part nobody knows": {"part": "A"},
    "a keyword nobody knows": {"epsilonn": 1.0},
}


@pytest.mark.parametrize("mistakes", [[*CALLS][::4], slow([*CALLS])], ids=["few", "all"])
@pytest.mark.parametrize("name", KINDS)
def test_of_calls(name: str, mistakes: list[str], unspent: pv.Ledger) -> None:
    question, promise = asked(name, table()), {"epsilon": 0.5, "delta": 1e-6}
    for mistake, said in ((each, CALLS[each]) for each in mistakes):
        check_costs_nothing(unspent, f"{name}, {mistake}", lambda it, s=said: it.release(question, **promise, **s))
    check_costs_nothing(
        unspent, f"{name}, a key of another question", lambda it: it.release(question, key="used", **promise)
    )
    check_costs_nothing(unspent, f"{name}, data as well", lambda it: it.release(question, visits(), **promise))
    check_costs_nothing(unspent, f"{name}, its class", lambda it: it.release(type(question), **promise))
    made = question.for_budget(**promise)
    for mistake, data in {"a mapping": visits(), "nothing": None, "the table": table()}.items():
        check_costs_nothing(unspent, f"{name}, {mistake} for its data", lambda it, d=data: it.release(made, d))


@pytest.mark.parametrize("unit", [Unit(), Unit("replace", person="who"), Unit(person="patient")], ids=str)
def test_of_another_unit(unit: Unit) -> None:
    for name in KINDS:
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-3), unit=unit)
        check_costs_nothing(ledger, name, lambda it, n=name: it.release(asked(n, table()), epsilon=0.5, delta=1e-6))


# --- about which column -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.column])
def test_of_columns(name: str, unspent: pv.Ledger) -> None:
    for column in ("nobody", "", "who", KINDS[name].wrong, 3, b"age", ["age"], ("age", "cost"), None, float, "a\x00"):
        if "sql" in name and not isinstance(column, str):
            continue
        if name.startswith("groups") and column == ["age"]:  # as pandas takes it: no mistake
            continue

        def ask(it: pv.Ledger, c: Any = column) -> Any:
            kind = KINDS[name]
            return it.release(kind.ask(table(), c), epsilon=0.5, delta=1e-6)

        check_costs_nothing(unspent, f"{name} of {column!r}", ask)


# --- in which shape -----------------------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[pv.Table], Any]] = {
    "no aggregate": lambda t: t.agg(),
    "an aggregate without a name": lambda t: t.agg(pv.count()),
    "an aggregate that is a text": lambda t: t.agg(n="count"),
    "an aggregate with the name of a key": lambda t: t.group_by("ward").agg(ward=pv.count()),
    "an aggregate with the name of an end": lambda t: t.agg(n=pv.count(), n_low=pv.count()),
    "a column by its number": lambda t: t[0],
    "two columns": lambda t: t[["age", "cost"]],
    "no keys": lambda t: t.group_by("city", keys=[]).agg(n=pv.count()),
    "a key twice": lambda t: t.group_by("city", keys=["Bonn", "Bonn"]).agg(n=pv.count()),
    "a day twice, in two forms": lambda t: t.group_by("day", keys=["2026-05-01", np.datetime64("2026-05-01")]).agg(
        n=pv.count()
    ),
    "a number twice, in two forms": lambda t: t.group_by("age", keys=[30, 30.0]).agg(n=pv.count()),
    "a key of another kind": lambda t: t.group_by("age", keys=["A"]).agg(n=pv.count()),
    "a key that nobody can have": lambda t: t.group_by("ward", keys=["C"]).agg(n=pv.count()),
    "a key beyond the bounds": lambda t: t.group_by("age", keys=[300]).agg(n=pv.count()),
    "a missing key where there is none": lambda t: t.group_by("ward", keys=["A", None]).agg(n=pv.count()),
    "a key that is a list": lambda t: t.group_by("city", keys=[["Bonn"]]).agg(n=pv.count()),
    "a key that is NaN": lambda t: t.group_by("age", keys=[NAN]).agg(n=pv.count()),
    "keys that are a text": lambda t: t.group_by("city", keys="Bonn").agg(n=pv.count()),
    "keys that are a number": lambda t: t.group_by("age", keys=30).agg(n=pv.count()),
    "keys of another column": lambda t: t.group_by("city", keys={"ward": ["A"]}).agg(n=pv.count()),
    "keys given and discovered": lambda t: t.group_by("city", keys=["Bonn"], discover=True).agg(n=pv.count()),
    "discover that is a text": lambda t: t.group_by("city", discover="yes").agg(n=pv.count()),
    "a column twice": lambda t: t.group_by("ward", "ward").agg(n=pv.count()),
    "quantiles of discovered keys": lambda t: t.group_by("city", discover=True).agg(m=pv.median("age")),
    "a quantile beyond one": lambda t: t.agg(m=pv.quantile("age", 1.5)),
    "a quantile that is NaN": lambda t: t.agg(m=pv.quantile("age", NAN)),
    "a quantile that is a text": lambda t: t.agg(m=pv.quantile("age", "half")),
    "quantiles that are none": lambda t: t.quantiles("age", [0.5, 2.0]),
    "quantiles that are a number": lambda t: t.quantiles("age", 0.5),
    "no bins": lambda t: t.histogram("age", bins=0),
    "half a bin": lambda t: t.histogram("age", bins=0.5),
    "bins that are a text": lambda t: t.ranges("age", bins="many"),
    "bins without end": lambda t: t.cdf("cost", bins=10**12),
    "a width of zero": lambda t: t.bin("age", width=0),
    "a width of NaN": lambda t: t.bin("cost", width=NAN),
    "an infinite width": lambda t: t.bin("cost", width=INF),
    "a width that is tiny": lambda t: t.histogram("cost", width=1e-300),
    "width and bins": lambda t: t.bin("age", width=1, bins=2),
    "top of none": lambda t: t.top_k("ward", 0),
    "top of more than there are": lambda t: t.top_k("ward", 3),
    "top of a half": lambda t: t.top_k("ward", 1.5),
    "tables of no columns": lambda t: t.marginals(),
    "tables of more columns than there are": lambda t: t.marginals("ward", "ill", way=3),
    "tables of a column twice": lambda t: t.marginals("ward", "ward"),
    "the covariance of one": lambda t: t.covariance("age"),
    "the covariance of a column twice": lambda t: t.covariance("age", "age"),
    "no conditions": lambda t: t.counts(),
    "a condition that is a text": lambda t: t.where("age > 3"),
    "a condition that is a column": lambda t: t.where(t["ill"]),
    "a condition about no column": lambda t: t.where(True),
    "a comparison with another kind": lambda t: t.where(t["age"] >= "old"),
    "a comparison with NaN": lambda t: t.where(t["cost"] >= NAN),
    "one of nothing": lambda t: t.where(t["ward"].isin([])),
    "one of a list of lists": lambda t: t.where(t["ward"].isin([["A"]])),
    "counts that nothing can meet": lambda t: t.counts(a=t["age"] > 200),
    "a column times NaN": lambda t: t.derive(x=t["cost"] * NAN),
    "a column divided by zero": lambda t: t.derive(x=t["cost"] / 0),
    "a column plus a text": lambda t: t.derive(x=t["cost"] + "1"),
    "a derived column that is a number": lambda t: t.derive(x=3),
    "SQL that is a number": lambda t: t.sql(3),
    "SQL that is empty": lambda t: t.sql(""),
    "SQL of rows": lambda t: t.sql("SELECT age FROM visits"),
    "SQL of another table": lambda t: t.sql("SELECT COUNT(*) AS n FROM fees"),
    "SQL that writes": lambda t: t.sql("DROP TABLE visits"),
    "SQL of two statements": lambda t: t.sql("SELECT COUNT(*) AS n FROM visits; SELECT 1"),
    "SQL that groups by what it does not show": lambda t: t.sql("SELECT COUNT(*) AS n FROM visits GROUP BY nobody"),
    "SQL with keys of another column": lambda t: t.sql(
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", keys={"ward": ["A"]}
    ),
    "SQL with a public table that is a list": lambda t: t.sql(
        "SELECT COUNT(*) AS n FROM visits JOIN f USING (ward)", public={"f": [1]}
    ),
    "a join with a mapping": lambda t: t.join({"who": [1]}),
    "a join with itself under one name": lambda t: t.join(table()),
    "a join of other persons": lambda t: t.join(
        pv.Table({"x": [1]}, columns={"x": pv.Int(0, 1)}, unit=pv.Person("pid", max_rows=1), name="o")
    ),
    "a join with rows": lambda t: t.join(pv.Table({"x": [1]}, columns={"x": pv.Int(0, 1)}, name="o")),
    "a public join on no column": lambda t: t.join_public({"x": [1]}, on="nobody", columns={"x": pv.Int(0, 1)}),
    "a public join of unequal columns": lambda t: t.join_public(
        {"ward": ["A"], "floor": [1, 2]}, on="ward", columns={"ward": COLUMNS["ward"], "floor": pv.Int(0, 9)}
    ),
    "a public join with a list": lambda t: t.join_public([1], on="ward", columns={"ward": COLUMNS["ward"]}),
    "a public join on a number": lambda t: t.join_public(WARDS, on=3, columns={"ward": COLUMNS["ward"]}),
    "a public join with lists for values": lambda t: t.join_public(
        {"ward": [["A"]], "floor": [1]}, on="ward", columns={"ward": COLUMNS["ward"], "floor": pv.Int(0, 9)}
    ),
    "a public join without columns": lambda t: t.join_public(WARDS, on="ward", columns={}),
    "a public join with columns that are a list": lambda t: t.join_public(WARDS, on="ward", columns=["ward"]),
    "a link to a mapping": lambda t: t.linked({"who": [1]}, on="ward"),
    "a link on no column": lambda t: t.linked(other(), on="nobody"),
    "a link of what is filtered": lambda t: t.where(t["age"] > 3).linked(other(), on="ward"),
    "a union with a mapping": lambda t: t.union({"who": [1]}),
    "a union with other columns": lambda t: t.union(other()),
    "an empty batch": lambda t: pv.batch(),
    "a batch of texts": lambda t: pv.batch(a="count"),
    "a batch of tables": lambda t: pv.batch(a=t),
    "a batch about two units": lambda t: pv.batch(
        a=t.agg(n=pv.count()), b=pv.Table({"x": [1]}, columns={"x": pv.Int(0, 1)}, name="o").agg(n=pv.count())
    ),
    "the table itself": lambda t: t,
    "groups": lambda t: t.group_by("ward"),
    "a column": lambda t: t["age"],
    "a condition": lambda t: t["age"] > 3,
    "its rows": lambda t: t.head(),
    "a preview": lambda t: t.agg(n=pv.count()).preview(epsilon=0.5),
}


@pytest.mark.parametrize("mistake", SHAPES)
def test_of_shapes(mistake: str, unspent: pv.Ledger) -> None:
    check_costs_nothing(unspent, mistake, lambda it: it.release(SHAPES[mistake](table()), epsilon=0.5, delta=1e-6))


# --- what the columns may contain ---------------------------------------------------------------------------------------

SCHEMAS: dict[str, Callable[[], Any]] = {
    "no bounds": lambda: pv.Int(),
    "one bound": lambda: pv.Float(0),
    "bounds upside down": lambda: pv.Int(9, 0),
    "floats upside down": lambda: pv.Float(9.0, 0.0),
    "a bound that is NaN": lambda: pv.Float(NAN, 1.0),
    "a bound that is infinite": lambda: pv.Float(0.0, INF),
    "a bound that is a text": lambda: pv.Int("0", 9),
    "a bound of half a unit": lambda: pv.Int(0.5, 9),
    "a bound that is too far away": lambda: pv.Int(0, 10**30),
    "a bound that is a flag": lambda: pv.Int(False, True),
    "no values": lambda: pv.Category([]),
    "a value twice": lambda: pv.Category(["A", "A"]),
    "values of two kinds": lambda: pv.Category(["A", 1]),
    "values that are a text": lambda: pv.Category("AB"),
    "days upside down": lambda: pv.Date("2026-12-31", "2026-01-01"),
    "a day that is none": lambda: pv.Date("yesterday", "2026-01-01"),
    "a class": lambda: pv.Bool,
    "a type of Python": lambda: int,
    "a pair": lambda: (0, 110),
    "nothing": lambda: None,
}


@pytest.mark.parametrize("mistake", SCHEMAS)
def test_of_schemas(mistake: str, unspent: pv.Ledger) -> None:
    for name in KINDS:

        def ask(it: pv.Ledger, name: str = name) -> Any:
            columns = {**COLUMNS, KINDS[name].column or "age": SCHEMAS[mistake]()}
            return it.release(asked(name, table(columns=columns)), epsilon=0.5, delta=1e-6)

        check_costs_nothing(unspent, f"{name}, {mistake}", ask)


TABLES: dict[str, dict[str, Any]] = {
    "columns that are a list": {"columns": ["age"]},
    "columns with a number for a name": {"columns": {3: pv.Int(0, 1)}},
    "no columns said": {"columns": None},
    "a schema that is not there": {"columns": None, "schema": "no-such.toml"},
    "columns and a schema": {"schema": "visits.toml"},
    "a unit that is a text": {"unit": "who"},
    "a unit that is a price's": {"unit": Unit()},
    "persons that no column names": {"unit": pv.Person("nobody", max_rows=2)},
    "a name that is a number": {"name": 3},
    "an empty name": {"name": ""},
    "settings that change answers": {"settings": {"timezone": "UTC"}},
    "settings that are a text": {"settings": "3GB"},
}


@pytest.mark.parametrize("mistake", TABLES)
def test_of_tables(mistake: str, unspent: pv.Ledger) -> None:
    check_costs_nothing(
        unspent,
        mistake,
        lambda it: it.release(table(**TABLES[mistake]).agg(n=pv.count()), epsilon=0.5),
    )


# --- twins --------------------------------------------------------------------------------------------------------------


def test_a_kind_that_checks_after_paying_is_caught(ledger: pv.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked("count", table(without("age")))
    check_costs_nothing(ledger, "count", lambda it: it.release(question, epsilon=0.25))
    monkeypatch.setattr(TableAlgorithm, "_admit", lambda self, value: None)
    with pytest.raises(AssertionError, match="found after the payment"):
        check_costs_nothing(ledger, "count", lambda it: it.release(question, epsilon=0.25))


def test_a_kind_that_pays_and_then_looks_is_caught(ledger: pv.Ledger) -> None:
    def late(it: pv.Ledger) -> None:
        it.reserve(pv.privacy.PureLoss(0.25, unit=table().unit))
        raise InvalidData("there is no such column here")

    with pytest.raises(AssertionError, match="was paid for"):
        check_costs_nothing(ledger, "late", late)


def test_what_is_no_mistake_and_what_is_not_ours_are_caught(ledger: pv.Ledger) -> None:
    with pytest.raises(AssertionError, match="was not found"):
        check_costs_nothing(ledger, "right", lambda it: it.release(asked("count", table()), epsilon=0.25))
    with pytest.raises(AssertionError, match="no error of ours"):
        check_costs_nothing(ledger, "foreign", lambda it: {}["age"])
    with pytest.raises(AssertionError, match="no sentence"):
        check_costs_nothing(ledger, "silent", lambda it: (_ for _ in ()).throw(InvalidData("no")))
