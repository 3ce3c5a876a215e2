"""Entries in PostgreSQL: several machines, one budget."""

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from privet.errors import (
    InvalidParameter,
    LedgerBusy,
    LedgerError,
    LedgerTampered,
    LedgerUnavailable,
    PrivetError,
)
from privet.ledger.entry import Entry
from privet.ledger.store import Reader, Store, Txn, abandon, locked
from privet.ledger.stores.postgres_link import connected, driver, require_durable
from privet.ledger.stores.sql import COLUMNS, KEEP, SqlRows, SqlTxn
from privet.ledger.url import Address

_TRIES = 5  # to get the lock; nothing was spent in any of them
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")

SCHEMA = """
CREATE SCHEMA IF NOT EXISTS {s};
CREATE TABLE IF NOT EXISTS {s}.lock (id int PRIMARY KEY CHECK (id = 1), format int NOT NULL);
INSERT INTO {s}.lock VALUES (1, 1) ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS {s}.entry (
  seq bigint PRIMARY KEY, prev bytea NOT NULL, hash bytea NOT NULL UNIQUE, kind text NOT NULL, analyst text NOT NULL,
  key text, loss text, amounts text NOT NULL, body text NOT NULL);
CREATE TABLE IF NOT EXISTS {s}.balance (scope text PRIMARY KEY, sums text NOT NULL, upto_seq bigint NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS entry_release_key ON {s}.entry (analyst, key)
  WHERE kind = 'release' AND key IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_key ON {s}.entry (analyst, key, seq) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_admin ON {s}.entry (kind, seq) WHERE kind NOT IN ('reserve', 'release');
CREATE OR REPLACE FUNCTION {s}.entry_never() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'ledger entries are never changed or deleted'; END $$;
CREATE OR REPLACE FUNCTION {s}.entry_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM {s}.entry) THEN
      RAISE EXCEPTION 'ledger entries are appended in order';
    END IF;
    RETURN NEW;
  END $$;
CREATE OR REPLACE TRIGGER entry_no_change BEFORE UPDATE OR DELETE ON {s}.entry
  FOR EACH ROW EXECUTE FUNCTION {s}.entry_never();
CREATE OR REPLACE TRIGGER entry_no_truncate BEFORE TRUNCATE ON {s}.entry
  FOR EACH STATEMENT EXECUTE FUNCTION {s}.entry_never();
CREATE OR REPLACE TRIGGER entry_in_order BEFORE INSERT ON {s}.entry
  FOR EACH ROW EXECUTE FUNCTION {s}.entry_in_order();
"""


VALUES = "CREATE TABLE IF NOT EXISTS {s}.value (digest text PRIMARY KEY, raw bytea NOT NULL)"


def insert_value(connection: Any, schema: str, digest: str, raw: bytes) -> None:
    """Keep the bytes of a large value in a table that is made when it is first needed."""
    connection.execute(VALUES.format(s=schema))
    connection.execute(f"INSERT INTO {schema}.value VALUES (%s, %s) ON CONFLICT DO NOTHING", (digest, raw))


class PostgresRows(SqlRows, Reader):
    """Reading, through the store's connection or a snapshot's.

    >>> sorted(PostgresRows.__abstractmethods__)
    ['_rows']
    """

    _mark = "%s"
    _schema: str

    @property
    def _prefix(self) -> str:  # type: ignore[override]
        return f"{self._schema}."

    def _entry_of(self, row: Sequence[Any]) -> Entry:
        return _entry(row)

    def damage(self) -> str | None:
        """The triggers are there and enabled."""
        rows = self._rows(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal AND tgenabled IN ('O', 'A')",
            (f"{self._schema}.entry",),
        )
        missing = {"entry_no_change", "entry_no_truncate", "entry_in_order"} - {name for (name,) in rows}
        return f"the trigger {min(missing)!r} is missing or disabled" if missing else None


class PostgresStore(PostgresRows, Store):
    """One schema of a database: `postgresql://host/database#schema` (default schema: privet_ledger).

    Writers take a row lock in a statement of its own and read only afterwards: in one statement with the read, or under
    a snapshot older than the lock, two writers would both see the old sums. `fsync`, `full_page_writes` and synchronous
    replication are read back at connecting; `synchronous_commit` is set in every transaction that charges.

    **Guarantee:** a committed charge survives a crash of the server and, where there are standbys, of the primary.

    >>> PostgresStore.schema_of("postgresql://db/people#visits")
    ('postgresql://db/people', 'visits')
    """

    def __init__(self, address: Address, *, timeout: float = 60.0, read_only: bool = False) -> None:
        self.url = address.url
        self._psycopg = driver()
        self._dsn, self._schema = self.schema_of(address.target)
        self._timeout, self._read_only = timeout, read_only
        self._fresh()
        with self._held() as connection, self._translated():
            there = connection.execute("SELECT to_regclass(%s)", (f"{self._schema}.entry",)).fetchone()[0] is not None
            if not there:
                raise LedgerError(
                    f"there is no ledger in schema {self._schema!r}; begin one with Ledger.create(url, budget=...), or "
                    "mend the address"
                )

    @staticmethod
    def schema_of(url: str) -> tuple[str, str]:
        """The address for the driver, and the schema that its fragment names."""
        dsn, _, fragment = url.partition("#")
        schema = fragment or "privet_ledger"
        if not _NAME.fullmatch(schema):
            raise InvalidParameter("the schema after '#' must be a plain lower-case name, such as #visits")
        return dsn, schema

    # --- connections -----------------------------------------------------------------------------------------------

    def _fresh(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._connection: Any = None
        self._direct = True
        self._checked: Any = None  # the connection whose server's settings were read
        self._warned = False

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            if os.getpid() == self._pid:
                self._drop()
            else:
                abandon(self._connection)

    def _after_fork(self) -> None:
        if self._connection is not None:
            abandon(self._connection)
        self._fresh()

    @contextmanager
    def _held(self) -> Iterator[Any]:
        if os.getpid() != self._pid:
            self._after_fork()
        with locked(self._lock, self._timeout):
            if self._connection is None:
                with self._translated():
                    self._connection = self._connect()
            yield self._connection

    def _connect(self) -> Any:
        connection = connected(self._dsn, self._timeout)
        try:
            connection.add_notice_handler(self._notice)
        except BaseException:
            connection.close()
            raise
        return connection

    def _notice(self, diagnostic: Any) -> None:
        """A commit that warns (cancelled while waiting for a standby) may not have been replicated."""
        if diagnostic.severity_nonlocalized == "WARNING":
            self._warned = True

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except self._psycopg.Error:
                abandon(connection)

    # --- writing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Txn]:
        if self._read_only:
            raise LedgerUnavailable(
                "the ledger is open for reading: it was opened with read_only=True; nothing was spent"
            )
        with self._held() as connection:
            if self._checked is not connection:
                with self._translated():
                    require_durable(connection)
                    row = connection.execute(
                        "SELECT has_table_privilege(%s, 'INSERT') OR to_regproc(%s) IS NULL",
                        (f"{self._schema}.entry", f"{self._schema}.take_turn"),
                    ).fetchone()
                    self._direct = bool(row[0])  # else by functions that append and do nothing else: see grant_roles
                self._checked = connection
            try:
                self._begin(connection, "on" if durable else "off")
                with self._translated():
                    yield PostgresTxn(connection, self._schema, direct=self._direct)
            except _Again:
                self._roll_back(connection)
                raise LedgerBusy("the server cancelled the transaction; nothing was spent, try again") from None
            except BaseException:
                self._roll_back(connection)
                raise
            self._commit()

    def _begin(self, connection: Any, synchronous: str) -> None:
        """Take the lock, in a statement of its own. A deadlock or serialisation failure is tried again: nothing was
        spent.
        """
        for attempt in range(_TRIES):
            try:
                with self._translated():
                    connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                    connection.execute(f"SET LOCAL synchronous_commit = {synchronous}")
                    turn = "id FROM {s}.lock FOR UPDATE" if self._direct else "{s}.take_turn()"
                    connection.execute("SELECT " + turn.format(s=self._schema))
                return
            except _Again:
                self._roll_back(connection)
                if attempt == _TRIES - 1:
                    raise LedgerBusy(
                        "the server kept cancelling the transaction; nothing was spent, try again"
                    ) from None
            except BaseException:
                self._roll_back(connection)
                raise

    def _roll_back(self, connection: Any) -> None:
        try:
            connection.execute("ROLLBACK")
        except BaseException as error:
            self._drop()
            if not isinstance(error, self._psycopg.Error):
                raise

    def _commit(self) -> None:
        self._warned = False
        try:
            self._connection.execute("COMMIT")
        except BaseException as error:
            self._drop()
            if isinstance(error, self._psycopg.Error):
                raise LedgerUnavailable(
                    "the commit failed; whether the charge was written is unknown, nothing was released"
                ) from error
            raise
        if self._warned:
            self._drop()
            raise LedgerUnavailable(
                "the server committed without hearing from its standby; the charge stands, nothing was released"
            )

    # --- reading ---------------------------------------------------------------------------------------------------

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with self._held() as connection, self._translated():
            rows: list[Any] = connection.execute(sql, values).fetchall()
            return rows

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """A connection of its own, in one read transaction."""
        with self._translated():
            connection = self._connect()
        try:
            with self._translated():
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _Snapshot(self, connection)
        finally:
            connection.close()

    def keep_value(self, digest: str, raw: bytes) -> None:
        """A row of the table `value`, committed when this returns."""
        if self._read_only:
            raise LedgerUnavailable("the ledger is open for reading: nothing was recorded")
        with self._held() as connection, self._translated():
            function = f"{self._schema}.keep_value"
            if connection.execute("SELECT to_regproc(%s) IS NULL", (function,)).fetchone()[0]:
                insert_value(connection, self._schema, digest, raw)
            else:
                connection.execute(f"SELECT {function}(%s, %s)", (digest, raw))

    def value(self, digest: str) -> bytes | None:
        table = f"{self._schema}.value"
        with self._held() as connection, self._translated():
            if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()[0] is None:
                return None
            row = connection.execute(f"SELECT raw FROM {table} WHERE digest = %s", (digest,)).fetchone()
            return None if row is None else bytes(row[0])

    def close(self) -> None:
        """Close this process's connection."""
        if os.getpid() != self._pid:
            self._after_fork()
        with locked(self._lock, self._timeout):
            self._drop()

    # --- errors ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The server's errors in the ledger's words."""
        try:
            yield
        except self._psycopg.Error as error:
            state = getattr(error, "sqlstate", None) or ""
            if state in ("40001", "40P01"):
                raise _Again from error
            if state == "42501":
                raise LedgerUnavailable(
                    f"this account may not do that on the ledger's server ({error}); nothing was spent. Reading needs "
                    "USAGE on the schema and SELECT on its tables, charging INSERT, and UPDATE on balance and lock"
                ) from error
            if state in ("55P03", "57014"):
                raise LedgerBusy("another writer held the ledger longer than the timeout; nothing was spent") from error
            if state.startswith(("23", "P0", "42")):
                raise LedgerTampered(f"the ledger's tables refuse this ({error}); they were edited") from error
            if self._connection is not None and self._connection.closed:
                self._drop()
            raise LedgerUnavailable(f"the ledger's server cannot be used ({error}); nothing was released") from error


class _Snapshot(PostgresRows):
    def __init__(self, store: PostgresStore, connection: Any) -> None:
        self._store, self._connection, self._schema = store, connection, store._schema

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with self._store._translated():
            rows: list[Any] = self._connection.execute(sql, values).fetchall()
            return rows


class _Again(PrivetError):
    """The server asks for the transaction to be tried again."""


class PostgresTxn(SqlTxn):
    """A write transaction on a connection.

    >>> issubclass(PostgresTxn, Txn)
    True
    """

    _mark = "%s"

    def __init__(self, connection: Any, schema: str, *, direct: bool = True) -> None:
        super().__init__(connection)
        self._schema, self._direct, self._prefix = schema, direct, f"{schema}."

    def _entry_of(self, row: Sequence[Any]) -> Entry:
        return _entry(row)

    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        if not self._direct:
            places = ", ".join(["%s"] * (len(entry) + 2))
            values = (*entry, list(balances), list(balances.values()))
            self._connection.execute(f"SELECT {self._schema}.append_entry({places})", values)
            return
        marks = ", ".join(["%s"] * len(entry))
        self._connection.execute(f"INSERT INTO {self._schema}.entry ({COLUMNS}) VALUES ({marks})", tuple(entry))
        for scope, sums in balances.items():
            self._connection.execute("INSERT " + KEEP.format(s=self._prefix, m="%s"), (scope, sums, entry.seq))


def _entry(row: Sequence[Any]) -> Entry:
    seq, prev, digest, *texts = row
    return Entry(seq, bytes(prev), bytes(digest), *texts)
