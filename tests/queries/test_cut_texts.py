"""Columns of a CSV file, which are texts, cut at many edges: what reads them is written out at each of the edges."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.tables.dialect import DuckDB, PostgreSQL, Spark

COST = np.arange(40) * 11.5
EDGES = list(range(0, 500, 5))


@pytest.fixture
def visits(tmp_path: Path) -> pv.Table:
    lines = ["who,cost", *(f"p{i},{cost}" for i, cost in enumerate(COST)), "p99,inf", "p98,-Infinity", "p97,x"]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return pv.Table(tmp_path / "visits.csv", columns={"cost": pv.Float(-1000, 1000)}, unit=pv.Person("who", max_rows=2))


def asked(question: Any) -> Any:
    ledger = pv.Ledger.create("memory:", epsilon=1e7, unit=question.unit)
    return ledger.release(question, epsilon=1e6).value


def test_bounds_are_found_in_a_file_of_texts(visits: pv.Table) -> None:
    found = asked(visits.find_bounds("cost"))
    assert found.found
    assert found.lower <= -512  # what is infinite was moved to the declared bounds
    assert found.upper >= 512


def test_a_filter_on_many_edges_has_an_end(visits: pv.Table) -> None:
    cut = visits.derive(b=visits["cost"].cut(EDGES))
    kept = cut.where((cut["b"] >= 3) & (cut["b"] < 70)).agg(n=pv.count())
    reached = np.searchsorted(EDGES, COST, side="right")
    assert asked(kept)["n"][0] == int(((reached >= 3) & (reached < 70)).sum())
    groups = asked(cut.group_by("b").agg(n=pv.count()))
    expected = np.bincount(reached, minlength=len(EDGES) + 1)
    expected[[0, -1]] += 1
    assert groups["n"].tolist() == expected.tolist()


@pytest.mark.parametrize("dialect", [DuckDB(), PostgreSQL(), Spark()])
def test_numbers_are_read_without_lists_of_texts(dialect: Any) -> None:
    assert " IN (" not in dialect.read_double("c0")  # minutes for DuckDB's planner, which rewrites each of them
