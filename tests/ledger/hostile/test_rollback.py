"""An old state put back, under open handles and beside anchors: nothing is granted twice."""

import json
import os
import pickle
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import privet as pv
from privet.errors import BudgetExceeded, LedgerError, LedgerTampered, LedgerUnavailable
from privet.ledger import AnchorFile, new_signing_key
from privet.ledger.anchor import Anchor
from privet.ledger.stores.postgres import PostgresStore
from privet.privacy import PureLoss
from tests.ledger.hostile.conftest import Fresh
from tests.ledger.hostile.probe import Coin, forge_head

BUDGET = pv.Budget(epsilon=1.0)
STEP = PureLoss(0.1)


@pytest.fixture
def signed(tmp_path: Path) -> AnchorFile:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    public = new_signing_key(folder / "key")
    return AnchorFile(folder / "a.anchor", key=folder / "key", public_key=public, every_reserve=True)


def put(source: Path | str, target: Path | str) -> None:
    """SQLite's own backup: the target is overwritten in place, under whoever has it open."""
    with closing(sqlite3.connect(source)) as a, closing(sqlite3.connect(target)) as b:
        a.backup(b)


def granted(ledger: pv.Ledger, times: int) -> int:
    count = 0
    for _ in range(times):
        try:
            ledger.reserve(STEP)
        except (BudgetExceeded, LedgerError):
            continue
        count += 1
    return count


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("head", ["kept", "forged"])
def test_a_file_that_is_rolled_back_in_place(tmp_path: Path, signed: AnchorFile, anchored: bool, head: str):
    path, old = tmp_path / "a.ledger", tmp_path / "old.ledger"
    ledger = pv.Ledger.create(path, budget=BUDGET, anchor=signed if anchored else None)
    ledger.reserve(STEP)
    put(path, old)
    assert granted(ledger, 8) == 8
    put(old, path)
    if head == "forged":
        forge_head(path)
    with pytest.raises(LedgerTampered):
        ledger.reserve(STEP)
    assert granted(ledger, 9) == 0, "what was spent could be spent again"
    with pytest.raises(LedgerTampered):
        ledger.checkpoint()
    assert not anchored or signed.read().seq == 10, "the anchor now vouches for the forged history"
    if anchored or head == "kept":
        with pytest.raises(LedgerTampered):
            pv.Ledger.open(path, anchor=signed if anchored else None).reserve(STEP)


def cut_memory(ledger: pv.Ledger, url: str, seq: int) -> None:
    store: Any = ledger._store
    del store._entries[seq:]
    store._balances["dataset"] = (store._balances["dataset"][0], seq)


def cut_postgres(ledger: pv.Ledger, url: str, seq: int) -> None:
    dsn, schema = PostgresStore.schema_of(url)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {schema}.entry DISABLE TRIGGER ALL")
        connection.execute(f"DELETE FROM {schema}.entry WHERE seq > {seq}")
        connection.execute(f"ALTER TABLE {schema}.entry ENABLE TRIGGER ALL")
        body = connection.execute(f"SELECT body::json -> 'sums' ->> 'dataset' FROM {schema}.entry WHERE seq = {seq}")
        sums = body.fetchone()[0].replace(" ", "")
        connection.execute(f"UPDATE {schema}.balance SET sums = %s, upto_seq = %s", (sums, seq))


@pytest.mark.parametrize(("fresh", "cut"), [("memory", cut_memory), ("postgres", cut_postgres)], indirect=["fresh"])
def test_a_handle_remembers_what_it_saw(fresh: Fresh, cut: Callable[[pv.Ledger, str, int], None]):
    url = fresh()
    ledger = pv.Ledger.create(url, budget=BUDGET)
    assert granted(ledger, 5) == 5
    cut(ledger, url, 3)
    with pytest.raises(LedgerTampered, match="entry 6, which this handle has seen"):
        ledger.reserve(STEP)
    with pytest.raises(LedgerTampered):
        _ = ledger.spent
    assert granted(ledger, 3) == 0
    ledger.close()


@pytest.mark.parametrize("every", [True, False])
def test_two_live_copies_with_one_anchor_are_one_budget(tmp_path: Path, signed: AnchorFile, every: bool):
    place = AnchorFile(signed.path, key=signed.key, every_reserve=every)
    path, copy = tmp_path / "a.ledger", tmp_path / "b.ledger"
    one = pv.Ledger.create(path, budget=BUDGET, anchor=place)
    one.reserve(STEP)
    one.checkpoint()
    put(path, copy)
    two = pv.Ledger.open(forge_head(copy), anchor=place)
    both = [0, 0]
    for _ in range(9):
        both[0] += granted(one, 1)
        if not every:
            one.checkpoint()
        both[1] += granted(two, 1)
    assert both == [9, 0], f"{both} of 9 were granted"


def test_an_anchor_of_another_history_is_not_replaced(signed: AnchorFile):
    first = signed.write(Anchor("id", 5, "ab" * 32, {}))
    with pytest.raises(LedgerTampered, match="two histories"):
        signed.write(Anchor("id", 5, "cd" * 32, {}))
    with pytest.raises(LedgerTampered, match="two histories"):
        signed.write(Anchor("id", 9, "cd" * 32, {}), lambda seq: "ef" * 32)
    with pytest.raises(LedgerTampered, match="another ledger"):
        signed.write(Anchor("other", 9, "cd" * 32, {}))
    assert signed.read() == first
    assert [line[1:] for line in signed.log()] == [(5, "ab" * 32), (5, "cd" * 32), (9, "cd" * 32)]


def test_verify_reads_the_log_of_the_anchor(tmp_path: Path, signed: AnchorFile):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET, anchor=signed)
    ledger.reserve(STEP)
    assert ledger.verify().anchored == 2
    log = Path(f"{signed.path}.log")
    lines = log.read_text().splitlines()
    assert len(lines) == 2
    log.write_text("\n".join([*lines, lines[-1].replace(ledger.entries()[1].hash.hex(), "ab" * 32)]) + "\n")
    with pytest.raises(LedgerTampered, match="two histories"):
        ledger.verify()


@pytest.mark.parametrize("signature", [True, False])
def test_a_ledger_that_is_anchored_is_not_opened_without(tmp_path: Path, signed: AnchorFile, signature: bool):
    place = signed if signature else AnchorFile(signed.path)
    path = tmp_path / "a.ledger"
    pv.Ledger.create(path, budget=BUDGET, anchor=place).close()
    with pytest.raises(LedgerTampered, match="anchor="):
        pv.Ledger.open(path)
    Path(place.path).rename(f"{place.path}.away")
    with pytest.raises(LedgerTampered, match="missing"):
        pv.Ledger.open(path, anchor=place)
    assert pv.Ledger.open(path, read_only=True).verify().entries == 1
    ledger = pv.Ledger.restore(path, reason="the anchor was lost")
    assert granted(ledger, 1) == 0, "what was spent since is unknown"
    ledger.close()
    assert [entry.kind for entry in pv.Ledger.open(path).entries()] == ["open", "adopt", "anchor"]


def test_a_checkpoint_makes_a_ledger_anchored(tmp_path: Path, signed: AnchorFile):
    path = tmp_path / "a.ledger"
    ledger = pv.Ledger.create(path, budget=BUDGET)
    other = pv.Ledger.open(path)
    ledger.checkpoint(signed)
    ledger.reserve(STEP)
    for use in (lambda: other.reserve(STEP), lambda: pv.Ledger.open(path)):
        with pytest.raises(LedgerTampered, match="anchored by the key"):
            use()
    assert pv.Ledger.open(path, anchor=signed).verify().anchored == 4
    new_signing_key(tmp_path / "mallory")
    strange = AnchorFile(tmp_path / "m.anchor", key=tmp_path / "mallory")
    strange.write(Anchor(ledger.policy.ledger, 1, ledger.entries()[0].hash.hex(), {}))
    with pytest.raises(LedgerTampered, match="another key"):
        pv.Ledger.open(path, anchor=strange)


def test_a_relative_anchor_travels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = pv.Ledger.create("a.ledger", budget=BUDGET, anchor=AnchorFile("a.anchor"))
    monkeypatch.chdir(tmp_path / "b")
    assert pickle.loads(pickle.dumps(ledger)).anchored == ledger.anchored is not None


@pytest.mark.parametrize("harm", ["the folder is gone", "the key is gone", "the anchor is a folder"])
def test_an_anchor_that_cannot_be_written_costs_nothing(tmp_path: Path, signed: AnchorFile, harm: str):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET, anchor=signed)
    draws: list[Any] = []
    if harm == "the folder is gone":
        shutil.rmtree(Path(signed.path).parent)
    elif harm == "the key is gone":
        os.unlink(str(signed.key))
    else:
        os.unlink(signed.path)
        os.mkdir(signed.path)
    for _ in range(3):
        with pytest.raises(LedgerUnavailable, match=r"nothing was spent|key"):
            ledger.release(Coin(0.1, before=draws.append), None, key="k")
    assert draws == []
    assert ledger.spent.sums[0][0] == 0


def forked(tmp_path: Path, signed: AnchorFile) -> pv.Ledger:
    """A ledger whose anchor has two histories in its log, one of them its own."""
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET, anchor=signed)
    assert granted(ledger, 3) == 3
    with pytest.raises(LedgerTampered, match="two histories"):
        signed.write(Anchor(ledger.policy.ledger, 4, "cd" * 32, {}))
    with pytest.raises(LedgerTampered, match="two"):
        ledger.verify()
    return ledger


@pytest.mark.parametrize("signature", ["none", "of another key", "of another line"])
def test_nobody_but_the_key_makes_the_log_forget_a_second_history(tmp_path: Path, signed: AnchorFile, signature: str):
    ledger = forked(tmp_path, signed)
    log = Path(f"{signed.path}.log")
    line = json.loads(log.read_text().splitlines()[-2]) | {"adopted": True}
    if signature == "none":
        del line["signature"], line["public_key"]
    elif signature == "of another key":
        new_signing_key(tmp_path / "mallory")
        line = json.loads(AnchorFile(signed.path, key=tmp_path / "mallory")._line(signed.read(), True))
    log.write_text(log.read_text() + json.dumps(line, sort_keys=True) + "\n")
    with pytest.raises(LedgerTampered, match="adopted, without the signature"):
        ledger.verify()
    log.write_text(log.read_text().rsplit("\n", 2)[0] + "\n" + signed._line(signed.read(), True) + "\n")
    assert ledger.verify().anchored == 4, "what the key itself has signed is believed"


@pytest.mark.parametrize("end", [1, 2, 30, 200])
def test_a_line_of_the_log_that_a_power_cut_has_torn_is_no_tampering(tmp_path: Path, signed: AnchorFile, end: int):
    ledger = pv.Ledger.create(tmp_path / "a.ledger", budget=BUDGET, anchor=signed)
    assert granted(ledger, 2) == 2
    log = Path(f"{signed.path}.log")
    log.write_bytes(log.read_bytes()[:-end])
    assert ledger.verify().entries == 3
    assert granted(ledger, 2) == 2
    assert ledger.verify().anchored == 5
    assert len(signed.log()) == (5 if end == 1 else 4)
    log.write_text(log.read_text() + "hello\n")
    with pytest.raises(LedgerTampered, match="no ledger writes"):
        ledger.verify()
