"""One call for a script that runs every day: the ledger that is there, or a new one, and never a forgotten one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.errors import InvalidParameter, LedgerError
from privet.mechanisms import Laplace

BUDGET = pv.Budget(epsilon=1.0)


def spend(ledger: pv.Ledger) -> None:
    ledger.release(Laplace.for_budget(epsilon=0.25, sensitivity=1.0), 3)


def test_a_script_runs_twice(tmp_path: Path):
    for spent in (0.25, 0.5):
        ledger = pv.Ledger.open_or_create(tmp_path / "visits.ledger", budget=BUDGET)
        spend(ledger)
        assert ledger.spent["basic epsilon"] == spent
        ledger.close()


def test_another_budget_is_refused(tmp_path: Path):
    pv.Ledger.open_or_create(tmp_path / "visits.ledger", budget=BUDGET).close()
    with pytest.raises(LedgerError, match="another budget"):
        pv.Ledger.open_or_create(tmp_path / "visits.ledger", budget=pv.Budget(epsilon=2.0))


def test_a_new_one_needs_a_budget(tmp_path: Path):
    with pytest.raises(InvalidParameter, match="needs a budget"):
        pv.Ledger.open_or_create(tmp_path / "visits.ledger")


def test_what_is_no_ledger_is_left_alone(tmp_path: Path):
    place = tmp_path / "visits.ledger"
    place.write_text("a letter")
    with pytest.raises(LedgerError):
        pv.Ledger.open_or_create(place, budget=BUDGET)
    assert place.read_text() == "a letter"


def test_an_anchor_remembers_a_ledger_that_was_lost(tmp_path: Path):
    place, anchor = tmp_path / "visits.ledger", pv.ledger.AnchorFile(tmp_path / "anchor")
    ledger = pv.Ledger.open_or_create(place, budget=BUDGET, anchor=anchor)
    spend(ledger)
    ledger.close()
    for each in tmp_path.glob("visits.ledger*"):
        each.unlink()
    with pytest.raises(LedgerError, match="its anchor has seen one"):
        pv.Ledger.open_or_create(place, budget=BUDGET, anchor=anchor)


def test_many_at_once_share_one(tmp_path: Path):
    made: list[Any] = []

    def work() -> None:
        ledger = pv.Ledger.open_or_create(tmp_path / "visits.ledger", budget=BUDGET)
        spend(ledger)
        made.append(ledger.policy.ledger)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert len(made) == 4
    assert len(set(made)) == 1
    assert pv.Ledger.open(tmp_path / "visits.ledger").spent["basic epsilon"] == 1.0


def test_a_question_is_previewed_with_what_it_may_cost():
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    table = pv.Table({"a": [1, 2, 3]}, columns={"a": pv.Int(0, 5)})
    query = table.agg(n=pv.count())
    assert ledger.preview(query, epsilon=0.5).allowed
    assert not ledger.preview(query, epsilon=5.0).allowed
    assert ledger.spent["basic epsilon"] == 0.0
