"""Bugs that other toolkits have had, each as a question about a table: what happens here instead."""

import math

import numpy as np
import pytest

import privet as pv
from privet import workloads
from privet.errors import InvalidParameter
from privet.queries.discovered_keys import chance_shown

SALTS = (1, 2, 3, 4, 5)


def exact(table: pv.Table, query: object) -> object:
    made = query.for_budget(epsilon=1.0)
    return made, table.data.exact_aggregates(made.plan, SALTS)


def test_opendp_2922_the_delta_of_a_threshold_is_that_of_at_least():
    assert chance_shown(1.0, 5, 1, 1) == pytest.approx(0.01338980, abs=5e-9)


def test_opendp_2924_a_person_in_several_leaves_moves_the_sums_above_them_by_more():
    """Four rows in four leaves move a tree of five sums by the root of 4^2 + 4, not by twice the root of the levels."""
    person = pv.Person("id", max_rows=4)
    table = pv.Table({"id": [1] * 4, "age": [0, 1, 2, 3]}, columns={"age": pv.Int(0, 3)}, unit=person, name="t")
    cells = table.data.exact_aggregates(table.ranges("age").plan, SALTS).rows
    assert cells.tolist() == [1, 1, 1, 1]
    tree = workloads.Hierarchical(branching=4, weights="uniform")
    for norm in ("l1", "l2"):
        made = workloads.LinearQueries(workload=workloads.AllRanges(4), strategy=tree, norm=norm, scale=1.0, max_rows=4)
        moved = np.linalg.norm(made.design.measure(cells), ord=int(norm[1]))
        assert moved == pytest.approx({"l1": 8.0, "l2": math.sqrt(20.0)}[norm])
        assert moved <= float(made.sensitivity.value)
    assert moved > 2.0 * math.sqrt(2.0)  # what a tree of two levels would be said to do to a distance of 2
    asked = table.ranges("age").for_budget(mu=1.0).queries
    weights = np.repeat([float(w) for _, w in asked.design.groups], [size for size, _ in asked.design.groups])
    assert np.linalg.norm(asked.design.measure(cells) * weights) <= float(asked.sensitivity.value)


@pytest.mark.parametrize("values", [[1.0, math.nan, 3.0], [1.0, None, 3.0], np.array([1.0, np.nan, 3.0])])
def test_opendp_2936_2939_a_nan_is_missing_and_moves_nothing_else(values):
    table = pv.Table({"x": values}, columns={"x": pv.Float(0.0, 10.0)}, name="t")
    made, found = exact(table, table.agg(s=pv.sum("x")))
    assert found.signed[0].tolist() == [round(4.0 / made.families[0].tick)]
    kept = table.where(table["x"] >= 0.0).agg(n=pv.count())
    assert exact(table, kept)[1].rows.tolist() == [2]  # nor does it pass a filter
    dropped = table.where(~(table["x"] >= 2.0)).agg(n=pv.count())
    assert exact(table, dropped)[1].rows.tolist() == [1]


def test_opendp_2938_a_cast_that_fails_is_a_missing_value_and_not_an_error():
    for word in ("7", "seven", "", "1e999", "0x7"):
        table = pv.Table({"x": np.array(["1", word])}, columns={"x": pv.Int(0, 9)}, name="t")
        made, found = exact(table, table.agg(n=pv.count(), m=pv.mean("x")))
        assert found.rows.tolist() == [2], word
        assert made.loss.pure() == 1.0  # and noise is there whatever can be read


def test_opendp_2944_bins_are_numbered_by_the_schema_and_not_by_the_data():
    for ages in ([5, 95], [95], [95, 5, 5]):
        table = pv.Table({"age": ages}, columns={"age": pv.Int(0, 99)}, name="t").bin("age", width=10)
        made, found = exact(table, table.group_by("age_bin").agg(n=pv.count()))
        assert len(made.plan.keys) == 10
        assert found.rows[9] == ages.count(95)


def test_opendp_2945_a_person_with_many_rows_moves_no_more_than_the_limit():
    table = pv.Table({"id": np.zeros(1000, dtype=int), "x": np.full(1000, 9)}, columns={"x": pv.Int(0, 9)},
                     unit=pv.Person("id", max_rows=3), name="t")  # fmt: skip
    made, found = exact(table, table.agg(n=pv.count(), s=pv.sum("x")))
    assert found.rows.tolist() == [3]
    assert found.signed[0].tolist() == [27]
    assert sorted(float(part.sensitivity.value) for part in made.parts) == [3.0, 27.0]


def test_opendp_2949_a_column_that_is_redefined_has_new_bounds():
    table = pv.Table({"x": [1.0, 9.0]}, columns={"x": pv.Float(0.0, 10.0)}, name="t")
    table = table.derive(x=table["x"] * 100 - 50)
    assert (table.columns["x"].lower, table.columns["x"].upper) == (-50.0, 950.0)
    made, found = exact(table, table.agg(s=pv.sum("x")))
    (family,) = made.families
    assert float(made.parts[0].sensitivity.value) == 950.0 / family.tick
    assert found.signed[0].tolist() == [900.0 / family.tick]


def test_opendp_2950_nothing_depends_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    ids, wards, x = rng.integers(0, 20, 200), rng.choice(["A", "B", "C"], 200), rng.random(200)
    found = []
    for order in (np.arange(200), rng.permutation(200)):
        data = {"id": ids[order], "ward": wards[order], "x": x[order]}
        table = pv.Table(data, columns={"ward": pv.Category(["A", "B", "C"]), "x": pv.Float(0.0, 1.0)},
                         unit=pv.Person("id", max_groups=2, max_rows_per_group=3), name="t")  # fmt: skip
        _, each = exact(table, table.group_by("ward").agg(n=pv.count(), m=pv.mean("x"), p=pv.count_persons()))
        found.append([each.rows.tolist(), each.persons.tolist(), [cell.tolist() for cell in each.cells]])
    assert found[0] == found[1]


def test_smartnoise_317_a_column_without_bounds_is_no_column():
    with pytest.raises(TypeError):
        pv.Float()
    with pytest.raises(InvalidParameter, match=r"pv\.Float\(lower, upper\)"):
        pv.Table({"x": [1.0]}, columns={"x": None})
    table = pv.Table({"x": [1.0], "y": [2.0]}, columns={"x": pv.Float(0.0, 1.0)})
    with pytest.raises(InvalidParameter, match="'y'"):  # it is there, but nothing is known of it
        table.agg(s=pv.sum("y"))


def test_smartnoise_512_private_tables_are_joined_on_the_person_alone():
    one = pv.Table({"k": [1, 1]}, columns={"k": pv.Int(0, 9)}, name="one")
    two = pv.Table({"k": [1, 1]}, columns={"k": pv.Int(0, 9)}, name="two")
    with pytest.raises(InvalidParameter, match="persons share"):
        one.join(two)


def test_diffprivlib_104_105_bounds_are_never_taken_from_the_data():
    for far in (10.0, 1e6):
        table = pv.Table({"x": [0.0, 1.0, far]}, columns={"x": pv.Float(0.0, 10.0)}, name="t")
        made, found = exact(table, table.agg(s=pv.sum("x"), m=pv.mean("x"), v=pv.variance("x")))
        assert made.plan.rows.columns["x"].span == (0.0, 10.0)
        assert [cell.tolist() for cell in found.cells] == [cell.tolist() for cell in exact(table, table.agg(
            s=pv.sum("x"), m=pv.mean("x"), v=pv.variance("x")))[1].cells]  # fmt: skip
    draft = pv.Table.draft({"x": [1.0, 77.5]})
    assert "77" not in draft


def test_elements_that_cannot_be_read_are_no_error():
    table = pv.Table({"x": [object(), "secret-4711"]}, columns={"x": pv.Date("2024-01-01", "2024-12-31")}, name="t")
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0), unit=table.unit)
    (found,) = ledger.release(table.agg(n=pv.count(), q=pv.median("x")), epsilon=1.0).value["n"].tolist()
    assert found >= 0  # neither is a day, so both are missing there; nothing fails, and nothing is said
