"""Counts of values: what they are, in Python and in SQL, and how far one unit of privacy moves them."""

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidParameter
from privet.mechanisms import Sensitivity
from privet.queries.family import Family
from privet.tables import Bounded, Data, KeySet, Reach
from tests.queries import worlds
from tests.queries.test_sensitivity import farthest

COLUMNS = {"ward": pv.Category(["A", "B", "C"]), "city": pv.Text(), "age": pv.Int(0, 110, null=True)}


def frame(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    made = pd.DataFrame(
        {
            "who": rng.integers(0, rows // 5, rows),
            "ward": rng.choice(["A", "B"], rows),
            "city": [f"city {n}" for n in rng.zipf(1.6, rows) % 90],
            "age": rng.integers(0, 111, rows).astype(float),
        }
    )
    made.loc[rng.random(rows) < 0.2, ["city", "age"]] = [None, np.nan]
    return made


def visits(**facts: Any) -> pv.Table:
    return pv.Table(frame(), columns=COLUMNS, name="visits", **facts)


def answer(query: Any, table: pv.Table) -> pd.DataFrame:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9), unit=table.unit)
    return ledger.release(query, epsilon=1e7).to_pandas()


@pytest.mark.parametrize("unit", [None, pv.Person("who", max_rows=400)], ids=["rows", "persons"])
def test_they_are_those_of_pandas(unit):
    table, data = visits(unit=unit), frame()
    query = table.group_by("ward").agg(
        n=pv.count(),
        cities=pv.count_distinct("city"),
        old=pv.count_distinct(table["city"], where=table["age"] >= 65),
        ages=pv.count_distinct(table["age"].cut([18, 65])),
        wards=pv.count_distinct("ward"),
    )
    found = answer(query, table).set_index("ward").loc[["A", "B"]]
    groups = data.groupby("ward")
    assert found["cities"].tolist() == groups["city"].nunique().tolist()
    assert found["old"].tolist() == data[data.age >= 65].groupby("ward")["city"].nunique().tolist()
    assert found["ages"].tolist() == [3, 3]
    assert found["wards"].tolist() == [1, 1]
    assert answer(table.agg(c=pv.count_distinct("city")), table)["c"].tolist() == [data["city"].nunique()]
    shown = query.preview(epsilon=1.0).half_width["cities"]
    assert shown is not None
    assert shown > 0


@pytest.mark.parametrize(
    "asked", ["COUNT(DISTINCT city)", "COUNT(DISTINCT age + 1)", "COUNT(DISTINCT v.city) FILTER (WHERE age < 30)"]
)
def test_sql_says_what_duckdb_says(asked):
    table = visits()
    text = f"SELECT ward, {asked} AS x FROM visits v GROUP BY ward"
    wanted = duckdb.connect().from_df(frame()).query("visits", text).df().set_index("ward")["x"]
    found = answer(table.sql(text), table).set_index("ward")["x"]
    assert found[["A", "B"]].tolist() == wanted[["A", "B"]].tolist()
    assert found["C"] == 0


def test_of_the_person_sql_counts_persons():
    table = visits(unit=pv.Person("who", max_rows=9))
    query = table.sql("SELECT COUNT(DISTINCT who) AS n, COUNT(DISTINCT city) AS c FROM visits")
    assert [type(each).__name__ for _, each in query.outputs] == ["CountPersons", "CountDistinct"]


def test_values_of_one_person_attain_what_is_declared():
    """Two values that nobody else has, both in one group: 2, and not its root."""
    unit = pv.Person("id", max_groups=2, max_rows_per_group=1)
    for way in ({"epsilon": 1.0}, {"mu": 1.0}):
        ((family, far, declared),) = farthest(unit, {"xs": pv.count_distinct("x")}, way)
        assert family.kind == "distinct"
        assert declared == 2.0
        assert far >= 1.0


def test_neighbours_see_limits_of_groups_taken_for_limits_of_values(monkeypatch):
    """One value more than is priced, as a plan would keep that counts pairs by the limits of a query by groups."""
    sound = Family.sensitivity

    def by_groups(self: Family, reach: Any, unit: Any, norm: str) -> Sensitivity:
        return (
            sound(self, reach, unit, norm) if self.kind != "distinct" else sound(Family("persons"), reach, unit, norm)
        )

    monkeypatch.setattr(Family, "sensitivity", by_groups)
    ((_, far, declared),) = farthest(
        pv.Person("id", max_groups=1, max_rows_per_group=3), {"d": pv.count_distinct("city")}, {"epsilon": 1.0}
    )
    assert far > declared


def test_a_row_that_meets_several_public_rows_brings_several_values():
    wards = {"ward": ["A", "A", "A", "B"], "floor": ["1", "2", "3", "1"]}
    floors = {"ward": worlds.COLUMNS["ward"], "floor": pv.Category(["1", "2", "3"])}
    table = worlds.asked_of(pv.Rows()).join_public(wards, on="ward", columns=floors)
    for way in ({"epsilon": 1.0}, {"mu": 1.0}):
        made, ((norm, family, declared),) = worlds.vectors(table.agg(n=pv.count_distinct("floor")), way)
        plan = family.plan_of(made.plan)
        empty, one = (worlds.exact(plan, rows, worlds.SALTS[0]) for rows in ([], [(1, "A", 1, "Rome")]))
        assert worlds.distance(norm, family.exact(one), family.exact(empty)) == 3.0 == float(declared)


def test_a_person_with_many_rows_brings_as_many_values_as_rows_are_kept():
    unit = pv.Person("who", max_rows=3)
    data = {"who": ["p"] * 50, "ward": ["A", "B"] * 25, "city": [f"c{i}" for i in range(50)], "age": [1] * 50}
    table = pv.Table(data, columns=COLUMNS, unit=unit, name="visits")
    made = table.group_by("ward").agg(c=pv.count_distinct("city")).for_budget(epsilon=1.0)
    plan = made.families[0].plan_of(made.plan)
    assert plan.reach == Reach(rows=3)
    assert Data({"visits": data}).exact_aggregates(plan, worlds.SALTS[0]).rows.sum() == 3
    often = {**data, "city": ["one"] * 49 + ["two"]}  # a value that fills all rows leaves room for the other
    assert Data({"visits": often}).exact_aggregates(plan, worlds.SALTS[0]).rows.sum() >= 2


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda t: t.derive(f=t["age"] / 2).agg(x=pv.count_distinct("f")), "cut it first"),
        (lambda t: t.agg(x=pv.count_distinct("nothing")), "there is no column"),
        (lambda t: t.agg(x=pv.count_distinct(3)), "column must be"),
        (lambda t: t.group_by("city", discover=True).agg(x=pv.count_distinct("age")), "public keys"),
        (lambda t: Bounded(t.rows, (), KeySet((), ((),)), distinct=True), "name their column last"),
        (lambda t: Bounded(t.rows, ("city",), None, distinct=True), "in public groups"),
    ],
)
def test_public_mistakes_are_seen_before_anything_is_paid(ask, words):
    with pytest.raises(InvalidParameter, match=words):
        ask(visits())


def test_less_noise_than_values_need_is_refused():
    made = worlds.asked_of(pv.Person("id", max_rows=2)).agg(c=pv.count_distinct("city")).for_budget(epsilon=1.0)
    (part,) = made.parts
    weak = type(part).for_budget(epsilon=1.0, sensitivity=1, unit=made.about)
    with pytest.raises(InvalidParameter, match="less noise"):
        replace(made, parts=(weak,))
