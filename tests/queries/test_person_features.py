"""Features of persons: what they are, and how far one person moves what is asked of them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidParameter
from privet.tables import Data
from tests.firsts import ends
from tests.queries import worlds

COLUMNS = {
    "cost": pv.Float(0, 64, tick=0.25),
    "ward": pv.Category(["A", "B"]),
    "stay": pv.Int(0, 30),
    "day": pv.Date("2024-01-01", "2024-12-31"),
}
BOUNDS = {"total": (0, 100), "n": (0, 6), "long": (0, 3)}


def frame(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(rows) % 366, unit="D")
    return pd.DataFrame(
        {
            "who": rng.integers(0, rows // 4, rows),
            "cost": np.round(rng.uniform(0, 64, rows) * 4) / 4,
            "ward": rng.choice(["A", "B"], rows),
            "stay": rng.integers(0, 31, rows),
            "day": days.astype("datetime64[s]"),
        }
    )


def visits(data: pd.DataFrame | None = None, **limits: Any) -> pv.Table:
    unit = pv.Person("who", **(limits or {"max_rows": 3}))
    return pv.Table(frame() if data is None else data, columns=COLUMNS, unit=unit, name="visits")


def features(table: pv.Table) -> pv.Table:
    return table.per_person(
        total=pv.sum("cost"),
        n=pv.count(),
        long=pv.count(where=table["stay"] >= 20),
        stay=pv.last("stay", by="day"),
        bounds=BOUNDS,
    )


def test_they_are_those_of_pandas():
    people, data = features(visits()), frame()
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9), unit=people.unit)
    asked = people.agg(t=pv.mean("total"), n=pv.sum("n"), o=pv.sum("long"), s=pv.sum("stay"), all=pv.count())
    found = ledger.release(asked, epsilon=1e7).value
    groups = data.groupby("who")
    assert found["all"][0] == groups.ngroups
    assert found["t"][0] == pytest.approx(groups.cost.sum().clip(0, 100).mean(), abs=1e-3)
    assert found["n"][0] == pytest.approx(groups.size().clip(0, 6).sum(), abs=1e-3)
    assert found["o"][0] == pytest.approx((data.stay >= 20).groupby(data.who).sum().clip(0, 3).sum(), abs=1e-3)
    latest = data.sort_values(["day", "stay"]).groupby("who").stay.last()
    assert found["s"][0] == pytest.approx(latest.sum(), abs=1e-3)
    by_n = ledger.release(people.group_by("n").agg(m=pv.count()), epsilon=1e7).to_pandas()
    assert by_n["m"].tolist() == [int((groups.size().clip(0, 6) == n).sum()) for n in range(7)]
    assert "one row for each person" in asked.explain()


def test_the_price_is_of_one_row_whatever_the_limits_are():
    wide = features(visits(max_rows=500)).agg(n=pv.count(), t=pv.sum("total"))
    close = features(visits(max_rows=1)).agg(n=pv.count(), t=pv.sum("total"))
    assert wide.preview(epsilon=1.0).half_width == close.preview(epsilon=1.0).half_width
    assert wide.unit == visits().unit


@pytest.mark.parametrize(
    ("limits", "relation"),
    ends(
        [
            (limits, relation)
            for limits in ({"max_rows": 2}, {"max_groups": 2, "max_rows_per_group": 3})
            for relation in ("add_remove", "replace")
        ]
    ),
)
def test_one_person_moves_them_by_no_more_than_is_charged(limits, relation):
    """A person with many rows beside nobody, or beside somebody else: l1 and l2, sums, moments, values and groups."""
    unit = pv.Person("id", relation=relation, **limits)
    table = worlds.asked_of(unit)
    people = table.per_person(s=pv.sum("x"), n=pv.count(), l=pv.last("x", by="x"), bounds={"s": (-4, 5), "n": (0, 3)})
    asked = people.group_by("n").agg(k=pv.count(), m=pv.mean("s"), t=pv.sum("l"), d=pv.count_distinct("s"))
    for way in ({"epsilon": 1.0}, {"mu": 1.0}):
        made, parts = worlds.vectors(asked, way)
        for norm, family, declared in parts:
            plan = family.plan_of(made.plan)
            held = [
                family.exact(worlds.exact(plan, [*worlds.OTHERS, *rows], worlds.SALTS[0])) for rows in worlds.persons(4)
            ]
            others = held[:1] if relation == "add_remove" else held[::3]
            far = max(worlds.distance(norm, one, two) for one in held for two in others)
            assert float(declared) * 0.4 <= far <= float(declared) * (1 + 1e-12), family


def test_a_sum_that_leaves_its_bounds_is_moved_into_them():
    data = {
        "who": [1] * 50 + [2],
        "cost": [64.0] * 50 + [0.5],
        "ward": ["A"] * 51,
        "stay": [30] * 51,
        "day": ["2024-05-01"] * 51,
    }
    people = features(visits(data, max_rows=1))
    made = people.agg(t=pv.sum("total"), n=pv.sum("n")).for_budget(epsilon=1.0)
    found = Data({"visits": data}).exact_aggregates(made.plan, (1, 2, 3, 4, 5))
    ticks = [float(each.tick) * found.signed[each.places[0]][0] for each in made.families]
    assert ticks == [100.5, 7.0]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda t: t.per_person(total=pv.sum("cost")), "what may total of one person be"),
        (lambda t: t.per_person(total=pv.sum("cost"), bounds={"total": (5, 1)}), "must not be above|must hold steps"),
        (lambda t: t.per_person(total=pv.sum("cost"), bounds={"total": (5,)}), "two numbers"),
        (lambda t: t.per_person(total=pv.sum("cost"), bounds={"other": (0, 1)}), "about features that are asked for"),
        (lambda t: t.per_person(m=pv.mean("cost"), bounds={"m": (0, 1)}), "must be a feature of a person"),
        (lambda t: t.per_person(), "name one feature"),
        (lambda t: t.per_person(x=pv.last("ward", by="day")), "a last value is of numbers"),
        (lambda t: t.per_person(x=pv.last("cost", by="nothing")), "there is no column"),
        (lambda t: t.per_person(x=pv.sum("ward"), bounds={"x": (0, 1)}), "cannot be added up"),
        (lambda t: t.agg(x=pv.last("cost", by="day")), "must be an aggregate"),
        (lambda t: pv.Table(frame(), columns=COLUMNS).per_person(n=pv.count(), bounds={"n": (0, 1)}), "unit=pv.Person"),
    ],
)
def test_public_mistakes_are_seen_before_anything_is_paid(ask, words):
    with pytest.raises(InvalidParameter, match=words):
        ask(visits())
