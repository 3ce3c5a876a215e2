"""Quantiles by group: bins are an axis of their own, one price for all groups, intervals that hold together."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet import testing
from privet.errors import InvalidParameter, UnknownName
from privet.mechanisms import Example
from privet.privacy import Guarantee, PureLoss, Unit, ZcdpLoss
from privet.queries import GroupQuantiles
from privet.queries.quantile_part import with_bins
from privet.tables import Bounded, Data, KeySet, in_groups
from privet.workloads import LinearQueries, Prefix, Wavelet
from tests.firsts import ends
from tests.oracles.array_engine import exact_aggregates
from tests.queries import worlds

SHARES = [0.25, 0.5, 0.75]
WAYS = {"pure": {"epsilon": 1.0}, "normal": {"rho": 0.1}}


def frame(rows: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "who": rng.integers(0, rows, rows),
            "ward": rng.choice(["A", "B"], rows),
            "age": rng.integers(0, 100, rows),
            "cost": rng.uniform(0, 64, rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D"),
        }
    )


def visits(rows: int = 3_000, unit: Any = None) -> pv.Table:
    columns = {
        "ward": pv.Category(["A", "B"]),
        "age": pv.Int(0, 99),
        "cost": pv.Float(0, 64),
        "day": pv.Date("2024-01-01", "2024-12-31"),
    }
    return pv.Table(frame(rows), columns=columns, name="visits", unit=unit)


def test_planning_a_thousand_groups_lists_no_bins():
    table = pv.Table({"g": [1], "v": [1.0]}, columns={"g": pv.Int(0, 999), "v": pv.Float(0, 100)})
    tracemalloc.start()
    query = table.group_by("g").agg(m=pv.median("v"), n=pv.count())
    made = query.for_budget(epsilon=1.0)
    query.for_error(within=10, of="n")
    asked = table.group_by("g").quantiles("v", SHARES).for_budget(epsilon=1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 * 2**20
    (part,) = made.quantiles
    assert (len(part.plan.keys.rows), part.plan.bins, part.plan.cell_count) == (1_000, 4_096, 4_096_000)
    assert len(asked.plan.keys.rows) == 1_000


UNITS = (pv.Rows(), pv.Person("id", max_rows=2), pv.Person("id", max_groups=1, max_rows_per_group=2))
WITH_NULLS = [(unit, null) for unit in UNITS for null in (False, True)]


@pytest.mark.parametrize(("unit", "null"), ends(WITH_NULLS, also=[(UNITS[1], True)]))
def test_bins_beside_keys_count_what_crossed_keys_count(null, unit):
    columns = {"ward": pv.Category(["A", "B", "C"], null=null), "x": pv.Int(-2, 3, null=null)}
    table = pv.Table(worlds.table_of([]), columns=columns, unit=unit, name="visits")
    keys = KeySet(("ward",), (("A",), ("C",), *(((None,),) if null else ())))
    plan, bins, _, _ = with_bins(table.rows, ("ward",), keys, "x")
    listed = keys.cross(KeySet((plan.names[-1],), tuple((i,) for i in range(bins))))
    crossed = Bounded(plan.rows, plan.names, listed)
    people = [[*worlds.OTHERS, *rows] for rows in worlds.persons(3)]
    for rows in people[::7]:
        for salts in worlds.SALTS:
            held = {"visits": worlds.table_of(rows)}
            wanted = exact_aggregates(crossed, held, salts).rows.tolist()
            assert exact_aggregates(plan, held, salts).rows.tolist() == wanted
            assert Data(held).exact_aggregates(plan, salts).rows.tolist() == wanted
    assert plan.reach.most_rows == crossed.reach.most_rows == in_groups(table.rows, len(keys)).reach.most_rows


@pytest.mark.parametrize("column", ["age", "cost", "day"])
def test_they_are_those_of_numpy(column):
    table = visits()
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9))
    found = ledger.release(table.group_by("ward").quantiles(column, SHARES), epsilon=1e6).to_pandas()
    data = frame()
    assert found[["ward", "q"]].to_numpy().tolist() == [[ward, q] for ward in "AB" for q in SHARES]
    for row in found.itertuples():
        values = data.loc[data.ward == row.ward, column]
        wanted = values.quantile(row.q, interpolation="lower")
        far = abs((pd.Timestamp(row.value) - wanted).days) if column == "day" else abs(row.value - wanted)
        assert far <= (1 if column == "day" else 0.2 if column == "cost" else 1)
        assert row.value_low <= row.value <= row.value_high


def measured(made: GroupQuantiles, found: Any) -> np.ndarray:
    """The weighted measurements of all groups."""
    groups = found.rows.reshape(-1, made.plan.bins)
    return np.concatenate([np.array(made.queries._measured_of(each), dtype=float) for each in groups])


def moved(made: GroupQuantiles, one: np.ndarray, two: np.ndarray) -> float:
    far = one - two
    return float(np.abs(far).sum() if made.queries.norm == "l1" else np.sqrt((far**2).sum()))


def farthest(unit: Any, way: dict[str, Any]) -> tuple[float, float]:
    """The largest distance of neighbours, and what was paid for: of a replacement, twice the noise's own."""
    made = worlds.asked_of(unit).group_by("ward").quantiles("x", [0.5]).for_budget(**way)
    people = [
        measured(made, worlds.exact(made.plan, [*worlds.OTHERS, *rows], worlds.SALTS[0])) for rows in worlds.persons(3)
    ]
    others = people[:1] if unit.relation == "add_remove" else people[::3]
    far = max(moved(made, one, two) for one in people for two in others)
    paid = float(made.queries.sensitivity.value) * (1 if unit.relation == "add_remove" else 2)
    return far, paid


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("limits", [{"max_rows": 2}, {"max_groups": 2, "max_rows_per_group": 1}])
def test_measurements_of_all_groups_move_no_further_than_is_charged(limits, relation, way):
    far, paid = farthest(pv.Person("id", relation=relation, **limits), way)
    assert paid / 2 <= far <= paid * (1 + 1e-12)
    made = worlds.asked_of(pv.Person("id", relation=relation, **limits)).group_by("ward").quantiles("x", [0.5])
    price = made.for_budget(**way).loss
    assert price.unit.relation == relation
    assert (
        pv.accounting.epsilon(price, delta=1e-9).upper
        <= pv.accounting.epsilon(_paid(way, price.unit), delta=1e-9).upper + 1e-6
    )


def _paid(way: dict[str, Any], unit: Unit) -> Any:
    return PureLoss(way["epsilon"], unit=unit) if "epsilon" in way else ZcdpLoss(way["rho"], unit=unit)


def test_rows_that_meet_several_public_rows_are_all_charged():
    wards = {"ward": ["A", "A", "A", "B"], "floor": ["1", "2", "2", "1"]}
    floors = {"ward": worlds.COLUMNS["ward"], "floor": pv.Category(["1", "2"])}
    table = worlds.asked_of(pv.Rows()).join_public(wards, on="ward", columns=floors)
    made = table.group_by("floor").quantiles("x", [0.5]).for_budget(epsilon=1.0)
    empty, one = (
        measured(made, worlds.exact(made.plan, rows, worlds.SALTS[0])) for rows in ([], [(1, "A", 1, "Rome")])
    )
    assert moved(made, one, empty) == pytest.approx(float(made.queries.sensitivity.value))
    assert made.queries.max_rows == 3


def test_a_replacement_may_lie_in_another_group_where_nothing_cancels():
    """The measurements of one histogram share their totals, which cancel when a row moves; of two groups they do not."""
    unit = pv.Person("id", relation="replace", max_rows=1)
    made = worlds.asked_of(unit).group_by("ward").quantiles("x", [0.5]).for_budget(epsilon=1.0)
    tree = LinearQueries.for_budget(epsilon=0.5, workload=Prefix(6), strategy=Wavelet(), unit=made.queries.unit)
    made, wrong = replace(made, queries=tree), replace(tree, unit=unit.unit)
    people = [
        measured(made, worlds.exact(made.plan, [*worlds.OTHERS, *rows], worlds.SALTS[0])) for rows in worlds.persons(1)
    ]
    far = max(moved(made, one, two) for one in people for two in people)
    assert far > float(wrong.sensitivity.value)  # what would be charged for one histogram
    assert far <= 2 * float(made.queries.sensitivity.value)
    with pytest.raises(InvalidParameter, match="priced for adding"):
        replace(made, queries=wrong)


def test_the_price_is_that_of_all_rows_of_a_person():
    made = worlds.asked_of(pv.Person("id", max_rows=2)).group_by("ward").quantiles("x", [0.5]).for_budget(epsilon=1.0)
    with pytest.raises(InvalidParameter, match="priced for adding all rows"):
        replace(made, queries=replace(made.queries, max_rows=1))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_intervals_of_a_group_hold_together(way):
    table, runs = visits(), 30
    data = frame()
    asked = table.group_by("ward").quantiles("age", SHARES)
    made = asked.for_budget(**way)
    wanted = [np.quantile(data.age[data.ward == ward], q, method="inverted_cdf") for ward in "AB" for q in SHARES]
    together = 0
    for _ in range(runs):
        found = made.release(table.data).value
        low, high = found.interval("value")
        together += int(((low <= wanted) & (wanted <= high)).reshape(2, 3).all(axis=1).sum())
    assert together >= 0.95 * 2 * runs - 4 * np.sqrt(2 * runs * 0.05 * 0.95)


def test_coverage_sees_intervals_of_one_quantile_each(monkeypatch):
    from privet.queries import group_quantiles

    monkeypatch.setattr(
        group_quantiles, "joint_radii", lambda one, shares: [np.zeros(one.answers.design.cells)] * len(shares)
    )
    with pytest.raises(AssertionError):
        test_intervals_of_a_group_hold_together(WAYS["pure"])


def test_a_price_that_forgets_the_replacement_is_seen(monkeypatch):
    rows = worlds.table_of([*worlds.OTHERS, (1, "A", 3, "Rome")])
    unit = pv.Person("id", relation="replace", max_rows=2)
    made = worlds.asked_of(unit).group_by("ward").quantiles("x", [0.5]).for_budget(epsilon=1.0)
    example = Example(made, Data({"visits": rows}), Data({"visits": rows}), Guarantee(1.0))
    testing.check_parts_are_the_price(example)
    monkeypatch.setattr(GroupQuantiles, "loss", property(lambda self: self.queries.loss))
    with pytest.raises(AssertionError):
        testing.check_parts_are_the_price(example)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda t: t.group_by("ward").quantiles("ward", [0.5]), "numbers or days"),
        (lambda t: t.group_by("ward").quantiles("age", []), "name the quantiles"),
        (lambda t: t.group_by("ward").quantiles("age", [0.5, 0.5]), "each once"),
        (lambda t: t.group_by("ward").quantiles("age", [50]), "q must"),
        (lambda t: t.group_by("ward").quantiles("age", 0.5), "shares"),
        (lambda t: t.group_by("ward", discover=True).quantiles("age", [0.5]), "public keys"),
        (lambda t: t.derive(q=t["age"]).group_by("q").quantiles("age", [0.5]), "columns q and value"),
        (lambda t: t.group_by("ward").quantiles("nothing", [0.5]), "there is no column"),
        (lambda t: t.group_by("ward").agg(m=pv.quantile("age", [0.1, 0.9])), r"group_by\(...\).quantiles"),
    ],
)
def test_public_mistakes_are_seen_before_anything_is_paid(ask, words):
    with pytest.raises(InvalidParameter, match=words):
        ask(visits(10))


@pytest.mark.parametrize("name", ["count", "mean", "describe", "nonsense"])
def test_groups_answer_names_that_they_do_not_have(name):
    with pytest.raises(UnknownName, match=name):
        getattr(visits(10).group_by("ward"), name)
