"""Entries in one SQLite file: the default store."""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from privet.errors import LedgerBusy, LedgerError, LedgerTampered, LedgerUnavailable
from privet.ledger.base import Address, Entry, Held, Store, Txn, abandon, locked

__all__ = ["NETWORK_FILESYSTEMS", "SCHEMA", "SqliteStore", "filesystem_of"]

APPLICATION = 0x70726976  # "priv", in the header of the file
VERSION = 1

# `INSERT OR REPLACE` deletes rows without firing DELETE triggers unless recursive_triggers is on, hence the third one.
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

# Write-ahead logging needs memory that all writers share, which these do not have.
NETWORK_FILESYSTEMS = {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
NETWORK_FILESYSTEMS |= {"vboxsf", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs"}

_COLUMNS = "seq, prev, hash, kind, analyst, key, loss, amounts, body"
_TYPES = {(int, bytes, bytes, str, str, key, loss, str, str) for key in (str, type(None)) for loss in (str, type(None))}
_CHUNK = 2000

_STORES: "weakref.WeakSet[SqliteStore]" = weakref.WeakSet()
_LOST: set[tuple[int, int]] = set()  # files on which this process has no locks, though its SQLite believes so


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
        left, _, right = line.partition(" - ")
        mount = left.split()[4].encode().decode("unicode_escape")
        inside = mount == "/" or path == Path(mount) or Path(mount) in path.parents
        if inside and len(mount) >= len(best):
            best, kind = mount, right.split()[0]
    return kind


class SqliteStore(Store):
    """One file, write-ahead log, every charge synchronised to the disk before its transaction ends.

    One connection per process under a lock; a forked child opens its own and leaves its parent's alone. The settings
    that durability rests on are read back, not assumed.

    **Guarantee:** a committed charge survives `kill -9` and loss of power, as far as the disk keeps its word.

    >>> import tempfile
    >>> from privet.ledger.base import parse_url
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SqliteStore(parse_url(folder + "/a.ledger"), create=True)
    ...     print(store.head(), store.damage())
    ...     store.close()
    None None
    """

    def __init__(self, address: Address, *, create: bool, timeout: float = 60.0) -> None:
        self.url = address.url
        self._path = Path(address.target)
        self._timeout = timeout
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        self._log_path = ""
        self._paused = False
        self._refuse_places()
        if not self._path.exists() and not create:
            raise LedgerError(f"there is no ledger at {self._path.name!r}; give budget= or odometer= to begin one")
        self._fresh()
        _STORES.add(self)
        with locked(self._lock, self._timeout):
            self._use()

    def _refuse_places(self) -> None:
        if not self._path.parent.is_dir():
            raise LedgerUnavailable(f"the folder of {self._path.name!r} does not exist; make it first")
        kind = filesystem_of(self._path.parent.resolve())
        if kind in NETWORK_FILESYSTEMS:
            raise LedgerUnavailable(
                f"{self._path.name!r} lies on a network file system ({kind}), where SQLite cannot keep writers apart; "
                "use a local disk or PostgreSQL"
            )

    # --- connections -----------------------------------------------------------------------------------------------

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            if os.getpid() == self._pid:
                self._drop()
            else:
                abandon(self._connection)

    def _before_fork(self) -> None:
        """Let go of the file while the process splits. Locks stay behind with the parent, but SQLite's notes about them
        travel: a child would write to a log that the next process to close deletes.
        """
        self._paused = self._lock.acquire(timeout=self._timeout)
        if self._paused and self._connection is not None and not self._connection.in_transaction:
            self._drop()

    def _after_fork_in_parent(self) -> None:
        if self._paused:
            self._paused = False
            self._lock.release()

    def _after_fork(self) -> None:
        self._forsake()
        self._paused = False
        self._fresh()

    def _use(self) -> sqlite3.Connection:
        """The connection of this process; call with the lock held."""
        if self._connection is None:
            if _identity(self._path) in _LOST:
                raise LedgerUnavailable(
                    f"this process lost its locks on {self._path.name!r} (it was forked in the middle of a transaction, "
                    "or something else in it opened and closed the file); nothing was spent. Start it again"
                )
            self._check_place()
            with _translated():
                self._connection = self._connect()
            self._file = self._file or _identity(self._path)
            self._log_path = os.path.realpath(self._path) + "-wal"
            self._log = _identity(self._log_path)
        self._check_place()
        return self._connection

    def _check_place(self) -> None:
        """The file and its log are the ones that this handle began with: else charges would go where nobody looks."""
        if self._file is None:
            return
        if _identity(self._path) != self._file:
            self._forsake()
            raise LedgerTampered(
                f"the file {self._path.name!r} was removed or replaced while it was in use; bring the original back, "
                "and open it again"
            )
        if self._connection is not None and _identity(self._log_path) != self._log:
            self._forsake()
            raise LedgerUnavailable(
                f"the log of {self._path.name!r} was removed under this process; nothing was released. Start it again, "
                "and copy a ledger that is in use with SQLite's backup only"
            )

    def _forsake(self) -> None:
        """Neither use nor close a connection without locks: closing would delete or overwrite what others wrote."""
        connection, self._connection = self._connection, None
        if connection is not None:
            abandon(connection)
            if self._file is not None:
                _LOST.add(self._file)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * self._timeout)}")
            _recognise(connection, self._path.name)
            self._set_durable(connection)
            _create(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_durable(self, connection: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self._timeout
        while True:  # the switch to WAL needs a moment alone with the file and does not wait for it
            try:
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA recursive_triggers = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        if mode != "wal" or connection.execute("PRAGMA recursive_triggers").fetchone()[0] != 1:
            raise LedgerUnavailable("SQLite refuses write-ahead logging here, which the ledger's durability rests on")

    def _drop(self) -> None:
        """After a failed commit the connection's word is worth nothing; the next use opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error:
                abandon(connection)

    @contextmanager
    def _held(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._pid:
            self._after_fork()
        with locked(self._lock, self._timeout):
            yield self._use()

    # --- writing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Txn]:
        with self._held() as connection:
            with _translated():
                self._synchronous(connection, "FULL" if durable else "NORMAL", 2 if durable else 1)
                connection.execute("BEGIN IMMEDIATE")
            try:
                with _translated():
                    yield _SqliteTxn(connection)
            except BaseException:
                try:
                    connection.execute("ROLLBACK")
                except sqlite3.Error:
                    self._drop()
                raise
            self._commit(connection)

    def _synchronous(self, connection: sqlite3.Connection, word: str, level: int) -> None:
        """Read it, set it where it differs, read it back: nothing is granted on an assumption."""
        for _ in range(3):
            if connection.execute("PRAGMA synchronous").fetchone()[0] == level:
                return
            connection.execute(f"PRAGMA synchronous = {word}")
        raise LedgerUnavailable(f"SQLite did not accept synchronous = {word}; nothing was spent")

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except BaseException as error:
            self._drop()
            if isinstance(error, sqlite3.Error):
                raise LedgerUnavailable(
                    f"the commit failed ({error}); whether the charge was written is unknown, nothing was released"
                ) from error
            raise
        self._check_place()

    # --- reading ---------------------------------------------------------------------------------------------------

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        with self._held() as connection, _translated():
            return connection.execute(sql, values).fetchall()

    def entries(self, after: int = 0, kinds: Sequence[str] | None = None) -> Iterator[Entry]:
        sql, values = f"SELECT {_COLUMNS} FROM entry WHERE seq > ?", tuple(kinds or ())
        if kinds is not None:  # the first test lets the partial index answer
            only = "kind NOT IN ('reserve', 'release') AND " if not {"reserve", "release"} & set(kinds) else ""
            sql += f" AND {only}kind IN ({', '.join('?' * len(values))})"
        while True:
            rows = self._rows(f"{sql} ORDER BY seq LIMIT {_CHUNK}", (after, *values))
            for row in rows:
                yield _entry(row)
            if len(rows) < _CHUNK:
                return
            after = int(rows[-1][0])  # type: ignore[call-overload]

    def entry(self, seq: int) -> Entry | None:
        rows = self._rows(f"SELECT {_COLUMNS} FROM entry WHERE seq = ?", (seq,))
        return _entry(rows[0]) if rows else None

    def head(self) -> Entry | None:
        rows = self._rows(f"SELECT {_COLUMNS} FROM entry ORDER BY seq DESC LIMIT 1")
        return _entry(rows[0]) if rows else None

    def balances(self) -> dict[str, tuple[str, int]]:
        rows = self._rows("SELECT scope, sums, upto_seq FROM balance")
        return {str(scope): (str(sums), int(upto)) for scope, sums, upto in rows}  # type: ignore[call-overload]

    def damage(self) -> str | None:
        """The schema, triggers included, is the one we wrote, and SQLite finds its pages and indexes in order."""
        ours, theirs = set(_pristine()), set(self._rows(_EVERYTHING))
        if ours - theirs:
            return f"the schema of {min(name for _, name, *_ in ours - theirs)!r} is missing or was changed"
        if theirs - ours:
            return f"the file holds {min(str(name) for _, name, *_ in theirs - ours)!r}, which no ledger has"
        report = self._rows("PRAGMA integrity_check(1)")
        return None if report == [("ok",)] else f"SQLite reports: {report[0][0]}"

    def close(self) -> None:
        """Close this process's connection."""
        if os.getpid() != self._pid:
            self._after_fork()
        with locked(self._lock, self._timeout):
            self._drop()


class _SqliteTxn(Txn):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def head(self) -> Entry | None:
        row = self._connection.execute(f"SELECT {_COLUMNS} FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        return None if row is None else _entry(row)

    def sums(self, scope: str) -> Held | None:
        row = self._connection.execute(
            "SELECT sums, upto_seq, body FROM balance LEFT JOIN entry ON seq = upto_seq AND scope <> 'dataset' "
            "WHERE scope = ?",  # the session has the body of the head already
            (scope,),
        ).fetchone()
        return None if row is None else Held(*row)

    def find(self, analyst: str, key: str) -> Entry | None:
        row = self._connection.execute(
            f"SELECT {_COLUMNS} FROM entry WHERE analyst = ? AND key = ? AND key IS NOT NULL "
            "ORDER BY kind = 'release' DESC, seq DESC LIMIT 1",
            (analyst, key),
        ).fetchone()
        return None if row is None else _entry(row)

    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        self._connection.execute(f"INSERT INTO entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", entry)
        self._connection.executemany(
            "INSERT INTO balance VALUES (?, ?, ?) ON CONFLICT (scope) DO UPDATE SET sums = excluded.sums, "
            "upto_seq = excluded.upto_seq",
            [(scope, sums, entry.seq) for scope, sums in balances.items()],
        )


def _entry(row: Sequence[object]) -> Entry:
    """A row as an entry; a file that was edited may hold anything anywhere."""
    if tuple(map(type, row)) not in _TYPES:
        raise LedgerTampered(f"entry {row[0]!r:.20} holds a value of another type than a ledger writes; it was edited")
    return Entry(*row)  # type: ignore[arg-type]


def _identity(path: str | Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


# --- forks -----------------------------------------------------------------------------------------------------------


def _each_store(step: str) -> None:
    for store in sorted(_STORES, key=id):  # one order for all, else two forks could wait for each other
        getattr(store, step)()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _each_store("_before_fork"),
        after_in_parent=lambda: _each_store("_after_fork_in_parent"),
        after_in_child=lambda: _each_store("_after_fork"),
    )


# --- opening a file ----------------------------------------------------------------------------------------------------


def _recognise(connection: sqlite3.Connection, name: str) -> None:
    """Refuse a database that is not a ledger, or a newer one, before anything in it is touched."""
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
    """The schema of a ledger as SQLite keeps it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for sql in SCHEMA.values():
            connection.execute(sql)
        return tuple(connection.execute(_EVERYTHING).fetchall())


def _create(connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for sql in SCHEMA.values():
                connection.execute(sql)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


# --- errors ------------------------------------------------------------------------------------------------------------


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def _translated() -> Iterator[None]:
    """SQLite's errors in the ledger's words."""
    try:
        yield
    except sqlite3.Error as error:
        if _is_busy(error):
            raise LedgerBusy("another writer held the ledger longer than the timeout; nothing was spent") from error
        if _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT):
            raise LedgerTampered(
                f"the ledger's file is damaged or was edited ({error}); restore it and see its anchor"
            ) from error
        raise LedgerUnavailable(f"the ledger's file cannot be used ({error}); nothing was released") from error
    except (UnicodeDecodeError, OverflowError):
        raise LedgerTampered("the ledger's file holds text that no ledger writes; it was damaged or edited") from None
