"""Tables of counts over several columns: from tables alone, as from all cells, and never all cells of many columns."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import audit, noise
from privet.errors import InvalidParameter
from privet.queries import histograms as asked
from privet.tables import Coded, Data
from privet.tables.keys import all_keys
from privet.workloads import LinearQueries, Marginals, ResidualTables
from tests.firsts import slow

SALTS = (1, 2, 3, 4, 5)
PROMISES: list[dict[str, Any]] = [{"epsilon": 0.5}, {"rho": 0.5}, {"mu": 0.7}]


def small(unit: Any = None) -> pv.Table:
    rng = np.random.default_rng(2)
    columns = {"a": pv.Int(0, 2, null=True), "b": pv.Int(0, 24), "c": pv.Category(["x", "y"])}
    a = [None if each == 3 else int(each) for each in rng.integers(0, 4, 400)]
    c = ["x", "y", "?"] * 133 + ["x"]
    frame = {"id": rng.integers(0, 90, 400), "a": a, "b": rng.integers(-3, 30, 400), "c": c}
    return pv.Table(frame, columns=columns, name="t", unit=unit or pv.Rows())


def wide(columns: int, size: int, rows: int = 500) -> pv.Table:
    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(columns)]
    return pv.Table(
        {name: rng.integers(0, size, rows) for name in names}, columns={name: pv.Int(0, size - 1) for name in names}
    )


@pytest.mark.parametrize("unit", [None, pv.Person("id", max_rows=3)])
def test_tables_are_those_of_all_cells(unit: Any) -> None:
    """The exact counts of each table are sums over the cells of all columns, found by public keys."""
    from privet.tables import Bounded

    table, names = small(unit), ("a", "b", "c")
    question = table.marginals(*names)
    keys = all_keys(table.columns, names)
    by_keys = Bounded(table.rows, names, keys)
    tables = table.data.exact_marginals(question.coded, question.workload.attributes, SALTS)
    cells = table.data.exact_aggregates(by_keys, SALTS).rows.reshape(question.workload.shape)
    assert [each.sum() for each in tables] == [cells.sum()] * 3
    if unit is None:
        flat = np.concatenate([each.reshape(-1) for each in tables])
        assert np.array_equal(flat, question.workload.answers(cells))


def test_a_release_from_tables_is_that_from_all_cells() -> None:
    domain = (3, 1, 4, 2, 5)
    workload = Marginals(domain, ((0, 2), (1, 3), (2, 3, 4)))
    queries = LinearQueries.for_budget(workload=workload, strategy=ResidualTables(), rho=0.5)
    cells = np.random.default_rng(0).integers(0, 50, domain)
    one = queries.release(cells, source=noise.Seeded(1)).value
    two = queries.release(workload.answers(cells), source=noise.Seeded(1)).value
    assert one == two
    number = 0
    for clique in workload.attributes:
        table = one.table(clique)
        assert np.allclose(table.value, workload.table(one._cells, clique))
        for at in (0, table.value.size // 2, table.value.size - 1):
            assert table.radius.flat[at] == pytest.approx(one.linear(workload.query(number + at)).radius, rel=1e-12)
        number += table.value.size


def test_counts_of_any_size_are_measured_exactly_and_nothing_wraps() -> None:
    """Both sides of the size from which on whole numbers of any length are taken."""
    workload = Marginals((300, 300), ((0, 1),))
    design = ResidualTables().design(workload, "l2")
    for most in (2**43, 2**44, 2**45, 2**55):
        answers = np.zeros(90_000, dtype=np.int64)
        answers[0] = most
        due = design.measure_tables(workload, answers.astype(object).astype(np.int64))
        plain = [int(most), *([299 * most] + [-most] * 299) * 2]
        pairs = [299 * 299 * most] + [-299 * most] * 299 + ([-299 * most] + [most] * 299) * 299
        assert due.tolist() == [min(max(each, -(2**61)), 2**61) for each in plain + pairs]


@pytest.mark.parametrize("promise", [PROMISES[0], *map(slow, PROMISES[1:])])  # 120 releases each
def test_intervals_of_marginals_cover(promise: dict[str, Any]) -> None:
    table = small()
    for question in (table.marginals("a", "b", way=1), table.marginals("a", "b")):
        made = question.for_budget(**promise)
        cliques = question.workload.attributes
        exact = table.data.exact_marginals(question.coded, cliques, SALTS)
        truth, runs = np.concatenate([each.reshape(-1) for each in exact]), 60
        held = np.zeros(len(truth))
        for seed in range(runs):
            answer = made.release(table.data, source=noise.Seeded(seed)).value
            assert len(answer["n"]) == len(truth)
            held += (answer.lower["n"] <= truth) & (truth <= answer.upper["n"])
        assert held.min() >= runs * 0.95 - 5 * math.sqrt(runs * 0.05 * 0.95)
        assert held.mean() >= 0.95 * runs - 2.5  # over all answers together


def test_each_table_of_marginals_has_its_own_radius() -> None:
    """A small table beside a large one is not given the radius of the large one, nor the other way round."""
    columns = {"a": pv.Int(0, 1), "b": pv.Int(0, 149)}
    table = pv.Table({"a": [0, 1], "b": [3, 4]}, columns=columns, name="t")
    made = table.marginals("a", "b", way=1).for_budget(rho=0.5)
    workload = made.queries.workload
    answers = made.queries.release(np.zeros(workload.queries, dtype=np.int64), source=noise.Seeded(1)).value
    shown = made._answer(answers)
    for i in (0, 1, 2, 77, 151):
        exact = answers.linear(workload.query(i)).radius
        distance = float(shown.upper["n"][i]) - float(answers.linear(workload.query(i)).value)
        assert exact <= distance + 1e-6 or shown.upper["n"][i] == 0.0
        assert distance <= exact + 1.0 + 1e-6 or shown.upper["n"][i] == 0.0


def test_rows_name_values_missing_ones_and_columns_that_a_table_lacks() -> None:
    answer = small().marginals("a", "c", way=1).for_budget(epsilon=50.0).release(small().data).value
    assert answer["a"].tolist() == ["0", "1", "2", None, "(all)", "(all)"]
    assert answer["c"].tolist() == ["(all)"] * 4 + ["x", "y"]


@pytest.mark.slow
def test_twenty_columns_are_asked_without_the_cells_of_all_of_them() -> None:
    """40^20 cells: none of them is listed, in planning, in counting or in the answer."""
    table = wide(20, 40)
    question = table.marginals(*table.columns)
    made = question.for_budget(epsilon=1.0, delta=1e-9)
    answer = made.release(table.data, source=noise.Seeded(1)).value
    assert len(answer["n"]) == 190 * 1600
    assert "residual tables" in question.told(epsilon=1.0, delta=1e-9)
    assert "protects" in question.explain()


@pytest.mark.parametrize("limit", [3**4 - 1, 3**4])
def test_both_sides_of_the_size_up_to_which_all_cells_are_counted(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(asked, "_LISTED", limit)
    table = wide(4, 3)
    question = table.marginals(*table.columns)
    made = question.for_budget(rho=0.5)
    assert made.queries.strategy == ResidualTables()
    assert len(made.release(table.data).value["n"]) == 6 * 9
    if limit < 3**4:
        with pytest.raises(pv.errors.NoGuarantee, match="give a delta"):
            question.for_budget(epsilon=1.0)
    else:
        assert question.for_budget(epsilon=1.0).queries.norm == "l1"


def test_replay_finds_a_price_for_too_few_rows() -> None:
    """Persons of three rows: the question is priced for them, and a twin that was priced for one is refuted."""
    from privet.queries.marginal_answers import MarginalAnswers

    unit = pv.Person("id", max_rows=3)
    columns = {"a": pv.Int(0, 2), "b": pv.Int(0, 4)}
    left = {"id": [1, 1, 1, 2], "a": [2, 2, 2, 0], "b": [4, 4, 4, 1]}
    right = {name: column[3:] for name, column in left.items()}
    one, two = (pv.Table(each, columns=columns, unit=unit, name="t") for each in (left, right))
    made = one.marginals("a", "b").for_budget(mu=1.0)
    assert not audit.replay(made.release, one.data, two.data).refuted
    cheap = LinearQueries.for_budget(workload=made.queries.workload, strategy=ResidualTables(), mu=1.0, unit=one.unit)
    with pytest.raises(InvalidParameter, match="all rows of a person"):
        MarginalAnswers(coded=made.coded, queries=cheap)
    object.__setattr__(made, "queries", cheap)
    assert audit.replay(made.release, one.data, two.data).refuted


def test_a_person_in_several_groups_keeps_all_rows_that_are_paid_for() -> None:
    unit = pv.Person("id", max_groups=2, max_rows_per_group=2)
    columns = {"a": pv.Int(0, 9)}
    table = pv.Table({"id": [1] * 10, "a": list(range(10))}, columns=columns, unit=unit, name="t")
    question = table.marginals("a")
    assert question.coded.most_rows == question.for_budget(epsilon=1.0).queries.max_rows == 4
    (found,) = table.data.exact_marginals(question.coded, [(0,)], SALTS)
    assert found.sum() == 4


def test_what_is_no_table_of_counts_is_refused_before_paying() -> None:
    table = pv.Table({"x": [1.0], "a": [1]}, columns={"x": pv.Float(0, 1), "a": pv.Int(0, 9)}, name="t")
    with pytest.raises(InvalidParameter, match="no public list"):
        table.marginals("x", "a")
    many = wide(4, 300)
    with pytest.raises(InvalidParameter, match="more than 4194304 cells together"):
        many.marginals(*many.columns, way=3)
    made = table.marginals("a").for_budget(epsilon=1.0)
    with pytest.raises(pv.errors.InvalidData):
        made.release([1, 2, 3])
    other = many.marginals("c0").coded
    with pytest.raises(InvalidParameter, match="codes of these columns"):
        type(made)(coded=other, queries=made.queries)
    assert isinstance(other, Coded)
    assert isinstance(many.data, Data)


def test_every_pair_of_columns_is_counted_from_the_same_rows_of_a_person() -> None:
    table = small(pv.Person("id", max_rows=2))
    names = ("a", "b", "c")
    question = table.marginals(*names)
    tables = table.data.exact_marginals(question.coded, question.workload.attributes, SALTS)
    sums = {}
    for clique, each in zip(combinations(range(3), 2), tables, strict=True):
        for axis, column in enumerate(clique):
            sums.setdefault(column, []).append(each.sum(axis=1 - axis).tolist())
    assert all(one == two for one, two in sums.values())
