"""Someone with write access changes the file: a byte, a row, the order, the end."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.errors import LedgerError, LedgerTampered
from privet.ledger.anchor import AnchorFile, new_signing_key
from privet.privacy import PureLoss
from tests.ledger.hostile.checks import check_cache_is_not_trusted, check_file_refuses, check_order_is_seen
from tests.ledger.hostile.probe import Coin, forge_head, sums_of

BUDGET = pv.Budget(epsilon=1.0)
Edit = Callable[[sqlite3.Connection], Any]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with entries of several kinds, closed, so that all of it lies in one file."""
    path = tmp_path_factory.mktemp("original") / "a.ledger"
    ledger = pv.Ledger.create(str(path), budget=BUDGET)
    ledger.add_analyst("ada", budget=pv.Budget(epsilon=0.5))
    for number in range(6):
        ledger.release(Coin(0.01), None, key=f"k{number}", analyst="ada" if number % 2 else None)
    ledger.reserve(PureLoss(0.02))
    ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


def content(path: Path) -> tuple[Any, ...]:
    """All that SQLite can read from the file: the schema, every row with its types, the header's fields."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.text_factory = bytes
    try:
        schema = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
        rows = [
            connection.execute(f'SELECT rowid, * FROM "{name.decode()}" ORDER BY rowid').fetchall()
            for kind, name, _, _ in schema
            if kind == b"table"
        ]
        fields = [connection.execute(f"PRAGMA {field}").fetchone() for field in ("user_version", "application_id")]
        sound = connection.execute("PRAGMA integrity_check").fetchall()
        return schema, rows, fields, sound
    finally:
        connection.close()


def noticed(path: Path) -> bool:
    """Whether opening, reading or verifying says that something is wrong; anything but a clear error is a defect."""
    try:
        ledger = pv.Ledger.open(str(path))
        try:
            ledger.verify()
            list(ledger.entries())
        finally:
            ledger.close()
    except LedgerError:
        return True
    return False


def check_flips(original: Path, folder: Path, places: list[int], dice: random.Random) -> int:
    """A flip is noticed, or it changed nothing that SQLite can read (gaps inside pages, counters of the header)."""
    whole, before = original.read_bytes(), content(original)
    found = 0
    for place in places:
        copy = folder / "flipped.ledger"
        for rest in folder.glob("flipped.ledger*"):
            rest.unlink()
        flipped = bytearray(whole)
        flipped[place] ^= 1 << dice.randrange(8)
        copy.write_bytes(flipped)
        forge_head(copy)
        if noticed(copy):
            found += 1
            continue
        try:
            after = content(copy)
        except sqlite3.DatabaseError as problem:
            pytest.fail(f"byte {place}: SQLite sees {problem}, the ledger does not")
        assert after == before, f"byte {place} changed what is stored and nobody noticed"
    return found


def used_places(path: Path) -> list[int]:
    """The bytes that differ from zero: where anything is written at all."""
    return [place for place, byte in enumerate(path.read_bytes()) if byte]


def test_flipped_bytes(original: Path, tmp_path: Path):
    dice = random.Random(7)
    places = dice.sample(used_places(original), 220) + dice.sample(range(original.stat().st_size), 30)
    assert check_flips(original, tmp_path, places, dice) >= 150


@pytest.mark.slow
def test_every_byte_flipped(original: Path, tmp_path: Path):
    places = used_places(original)
    assert check_flips(original, tmp_path, places, random.Random(8)) >= len(places) // 2


# --- rows -------------------------------------------------------------------------------------------------------


def opened_up(original: Path, folder: Path) -> tuple[Path, sqlite3.Connection]:
    """A copy without its triggers: nothing in the file stops an editor."""
    copy = folder / "edited.ledger"
    shutil.copy(original, copy)
    forge_head(copy)
    connection = sqlite3.connect(copy, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.create_function("put_back", 0, lambda: None)
    return copy, connection


def edited(original: Path, folder: Path, edit: Edit) -> Path:
    """The copy after an edit, with its triggers put back, so that only what the edit changed is different."""
    source = sqlite3.connect(original)
    triggers = [sql for (sql,) in source.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
    source.close()
    copy, connection = opened_up(original, folder)
    edit(connection)
    for sql in triggers:
        connection.execute(sql)
    connection.close()
    return copy


COLUMNS = ["kind", "analyst", "key", "loss", "amounts", "body"]


def rewrite(column: str, seq: int) -> Edit:
    """Another seemly value from another row of the same kind, or a small edit of the text."""

    def edit(connection: sqlite3.Connection) -> None:
        (old,) = connection.execute(f"SELECT {column} FROM entry WHERE seq = ?", (seq,)).fetchone()
        new = "x" if not old else (old.replace("0.01", "0.001") if "0.01" in old else old + " ")
        connection.execute(f"UPDATE entry SET {column} = ? WHERE seq = ?", (new, seq))

    return edit


@pytest.mark.parametrize("seq", [1, 4, 9])
@pytest.mark.parametrize("column", COLUMNS)
def test_an_edited_row(original: Path, tmp_path: Path, column: str, seq: int):
    copy = edited(original, tmp_path, rewrite(column, seq))
    with pytest.raises(LedgerTampered, match=rf"\b{seq}\b|not begin with an 'open' entry"):
        verify(copy)


def verify(path: Path, **options: Any) -> Any:
    ledger = pv.Ledger.open(str(path), **options)
    try:
        return ledger.verify()
    finally:
        ledger.close()


def swap(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE entry SET seq = -1 WHERE seq = 4")
    connection.execute("UPDATE entry SET seq = 4 WHERE seq = 6")
    connection.execute("UPDATE entry SET seq = 6 WHERE seq = -1")


def swap_contents(connection: sqlite3.Connection) -> None:
    """Only the two reservations change places; prev and hash stay where they are."""
    rows = {
        s: connection.execute("SELECT kind, loss, amounts, body FROM entry WHERE seq = ?", (s,)).fetchone()
        for s in (4, 6)
    }
    for seq, other in ((4, 6), (6, 4)):
        connection.execute("UPDATE entry SET kind=?, loss=?, amounts=?, body=? WHERE seq=?", (*rows[other], seq))


def swap_releases(connection: sqlite3.Connection) -> None:
    rows = connection.execute(
        "SELECT * FROM entry WHERE kind = 'release' AND analyst = '' ORDER BY seq LIMIT 2"
    ).fetchall()
    assert len(rows) == 2
    connection.executemany("DELETE FROM entry WHERE seq = ?", [(row[0],) for row in rows])
    for row, other in (rows, rows[::-1]):
        connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (other[0], *row[1:]))


def remove_and_close_up(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM entry WHERE seq = 5")
    for (seq,) in connection.execute("SELECT seq FROM entry WHERE seq > 5 ORDER BY seq").fetchall():
        connection.execute("UPDATE entry SET seq = seq - 1 WHERE seq = ?", (seq,))


def sql(*statements: str) -> Edit:
    return lambda connection: [connection.execute(statement) for statement in statements]


EDITS: dict[str, tuple[Edit, str | None]] = {
    "nothing for an empty text": (sql("UPDATE entry SET loss = '' WHERE seq = 4 AND loss IS NULL"), r"\b4\b"),
    "nothing for the word null": (sql("UPDATE entry SET loss = 'null' WHERE seq = 4 AND loss IS NULL"), r"\b4\b"),
    "no key for an empty one": (sql("UPDATE entry SET key = '' WHERE seq = 2 AND key IS NULL"), r"\b2\b"),
    "a line break in a field": (sql("UPDATE entry SET analyst = analyst || char(10) WHERE seq = 4"), r"\b4\b"),
    "deleted in the middle": (sql("DELETE FROM entry WHERE seq = 5"), r"\b[56]\b"),
    "deleted, and the gap closed": (remove_and_close_up, r"\b\d+\b"),
    "first row deleted": (sql("DELETE FROM entry WHERE seq = (SELECT min(seq) FROM entry)"), None),
    "two rows swapped": (swap, r"\b4\b"),
    "two contents swapped": (swap_contents, r"\b4\b"),
    "last row deleted, balance left": (sql("DELETE FROM entry WHERE seq = (SELECT max(seq) FROM entry)"), None),
    "hash of a row edited": (sql("UPDATE entry SET hash = randomblob(32) WHERE seq = 5"), r"\b5\b"),
    "prev of a row edited": (sql("UPDATE entry SET prev = randomblob(32) WHERE seq = 5"), r"\b5\b"),
    "balance emptied": (sql("DELETE FROM balance"), None),
    "balance zeroed": (sql("UPDATE balance SET sums = '[[\"0\",\"0\"]]' WHERE scope = 'dataset'"), None),
    "balance too old": (sql("UPDATE balance SET upto_seq = upto_seq - 1"), None),
}


@pytest.mark.parametrize("name", EDITS)
def test_edited_rows(original: Path, tmp_path: Path, name: str):
    edit, where = EDITS[name]
    copy = edited(original, tmp_path, edit)
    assert content(copy) != content(original)
    with pytest.raises(LedgerTampered, match=where):
        verify(copy)


def test_an_emptied_ledger_does_not_begin_anew(original: Path, tmp_path: Path):
    copy = edited(original, tmp_path, sql("DELETE FROM entry"))
    with pytest.raises(LedgerError):
        verify(copy)
    with pytest.raises(LedgerError):
        pv.Ledger.create(str(copy), budget=BUDGET)


def test_an_edited_balance_is_not_trusted_by_a_spend(original: Path, tmp_path: Path):
    check_cache_is_not_trusted(edited(original, tmp_path, EDITS["balance zeroed"][0]))


def test_two_releases_that_change_places(original: Path, tmp_path: Path):
    """They change no sum: only their place in the chain tells."""
    check_order_is_seen(edited(original, tmp_path, swap_releases))


def test_missing_triggers_are_noticed(original: Path, tmp_path: Path):
    copy, connection = opened_up(original, tmp_path)
    connection.close()
    assert content(copy) != content(original)
    with pytest.raises(LedgerTampered):
        verify(copy)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET loss = loss",
        "UPDATE entry SET seq = seq + 100 WHERE seq = 3",
        "DELETE FROM entry WHERE seq = 3",
        "DELETE FROM entry",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE seq = 3",
        "REPLACE INTO entry SELECT * FROM entry WHERE seq = (SELECT max(seq) FROM entry)",
        "INSERT INTO entry SELECT seq + 100, prev, randomblob(32), kind, analyst, NULL, loss, amounts, body FROM entry "
        "WHERE seq = 3",
        "INSERT OR IGNORE INTO entry SELECT seq + 100, * FROM entry WHERE 0",
    ],
)
def test_accidents_are_stopped_by_the_file_itself(original: Path, tmp_path: Path, statement: str):
    copy = tmp_path / "copy.ledger"
    shutil.copy(original, copy)
    check_file_refuses(copy, statement)
    assert content(copy) == content(original)


# --- the end of the chain -----------------------------------------------------------------------------------------


def test_a_restored_backup_is_behind_its_anchor(tmp_path: Path):
    path, backup, anchor = (tmp_path / name for name in ("a.ledger", "backup", "a.anchor"))
    with closing(pv.Ledger.create(str(path), budget=BUDGET, anchor=str(anchor))) as ledger:
        ledger.release(Coin(0.1), None)
    shutil.copy(path, backup)
    with closing(pv.Ledger.open(str(path), anchor=str(anchor))) as ledger:
        ledger.release(Coin(0.8), None)
        ledger.checkpoint()
    shutil.copy(backup, path)
    forge_head(path)
    with pytest.raises(LedgerTampered, match="anchor"):
        pv.Ledger.open(str(path), anchor=str(anchor))


def copied_anchor(anchor: Path, folder: Path, backup: Path) -> str:
    """An unsigned anchor, forged for an old copy."""
    forge_head(backup)
    with closing(pv.Ledger.open(str(backup), read_only=True)) as ledger:
        first = ledger.entries()[0]
    forged = replace(AnchorFile(anchor).read(), seq=1, hash=first.hash.hex())
    (folder / "forged.anchor").write_text(forged.to_json())
    return str(folder / "forged.anchor")


def test_a_restored_backup_that_grew_again(tmp_path: Path):
    """Longer than the anchor says, and yet another history."""
    path, backup, anchor = (tmp_path / name for name in ("a.ledger", "backup", "a.anchor"))
    with closing(pv.Ledger.create(str(path), budget=BUDGET, anchor=str(anchor))) as ledger:
        ledger.release(Coin(0.1), None)
    shutil.copy(path, backup)
    with closing(pv.Ledger.open(str(path), anchor=str(anchor))) as ledger:
        ledger.release(Coin(0.8), None)
        ledger.checkpoint()
    shutil.copy(backup, path)
    forge_head(path)
    with pytest.raises(LedgerTampered, match="anchored"):  # even by someone who leaves the anchor out
        pv.Ledger.open(str(path))
    (tmp_path / "own").mkdir()
    with closing(pv.Ledger.open(str(path), anchor=copied_anchor(anchor, tmp_path / "own", backup))) as ledger:
        for _ in range(10):
            ledger.release(Coin(0.01), None)
    with pytest.raises(LedgerTampered, match="anchor"):
        pv.Ledger.open(str(path), anchor=str(anchor))


def test_a_replaced_file(tmp_path: Path):
    path, anchor = tmp_path / "a.ledger", tmp_path / "a.anchor"
    with closing(pv.Ledger.create(str(path), budget=BUDGET, anchor=str(anchor))) as ledger:
        ledger.release(Coin(0.9), None)
        ledger.checkpoint()
    path.unlink()
    with pytest.raises(LedgerTampered, match="anchor"):
        pv.Ledger.create(str(path), budget=BUDGET, anchor=str(anchor))
    pv.Ledger.create(str(path), budget=BUDGET).close()
    with pytest.raises(LedgerTampered, match="anchor"):
        pv.Ledger.open(str(path), anchor=str(anchor))


def test_a_broken_log_file_loses_its_end_and_the_anchor_sees_it(tmp_path: Path):
    """SQLite drops the frames behind a flipped byte of its log without a word; only the anchor knows of them."""
    path, anchor = tmp_path / "a.ledger", tmp_path / "a.anchor"
    with closing(pv.Ledger.create(str(path), budget=BUDGET, anchor=str(anchor))) as ledger:
        for _ in range(5):
            ledger.release(Coin(0.01), None)
        ledger.checkpoint()
        log = Path(f"{path}-wal")
        whole, logged, expected = path.read_bytes(), log.read_bytes(), sums_of(ledger)
    dice = random.Random(3)
    places = [dice.randrange(len(logged)) for _ in range(40)]
    outcomes = set()
    for number, place in enumerate(places):
        copy = tmp_path / f"{number}.ledger"
        copy.write_bytes(whole)
        forge_head(copy)
        flipped = bytearray(logged)
        flipped[place] ^= 0x10
        Path(f"{copy}-wal").write_bytes(flipped)
        try:
            ledger = pv.Ledger.open(str(copy), anchor=str(anchor))
            ledger.verify()
        except LedgerError:
            outcomes.add("noticed")
            continue
        assert sums_of(ledger) == expected
        outcomes.add("harmless")
        ledger.close()
    assert "noticed" in outcomes


def test_an_anchor_without_its_signature(tmp_path: Path):
    """Whoever can write the anchor can leave out the signature; a pinned key must not be satisfied by its name."""
    path, anchor, key = (tmp_path / name for name in ("a.ledger", "a.anchor", "custodian.key"))
    public = new_signing_key(key)
    with closing(pv.Ledger.create(str(path), budget=BUDGET, anchor=AnchorFile(anchor, key=key))) as ledger:
        ledger.release(Coin(0.1), None)
        first = ledger.checkpoint()
        ledger.release(Coin(0.8), None)
        ledger.checkpoint()
    pinned = AnchorFile(anchor, public_key=public)
    assert pinned.read() is not None
    for forged in (
        replace(first, signature=None),
        replace(first, signature=None, public_key=None),
        replace(first, seq=first.seq - 1),
        replace(first, every_reserve=True),
        replace(first, sums={}),
    ):
        anchor.write_text(forged.to_json())
        with pytest.raises(LedgerTampered):
            pinned.read()
        with pytest.raises(LedgerTampered):
            pv.Ledger.open(str(path), anchor=pinned)


@pytest.mark.parametrize("scope", ["analyst:ann", "group:team"])
def test_an_edited_balance_of_a_ration_is_not_trusted_by_a_spend(tmp_path: Path, scope: str):
    url = tmp_path / "a.ledger"
    ledger = pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0))
    ledger.add_group("team", budget=pv.Budget(epsilon=0.5))
    ledger.add_analyst("ann", budget=pv.Budget(epsilon=0.5), group="team")
    ledger.reserve(PureLoss(0.4), analyst="ann")
    ledger.close()
    with closing(sqlite3.connect(url, isolation_level=None)) as file:
        assert file.execute("UPDATE balance SET sums = ? WHERE scope = ?", ('[["0","0"]]', scope)).rowcount == 1
    again = pv.Ledger.open(url)
    with pytest.raises(LedgerTampered, match="balance cache"):
        again.reserve(PureLoss(0.1), analyst="ann")
    assert again.length == 4
    again.close()
