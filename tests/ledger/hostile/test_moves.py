"""Moving a ledger: the target is tried first, a failed move leaves the source open, the anchor comes along."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger import AnchorFile, new_signing_key
from privet.ledger.stores import sqlite_draft
from tests.firsts import ends
from tests.ledger.hostile import nursery
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin

BUDGET = pv.Budget(epsilon=1.0)
DURABLE = pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)


@EVERY
def test_a_move_that_cannot_work_leaves_the_source_open(fresh: Fresh, tmp_path: Path):
    url = fresh()
    ledger = pv.Ledger.create(url, budget=BUDGET)
    occupied, text = tmp_path / "occupied.ledger", tmp_path / "notes.txt"
    pv.Ledger.create(occupied, budget=BUDGET).close()
    text.write_text("notes")
    wrong: list[Any] = [tmp_path / "nowhere" / "x.ledger", occupied, text, tmp_path]
    wrong += ["postgresql://127.0.0.1:1/db#x", "mysql://db/x", "memory:"]
    wrong += [] if url == "memory:" else [url]
    for target in wrong:
        with pytest.raises(pv.errors.PrivetError):
            ledger.migrate(target, timeout=2.0)
        assert ledger.policy.closed is None, f"closed by a move to {target}"
    ledger.release(Coin(0.5), None)
    assert text.read_text() == "notes"
    with closing(ledger.migrate(tmp_path / "right.ledger")) as moved, pytest.raises(BudgetExceeded):
        moved.release(Coin(0.6), None)
    ledger.close()


def test_a_ledger_is_not_moved_onto_itself_by_another_name(tmp_path: Path):
    path, link = tmp_path / "a.ledger", tmp_path / "link"
    ledger = pv.Ledger.create(path, budget=BUDGET)
    link.symlink_to(path)
    (tmp_path / "sub").mkdir()
    for name in (link, tmp_path / "sub" / ".." / "a.ledger", f"sqlite:///{path}"):
        with pytest.raises(LedgerError, match="already"):
            ledger.migrate(name)
    ledger.reserve(Coin(0.5).loss)


@DURABLE
def test_the_anchor_comes_along(fresh: Fresh, tmp_path: Path):
    key = tmp_path / "key"
    place = AnchorFile(tmp_path / "a.anchor", key=key, public_key=new_signing_key(key), every_reserve=True)
    source = pv.Ledger.create(fresh(), budget=BUDGET, anchor=place)
    source.release(Coin(0.1), None)
    before = place.read()
    moved = source.migrate(tmp_path / "moved.ledger")
    assert moved._anchor == place
    assert moved.verify().anchored == place.read().seq > before.seq
    moved.release(Coin(0.1), None)
    assert place.read().seq == 6
    pv.Ledger.open(tmp_path / "moved.ledger", anchor=place).close()
    assert [entry.kind for entry in moved.entries()][-4:] == ["close", "moved", "reserve", "release"]
    with pytest.raises(LedgerError):
        source.release(Coin(0.1), None)
    again = source.migrate(tmp_path / "moved.ledger")  # already there
    assert again.spent.sums == moved.spent.sums
    with pytest.raises(LedgerError):
        source.migrate(tmp_path / "another.ledger")
    for each in (source, moved, again):
        each.close()


def test_a_disk_that_fails_at_the_end_leaves_the_source_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET)

    def full(path: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sqlite_draft, "synced", full)
    with pytest.raises(LedgerError):
        ledger.migrate(tmp_path / "b.ledger")
    assert ledger.policy.closed is None
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("b.")) == []


MOVE = """
import os, sys
import privet as pv
from privet.ledger.stores import sqlite_draft
real = sqlite_draft.SqliteDraft.{step}
def dies(self):
    {before}
    os._exit(9)
sqlite_draft.SqliteDraft.{step} = dies
pv.Ledger.open(sys.argv[1]).migrate(sys.argv[2])
"""


@pytest.mark.parametrize(
    ("before", "step"), ends([(before, step) for before in ("pass", "real(self)") for step in ("finish", "commit")])
)
def test_a_move_that_is_killed_leaves_one_budget_and_can_be_ended(tmp_path: Path, step: str, before: str):
    source, target = str(tmp_path / "a.ledger"), str(tmp_path / "b.ledger")
    with closing(pv.Ledger.create(source, budget=BUDGET)) as ledger:
        ledger.reserve(Coin(0.5).loss)
    script = MOVE.format(step=step, before=before)
    assert nursery.run("ends", script=script, arguments=[source, target]) == 9
    with closing(pv.Ledger.open(source)) as ledger:
        open_here = ledger.policy.closed is None
        assert open_here == (step == "finish")
        assert os.path.exists(target) == (step == "commit" and before != "pass")
        with closing(ledger.migrate(target)) as moved:
            moved.reserve(Coin(0.5).loss)
            with pytest.raises(BudgetExceeded):
                moved.reserve(Coin(0.1).loss)
        with pytest.raises(LedgerError):
            ledger.reserve(Coin(0.1).loss)


def test_a_move_whose_target_never_came_to_be_may_go_elsewhere(tmp_path: Path):
    source = str(tmp_path / "a.ledger")
    pv.Ledger.create(source, budget=BUDGET).close()
    script = MOVE.format(step="commit", before="pass")
    assert nursery.run("ends", script=script, arguments=[source, str(tmp_path / "b.ledger")]) == 9
    with closing(pv.Ledger.open(source).migrate(tmp_path / "c.ledger")) as moved:
        moved.reserve(Coin(0.5).loss)
