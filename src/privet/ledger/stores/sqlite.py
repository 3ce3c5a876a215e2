"""Entries in one SQLite file: the default store."""

import atexit
import os
import sqlite3
import stat
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from privet.errors import LedgerBusy, LedgerError, LedgerTampered, LedgerUnavailable
from privet.ledger.entry import Entry
from privet.ledger.signals import give_way
from privet.ledger.store import Reader, Store, Txn, abandon, locked
from privet.ledger.stores.head import Head, HeadFile
from privet.ledger.stores.sqlite_file import (
    SqliteRows,
    SqliteTxn,
    checkpoint,
    is_busy,
    recognise,
    refuse_places,
    translated,
)
from privet.ledger.stores.turn import Turn, identity_of
from privet.ledger.url import Address
from privet.ledger.values import read_value, write_value

_SLICE_MS = 100  # how long SQLite waits for somebody else's lock before we look for Ctrl-C
_CHECKPOINT_PAGES = 256  # of the log: some fifty charges. Speed only

_STORES: "weakref.WeakSet[SqliteStore]" = weakref.WeakSet()
_LOST: set[tuple[int, int]] = set()  # files on which this process has no locks, though its SQLite believes so
_UNCLOSED: dict[str, list[sqlite3.Connection]] = {}  # of handles that went away while it was not their turn

T = TypeVar("T")


class SqliteStore(SqliteRows, Store):
    """One file, write-ahead log, every charge synchronised to the disk before its transaction ends.

    One connection per process under a lock; a forked child opens its own and leaves its parent's alone. Writers take
    turns by a lock on `<file>.lock`; `<file>.head` names the last durable entry and the file it is in, so that a copy, an
    old file or a log that was cut short is refused. Settings that durability rests on are read back, not assumed.

    **Guarantee:** a committed charge survives `kill -9` and loss of power, as far as the disk keeps its word.

    >>> import tempfile
    >>> from privet.ledger.stores import connect, draft
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = draft(folder + "/a.ledger").commit()
    ...     print(store.head(), store.damage())
    ...     store.close()
    None None
    """

    def __init__(
        self, address: Address, *, timeout: float = 60.0, read_only: bool = False, adopting: bool = False
    ) -> None:
        self.url = address.url
        self._path = Path(address.target)
        self._timeout = timeout
        self._adopting = adopting
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        self._frozen: tuple[int, int] | None = None  # what an unlocked reader found: size and time of change
        self._paused = False
        refuse_places(self._path)
        self._real = os.path.realpath(self._path)
        try:
            status = os.stat(self._real)
        except FileNotFoundError:  # or a link that leads nowhere
            raise LedgerError(
                f"there is no ledger at {self._path.name!r}; begin one with Ledger.create(url, budget=...), or mend the "
                "address"
            ) from None
        except OSError as error:
            raise LedgerUnavailable(f"{self._path.name!r} cannot be reached ({error.strerror})") from error
        if not stat.S_ISREG(status.st_mode):
            raise LedgerUnavailable(f"{self._path.name!r} is no file; nothing was spent")
        folder = os.path.dirname(self._real)
        self._why_reading = "it was opened with read_only=True" if read_only else None
        if not read_only and not (os.access(self._real, os.W_OK) and os.access(folder, os.W_OK)):
            self._why_reading = "this account may not write the file and its folder"
        self._mode = stat.S_IMODE(status.st_mode)
        self._fresh()
        _STORES.add(self)
        with locked(self._lock, self._timeout):
            self._use()

    # --- connections -----------------------------------------------------------------------------------------------

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._turn = Turn(self._real + ".lock", self._mode)
        self._head = HeadFile(self._real + ".head")
        self._connection: sqlite3.Connection | None = None
        self._level: tuple[int, int] | None = None  # of synchronous, as it was read from which connection

    def __del__(self) -> None:
        if sys.is_finalizing() or getattr(self, "_pid", None) != os.getpid():
            return
        connection = self._connection
        if connection is not None:
            abandon(connection)
            try:  # without waiting: this may be the garbage collector, in the middle of somebody's turn
                with self._turn.taken(0.0):
                    connection.close()
            except (LedgerBusy, LedgerUnavailable, sqlite3.Error, RuntimeError, TypeError):
                _UNCLOSED.setdefault(self._real, []).append(connection)
        self._turn.forget()
        self._head.close()

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
        self._turn.forget()
        self._head.close()
        self._paused = False
        self._fresh()

    def _use(self) -> sqlite3.Connection:
        """The connection of this process; call with the lock held."""
        if self._why_reading is not None:
            return self._use_for_reading()
        if self._connection is None:
            if identity_of(self._real) in _LOST:
                raise LedgerUnavailable(
                    f"this process lost its locks on {self._path.name!r} (it was forked in the middle of a transaction, "
                    "or something else in it opened and closed the file); nothing was spent. Start it again"
                )
            with self._turn.taken(self._timeout):
                self._check_place()
                self._check_head_file()
                with translated:
                    self._connection = self._connect()
                self._file = self._file or identity_of(self._real)
                self._log = identity_of(self._real + "-wal")
        self._check_place()
        return self._connection

    def _use_for_reading(self) -> sqlite3.Connection:
        """Without the right to write, or the wish to. A file without a log is read as it lies, and read again when it
        has changed; one with a log is read through the log.
        """
        status = os.stat(self._real)
        now = (status.st_size, status.st_mtime_ns)
        log = self._real + "-wal"
        logged = os.path.exists(log) and os.path.getsize(log) > 0
        if self._connection is not None and (self._frozen is None) == logged and self._frozen in (None, now):
            return self._connection
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._frozen = None if logged else now
        with translated:
            self._connection = _opened(self._real, "mode=ro" if logged else "mode=ro&immutable=1")
            recognise(self._connection, self._path.name)
        return self._connection

    def _check_place(self) -> None:
        """The file and its log are the ones that this handle began with: else charges would go where nobody looks."""
        try:
            status = os.stat(self._real)
        except OSError:
            status = None
        if status is not None and status.st_nlink > 1:
            raise LedgerUnavailable(
                f"{self._path.name!r} has {status.st_nlink} names (hard links): each would have a log of its own, and a "
                "budget of its own; nothing was spent. Remove the other names"
            )
        if self._file is None:
            return
        if status is None or (status.st_dev, status.st_ino) != self._file:
            self._forsake()
            raise LedgerTampered(
                f"the file {self._path.name!r} was removed or replaced while it was in use; bring the original back, "
                "and open it again"
            )
        if self._connection is not None and identity_of(self._real + "-wal") != self._log:
            self._forsake()
            raise LedgerUnavailable(
                f"the log of {self._path.name!r} was removed under this process; nothing was released. Start it again, "
                "and copy a ledger that is in use with ledger.backup only"
            )

    def _check_head_file(self) -> Head | None:
        """The head that lies beside the file belongs to this very file; a copy has none, or that of another file."""
        if self._adopting:
            return None
        head = self._head.read()
        if head is None:
            raise LedgerTampered(
                f"beside {self._path.name!r} there is no {self._path.name + '.head'!r}: it is a backup, a copy, or was "
                "moved without its head. Move the head along, or say that this copy is to be used: Ledger.restore"
            )
        if head.inode != (self._file or identity_of(self._real) or (0, 0))[1]:
            raise LedgerTampered(
                f"{self._path.name!r} is a copy: its head names another file, which may have been spent from since. Use "
                "the original, move a ledger with ledger.migrate, or say that this copy is to be used: Ledger.restore"
            )
        return head

    def _head_to_read(self) -> Head | None:
        """For a reader: the head, where it is there and names this file. Backups and copies may be looked at."""
        if self._why_reading is None:
            return self._check_head_file()
        try:
            head = self._head.read()
        except LedgerUnavailable:
            return None
        return head if head is not None and head.inode == os.stat(self._real).st_ino else None

    @property
    def caveat(self) -> str | None:
        if self._why_reading is None or self._head_to_read() is not None:
            return None
        return (
            f"{self._path.name!r} has no head beside it: it is a copy or a backup, and whatever was spent since, or lay in "
            "the log of the original, is not in it"
        )

    def _check_head(self, connection: sqlite3.Connection, head: Head | None, last: Entry | None = None) -> None:
        """Within a transaction, whose last entry is `last`: the entry that was durable last is still there."""
        if head is None or head.seq == 0:  # nothing was written yet
            return
        if last is not None and last.seq == head.seq and last.hash.hex() == head.hash:
            return
        row = connection.execute("SELECT hash FROM entry WHERE seq = ?", (head.seq,)).fetchone()
        if row is None or row[0].hex() != head.hash:
            raise LedgerTampered(
                f"entry {head.seq}, which was written, is not in {self._path.name!r}: its end was lost, or an old copy was "
                "put in its place. Nothing was spent; bring the newest file back, or see Ledger.restore"
            )

    def _forsake(self) -> None:
        """Neither use nor close a connection without locks: closing would delete or overwrite what others wrote."""
        connection, self._connection = self._connection, None
        if connection is not None:
            abandon(connection)
            if self._file is not None and self._why_reading is None:
                _LOST.add(self._file)

    def _connect(self) -> sqlite3.Connection:
        connection = _opened(self._real, "mode=rw")
        self._level = None
        try:
            connection.execute(f"PRAGMA busy_timeout = {_SLICE_MS}")
            self._patiently(lambda: recognise(connection, self._path.name))
            self._set_durable(connection)
            if os.path.getsize(self._real + "-wal") > 0:  # so that a copy of the file alone holds nearly everything
                checkpoint(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _patiently(self, action: Callable[[], T]) -> T:
        """Try again while somebody else has the file, up to the timeout."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.002)
            give_way()

    def _set_durable(self, connection: sqlite3.Connection) -> None:
        # the switch to WAL needs a moment alone with the file and does not wait for it
        mode = self._patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA recursive_triggers = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opens the log
        if mode != "wal" or connection.execute("PRAGMA recursive_triggers").fetchone()[0] != 1:
            raise LedgerUnavailable("SQLite refuses write-ahead logging here, which the ledger's durability rests on")

    def _drop(self) -> None:
        """After a failed commit the connection's word is worth nothing; the next use opens a new one."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._why_reading is not None:
            connection.close()
            return
        try:
            with self._turn.taken(self._timeout):
                connection.close()
        except (sqlite3.Error, LedgerBusy, LedgerUnavailable):
            abandon(connection)
            _UNCLOSED.setdefault(self._real, []).append(connection)

    @contextmanager
    def _held(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._pid:
            self._after_fork()
        with locked(self._lock, self._timeout):
            yield self._use()

    # --- writing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Txn]:
        if self._why_reading is not None:
            raise LedgerUnavailable(f"{self._path.name!r} is open for reading: {self._why_reading}; nothing was spent")
        if os.getpid() != self._pid:
            self._after_fork()
        with locked(self._lock, self._timeout), self._turn.taken(self._timeout):
            connection = self._use()
            txn = SqliteTxn(connection)
            try:
                with translated:
                    self._synchronous(connection, "FULL" if durable else "NORMAL", 2 if durable else 1)
                    self._begin(connection)
                    self._check_head(connection, self._check_head_file(), txn.begin())
                    yield txn
            except BaseException:
                self._roll_back(connection)
                raise
            self._commit(connection)
            self._tidy(txn, durable)

    def _begin(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            self._patiently(lambda: connection.execute("BEGIN IMMEDIATE"))

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        if connection is not self._connection:
            return  # it was given up meanwhile
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()

    def _synchronous(self, connection: sqlite3.Connection, word: str, level: int) -> None:
        """Read it, set it where it differs, read it back: nothing is granted on an assumption. What was read of a
        connection stays so: it is ours alone, and this is where it is set.
        """
        if self._level == (id(connection), level):
            return
        for _ in range(3):
            if connection.execute("PRAGMA synchronous").fetchone()[0] == level:
                self._level = id(connection), level
                return
            self._level = None
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

    def _tidy(self, txn: SqliteTxn, durable: bool) -> None:
        """The rest of a turn after its commit: keep the head, close what others could not."""
        if durable and txn.last is not None:
            assert self._file is not None
            head = Head(self._file[1], txn.last.seq, txn.last.hash.hex())
            if self._adopting:
                self._head.replace(head, mode=self._mode)
                self._adopting = False
            else:
                self._head.write(head)
        if _UNCLOSED:
            for connection in _UNCLOSED.pop(self._real, []):
                connection.close()

    # --- reading ---------------------------------------------------------------------------------------------------

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        with self._held() as connection, translated:
            return self._patiently(lambda: connection.execute(sql, values).fetchall())

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """A connection of its own, in one read transaction: the log keeps what it sees while others append."""
        with self._held():  # the file is what this handle began with
            frozen, head = self._frozen, self._head_to_read()  # first the head, so that the snapshot is not older
        options = "mode=rw" if self._why_reading is None else "mode=ro" + ("" if frozen is None else "&immutable=1")
        with translated:
            connection = _opened(self._real, options)
        try:
            with translated:
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * self._timeout)}")
                connection.execute("PRAGMA query_only = ON")
                connection.execute("BEGIN")
                connection.execute("SELECT max(seq) FROM entry").fetchone()
                self._check_head(connection, head)
            yield _Snapshot(connection)
        except LedgerTampered:
            with self._held():
                if frozen != self._frozen:  # read without locks while somebody began to write
                    raise LedgerBusy(
                        "the ledger was written to while it was read; nothing is wrong, try again"
                    ) from None
            raise
        finally:
            if self._why_reading is None:
                with locked(self._lock, self._timeout), self._turn.taken(self._timeout):
                    connection.close()
            else:
                connection.close()

    def keep_value(self, digest: str, raw: bytes) -> None:
        """A file in the folder `<file>.values`."""
        if self._why_reading is not None:
            raise LedgerUnavailable(
                f"{self._path.name!r} is open for reading: {self._why_reading}; nothing was recorded"
            )
        write_value(Path(self._real + ".values"), digest, raw)

    def value(self, digest: str) -> bytes | None:
        return read_value(Path(self._real + ".values"), digest)

    def close(self) -> None:
        """Close this process's connection."""
        if os.getpid() != self._pid:
            self._after_fork()
        with locked(self._lock, self._timeout):
            self._drop()
            self._turn.forget()
            self._head.close()


class _Snapshot(SqliteRows):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        with translated:
            return self._connection.execute(sql, values).fetchall()


def _opened(path: str, options: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(path)}?{options}", uri=True, isolation_level=None, check_same_thread=False, cached_statements=64
    )


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


@atexit.register
def _at_exit() -> None:
    """Close while one still can take a turn: the interpreter would close without."""
    for store in list(_STORES):
        store.__del__()
        store._connection = None
