"""Tables of counts of codes: the same from every engine, bounded for every person, and defined for every value."""

from collections.abc import Callable, Iterable
from itertools import combinations
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidData, InvalidParameter
from privet.tables import Coded, Coding, grouped, tally
from privet.tables.columns import Bool, Category, Date, Float, Int, Text, Time
from privet.tables.dialect import DuckDB
from privet.tables.engines import Engine, check_sources, exact_marginals
from privet.tables.engines.duckdb import DuckDBEngine
from privet.tables.expressions import Cut, Ref
from privet.tables.person import Person, Rows
from privet.tables.plan import Source
from tests.effort import tries
from tests.firsts import ends
from tests.oracles import array_engine
from tests.tables.conftest import put_arrow, put_parquet, put_postgres, put_spark
from tests.tables.neighbours import COLUMNS, Subject, frames, neighbours
from tests.tables.random_plans import Case, pick, random_case

SALTS = (12345, 67890, 13579, 24680, 11111)
Put = Callable[[Case], dict[str, Any]]


def random_coded(case: Case, seed: int) -> tuple[Coded, list[tuple[int, ...]]]:
    """Codes of some columns of a random plan, cut at random, and cliques of them."""
    rng = np.random.default_rng([20261117, seed])
    columns = case.plan.rows.columns
    held = {
        name: c for name, c in columns.items() if not isinstance(c, Text | Time) and _fits(c) and rng.random() < 0.7
    }
    held = held or {"f": columns["f"]}
    bins, cuts = {}, {}
    for name, column in held.items():
        if isinstance(column, Category | Bool):
            continue
        low, high = column.span
        if low < high and rng.random() < 0.4:
            cuts[name] = _edges(rng, column)
        elif isinstance(column, Float) or high - low > 60 or rng.random() < 0.3:
            bins[name] = int(rng.integers(1, 9))
    coding = Coding.of(held, bins=bins, cuts=cuts)
    places = list(range(len(coding.names)))
    cliques = [(), *((i,) for i in places)]
    cliques += [tuple(rng.permutation(places)[: int(rng.integers(1, 4))].tolist()) for _ in range(4)]
    return Coded(case.plan.rows, coding), cliques


def _fits(column: Any) -> bool:
    return not isinstance(column, Int) or column.upper - column.lower < 2**20


def _edges(rng: np.random.Generator, column: Any) -> list[Any]:
    low, high = column.span
    made = sorted({pick(rng, (0.0, 0.5, 2.5, low + (high - low) * rng.random())) for _ in range(3)})
    inside = [each for each in made if low < each <= high] or [high]
    return inside if isinstance(column, Float) else sorted({int(np.ceil(each)) for each in inside})


def expected(coded: Coded, cliques: Iterable[tuple[int, ...]], sources: Any, salts: Any) -> list[Any]:
    """The tables by the array engine: every combination of all codes, then added up."""
    found = array_engine.exact_aggregates(coded.bounded, sources, salts)
    sizes = coded.coding.sizes
    tables = [np.zeros(tuple(sizes[i] for i in clique), dtype=np.int64) for clique in cliques]
    for group, many in zip(found.found, found.rows.tolist(), strict=True):
        for clique, table in zip(cliques, tables, strict=True):
            table[tuple(group[i] for i in clique)] += many
    return tables


def disagreements(put: Put, seeds: Iterable[int]) -> list[int]:
    wrong = []
    for seed in seeds:
        case = random_case(seed)
        coded, cliques = random_coded(case, seed)
        sources = put(case)
        check_sources(coded, sources)
        made = exact_marginals(coded, cliques, sources, case.salts)
        due = expected(coded, cliques, case.frames(), case.salts)
        if not all(a.dtype == np.int64 and np.array_equal(a, b) for a, b in zip(made, due, strict=True)):
            wrong.append(seed)
    return wrong


def test_duckdb_on_arrays() -> None:
    assert disagreements(Case.frames, range(12)) == []


def test_duckdb_on_files_and_arrow(tmp_path: Path) -> None:
    assert disagreements(lambda case: put_parquet(case.tables, tmp_path), range(40, 43)) == []
    assert disagreements(lambda case: put_arrow(case.tables), range(52, 55)) == []


def test_postgres(clinic: Any, postgres_url: str) -> None:
    assert disagreements(lambda case: put_postgres(clinic, case.tables, postgres_url), range(6)) == []


@pytest.mark.slow  # the law of tables of counts asks Spark about the same rows in every run
def test_spark(session: Any, tmp_path: Path) -> None:
    assert disagreements(lambda case: put_spark(session, case.tables, tmp_path), (29,)) == []


def test_engines_without_a_way_of_their_own_count_by_all_codes() -> None:
    for seed in range(6):
        case = random_case(seed)
        coded, cliques = random_coded(case, seed)
        found = Engine.exact_marginals(DuckDBEngine(), coded, cliques, case.frames(), case.salts)
        due = expected(coded, cliques, case.frames(), case.salts)
        assert all(np.array_equal(one, two) for one, two in zip(found, due, strict=True))


@pytest.mark.slow
def test_many_plans_on_every_engine(session: Any, clinic: Any, postgres_url: str, tmp_path: Path) -> None:
    assert disagreements(Case.frames, range(tries(200))) == []
    assert disagreements(lambda case: put_postgres(clinic, case.tables, postgres_url), range(tries(60))) == []
    assert disagreements(lambda case: put_spark(session, case.tables, tmp_path), (*range(tries(5)), 202, 117)) == []


@pytest.mark.parametrize(
    ("holder", "name", "broken"),
    [
        ("values", "_cut", "strict"),
        ("values", "_place", "no code for what is missing"),
        ("emitter", "_rank_and_cut", "all rows of a person"),
    ],
)
def test_planted_twins_are_caught(monkeypatch: pytest.MonkeyPatch, holder: str, name: str, broken: str) -> None:
    from privet.tables.emit import Emitter
    from privet.tables.values import Values

    of = Values if holder == "values" else Emitter
    true = getattr(of, name)

    def twin(self: Any, *given: Any) -> Any:
        made = true(self, *given)
        if broken == "strict":
            return made.replace(">=", ">")
        if broken == "no code for what is missing":
            return made[9:].rpartition(",")[0] if made.startswith("coalesce(") else made
        steps = given[0]
        steps[-1] = (steps[-1][0], steps[-1][1].replace("ELSE least(k,", "ELSE greatest(k,"))
        return made

    monkeypatch.setattr(of, name, twin)
    try:
        assert disagreements(Case.frames, range(12))
    except InvalidData:  # the twin's own SQL is refused: noticed as well
        assert broken == "no code for what is missing"


# --- values ------------------------------------------------------------------------------------------------------------


def counted(columns: Any, data: Any, cliques: Any = None, about: Any = None, **how: Any) -> list[Any]:
    table = pv.Table(data, columns=columns, unit=about or Rows())
    coded = Coded(table.rows, Coding.of(table.columns, **how))
    places = cliques or [(i,) for i in range(len(coded.coding.names))]
    return [each.tolist() for each in table.data.exact_marginals(coded, places, SALTS)]


def test_every_value_has_a_code() -> None:
    odd = [1.0, 9.9, 10.0, inf, -inf, nan, None]
    assert counted({"x": Float(0.0, 10.0, null=True)}, {"x": odd}, bins=2) == [[2, 3, 2]]
    wards = ["A", "B", "Z", None, 3]
    assert counted({"w": Category(["A", "B"], null=True)}, {"w": wards}) == [[1, 1, 3]]
    days = ["2024-01-01", "2024-01-02", "1900-01-01", "2100-01-01", "today"]
    assert counted({"d": Date("2024-01-01", "2024-01-03", null=True)}, {"d": days}) == [[2, 1, 1, 1]]
    assert counted({"b": Bool(null=True)}, {"b": [True, False, None, True]}) == [[1, 2, 1]]
    assert counted({"i": Int(3, 5)}, {"i": np.array([3, 4, 99, -7])}) == [[2, 1, 1]]


def test_rows_with_a_missing_value_are_left_out_of_every_table_unless_it_has_a_code() -> None:
    data = {"a": [1, None, 1], "b": [True, True, None]}
    assert counted({"a": Int(0, 1), "b": Bool()}, data, [(0,), (1,), (0, 1)]) == [[0, 1], [0, 1], [[0, 0], [0, 1]]]
    kept = counted({"a": Int(0, 1, null=True), "b": Bool(null=True)}, data, [(0,), (1,)])
    assert kept == [[0, 2, 1], [0, 2, 1]]


def test_bins_are_as_many_as_a_question_can_hold() -> None:
    assert Coding.of({"cost": Float(0, 1)}, bins=2**16).sizes == (2**16,)
    assert Coding.of({"age": Int(0, 9)}, bins={"age": 10**9}).sizes == (10,)
    for column in (Float(0, 1), Int(0, 10**12)):
        with pytest.raises(InvalidParameter, match="at most 65,536 bins"):
            Coding.of({"cost": column}, bins={"cost": 2**16 + 1})


def test_cuts_put_an_edge_into_the_bin_above_it() -> None:
    ages = np.array([0, 17, 18, 29, 30, 64, 65, 110])
    assert counted({"age": Int(0, 110)}, {"age": ages}, cuts={"age": [18, 30, 65]}) == [[2, 2, 2, 2]]
    assert counted({"x": Float(0.0, 1.0)}, {"x": np.array([0.0, 0.1, 0.3, 1.0])}, cuts={"x": [0.1, 0.3]}) == [[1, 1, 2]]
    days = ["2024-01-31", "2024-02-01", "2024-12-31"]
    year = {"d": Date("2024-01-01", "2024-12-31")}
    assert counted(year, {"d": days}, cuts={"d": ["2024-02-01"]}) == [[1, 2]]
    table = pv.Table({"age": ages}, columns={"age": Int(0, 110)})
    grouped_by = table.derive(band=table["age"].cut([18, 30, 65])).group_by("band").agg(n=pv.count())
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0), unit=table.unit)
    assert ledger.release(grouped_by, epsilon=60.0).value["n"].tolist() == [2, 2, 2, 2]


def test_empty_tables_and_single_rows_have_the_same_shapes() -> None:
    columns = {"a": Int(0, 1), "w": Category(["x", "y", "z"], null=True)}
    cliques = [(), (1,), (1, 0)]
    none = counted(columns, {"a": np.zeros(0, dtype=np.int64), "w": np.zeros(0, dtype="U1")}, cliques)
    one = counted(columns, {"a": np.array([1]), "w": np.array(["?"])}, cliques)
    assert none == [0, [0, 0, 0, 0], [[0, 0]] * 4]
    assert one == [1, [0, 0, 0, 1], [[0, 0]] * 3 + [[0, 1]]]


def test_the_table_of_no_column_alone_is_the_number_of_rows() -> None:
    assert counted({"a": Int(0, 1)}, {"a": np.array([1, 0, 7])}, [()]) == [3]


def test_blocks_and_queries_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    data = {name: rng.integers(0, 3, 5000) for name in "abcd"}
    columns, cliques = {name: Int(0, 2) for name in data}, list(combinations(range(4), 2)) * 8
    due = counted(columns, data, cliques)
    monkeypatch.setattr(tally, "_TOGETHER", 7)
    assert counted(columns, data, cliques) == due
    monkeypatch.setattr(grouped, "_CELLS", 10)
    sizes = (3, 3, 3, 3)
    assert [len(each) for each in grouped.batches(sizes, cliques[:3])] == [1, 1, 1]
    assert sum(len(each) for each in grouped.batches(sizes, cliques)) == 48


def test_grouping_sets_of_duckdb_agree_with_the_pass_over_its_rows() -> None:
    import duckdb

    rng = np.random.default_rng(4)
    rows = rng.integers(0, 3, (500, 3))
    listed = ", ".join(f"({a}, {b}, {c}, 1)" for a, b, c in rows.tolist())
    cliques = [(0,), (2, 1), (), (0, 1, 2)]
    sql = grouped.grouped(DuckDB(), f"SELECT * FROM (VALUES {listed}) AS t(v0, v1, v2, many)", (3, 3, 3), cliques)
    found = grouped.placed(duckdb.sql(sql).fetchall(), (3, 3, 3), cliques)
    made = tally.Tally((3, 3, 3), cliques)
    made.add([rows[:, i] for i in range(3)])
    assert all(np.array_equal(one, two) for one, two in zip(found, made.tables(), strict=True))


# --- persons -----------------------------------------------------------------------------------------------------------


def test_rows_of_a_person_are_the_same_in_every_table() -> None:
    rng = np.random.default_rng(7)
    data = {"id": rng.integers(0, 40, 900), "a": rng.integers(0, 4, 900), "b": rng.integers(0, 4, 900)}
    columns = {"a": Int(0, 3), "b": Int(0, 3)}
    about = Person("id", max_rows=3)
    pair, one, two, all_ = counted(columns, data, [(0, 1), (0,), (1,), ()], about)
    assert all_ == 120 == 40 * 3
    assert np.array(pair).sum(axis=1).tolist() == one
    assert np.array(pair).sum(axis=0).tolist() == two
    turned = np.argsort(rng.random(900))
    assert counted(columns, {name: each[turned] for name, each in data.items()}, [(0, 1)], about) == [pair]


@pytest.mark.parametrize(
    ("most", "relation"), ends([(most, relation) for most in (1, 3) for relation in ("add_remove", "replace")])
)
@pytest.mark.parametrize("tries", [6, pytest.param(25, marks=pytest.mark.slow)])
def test_one_person_moves_every_table_by_no_more_than_the_reach(relation: Any, most: int, tries: int) -> None:
    coding = Coding.of({n: COLUMNS[n] for n in ("x", "c", "d")}, bins={"x": 3, "d": 4})
    cliques = [(0,), (1,), (2,), (0, 1), (0, 1, 2), ()]
    moved = []
    for about in (Person("id", max_rows=most, relation=relation), Rows(relation=relation)):
        source = Source("t", tuple(COLUMNS.items()), about)
        coded = Coded(source, coding)
        for seed in range(tries):
            pair = neighbours(np.random.default_rng(seed), Subject("marginals", coded.bounded, ("t",)))
            one, two = (exact_marginals(coded, cliques, frames(each), SALTS) for each in pair)
            for a, b in zip(one, two, strict=True):
                gap = np.abs(a - b)
                assert int(gap.sum()) <= coded.reach.l1(source.unit.unit)
                assert int((gap**2).sum()) <= coded.reach.l2_squared(source.unit.unit)
            moved.append(int(np.abs(one[-2] - two[-2]).sum()))
    assert max(moved) >= most  # the pairs do move what is counted


# --- the coding --------------------------------------------------------------------------------------------------------

EVERY = {
    "i": Int(-3, 9),
    "n": Int(0, 4, null=True),
    "f": Float(-2.0, 8.0),
    "w": Category(["A", "it's"], null=True),
    "k": Category([1, 3, 5]),
    "d": Date("1999-01-01", "1999-03-31"),
    "b": Bool(null=True),
    "e": Date("1990-01-01", "2024-12-31", null=True),
}


@pytest.mark.parametrize("bins", [1, 4])
def test_decoded_rows_have_the_same_codes_and_types(bins: int) -> None:
    coding = Coding.of(EVERY, bins={"f": bins, "e": 50, "i": bins}, cuts={"d": ["1999-02-01"]})
    rng = np.random.default_rng(bins)
    codes = np.stack([rng.integers(0, size, 400) for size in coding.sizes], axis=1)
    made = coding.decode(codes)
    kinds = {name: np.ma.getdata(column).dtype.kind for name, column in made.items()}
    assert kinds == {"i": "i", "n": "i", "f": "f", "w": "U", "k": "i", "d": "M", "b": "b", "e": "M"}
    assert {name for name, column in made.items() if isinstance(column, np.ma.MaskedArray)} == set("nwbe")
    table = pv.Table(made, columns=EVERY)
    cliques = [(i,) for i in range(len(EVERY))] + [(0, 2, 6), (7, 1)]
    due = tally.Tally(coding.sizes, cliques)
    due.add(list(codes.T))
    found = table.data.exact_marginals(Coded(table.rows, coding), cliques, SALTS)
    assert all(np.array_equal(one, two) for one, two in zip(found, due.tables(), strict=True))


def test_values_inside_of_a_bin_are_spread_evenly() -> None:
    coding = Coding.of({"f": Float(0.0, 8.0), "i": Int(0, 9)}, bins={"f": 2, "i": 2})
    codes = np.tile([[1, 0]], (20_000, 1))
    made = coding.decode(codes)
    assert 4.0 <= made["f"].min() < 4.01 and 7.99 < made["f"].max() < 8.0  # noqa: PT018
    assert abs(made["f"].mean() - 6.0) < 0.05
    counts = np.bincount(made["i"], minlength=10)
    assert counts[5:].sum() == 0
    assert counts[:5].min() > 3700


def test_coding_as_json_comes_back() -> None:
    import json

    coding = Coding.of(EVERY, bins={"f": 7, "e": 50}, cuts={"d": ["1999-02-01"]})
    assert Coding.from_dict(json.loads(json.dumps(coding.to_dict()))) == coding
    assert coding.subset(["w", "i"]).sizes == (3, 13)


@pytest.mark.parametrize(
    ("columns", "how", "told"),
    [
        ({"t": Text()}, {}, "texts without a public list"),
        ({"i": Int(0, 2**30)}, {}, "cannot be listed"),
        ({"w": Category(["A"])}, {"cuts": {"w": [1]}}, "cannot be cut|an edge"),
        ({"b": Bool()}, {"bins": {"b": 2}}, "not put into bins"),
        ({"i": Int(0, 9)}, {"cuts": {"i": [5, 5]}}, "must rise"),
        ({"i": Int(0, 9)}, {"cuts": {"i": [0]}}, "must rise"),
        ({"i": Int(0, 9)}, {"cuts": {"i": [10]}}, "must rise"),
        ({"f": Float(0.0, 1.0)}, {"cuts": {"f": [nan]}}, "an edge"),
        ({"i": Int(0, 9)}, {"cuts": {"j": [5]}}, "there is no column"),
        ({"f": Float(0.0, 1.0)}, {"bins": 0}, "bins"),
    ],
)
def test_public_mistakes_are_told(columns: Any, how: Any, told: str) -> None:
    with pytest.raises(InvalidParameter, match=told):
        Coding.of(columns, **how)


def test_cliques_and_codes_that_cannot_be_are_refused() -> None:
    source = Source("t", (("a", Int(0, 9999)), ("b", Int(0, 9999))), Rows())
    coded = Coded(source, Coding.of(source.columns))
    for clique, told in (((0, 0), "each once"), ((2,), "places"), ((0, 1), "cells")):
        with pytest.raises(InvalidParameter, match=told):
            exact_marginals(coded, [clique], {"t": {"a": [1], "b": [1]}}, SALTS)
    with pytest.raises(InvalidParameter, match="other columns"):
        Coded(source, Coding.of({"a": Int(0, 3)}))
    with pytest.raises(InvalidParameter, match="size of its column"):
        coded.coding.decode([[10_000, 0]])
    with pytest.raises(InvalidParameter, match="rows of whole numbers"):
        coded.coding.decode([[0.5, 0.0]])
    with pytest.raises(InvalidParameter, match="rise"):
        Cut(Ref("a"), (2, 1))
