"""The inside of an SQLite file of a ledger: where it may lie, its tables, how rows are read and appended, and SQLite's
errors as errors of the ledger.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from privet.errors import LedgerBusy, LedgerError, LedgerTampered, LedgerUnavailable
from privet.ledger.entry import DATASET, Entry
from privet.ledger.store import Held, Reader
from privet.ledger.stores.sql import COLUMNS, KEEP, SqlRows, SqlTxn

APPLICATION = 0x70726976  # "priv", in the header of the file
VERSION = 1  # of the tables in the file: another is refused

# `INSERT OR REPLACE` deletes rows without firing DELETE triggers unless recursive_triggers is on, hence the third trigger,
# `entry_in_order`: what would replace a row has a seq or a hash that is there already.
SCHEMA = {
    "entry": """CREATE TABLE entry (seq INTEGER PRIMARY KEY, prev BLOB NOT NULL, hash BLOB NOT NULL UNIQUE,
 kind TEXT NOT NULL, analyst TEXT NOT NULL, key TEXT, loss TEXT, amounts TEXT NOT NULL, body TEXT NOT NULL) STRICT""",
    "balance": "CREATE TABLE balance (scope TEXT PRIMARY KEY, sums TEXT NOT NULL, upto_seq INTEGER NOT NULL) STRICT",
    "entry_release_key": """CREATE UNIQUE INDEX entry_release_key ON entry (analyst, key)
 WHERE kind = 'release' AND key IS NOT NULL""",
    "entry_key": "CREATE INDEX entry_key ON entry (analyst, key, seq) WHERE key IS NOT NULL",
    "entry_admin": "CREATE INDEX entry_admin ON entry (kind, seq) WHERE kind NOT IN ('reserve', 'release')",
    "entry_no_update": """CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry
 BEGIN SELECT RAISE(ABORT, 'ledger entries are never changed'); END""",
    "entry_no_delete": """CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry
 BEGIN SELECT RAISE(ABORT, 'ledger entries are never deleted'); END""",
    "entry_in_order": """CREATE TRIGGER entry_in_order BEFORE INSERT ON entry
 WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entry) OR EXISTS (SELECT 1 FROM entry WHERE hash = NEW.hash)
 BEGIN SELECT RAISE(ABORT, 'ledger entries are appended in order'); END""",
}

# SQLite's write-ahead log needs memory that all writers share: writers on several hosts have none.
NETWORK_FILESYSTEMS = {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
NETWORK_FILESYSTEMS |= {"vboxsf", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs"}

# The last entry with the row of the balance cache that is about the whole data set (the scope DATASET).
_TOP = f"SELECT {COLUMNS}, sums, upto_seq FROM entry LEFT JOIN balance ON scope = 'dataset' ORDER BY seq DESC LIMIT 1"
_APPEND = f"INSERT INTO entry ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_KEEP = "INSERT " + KEEP.format(s="", m="?")  # no prefix before the table's name; a value is marked by ?
# The types that Python may find in the columns of an entry, in their order: only key and loss may be NULL.
_TYPES = {(int, bytes, bytes, str, str, key, loss, str, str) for key in (str, type(None)) for loss in (str, type(None))}


def filesystem_of(path: Path) -> str:
    """The type of the file system that holds a path, as the kernel names it; empty where it does not say.

    >>> isinstance(filesystem_of(Path("/")), str)
    True
    """
    best, kind = "", ""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        # See proc(5): the mount point is the fifth field, with blanks as \040; the type comes first after " - ".
        left, _, right = line.partition(" - ")
        mount = left.split()[4].encode().decode("unicode_escape")
        inside = mount == "/" or path == Path(mount) or Path(mount) in path.parents
        if inside and len(mount) >= len(best):  # the innermost mount; of two on one place, the later hides the earlier
            best, kind = mount, right.split()[0]
    return kind


def refuse_places(path: Path) -> None:
    """Nothing for a place where a ledger may lie; an error for a folder that is not there, and for a file system on which
    SQLite cannot keep writers apart.

    >>> refuse_places(Path("/tmp/visits.ledger"))
    """
    if not path.parent.is_dir():
        raise LedgerUnavailable(f"the folder of {path.name!r} does not exist; make it first")
    kind = filesystem_of(path.parent.resolve())
    if kind in NETWORK_FILESYSTEMS:
        raise LedgerUnavailable(
            f"{path.name!r} lies on a network file system ({kind}), where SQLite cannot keep writers apart; "
            "use a local disk or PostgreSQL"
        )


def recognise(connection: sqlite3.Connection, name: str) -> None:
    """Nothing for a ledger of this version, or an empty database, which may become one; an error for any other database,
    before anything in it is touched.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and application != APPLICATION:
        raise LedgerError(f"{name!r} is an SQLite database, but no ledger of privet; choose another file")
    if tables and version != VERSION:
        raise LedgerError(f"{name!r} was written in format {version}, this privet reads {VERSION}; upgrade privet")


_EVERYTHING = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


@cache
def _pristine() -> tuple[tuple[str, ...], ...]:
    """The schema of a ledger as SQLite itself tells it, from a fresh database: what `damage` compares a file with."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for sql in SCHEMA.values():
            connection.execute(sql)
        return tuple(connection.execute(_EVERYTHING).fetchall())


def make_tables(connection: sqlite3.Connection) -> None:
    """An empty ledger, in the place of an empty database."""
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    for sql in SCHEMA.values():
        connection.execute(sql)


class SqliteRows(SqlRows, Reader):
    """Reading from an SQLite ledger; a subclass says through which connection.

    >>> sorted(SqliteRows.__abstractmethods__)
    ['_rows']
    """

    def _entry_of(self, row: Sequence[Any]) -> Entry:
        return entry_of(row)

    def damage(self) -> str | None:
        """The damage of the file, in words: a schema (triggers included) that is not the one we wrote, or what SQLite
        finds amiss in its pages and indexes. None where all is in order.
        """
        ours, theirs = set(_pristine()), set(self._rows(_EVERYTHING))
        if ours - theirs:
            return f"the schema of {min(name for _, name, *_ in ours - theirs)!r} is missing or was changed"
        if theirs - ours:
            return f"the file holds {min(str(name) for _, name, *_ in theirs - ours)!r}, which no ledger has"
        report = self._rows("PRAGMA integrity_check(1)")
        return None if report == [("ok",)] else f"SQLite reports: {report[0][0]}"


class SqliteTxn(SqlTxn):
    """A write transaction on a connection; `last` is the entry that it has appended last.

    >>> SqliteTxn.last is None
    True
    """

    last: Entry | None = None
    _top: tuple[Entry, Held | None] | None = None  # as `begin` read them: the head, and the data set's sums

    def _entry_of(self, row: Sequence[Any]) -> Entry:
        return entry_of(row)

    def begin(self) -> Entry | None:
        """The last entry; to be called first in a transaction.

        One statement reads it together with the data set's row of the balance cache, instead of two: `head` and `sums`
        answer from what it read, until something is appended.
        """
        row = self._connection.execute(_TOP).fetchone()
        if row is None:
            return None
        *columns, sums, upto = row
        entry = entry_of(columns)
        self._top = entry, None if upto is None else Held(sums, upto, None)
        return entry

    def head(self) -> Entry | None:
        return super().head() if self._top is None else self._top[0]

    def sums(self, scope: str) -> Held | None:
        return self._top[1] if self._top is not None and scope == DATASET else super().sums(scope)

    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        self._top = None  # no longer the head
        self._connection.execute(_APPEND, entry)
        for scope, sums in balances.items():
            self._connection.execute(_KEEP, (scope, sums, entry.seq))
        self.last = entry


def entry_of(row: Sequence[object]) -> Entry:
    """A row as an entry. The types are checked, since a file that was edited may hold anything anywhere."""
    if tuple(map(type, row)) not in _TYPES:
        raise LedgerTampered(f"entry {row[0]!r:.20} holds a value of another type than a ledger writes; it was edited")
    return Entry(*row)  # type: ignore[arg-type]


# --- errors ------------------------------------------------------------------------------------------------------------


_RIGHTS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code, the low byte of the extended one; 0 where the error has none."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """True if the error says that another connection holds a lock that is needed."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def checkpoint(connection: sqlite3.Connection) -> None:
    """The write-ahead log, moved into the file as far as that goes now. A full disk is no error: it can still be read."""
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_FULL:
            raise


class _Translated:
    """A context in which SQLite's errors come in the ledger's words."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise _in_words(error) from error
        if isinstance(error, UnicodeDecodeError | OverflowError):
            raise LedgerTampered(
                "the ledger's file holds text that no ledger writes; it was damaged or edited"
            ) from None


translated = _Translated()


def _in_words(error: sqlite3.Error) -> LedgerError:
    """The error of the ledger that says what an error of SQLite means to its user."""
    if is_busy(error):
        return LedgerBusy("another writer held the ledger longer than the timeout; nothing was spent")
    if _code(error) in _RIGHTS:
        return LedgerUnavailable(
            f"this account may not do that with the ledger's file ({error}); nothing was spent. Reading needs the "
            "right to read, charging the right to write the file and its folder"
        )
    if _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT):
        return LedgerTampered(f"the ledger's file is damaged or was edited ({error}); restore it and see its anchor")
    if _code(error) == sqlite3.SQLITE_FULL:
        return LedgerUnavailable(
            f"the disk of the ledger is full ({error}); nothing was released. Make room and go on; until then "
            "Ledger.open(url, read_only=True) reads what is there"
        )
    return LedgerUnavailable(f"the ledger's file cannot be used ({error}); nothing was released")
