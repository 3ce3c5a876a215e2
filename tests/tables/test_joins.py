"""Two tables of the same persons: somebody with many rows in both does not make a product of all of them."""

from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.tables.bounded import Aggregates, Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Category, Float, Int, Text
from privet.tables.engines import duckdb
from privet.tables.expressions import Compare, Linear, Ref
from privet.tables.keys import KeySet
from privet.tables.person import Person
from privet.tables.plan import Derive, Node, PersonJoin, Source, Where
from tests.oracles import array_engine

ABOUT = Person("id", max_rows=5)
VISITS = (("ward", Category(["A", "B"])), ("cost", Float(0.0, 9.0)), ("note", Text(null=True)))
DRUGS = (("dose", Int(-50, 50)),)
SALTS = (1, 20_261_117, 3, 4, 5)


def tables(visits: int, drugs: int) -> dict[str, Any]:
    """Person 7 has all of these rows, person 8 a few."""
    rng = np.random.default_rng(3)
    n, m = visits + 4, drugs + 3
    who = {"visits": np.r_[np.full(visits, 7), np.full(4, 8)], "drugs": np.r_[np.full(drugs, 7), np.full(3, 8)]}
    notes = np.array([None, "x", "é", "zz"], dtype=object)[rng.integers(0, 4, n)]
    return {
        "visits": {"id": who["visits"], "ward": rng.choice(["A", "B"], n), "cost": rng.random(n) * 9, "note": notes},
        "drugs": {"id": who["drugs"], "dose": rng.integers(-60, 60, m)},
    }


def plan(rows: Node) -> Bounded:
    ticks = Ticks(Ref("cost"), 0.0, 2.0**-10)
    terms = (Term((), (Ref("cost"),)), Term((ticks,), (Ref("cost"),)))
    cells = (Cell(((1, 1),), 9 * 2**10), Cell(((0, 9 * 2**10), (1, -1)), 9 * 2**10))
    dose = Signed(Ticks(Ref("dose"), 0.0, 1.0), -50, 50)
    return Bounded(rows, ("ward",), KeySet(("ward",), (("A",), ("B",))), terms, cells, (dose,))


def joined() -> Node:
    return PersonJoin(Source("visits", VISITS, ABOUT), Source("drugs", DRUGS, ABOUT))


def derived() -> Node:
    """What is derived below and above the join, and a condition that looks at a text."""
    twice = Derive(Source("drugs", DRUGS, ABOUT), "dose", Linear(Ref("dose"), 1, 0))
    noted = Where(PersonJoin(Source("visits", VISITS, ABOUT), twice), Compare(Ref("note"), "!=", "x"))
    return Derive(noted, "cost", Linear(Ref("cost"), 1.0, 0.0))


def few(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(PersonJoin, "most_rows", most)


def numbers(found: Aggregates) -> list[Any]:
    return [np.asarray(each).tolist() for each in (found.rows, found.persons, *found.cells, *found.signed)]


@pytest.mark.parametrize("rows", [joined(), derived()], ids=["joined", "derived"])
def test_a_person_with_many_rows_on_both_sides(monkeypatch: pytest.MonkeyPatch, rows: Node) -> None:
    few(monkeypatch, 256)
    data = tables(3_000, 2_000)
    found = duckdb.exact_aggregates(plan(rows), data, SALTS)
    assert numbers(found) == numbers(array_engine.exact_aggregates(plan(rows), data, SALTS))
    assert found.rows.sum() == 10


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_same_rows_go_in_on_every_engine(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    few(monkeypatch, most)
    data = tables(40, 30)
    assert numbers(duckdb.exact_aggregates(plan(derived()), data, SALTS)) == numbers(
        array_engine.exact_aggregates(plan(derived()), data, SALTS)
    )


def test_what_goes_in_depends_on_the_person_alone_and_on_the_salts(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 2)
    data = tables(40, 30)
    without = {name: {n: c[table["id"] == 7] for n, c in table.items()} for name, table in data.items()}
    alone = array_engine.exact_aggregates(plan(joined()), without, SALTS)
    other = {name: {n: c[table["id"] == 8] for n, c in table.items()} for name, table in data.items()}
    rest = array_engine.exact_aggregates(plan(joined()), other, SALTS)
    both = array_engine.exact_aggregates(plan(joined()), data, SALTS)
    added = [(np.array(a) + np.array(b)).tolist() for a, b in zip(numbers(alone), numbers(rest), strict=True)]
    assert numbers(both) == added
    order = np.random.default_rng(1).permutation(44), np.random.default_rng(2).permutation(33)
    turned = {
        name: {n: c[places] for n, c in table.items()}
        for (name, table), places in zip(data.items(), order, strict=True)
    }
    assert numbers(duckdb.exact_aggregates(plan(joined()), turned, SALTS)) == numbers(both)
    salted = {str(numbers(array_engine.exact_aggregates(plan(joined()), data, (1, s, 3, 4, 5)))) for s in range(9)}
    assert len(salted) > 1


def test_those_with_fewer_rows_keep_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 4)
    data = tables(0, 0)
    most = Person("id", max_rows=100)
    rows = PersonJoin(Source("visits", VISITS, most), Source("drugs", DRUGS, most))
    assert array_engine.exact_aggregates(plan(rows), data, SALTS).rows.sum() == 12


def test_a_limit_that_one_engine_forgets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tables(40, 30)
    few(monkeypatch, 2)
    sound = numbers(array_engine.exact_aggregates(plan(joined()), data, SALTS))
    few(monkeypatch, 3)
    assert numbers(duckdb.exact_aggregates(plan(joined()), data, SALTS)) != sound


def test_it_is_asked_through_a_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs would be 10^10: the engine would still be counting them."""
    few(monkeypatch, 256)
    data = tables(100_000, 100_000)
    visits = pv.Table(data["visits"], columns=dict(VISITS), unit=ABOUT, name="visits")
    drugs = pv.Table(data["drugs"], columns=dict(DRUGS), unit=ABOUT, name="drugs")
    query = visits.join(drugs).agg(n=pv.count())
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e3), unit=visits.unit)
    assert ledger.release(query, epsilon=1e3).value["n"].tolist() == [10]


def test_groups_that_are_not_listed_take_no_places() -> None:
    """One group of each person is kept, and of the two that everybody is in, one is asked for."""
    data = {"t": {"id": np.repeat(np.arange(40), 2), "ward": np.tile(["A", "B"], 40)}}
    rows = Source("t", VISITS[:1], Person("id", max_groups=1, max_rows_per_group=1))
    asked = Bounded(rows, ("ward",), KeySet(("ward",), (("A",),)))
    assert duckdb.exact_aggregates(asked, data, SALTS).rows.tolist() == [40]
