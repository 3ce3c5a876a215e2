"""Inputs at the edge: defined, or refused in one sentence before anything is paid."""

from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet.errors import PrivetError
from privet.synth import mwem_graph
from privet.synth.synthetic_model import MOST_UNASKED
from tests.synth.tables import coded_table
from tests.synth.test_before_paying import GRAPHS, LECTURES, assert_refused_unpaid


@pytest.mark.parametrize("name", GRAPHS)
def test_a_column_of_one_value_is_modelled_like_others(name: str) -> None:
    table = coded_table(np.stack([np.zeros(60), np.arange(60) % 2], axis=1), (1, 2))
    model = GRAPHS[name]().fit(table, epsilon=5.0)
    assert model.marginal("a", "b").shape == (1, 2)
    assert set(model.sample(20)["a"].tolist()) == {0}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_table_of_one_column_of_one_value_is_a_number_of_rows(name: str) -> None:
    model = GRAPHS[name]().fit(coded_table(np.zeros((60, 1)), (1,)), epsilon=5.0)
    assert model.marginal("a").tolist() == pytest.approx([model.total])


def test_a_column_of_rare_values_alone_is_spread_evenly() -> None:
    table = coded_table(np.stack([np.arange(300), np.arange(300) % 2], axis=1), (300, 2))
    model = synth.MST(steps=20, bins=300).fit(table, rho=0.01, source=pv.noise.Seeded(1))
    groups = model.compression.groups[0]
    assert groups is not None
    assert int(groups.max()) < 20  # nearly all of them are one
    assert len(set(model.sample(3_000)["a"].tolist())) > 200


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: synth.AIM(max_bytes=8), "max_bytes"),
        (lambda: synth.MWEMGraph(max_bytes=8), "max_bytes"),
        (lambda: synth.AIM(columns=["a", "a"]), "each once"),
        (lambda: synth.AIM(workload=[("a", "a")]), "each once"),
        (lambda: synth.AIM(workload={("a", "b"): -1.0}), "weight"),
        (lambda: synth.AIM(workload={("a", "b"): float("nan")}), "weight"),
        (lambda: synth.AIM(workload=[]), "at least"),
        (lambda: synth.AIM(workload=True), "workload"),
        (lambda: synth.AIM(workload="ab"), "workload"),
        (lambda: synth.MST(bins=0), "bins"),
        (lambda: synth.MST(cuts={"zz": [1]}), "zz"),
        (lambda: synth.MST(rows=0), "rows"),
        (lambda: synth.MST(rows=-5), "rows"),
        (lambda: synth.MST(steps=0), "steps"),
        (lambda: synth.MWEMGraph(rounds=0), "rounds"),
        (lambda: synth.MST(constraints=["a <= b"]), "constraint"),
    ],
)
def test_public_mistakes_are_refused_before_paying(made: Any, words: str) -> None:
    table = coded_table(np.zeros((20, 3)), (2, 3, 2))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0))
    with pytest.raises(PrivetError, match=words):
        made().fit(table, epsilon=1.0, ledger=ledger)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize(
    "promise",
    [
        {},
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": float("nan")},
        {"epsilon": 1.0, "delta": 1.0},
        {"delta": 1e-6},
    ],
    ids=str,
)
def test_promises_that_are_none_are_refused_before_paying(promise: dict[str, float]) -> None:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0))
    with pytest.raises(PrivetError):
        synth.MST().fit(coded_table(np.zeros((20, 2)), (2, 2)), ledger=ledger, **promise)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


def test_a_budget_that_is_spent_and_a_file_that_is_gone_leave_nothing() -> None:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=0.5))
    with pytest.raises(PrivetError):
        synth.MST().fit(coded_table(np.zeros((20, 2)), (2, 2)), epsilon=1.0, ledger=ledger)
    gone = pv.Table("nowhere.parquet", columns={"a": pv.Int(0, 1)})
    with pytest.raises(PrivetError, match="nowhere"):
        synth.MST().fit(gone, epsilon=0.2, ledger=ledger)
    assert ledger.spent.epsilon == 0.0


SMALL = ({"epsilon": 1e-3}, {"epsilon": 1e-3, "delta": 1e-9})
FEW = {"none": [], "one": [[0, 1, 1]], "three": [[0, 1, 1], [1, 1, 0], [0, 0, 1]]}


@pytest.mark.parametrize("name", [*GRAPHS, *LECTURES])
@pytest.mark.parametrize("promise", SMALL, ids=str)
def test_a_small_budget_and_hardly_any_rows_make_a_model_that_is_paid_once(
    name: str, promise: dict[str, float]
) -> None:
    for rows in FEW.values():
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=1e-3))
        table = coded_table(rows, (2, 2, 2))
        model = {**GRAPHS, **LECTURES}[name]().fit(table, ledger=ledger, **promise)
        assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 1
        assert 0.0 < ledger.spent.epsilon <= 1e-3
        assert 1.0 <= model.total < 10**7
        assert np.isfinite(model.marginal("a", "b", "c")).all()
        assert model.marginal("a", "b", "c").sum() == pytest.approx(model.total)
        assert len(model.sample(5)) == 5


def test_billions_of_rows_that_are_noise_are_drawn_by_nobody_who_did_not_ask() -> None:
    model = synth.Independent(rows=10**7).fit(coded_table([[0]], (2,)), epsilon=1.0)
    assert model.total == MOST_UNASKED
    many = synth.Independent(rows=10**7 + 1).fit(coded_table([[0]], (2,)), epsilon=1.0)
    with pytest.raises(PrivetError, match="say how many"):
        many.sample()
    assert len(many.sample(4)) == 4


def test_a_table_that_cannot_be_written_out_is_refused_also_where_codes_were_merged() -> None:
    columns = {"a": pv.Int(0, 99_999), "b": pv.Int(0, 99_999)}
    table = pv.Table({"a": np.arange(50), "b": np.arange(50)}, columns=columns)
    model = synth.MST(steps=5).fit(table, epsilon=1.0, source=pv.noise.Seeded(1))
    assert model.cells < 10**6  # nearly all codes are one
    for ask in (model.marginal, model.counts, model.error):
        with pytest.raises(PrivetError, match="10,000,000,000 cells"):
            ask("a", "b")
    assert model.marginal("a").shape == (100_000,)


WIDE = {f"c{i}": pv.Int(0, 1) for i in range(200)}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: synth.AIM(), "1,313,400 tables is too large.*columns="),
        (lambda: synth.AIM(workload=2), "more than 20,000 tables.*columns="),
        (lambda: synth.MWEMGraph(), "would not end.*columns="),
        (lambda: synth.MWEM(queries=pv.workloads.Marginals((2,) * 200, [(0, 1)])), "combinations.*MWEMGraph"),
        (lambda: synth.SmallDB(queries=pv.workloads.Marginals((2,) * 200, [(0, 1)])), "MST"),
    ],
    ids=["AIM of threes", "AIM of pairs", "MWEMGraph", "MWEM", "SmallDB"],
)
@pytest.mark.slow
def test_two_hundred_columns_are_refused_by_what_would_not_end(made: Any, words: str) -> None:
    assert_refused_unpaid(made, pv.Table(dict.fromkeys(WIDE, np.zeros(3)), columns=WIDE), words, epsilon=1.0)


def test_rounds_that_would_not_end_have_two_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {name: pv.Int(0, 1) for name in "abcd"}
    monkeypatch.setattr(mwem_graph, "_MOST_LOOKS", 4 * 6 * 4)
    assert synth.MWEMGraph().plan(columns, epsilon=1.0).rounds == 4
    with pytest.raises(PrivetError, match=r"5 rounds .* 6 tables over 4 columns would not end"):
        synth.MWEMGraph(rounds=5).plan(columns, epsilon=1.0)


def test_rounds_of_aim_that_would_not_end_have_two_sides() -> None:
    """Every round looks at the tree of every table: hours for all pairs of a hundred columns."""
    hundred, few = ({f"c{i}": pv.Int(0, 1) for i in range(many)} for many in (100, 24))
    table = pv.Table(dict.fromkeys(hundred, np.zeros(3)), columns=hundred)
    words = r"1,500 rounds .* 5,050 tables over 100 columns would not end.*rounds="
    assert_refused_unpaid(lambda: synth.AIM(workload=2), table, words, epsilon=1.0)
    assert len(synth.AIM(workload=3).plan(few, epsilon=1.0).weights) == 24 + 276 + 2024
    named = [(f"c{i}", f"c{i + 1}") for i in range(99)]
    assert len(synth.AIM(workload=named, rounds=16).plan(hundred, epsilon=1.0).weights) == 199


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Independent", "MST", "AIM"])
def test_two_hundred_columns_are_modelled_by_what_is_made_for_them(name: str) -> None:
    rows = dict.fromkeys(WIDE, np.arange(400) % 2)
    few = {"workload": [("c0", "c1"), ("c1", "c2")], "rounds": 2, "steps": 5}
    made = {"Independent": synth.Independent(), "MST": synth.MST(steps=5), "AIM": synth.AIM(**few)}[name]
    model = made.fit(pv.Table(rows, columns=WIDE), epsilon=100.0)
    assert len(model.sample(10).columns()) == 200
    assert model.privacy_ is not None


def test_a_column_of_ten_thousand_values_is_defined_or_refused() -> None:
    columns = {"a": pv.Int(0, 9_999), "b": pv.Int(0, 1)}
    table = pv.Table({"a": np.arange(2_000) % 10_000, "b": np.arange(2_000) % 2}, columns=columns)
    model = synth.MST(steps=5).fit(table, epsilon=1.0)
    assert len(model.sample(10)) == 10
    many = [synth.LinearQuery(np.ones((10_000, 2)))] * 10_000
    assert_refused_unpaid(lambda: synth.MWEM(queries=many, bins=10_000), table, "weights|queries", epsilon=1.0)
