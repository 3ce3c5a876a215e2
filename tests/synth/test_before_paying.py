"""Public mistakes of constraints, queries and budgets: refused before anything is paid; and scores that never wrap."""

from fractions import Fraction
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet.errors import InvalidParameter, PrivetError
from privet.mechanisms import DiscreteLaplace
from privet.synth import AtMost, Forbidden, LinearQuery
from privet.synth.graph import tree_cells
from privet.synth.marginal_workload import exact_scores
from privet.synth.money import UNITS, deviation, mean_size
from privet.synth.synthesis import exact_distance
from privet.workloads import Rows
from tests.synth.tables import SIZES, coded_table, correlated

GRAPHS = {
    "Independent": synth.Independent,
    "MST": lambda **facts: synth.MST(steps=20, **facts),
    "AIM": lambda **facts: synth.AIM(workload=2, rounds=2, steps=20, **facts),
    "MWEMGraph": lambda **facts: synth.MWEMGraph(steps=20, **facts),
}
NOTHING = {
    "unknown column": [Forbidden(("z",), [(0,)])],
    "nothing may occur": [Forbidden(("a",), [(0,), (1,)])],
    "contradiction of two": [Forbidden(("a",), [(0,)]), Forbidden(("a", "b"), [(1, 0), (1, 1)])],
    "contradiction of three": [
        Forbidden(("a", "b"), [(0, 0), (1, 1)]),
        Forbidden(("b", "c"), [(0, 0), (1, 1)]),
        Forbidden(("a", "c"), [(0, 0), (1, 1)]),
    ],
}


def binary(n: int = 40) -> pv.Table:
    return coded_table(np.stack([np.arange(n) % 2] * 3, axis=1), (2, 2, 2))


def assert_refused_unpaid(made: Any, table: pv.Table, words: str, **promise: float) -> None:
    """A fit is refused in a sentence, and its ledger has paid for nothing."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e7, delta=1e-3))
    with pytest.raises(InvalidParameter, match=words):
        made().fit(table, ledger=ledger, **promise)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("what", NOTHING)
def test_constraints_that_leave_nothing_are_refused_before_paying(name: str, what: str) -> None:
    words = "names columns" if what == "unknown column" else "nothing that may occur|no combination"
    assert_refused_unpaid(lambda: GRAPHS[name](constraints=NOTHING[what]), binary(), words, epsilon=1.0)


@pytest.mark.parametrize("name", GRAPHS)
def test_constraints_that_need_a_large_clique_are_refused_before_paying(name: str) -> None:
    rules = [AtMost(x, y) for x, y in combinations("abcd", 2)]
    table = coded_table(np.zeros((5, 4)), (200,) * 4)
    assert_refused_unpaid(lambda: GRAPHS[name](constraints=rules, bins=200), table, "cells", epsilon=1.0)
    few = GRAPHS[name](constraints=rules, bins=200).task(coded_table(np.zeros((5, 4)), (8,) * 4))
    assert len(few.allowed) == 6  # eight values each are 4,096 cells


def test_a_tree_of_pairs_beside_constraints_closes_no_cycle() -> None:
    rules = [AtMost(x, y) for x, y in ("ab", "bc", "de", "ef")]
    plan = synth.MST(constraints=rules).plan({name: pv.Int(0, 39) for name in "abcdef"}, epsilon=1.0)
    bound, chosen = list(plan.task.allowed), list[Any]()
    while open_ := plan._open(chosen):
        chosen.append(open_[-1])
    assert len(chosen) == plan.edges == 5
    assert tree_cells(plan.task.sizes, [*bound, *chosen]) == 5 * 1600
    free = synth.MST().plan({name: pv.Int(0, 39) for name in "abcdef"}, epsilon=1.0)
    assert len(free._open([])) == 15


def test_constraints_and_pairs_make_a_model_that_keeps_the_rules() -> None:
    rules = [AtMost("a", "b"), AtMost("b", "c")]
    rows = np.sort(np.random.default_rng(0).integers(0, 4, (500, 3)), axis=1)
    model = synth.MST(constraints=rules, steps=50).fit(coded_table(rows, (4, 4, 4)), epsilon=2.0)
    made = model.sample(200).codes
    assert np.all(np.diff(made, axis=1) >= 0)


@pytest.mark.parametrize("name", ["MWEM", "SmallDB"])
def test_weights_that_are_not_whole_are_refused_before_paying(name: str) -> None:
    halves, table = Rows(np.full((1, 8), 0.5)), binary()
    made = {"MWEM": lambda: synth.MWEM(queries=halves), "SmallDB": lambda: synth.SmallDB(queries=halves, m=2)}
    assert_refused_unpaid(made[name], table, "whole numbers", epsilon=1.0)


def test_small_databases_of_very_many_rows_are_refused_before_paying() -> None:
    table, one = coded_table(np.zeros((5, 1)), (2,)), [LinearQuery(np.array([1, 0]))]
    for m in (20_000, 10**12):
        assert_refused_unpaid(lambda m=m: synth.SmallDB(queries=one, m=m), table, "rows", epsilon=1.0)


@pytest.mark.parametrize("weights", [np.zeros(0), np.zeros((2, 0)), []])
def test_a_query_without_weights_is_refused_in_words(weights: Any) -> None:
    with pytest.raises(InvalidParameter, match="none"):
        LinearQuery(weights)


BUDGETS = ({"epsilon": 1e-9, "delta": 1e-9}, {"rho": 1e-20}, {"mu": 1e-9}, {"epsilon": 1e-13}, {"rho": 1e-58})
NONE = ({"epsilon": 1e-18}, {"rho": 1e-60}, {"mu": 1e-60})
LECTURES = {
    "MWEM": lambda: synth.MWEM(queries=pv.workloads.Marginals((2, 2, 2), [(0, 1)])),
    "SmallDB": lambda: synth.SmallDB(queries=pv.workloads.Marginals((2, 2, 2), [(0, 1)]), m=2),
    "sequences": lambda: synth.SmallDB(
        queries=pv.workloads.Marginals((2, 2, 2), [(0, 1)]), m=2, measure="sequences", rows=40
    ),
}


@pytest.mark.parametrize("name", [*GRAPHS, *LECTURES])
@pytest.mark.parametrize("promise", BUDGETS, ids=str)
def test_a_small_budget_gives_a_model_or_is_refused_before_paying(name: str, promise: dict[str, float]) -> None:
    ledger, made = (
        pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e7, delta=1e-3)),
        {**GRAPHS, **LECTURES}[name](),
    )
    try:
        model = made.fit(binary(), ledger=ledger, **promise)
    except InvalidParameter:
        assert name == "sequences"
        assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]
    else:
        assert len(model.sample(3)) == 3


@pytest.mark.parametrize("name", [*GRAPHS, *LECTURES])
@pytest.mark.parametrize("promise", NONE, ids=str)
def test_a_budget_that_buys_nothing_is_refused_before_paying(name: str, promise: dict[str, float]) -> None:
    assert_refused_unpaid({**GRAPHS, **LECTURES}[name], binary(), "small|between", **promise)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_large_budget_is_no_accident(name: str) -> None:
    model = GRAPHS[name]().fit(binary(), epsilon=1e6)
    assert model.total == pytest.approx(40.0)


def test_a_large_table_and_a_small_budget_have_scores() -> None:
    table = coded_table(np.random.default_rng(0).integers(0, 100, (500, 2)), (100, 100))
    model = synth.AIM(workload=2, rounds=2, steps=5, bins=100).fit(table, epsilon=1e-5, delta=1e-9)
    assert len(model.sample(3)) == 3


@pytest.mark.parametrize("size", [4, 2**10])
def test_distances_are_exact_where_64_bits_end(size: int) -> None:
    guess = np.full(size, 2.0**45)
    one, two = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    two[0] = 1
    assert exact_distance(one, guess) == size * 2**45 * UNITS
    assert exact_distance(one, guess) - exact_distance(two, guess) == UNITS
    assert exact_distance(two, np.full(size, np.nan)) == UNITS


def test_scores_are_whole_and_move_by_their_weight() -> None:
    tables = {(0,): np.array([3, 0]), (1,): np.array([1, 2])}
    more = {(0,): np.array([4, 0]), (1,): np.array([1, 3])}
    answers, weights = {c: np.full(2, 2.0**44) for c in tables}, {(0,): 2**16, (1,): 5}
    expected = dict.fromkeys(tables, 10**40)
    one, two = (exact_scores(each, answers, weights, expected) for each in (tables, more))
    assert [a - b for a, b in zip(one, two, strict=True)] == [2**16 * UNITS, 5 * UNITS]


def test_noise_that_is_nearly_none_and_noise_that_is_very_large_have_a_size() -> None:
    faint, loud = (DiscreteLaplace(scale=scale, sensitivity=1) for scale in (1e-4, 2.0**50))
    assert deviation(faint) > 0.0 == mean_size(faint)
    assert deviation(loud) == pytest.approx(2.0**0.5 * 2.0**50, rel=1e-9)
    assert mean_size(loud) == pytest.approx(2.0**50, rel=1e-9)


def test_the_score_of_small_databases_never_wraps() -> None:
    queries = [LinearQuery(np.array([2**20, 0, -(2**20)]))]
    plan = synth.SmallDB(queries=queries, m=4, measure="sequences").plan({"a": pv.Int(0, 2)}, epsilon=1e-3)
    for total in (1, 10**6, plan._most_held()):
        units = plan._units(total)
        assert units % plan.m == 0
        assert plan._widest() * (total + plan._most_held()) * units <= 2**60
        assert plan._ranks(units) <= 2**60
    assert Fraction(plan._choice(4).scale) > 0


def test_usual_facts_are_still_welcome() -> None:
    table = coded_table(correlated(200), SIZES)
    rules = [AtMost("c", "a"), Forbidden(("d",), [(3,)])]
    for made in GRAPHS.values():
        assert made(constraints=rules).fit(table, epsilon=1.0).marginal("d")[3] == 0.0


@pytest.mark.parametrize("workload", [[3], {("a",): "heavy"}, {("a",): None}, {3: 1.0}])
@pytest.mark.parametrize("name", ["AIM", "MWEMGraph"])
def test_a_workload_that_is_none_is_refused_in_words(name: str, workload: Any) -> None:
    made = {"AIM": synth.AIM, "MWEMGraph": synth.MWEMGraph}[name]
    assert_refused_unpaid(lambda: made(workload=workload), binary(), "columns of a table|weight", epsilon=1.0)


@pytest.mark.parametrize("name", GRAPHS)
def test_columns_that_are_no_names_are_refused_in_words(name: str) -> None:
    assert_refused_unpaid(lambda: GRAPHS[name](columns=[3]), binary(), "names of the table's columns", epsilon=1.0)


def test_what_is_no_path_is_refused_in_words() -> None:
    model = synth.Independent().fit(binary(), epsilon=1.0)
    for call in (lambda: synth.save(model, cast("Any", None)), lambda: synth.load(cast("Any", 3))):
        with pytest.raises(PrivetError, match=r"path|file"):
            call()
