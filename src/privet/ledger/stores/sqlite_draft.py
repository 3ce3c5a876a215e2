"""A new file: made under another name, and given its own only when it is whole and on the disk."""

import os
import secrets
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from privet.errors import LedgerError, LedgerUnavailable
from privet.ledger.entry import Entry
from privet.ledger.signals import HeldSignals
from privet.ledger.store import Draft
from privet.ledger.stores.head import Head, HeadFile
from privet.ledger.stores.sqlite import SqliteStore
from privet.ledger.stores.sqlite_file import SqliteTxn, make_tables, refuse_places, translated
from privet.ledger.stores.turn import Turn
from privet.ledger.url import Address
from privet.ledger.values import synced, write_value

_MODE = 0o600  # requests and answers are for whoever holds the budget


class SqliteDraft(Draft):
    """A ledger's file in the making. With `backup=True` it gets no head: it can be read and restored, not spent from.

    **Guarantee:** a file that is there is never touched; one that appears is whole and synchronised.

    >>> import tempfile
    >>> from privet.ledger.url import parse_url
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draft = SqliteDraft(parse_url(folder + "/a.ledger"))
    ...     draft.abandon()
    ...     print(os.listdir(folder))
    []
    """

    def __init__(self, address: Address, *, timeout: float = 60.0, backup: bool = False) -> None:
        self._address, self._timeout, self._backup = address, timeout, backup
        self._path = os.path.realpath(address.target)
        refuse_places(Path(address.target))
        self._refuse_what_is_there()
        self._new = f"{self._path}.{secrets.token_hex(4)}.new"
        self._last: Entry | None = None
        self._connection: sqlite3.Connection | None = None
        try:
            os.close(os.open(self._new, os.O_RDWR | os.O_CREAT | os.O_EXCL, _MODE))
        except OSError as error:
            raise LedgerUnavailable(
                f"no file can be made beside {os.path.basename(self._path)!r} ({error.strerror})"
            ) from error
        try:
            with translated:
                self._connection = sqlite3.connect(self._new, isolation_level=None, check_same_thread=False)
                self._connection.execute("PRAGMA journal_mode = MEMORY")
                self._connection.execute("PRAGMA synchronous = OFF")  # it is synced whole at the end
                self._connection.execute("BEGIN IMMEDIATE")
                make_tables(self._connection)
            self._txn = SqliteTxn(self._connection)
        except BaseException:
            self.abandon()
            raise

    def _refuse_what_is_there(self) -> None:
        name = os.path.basename(self._path)
        if os.path.lexists(self._path):
            raise LedgerError(
                f"there is a file {name!r} already, and what exists is not begun anew; open a ledger with Ledger.open(url)"
            )
        if os.path.exists(self._path + "-wal") and os.path.getsize(self._path + "-wal") > 0:
            raise LedgerError(
                f"there is a log {name + '-wal'!r} without its file: entries of a ledger that was moved or removed. Bring "
                "the file back, or put the log away"
            )

    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        with translated:
            self._txn.append(entry, balances)
        self._last = entry

    def keep_value(self, digest: str, raw: bytes) -> None:
        write_value(Path(self._new + ".values"), digest, raw)

    def finish(self) -> None:
        """Everything is on the disk, still under the other name. What can fail has failed by now."""
        if self._connection is None:
            return
        with translated:
            self._connection.execute("COMMIT")
            self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.close()
        self._connection = None
        try:
            synced(self._new)
        except OSError as error:
            raise LedgerUnavailable(f"the file cannot be written ({error.strerror}); nothing was begun") from error

    def commit(self) -> SqliteStore:
        try:
            self.finish()
            turn = Turn(self._path + ".lock", _MODE)
            with HeldSignals(), turn.taken(self._timeout):
                self._refuse_what_is_there()
                if not self._backup:
                    seq, digest = (0, "") if self._last is None else (self._last.seq, self._last.hash.hex())
                    HeadFile(self._path + ".head").replace(Head(os.stat(self._new).st_ino, seq, digest), mode=_MODE)
                self._move_values()
                os.rename(self._new, self._path)
                synced(os.path.dirname(self._path))
            turn.forget()
        except OSError as error:
            self.abandon()
            raise LedgerUnavailable(f"the file cannot be written ({error.strerror}); nothing was begun") from error
        except BaseException:
            self.abandon()
            raise
        return SqliteStore(self._address, timeout=self._timeout, read_only=self._backup)

    def abandon(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for suffix in ("", "-journal", "-wal", "-shm"):
            Path(self._new + suffix).unlink(missing_ok=True)
        shutil.rmtree(self._new + ".values", ignore_errors=True)

    def _move_values(self) -> None:
        """Large values get to their place before the file that names them."""
        made, place = Path(self._new + ".values"), Path(self._path + ".values")
        if made.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)
            for file in made.iterdir():
                os.replace(file, place / file.name)
            made.rmdir()
            synced(str(place))
