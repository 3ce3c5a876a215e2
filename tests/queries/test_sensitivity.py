"""Every neighbour of a tiny table: what a query adds noise to moves no further than it was priced for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import audit, testing
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace, Example, Sensitivity
from privet.privacy import Guarantee, Unit
from privet.queries import TableAnswers
from privet.queries.family import Family
from tests.queries import worlds

ASKED = {
    "n": pv.count(),
    "people": pv.count_persons(),
    "total": pv.sum("x"),
}
MOMENTS = {"n": pv.count(), "m": pv.mean("x")}
SPREAD = {"v": pv.variance("x")}
VALUES = {"cities": pv.count_distinct("city"), "xs": pv.count_distinct("x")}
UNITS = {
    "at most 2 rows": {"max_rows": 2},
    "1 row in each of 2 groups": {"max_groups": 2, "max_rows_per_group": 1},
    "2 rows in 1 group": {"max_groups": 1, "max_rows_per_group": 2},
    "3 rows, 2 in a group": {"max_rows": 3, "max_groups": 2, "max_rows_per_group": 2},
}


def farthest(unit: Any, asked: dict[str, Any], way: dict[str, Any], most: int = 3) -> list[tuple[Family, float, float]]:
    """(family, the largest distance of neighbours, what was declared) for every vector of a query."""
    query = worlds.asked_of(unit).group_by("ward").agg(**asked)
    made, parts = worlds.vectors(query, way)
    found = [0.0] * len(parts)
    salts = worlds.SALTS[0]
    people = list(worlds.persons(most))
    all_rows: dict[Any, list[Any]] = {}
    for i, (norm, family, _) in enumerate(parts):
        plan = family.plan_of(made.plan)
        if plan not in all_rows:
            all_rows[plan] = [worlds.exact(plan, [*worlds.OTHERS, *rows], salts) for rows in people]
        held = [family.exact(each) for each in all_rows[plan]]
        if unit.relation == "add_remove":
            found[i] = max(worlds.distance(norm, one, held[0]) for one in held)
        else:
            found[i] = max(worlds.distance(norm, one, two) for one in held for two in held[::3])
    return [(family, far, float(value)) for (_, family, value), far in zip(parts, found, strict=True)]


@pytest.mark.parametrize("way", [{"epsilon": 1.0}, {"mu": 1.0}], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("limits", UNITS.values(), ids=UNITS)
def test_vectors_move_no_further_than_declared(limits, relation, way):
    unit = pv.Person("id", relation=relation, **limits)
    for asked in (ASKED, MOMENTS, SPREAD, VALUES):
        for family, far, declared in farthest(unit, asked, way):
            assert far <= declared * (1 + 1e-12), family


def test_counts_of_one_person_attain_what_is_declared():
    unit = pv.Person("id", max_rows=2)
    for way in ({"epsilon": 1.0}, {"mu": 1.0}):
        ((family, far, declared),) = farthest(unit, {"n": pv.count()}, way)
        assert (family.kind, far, declared) == ("rows", 2.0, 2.0)  # both rows in one group: 2, and not its root


def test_the_neighbours_see_a_root_taken_of_rows_that_share_a_group(monkeypatch):
    def rooted(self: Family, reach: Any, unit: Unit, norm: str) -> Sensitivity:
        return Sensitivity(reach.most_rows**0.5, norm=norm, unit=unit)  # type: ignore[arg-type]

    monkeypatch.setattr(Family, "sensitivity", rooted)
    ((_, far, declared),) = farthest(pv.Person("id", max_rows=2), {"n": pv.count()}, {"mu": 1.0})
    assert far > declared


def test_the_neighbours_see_replace_priced_as_add_and_remove(monkeypatch):
    sound = Family.sensitivity

    def halved(self: Family, reach: Any, unit: Unit, norm: str) -> Sensitivity:
        return replace(sound(self, reach, Unit(person=unit.person), norm), unit=unit)

    monkeypatch.setattr(Family, "sensitivity", halved)
    unit = pv.Person("id", max_rows=2, relation="replace")
    ((_, far, declared),) = farthest(unit, {"n": pv.count()}, {"epsilon": 1.0}, most=2)
    assert far > declared


def test_one_row_may_become_several_and_all_of_them_are_priced():
    """A join with a public table makes three rows of one, and a count of "persons" sees each."""
    wards = {"ward": ["A", "A", "A", "B"], "floor": ["1", "1", "1", "1"]}
    floors = {"ward": worlds.COLUMNS["ward"], "floor": pv.Category(["1", "2"])}
    table = worlds.asked_of(pv.Rows()).join_public(wards, on="ward", columns=floors)
    for way in ({"epsilon": 1.0}, {"mu": 1.0}):
        made, parts = worlds.vectors(table.group_by("floor").agg(n=pv.count_persons()), way)
        empty, one = (worlds.exact(made.plan, rows, worlds.SALTS[0]) for rows in ([], [(1, "A", 1, "Rome")]))
        ((norm, family, declared),) = parts
        assert worlds.distance(norm, family.exact(one), family.exact(empty)) == 3.0 == float(declared)
    found = table.group_by("city", discover=True).agg(p=pv.count_persons()).for_budget(epsilon=1.0, delta=1e-5)
    counts = worlds.exact(found.plan, [(1, "A", 1, "Rome")], worlds.SALTS[0]).persons
    assert counts.tolist() == [3]
    assert found.selection is not None
    assert (found.selection.rows, found.selection.total) == (3, 3)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("q", [0.5, 0.1])
def test_scores_of_all_groups_together_move_as_priced(q, relation):
    """In every group the choice loses 2 x its own move / sensitivity; summed over groups that is one epsilon."""
    unit = pv.Person("id", max_groups=2, max_rows_per_group=2, relation=relation)
    made = worlds.asked_of(unit).group_by("ward").agg(q=pv.quantile("x", q)).for_budget(epsilon=1.0)
    (part,) = made.quantiles
    people = [rows for rows in worlds.persons(4) if len(rows) in (0, 3, 4)]
    for salts in worlds.SALTS:
        scores = [part.scores(worlds.exact(part.plan, [*worlds.OTHERS, *rows], salts)) for rows in people]
        moves = [np.abs(each - scores[0]).max(axis=1).sum() for each in scores]
        assert max(moves) <= part.moved
        assert part.moved == part.choice.sensitivity.value
    assert max(moves) >= part.moved / 2  # no wide berth: a person can use up most of it
    assert made.loss.pure() <= 1.0 < made.loss.pure() + 1e-9


def test_the_neighbours_see_groups_beyond_the_limit(monkeypatch):
    """One group more than the limit for a person, as a tie or an off-by-one would keep."""
    from tests.oracles import array_engine

    sound = array_engine._limits

    def one_more(plan: Any, pairs: Any, counts: Any, salts: Any) -> Any:
        unit = replace(plan.rows.unit, max_groups=plan.rows.unit.max_groups + 1)
        return sound(replace(plan, rows=replace(plan.rows, about=unit)), pairs, counts, salts)

    monkeypatch.setattr(array_engine, "_limits", one_more)
    unit = pv.Person("id", max_groups=1, max_rows_per_group=2)
    ((_, far, declared),) = farthest(unit, {"n": pv.count()}, {"epsilon": 1.0})
    assert far > declared


def two_parts() -> Example:
    data = {"ward": ["A", "B", "A"], "x": [1, 2, 3]}
    less = {name: column[:2] for name, column in data.items()}
    columns = {name: worlds.COLUMNS[name] for name in data}
    tables = [pv.Table(each, columns=columns, name="visits") for each in (data, less)]
    made = tables[0].group_by("ward").agg(n=pv.count(), s=pv.sum("x")).for_budget(epsilon=1.0)
    return Example(made, tables[0].data, tables[1].data, Guarantee(1.0))


def test_laws_see_a_charge_that_is_forgotten(monkeypatch):
    example = two_parts()
    testing.check_parts_are_the_price(example)
    monkeypatch.setattr(TableAnswers, "loss", property(lambda self: self.parts[0].loss))
    with pytest.raises(AssertionError, match="not charged"):
        testing.check_parts_are_the_price(two_parts())


def test_replay_sees_noise_that_is_halved(monkeypatch):
    example = two_parts()
    release = example.mechanism.release
    assert not audit.replay(release, example.left, example.right).refuted
    sound = TableAnswers._noisy

    def halved(self: TableAnswers, i: int, found: Any, selected: Any, source: Any) -> Any:
        noisy = sound(self, i, found, selected, source)
        return noisy._replace(values=(noisy.values + self.families[i].exact(found)) / 2)

    monkeypatch.setattr(TableAnswers, "_noisy", halved)
    assert audit.replay(release, example.left, example.right).refuted


def test_a_part_with_less_noise_than_its_reach_is_refused():
    table = worlds.asked_of(pv.Person("id", max_rows=2))
    made = table.group_by("ward").agg(n=pv.count()).for_budget(epsilon=1.0)
    weak = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=1, unit=made.about)
    with pytest.raises(InvalidParameter, match="less noise"):
        replace(made, parts=(weak,))
    other = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=2)
    with pytest.raises(InvalidParameter, match="another unit"):
        replace(made, parts=(other,))
    chosen = table.group_by("ward").agg(q=pv.median("x")).for_budget(epsilon=1.0)
    (part,) = chosen.quantiles
    few = type(part.choice).for_budget(epsilon=1.0, sensitivity=1.0, unit=made.about)
    with pytest.raises(InvalidParameter, match="all rows of a person"):
        replace(chosen, quantiles=(replace(part, choice=few),))
