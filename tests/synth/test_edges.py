"""Inputs at the edge: defined, or refused in one sentence before anything is paid."""

from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet.errors import PrivetError
from tests.synth.tables import coded_table
from tests.synth.test_before_paying import GRAPHS, assert_refused_unpaid


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


def test_a_column_of_ten_thousand_values_is_defined_or_refused() -> None:
    columns = {"a": pv.Int(0, 9_999), "b": pv.Int(0, 1)}
    table = pv.Table({"a": np.arange(2_000) % 10_000, "b": np.arange(2_000) % 2}, columns=columns)
    model = synth.MST(steps=5).fit(table, epsilon=1.0)
    assert len(model.sample(10)) == 10
    many = [synth.LinearQuery(np.ones((10_000, 2)))] * 10_000
    assert_refused_unpaid(lambda: synth.MWEM(queries=many, bins=10_000), table, "weights|queries", epsilon=1.0)
