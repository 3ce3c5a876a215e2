"""Bounds that are found privately: a public grid, what is seen, how often that fails, and how far one unit moves it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace
from privet.queries import BoundsFinder, FoundBounds, found_bounds
from tests.queries import worlds

WAYS = {"pure": {"epsilon": 1.0}, "normal": {"rho": 0.1}}
LIMITS = [{"max_rows": 2}, {"max_groups": 2, "max_rows_per_group": 3}]


def costs(values: Any, column: Any = None) -> pv.Table:
    return pv.Table({"cost": np.asarray(values)}, columns={"cost": column or pv.Float(-1e9, 1e9)}, name="visits")


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_they_hold_the_rows_and_no_empty_bin(way):
    rng = np.random.default_rng(3)
    table = costs(np.concatenate([rng.uniform(100, 900, 4_000), [5e8, -3.0]]))
    made = table.find_bounds("cost").for_budget(**way)
    for _ in range(20):
        found = made.release(table.data).value
        assert (found.lower, found.upper, found.found) == (64.0, 1024.0, True)
    assert found.seen == 2 * made.beyond - 1


@pytest.mark.parametrize(
    ("column", "values", "wanted"),
    [
        (pv.Int(-(10**9), 10**9), [-5, 7, 0, 100] * 500, (-8, 127)),
        (pv.Int(0, 10**6), [0] * 900, (0, 0)),
        (pv.Int(3, 9), [3, 9] * 900, (3, 9)),
        (pv.Float(0, 1e6), [0.25, 3.0] * 900, (0.25, 4.0)),
        (pv.Float(-50.0, -2.0), [-40.0, -3.0] * 900, (-50.0, -2.0)),
        (pv.Float(0, 1e6), [1e9] * 900, (524288.0, 1e6)),
        (pv.Float(0, 1e6), [], (0.0, 1e6)),
    ],
)
def test_ends_are_edges_of_a_public_grid(column, values, wanted):
    table = costs(values, column)
    found = table.find_bounds("cost").for_budget(epsilon=50.0).release(table.data).value
    assert tuple(found) == wanted
    assert found.found == bool(values)
    narrow = table.with_bounds(found).columns["cost"]
    assert narrow.span == wanted
    assert narrow.kind == column.kind


def test_the_grid_is_made_without_data():
    made = costs([1.0]).find_bounds("cost").for_budget(epsilon=1.0)
    other = pv.Table("no such file.parquet", columns={"cost": pv.Float(-1e9, 1e9)}, name="visits")
    assert other.find_bounds("cost").preview(epsilon=1.0).edges == made.edges
    assert len(made.edges) == 2 * 41 - 1  # 1e9 lies below 2^30, whose edge is outside
    assert "bins of" in other.find_bounds("cost").told(epsilon=1.0)
    assert "0.01" in str(FoundBounds("cost", 0.0, 1.0, True, 9, 0.01))
    assert "as declared" in str(FoundBounds("cost", 0.0, 1.0, False, 9, 0.01))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_failing_is_as_rare_as_said(way):
    """Bins without rows, and bins with just as many as are seen, over many draws of the noise."""
    table = costs([])
    made = replace(table.find_bounds("cost").for_budget(**way), failing=0.2)
    rng, runs = np.random.default_rng(1), 2_000
    rows = np.zeros(made.plan.bins)
    rows[40:50] = 2 * made.beyond - 1
    scale, failed = made.part.scale, 0
    for _ in range(runs):
        if "epsilon" in way:
            stop = 1.0 - np.exp(-1.0 / scale)
            noise = rng.geometric(stop, len(rows)) - rng.geometric(stop, len(rows))
        else:
            noise = np.rint(rng.normal(0.0, scale, len(rows)))
        found = made._bounds(rows + noise)
        failed += tuple(found) != (made.edges[39], made.edges[49])
    assert failed <= 0.2 * runs + 4 * np.sqrt(0.16 * runs)
    assert failed > 0  # the chance is no wide berth


def farthest(unit: Any, way: dict[str, Any]) -> tuple[float, float, BoundsFinder]:
    made = worlds.asked_of(unit).find_bounds("x").for_budget(**way)
    held = [worlds.exact(made.plan, [*worlds.OTHERS, *rows], worlds.SALTS[0]).rows for rows in worlds.persons(3)]
    others = held[:1] if unit.relation == "add_remove" else held[::3]
    far = max(worlds.distance(made.part.sensitivity.norm, one, two) for one in held for two in others)
    return far, float(made.part.sensitivity.value), made


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("limits", LIMITS)
def test_the_grid_moves_no_further_than_is_charged(limits, relation, way):
    far, declared, made = farthest(pv.Person("id", relation=relation, **limits), way)
    assert declared * 0.6 <= far <= declared * (1 + 1e-12)
    assert made.loss == made.part.loss


def test_neighbours_see_rows_of_a_person_priced_as_one(monkeypatch):
    sound = found_bounds.moved_by
    monkeypatch.setattr(found_bounds, "moved_by", lambda reach, unit, norm: replace(sound(reach, unit, norm), value=1))
    monkeypatch.setattr("privet.queries.histograms.moved_by", found_bounds.moved_by)
    far, declared, _ = farthest(pv.Person("id", max_rows=2), WAYS["pure"])
    assert far > declared


def test_rows_that_meet_several_public_rows_are_all_charged():
    wards = {"ward": ["A", "A", "A", "B"], "floor": [1, 1, 1, 9]}
    floors = {"ward": worlds.COLUMNS["ward"], "floor": pv.Int(0, 100)}
    table = worlds.asked_of(pv.Rows()).join_public(wards, on="ward", columns=floors)
    for way in WAYS.values():
        made = table.find_bounds("floor").for_budget(**way)
        empty, one = (worlds.exact(made.plan, rows, worlds.SALTS[0]).rows for rows in ([], [(1, "A", 1, "Rome")]))
        assert worlds.distance(made.part.sensitivity.norm, one, empty) == 3.0 == float(made.part.sensitivity.value)


def test_less_noise_and_other_units_are_refused():
    made = worlds.asked_of(pv.Person("id", max_rows=2)).find_bounds("x").for_budget(epsilon=1.0)
    weak = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=1, unit=made.about)
    with pytest.raises(InvalidParameter, match="less noise"):
        replace(made, part=weak)
    with pytest.raises(InvalidParameter, match="another unit"):
        replace(made, part=DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=2))


def test_they_are_kept_and_used():
    table = costs(np.linspace(100.0, 900.0, 4_000))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0, delta=1e-6), unit=table.unit)
    release = ledger.release(table.find_bounds("cost"), epsilon=1.0, delta=1e-6, key="bounds")
    assert ledger.spent.epsilon <= 1.0 + 1e-9
    narrow = table.with_bounds(release)
    assert narrow.columns == table.with_bounds(release.value).columns
    wide, close = (t.agg(m=pv.mean("cost")).preview(epsilon=1.0).half_width["m"] for t in (table, narrow))
    assert close < wide / 1e4
    mean = ledger.release(narrow.agg(m=pv.mean("cost")), epsilon=1.0).value["m"][0]
    assert mean == pytest.approx(500.0, abs=5.0)
    assert FoundBounds.from_arrays(release.value.to_arrays()) == release.value


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda t: t.find_bounds("cost", epsilon=0.1), r"ledger.release\(table.find_bounds\('cost'\), epsilon"),
        (lambda t: t.find_bounds("nothing"), "there is no column"),
        (lambda t: t.derive(b=t["cost"] > 3).find_bounds("b"), "columns of numbers"),
        (lambda t: t.find_bounds("cost", failing=0.0), "failing"),
        (lambda t: t.with_bounds((0, 1)), "find_bounds"),
        (lambda t: t.derive(x=t["cost"].clip(3, 1)), "must not be above"),
        (lambda t: t.derive(x=t["cost"].clip("a", 1)), "a number is needed"),
    ],
)
def test_public_mistakes_are_seen_before_anything_is_paid(ask, words):
    with pytest.raises(InvalidParameter, match=words):
        ask(costs([1.0]))
