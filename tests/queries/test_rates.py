"""Aggregates of conditions and of what is computed: rates, counts with conditions, sums, in Python and in SQL."""

import random

import duckdb
import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidParameter
from privet.tables.expressions import Holds, If

COLUMNS = {
    "age": pv.Int(0, 110),
    "ward": pv.Category(["A", "B", "Bb"]),
    "cost": pv.Float(0.0, 50.0, tick=0.25),
    "days": pv.Int(-5, 20),
}


def frame(rows: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    made = pd.DataFrame(
        {
            "who": rng.integers(0, rows // 2, rows),
            "age": rng.integers(0, 111, rows).astype(float),
            "ward": rng.choice(["A", "B", "Bb"], rows),
            "cost": np.round(rng.uniform(0, 50, rows) * 4) / 4,
            "days": rng.integers(-5, 21, rows).astype(float),
        }
    )
    made.loc[rng.random(rows) < 0.1, "age"] = np.nan
    made.loc[rng.random(rows) < 0.1, "days"] = np.nan
    return made


def visits(data: pd.DataFrame | None = None, **more: object) -> pv.Table:
    return pv.Table(frame() if data is None else data, columns=COLUMNS, name="visits", **more)


def answer(query, table):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9), unit=table.unit)
    return ledger.release(query, epsilon=1e7).to_pandas().set_index("ward")


SQL = [
    "COUNT(*) FILTER (WHERE age >= 65)",
    "COUNT(age)",
    "COUNT(1)",
    "COUNT(CASE WHEN age < 30 THEN 1 END)",
    "COUNT(age) FILTER (WHERE days > 3)",
    "AVG(CASE WHEN age >= 65 THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN age >= 65 OR days = 3 THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN age >= 65 THEN cost ELSE 0 END)",
    "AVG(CASE WHEN age >= 65 THEN cost END)",
    "SUM(CASE WHEN age >= 65 THEN 3 ELSE -1 END)",
    "SUM(CASE WHEN NOT age >= 65 THEN days - 1 ELSE -2 END)",
    "AVG(cost) FILTER (WHERE ward LIKE 'B%' AND age < 50)",
    "SUM(2 * days + cost / 4 - 1)",
    "AVG(-(days - age))",
    "SUM(cost * days)",
    "AVG(days * age - 2 * days)",
    "SUM(days) FILTER (WHERE cost > 10)",
    "VAR_POP(days) FILTER (WHERE age IS NOT NULL)",
    "AVG(age) /* a comment */",
]


@pytest.mark.parametrize("asked", SQL)
def test_sql_says_what_duckdb_says(asked):
    data, table = frame(), visits()
    text = f"SELECT ward, {asked} AS x -- of each ward\nFROM visits v GROUP BY 1"
    wanted = duckdb.connect().from_df(data).query("visits", text).df().set_index("ward")["x"]
    found = answer(table.sql(text), table)["x"]
    assert list(found.index) == ["A", "B", "Bb"]
    for ward in found.index:
        if pd.isna(wanted.get(ward)):
            continue  # no row meets the condition: SQL has NULL, an answer is a number inside the bounds
        assert found[ward] == pytest.approx(wanted[ward], abs=2e-3, rel=1e-5)


def test_python_says_what_pandas_says():
    data, table = frame(), visits()
    old, long = table["age"] >= 65, table["days"] > 3
    query = table.group_by("ward").agg(
        n=pv.count(),
        old=pv.count(where=old),
        rate=pv.mean(old),
        both=pv.sum(old & long),
        cost=pv.mean("cost", where=old),
        twice=pv.sum(table["cost"] * 2),
        spread=pv.std(table["cost"], where=long),
        middle=pv.median("cost", where=old),
    )
    found = answer(query, table)
    groups = data.assign(old=data.age >= 65, long=data.days > 3).groupby("ward")
    assert found["old"].tolist() == groups["old"].sum().tolist()
    assert found["both"].tolist() == groups.apply(lambda g: (g.old & g.long).sum()).tolist()
    assert np.allclose(found["rate"], groups["old"].mean(), atol=1e-5)
    assert np.allclose(found["cost"], groups.apply(lambda g: g.cost[g.old].mean()), atol=1e-3)
    assert np.allclose(found["twice"], groups["cost"].sum() * 2, rtol=1e-5)
    assert np.allclose(found["spread"], groups.apply(lambda g: g.cost[g.long].std(ddof=0)), atol=1e-2)
    assert np.allclose(found["middle"], groups.apply(lambda g: g.cost[g.old].median()), atol=1.0)
    assert "whether age >= 65" in query.explain()


def test_what_is_written_twice_is_measured_once():
    table = visits()
    old = table["age"] >= 65
    query = table.group_by("ward").agg(n=pv.count(), rate=pv.mean(old), old=pv.count(where=table["age"] >= 65))
    mechanism = query.for_budget(epsilon=1.0)
    assert len(mechanism.families) == 1
    assert query.preview(epsilon=1.0).half_width["old"] == 3.0  # of all of epsilon 1, a whole number


def test_one_and_true_are_not_mixed_up():
    table = pv.Table({"b": [True, False], "i": [1, 0]}, columns={"b": pv.Bool(), "i": pv.Int(0, 1)})
    with pytest.raises(InvalidParameter):
        table.agg(x=pv.mean(table["b"] == True), y=pv.mean(table["b"] == 7))  # noqa: E712
    assert len(table.agg(x=pv.mean(table["i"] == 1), y=pv.sum(table["b"] == True)).outputs) == 2  # noqa: E712


def test_a_condition_is_a_column():
    table = visits()
    made = table.derive(old=table["age"] >= 65)
    assert made.columns["old"] == pv.Bool()
    query = made.group_by("old").agg(n=pv.count())
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9), unit=table.unit)
    found = ledger.release(query, epsilon=1e6).to_pandas()
    assert found["n"].tolist() == [int((~(frame().age >= 65)).sum()), int((frame().age >= 65).sum())]


def test_names_that_exist_stay_what_they_are():
    table = visits()
    query = table.group_by("ward").agg(age=pv.mean(table["age"] >= 65), days=pv.sum("days"), again=pv.mean("age"))
    found, data = answer(query, table), frame()
    assert np.allclose(found["again"], data.groupby("ward").age.mean(), atol=1e-3)
    assert np.allclose(found["age"], data.assign(o=data.age >= 65).groupby("ward").o.mean(), atol=1e-5)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda t: t.agg(x=pv.mean(3)), "column must be"),
        (lambda t: t.agg(x=pv.mean("cost", where=t["cost"])), "where must be a condition"),
        (lambda t: t.agg(x=pv.mean("cost", where="age > 3")), "where must be a condition"),
        (lambda t: t.agg(x=pv.mean(t["ward"] == "Z")), "not among the values"),
        (lambda t: t.agg(x=pv.mean(t["ward"], where=t["age"] > 3)), "cannot be added up"),
        (lambda t: t.agg(x=pv.mean("nothing", where=t["age"] > 3)), "nothing"),
        (lambda t: t.agg(x=pv.quantile("cost", 1.5, where=t["age"] > 3)), "strictly between"),
        (lambda t: t.agg(x=pv.sum(t["days"] * 1e18)), "2\\^52|factor"),
        (lambda t: t.derive(x=3), "computed from columns"),
    ],
)
def test_public_mistakes_are_seen_before_anything_is_paid(ask, words):
    with pytest.raises(InvalidParameter, match=words):
        ask(visits())


def test_values_stay_inside_their_bounds_whatever_the_rows_are():
    rng, table = random.Random(3), visits()
    plan = table.derive(x=table["cost"] + 1).rows
    for _ in range(60):
        of = (table["days"] * rng.choice([1, -2, 0.5])).expression
        other = rng.choice([None, 0, -40, 0.125, 99])
        made = If(of, (table["age"] >= rng.randrange(110)).condition, other)
        column = made.column(plan.columns)
        low, high = of.column(plan.columns).span
        assert column.span == ((low, high) if other is None else (min(low, other), max(high, other)))
    assert Holds((table["age"] > 3).condition).column(plan.columns).span == (0, 1)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("limits", [{"max_rows": 3}, {"max_groups": 2, "max_rows_per_group": 2}])
def test_a_person_moves_them_by_no_more_than_is_charged(relation, limits):
    """One person with many rows in all groups, beside nobody or somebody else: l1 and l2, sums and moments."""
    data = frame(120)
    heavy = pd.DataFrame({"who": -1, "age": [80.0] * 60, "ward": ["A", "B", "Bb"] * 20, "cost": 50.0, "days": 20.0})
    light = heavy.assign(age=5.0, cost=0.0, days=-5.0)
    one, two = pd.concat([data, heavy]), pd.concat([data, light]) if relation == "replace" else data
    unit = pv.Person("who", **limits, relation=relation)
    tables = [visits(each, unit=unit) for each in (one, two)]
    for promise in ({"epsilon": 1.0}, {"rho": 0.5}):
        plans = []
        for table in tables:
            old = table["age"] >= 65
            query = table.group_by("ward").agg(
                a=pv.count(where=old), b=pv.mean(old), c=pv.sum("days", where=old), d=pv.mean("cost", where=old)
            )
            plans.append((query.for_budget(**promise), query))
        made = plans[0][0]
        exact = [query.data.exact_aggregates(mechanism.plan, (1, 2, 3, 4, 5)) for mechanism, query in plans]
        turned = 0
        for family, part in zip(made.families, made.parts, strict=True):
            moved = (family.exact(exact[0]) - family.exact(exact[1])).astype(float)
            size = np.abs(moved).sum() if part.sensitivity.norm == "l1" else np.sqrt((moved**2).sum())
            assert size <= float(part.sensitivity.value) * (1 + 1e-12)
            turned += size > 0.3 * float(part.sensitivity.value)
        assert turned == len(made.families)  # a bound that nothing comes near to would show nothing
