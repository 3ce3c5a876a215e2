"""Anchors: a cut tail, a restored backup, a rewritten chain and a forged anchor are seen; adopting costs the rest."""

import os
import pickle
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

import privet as pv
from privet.errors import BudgetExceeded, InvalidParameter, LedgerError, LedgerTampered, LedgerUnavailable
from privet.ledger import Anchor, AnchorFile, new_signing_key
from privet.ledger.entry import canonical, linked
from privet.privacy import PureLoss
from tests.ledger.hostile.probe import forge_head


@pytest.fixture
def place_of_anchor(tmp_path) -> AnchorFile:
    (tmp_path / "elsewhere").mkdir()
    public = new_signing_key(tmp_path / "elsewhere" / "custodian.key")
    return AnchorFile(
        tmp_path / "elsewhere" / "a.anchor", key=tmp_path / "elsewhere" / "custodian.key", public_key=public
    )


def backup(path: str) -> str:
    """What an administrator would keep: a copy made while nobody is connected."""
    copy = path + ".backup"
    shutil.copy(path, copy)
    return copy


def restore(path: str) -> None:
    for suffix in ("-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)
    shutil.copy(path + ".backup", path)
    forge_head(path)


def grown_apart(path: str, anchor: AnchorFile) -> None:
    """Anchored at entry 4; then a backup of entry 2 is put back and grows to entry 6."""
    ledger = pv.Ledger.create(path, budget=pv.Budget(1.0), anchor=anchor)
    ledger.reserve(PureLoss(0.1))
    ledger.close()
    backup(path)
    ledger.reserve(PureLoss(0.3))
    ledger.checkpoint()
    ledger.close()
    restore(path)
    with sqlite3.connect(path) as connection:  # what nobody but an editor of the file can do
        head = pv.ledger.Entry(*connection.execute("SELECT * FROM entry ORDER BY seq DESC LIMIT 1").fetchone())
        for _ in range(4):
            head = linked(head, "checkpoint", body=canonical({k: head.facts[k] for k in ("sums", "policy")}))
            connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", head)
        connection.execute("UPDATE balance SET upto_seq = ?", (head.seq,))
    connection.close()


def test_an_anchored_ledger_opens_and_verifies(durable, place_of_anchor):
    ledger = pv.Ledger.create(durable, budget=pv.Budget(1.0), anchor=place_of_anchor)
    assert ledger.verify().anchored == 1
    ledger.reserve(PureLoss(0.1))
    made = ledger.checkpoint()
    ledger.reserve(PureLoss(0.1))
    again = pv.Ledger.open(durable, anchor=place_of_anchor)
    assert again.verify().anchored == made.seq == 3
    assert again.verify(head=made).anchored == 3
    assert pickle.loads(pickle.dumps(again)).verify().anchored == 3
    assert place_of_anchor.read() == made
    assert pv.Ledger.open(durable, anchor=str(place_of_anchor.path)).verify().anchored == 3


def test_the_key_is_for_its_owner_only(tmp_path, place_of_anchor):
    assert stat.S_IMODE(os.stat(place_of_anchor.key).st_mode) == 0o600
    with pytest.raises(LedgerUnavailable):
        new_signing_key(place_of_anchor.key)
    with pytest.raises(LedgerUnavailable, match="key"):
        AnchorFile(tmp_path / "x", key=tmp_path / "nothing").write(Anchor("id", 1, "0" * 64, {}))


def test_a_restored_backup_that_grew_again_is_refused(sqlite, place_of_anchor):
    grown_apart(sqlite, place_of_anchor)
    with pytest.raises(LedgerTampered, match="behind its anchor"):
        pv.Ledger.open(sqlite, anchor=place_of_anchor)
    with pytest.raises(LedgerTampered, match="anchored by the key"):
        pv.Ledger.open(sqlite)
    ledger = pv.Ledger.open(sqlite, read_only=True)  # longer than the anchored one, and its own chain is sound
    assert ledger.verify().entries == 6
    with pytest.raises(LedgerTampered, match="entry 4"):
        ledger.verify(head=place_of_anchor.read())
    with pytest.raises(LedgerUnavailable, match="read_only"):
        ledger.reserve(PureLoss(0.1))


def test_a_shorter_ledger_is_behind_its_anchor(durable):
    ledger = pv.Ledger.create(durable, budget=pv.Budget(1.0))
    ahead = Anchor(ledger.policy.ledger, 7, "ab" * 32, {})
    with pytest.raises(LedgerTampered, match="behind its anchor"):
        ledger.verify(head=ahead)


def test_adopting_a_backup_spends_the_rest(sqlite, place_of_anchor):
    grown_apart(sqlite, place_of_anchor)
    ledger = pv.Ledger.restore(sqlite, anchor=place_of_anchor, reason="disk failed on 3 May")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(PureLoss(1e-9))
    ledger.checkpoint()
    assert pv.Ledger.open(sqlite, anchor=place_of_anchor).verify().anchored == 8
    with pytest.raises(pv.errors.NoGuarantee, match="adopted"):
        ledger.total(delta=0.0)


def test_an_anchor_after_every_reservation_loses_nothing(sqlite, place_of_anchor):
    every = AnchorFile(place_of_anchor.path, key=place_of_anchor.key, every_reserve=True)
    grown_apart(sqlite, every)
    ledger = pv.Ledger.restore(sqlite, anchor=every, reason="disk failed on 3 May")
    assert ledger.remaining["basic epsilon"] == pytest.approx(0.6)
    ledger.reserve(PureLoss(0.6))
    assert ledger.verify().entries == 8


def test_every_reserve_is_anchored_before_the_draw(sqlite, place_of_anchor):
    from tests.ledger.coins import Coin

    every = AnchorFile(place_of_anchor.path, key=place_of_anchor.key, every_reserve=True)
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0), anchor=every)
    seen = []

    def look(data):
        seen.append(every.read().seq)
        return pv.mechanisms.Release(1, loss=PureLoss(0.1))

    ledger.release(Coin(says=look), 0)
    assert seen == [2]


def test_an_anchor_that_cannot_be_kept_stops_the_release(sqlite, tmp_path):
    from tests.ledger.coins import Coin

    folder = tmp_path / "gone"
    folder.mkdir()
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0), anchor=AnchorFile(folder / "a.anchor", every_reserve=True))
    shutil.rmtree(folder)
    drawn = []
    with pytest.raises(LedgerUnavailable):
        ledger.release(Coin(says=drawn.append), 0)
    assert drawn == []
    assert pv.Ledger.open(sqlite, read_only=True).spent.sums[0][0] == 0  # the place was looked at first


def test_forged_and_foreign_anchors_are_refused(sqlite, tmp_path, place_of_anchor):
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0), anchor=place_of_anchor)
    text = ledger.checkpoint().to_json()
    path = Path(place_of_anchor.path)
    for old, new in (('"seq": 2', '"seq": 1'), ('"every_reserve": false', '"every_reserve": true'), ("{", "")):
        path.write_text(text.replace(old, new))
        with pytest.raises(LedgerTampered):
            pv.Ledger.open(sqlite, anchor=place_of_anchor)
    new_signing_key(tmp_path / "mallory.key")
    path.write_text(Anchor.from_json(text).signed(tmp_path / "mallory.key").to_json())
    with pytest.raises(LedgerTampered, match="expected key"):
        pv.Ledger.open(sqlite, anchor=place_of_anchor)
    path.write_text(text)
    with pytest.raises(LedgerTampered, match="another ledger"):
        pv.Ledger.create(tmp_path / "other.ledger", budget=pv.Budget(1.0), anchor=place_of_anchor)
    assert not (tmp_path / "other.ledger").exists()
    with pytest.raises(LedgerError, match="another ledger"):
        pv.Ledger.create("memory:", budget=pv.Budget(1.0)).adopt(Anchor.from_json(text), reason="x")


def test_an_older_anchor_never_replaces_a_newer_one(place_of_anchor):
    newer = place_of_anchor.write(Anchor("id", 9, "ab" * 32, {}))
    assert place_of_anchor.write(Anchor("id", 5, "cd" * 32, {})) == newer
    assert place_of_anchor.read() == newer


@pytest.mark.parametrize("head", ["xyz", 7, b"short", "AB" * 32, object()])
def test_a_head_is_an_anchor_an_entry_or_a_hash(head):
    with pytest.raises(InvalidParameter):
        pv.Ledger.create("memory:", budget=pv.Budget(1.0)).verify(head=head)


def test_heads_of_every_form_are_compared(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    ledger.reserve(PureLoss(0.1))
    entry = ledger.entries()[-1]
    for head in (entry, entry.hash, entry.hash.hex(), ledger.checkpoint()):
        assert ledger.verify(head=head).anchored in (2, 3)
    with pytest.raises(LedgerTampered, match="behind"):
        ledger.verify(head="ab" * 32)


def test_an_old_anchor_that_is_adopted_lowers_nothing(sqlite, tmp_path):
    place = AnchorFile(tmp_path / "a.anchor", every_reserve=True)
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0), anchor=place)
    ledger.reserve(PureLoss(0.125), analyst="ann")
    old = place.read()
    ledger.reserve(PureLoss(0.25), analyst="ann")
    ledger.adopt(old, reason="a mistake")
    assert ledger.spent["basic epsilon"] == 0.375
    assert ledger.accounts()["analyst:ann"]["basic epsilon"] == 0.375
    ledger.verify()
    ledger.close()


def test_a_backup_is_no_second_budget(sqlite, tmp_path):
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0))
    ledger.reserve(PureLoss(0.125))
    ledger.backup(tmp_path / "b.ledger")
    ledger.close()
    with pytest.raises(LedgerError):
        pv.Ledger.open(tmp_path / "b.ledger").reserve(PureLoss(0.125))
    looked = pv.Ledger.open(tmp_path / "b.ledger", read_only=True)
    assert looked.spent["basic epsilon"] == 0.125
    looked.close()
