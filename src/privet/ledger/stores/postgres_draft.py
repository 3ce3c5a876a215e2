"""A new ledger in PostgreSQL: tables and first entries in one transaction."""

from collections.abc import Mapping

from privet.errors import LedgerError
from privet.ledger.entry import Entry
from privet.ledger.store import Draft
from privet.ledger.stores.postgres import SCHEMA, PostgresStore, PostgresTxn, insert_value
from privet.ledger.stores.postgres_link import connected, plainly, require_durable
from privet.ledger.url import Address


class PostgresDraft(Draft):
    """A ledger's schema in the making: one transaction, which nobody sees before it is committed.

    >>> issubclass(PostgresDraft, Draft)
    True
    """

    def __init__(self, address: Address, *, timeout: float = 60.0) -> None:
        self._address, self._timeout = address, timeout
        dsn, schema = PostgresStore.schema_of(address.target)
        with plainly("nothing was begun"):
            self._connection = connected(dsn, timeout)
        try:
            with plainly("nothing was begun"):
                require_durable(self._connection)
                self._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                # CREATE SCHEMA IF NOT EXISTS is not safe against itself
                self._connection.execute("SELECT pg_advisory_xact_lock(7813261)")
                found = self._connection.execute("SELECT to_regclass(%s)", (f"{schema}.entry",)).fetchone()[0]
                if found is not None:
                    raise LedgerError(
                        f"there is a ledger in schema {schema!r} already, and what exists is not begun anew; open it with "
                        "Ledger.open(url)"
                    )
                self._connection.execute(SCHEMA.format(s=schema))
        except BaseException:
            self.abandon()
            raise
        self._schema = schema
        self._txn = PostgresTxn(self._connection, schema)

    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        with plainly("nothing was begun"):
            self._txn.append(entry, balances)

    def keep_value(self, digest: str, raw: bytes) -> None:
        with plainly("nothing was begun"):
            insert_value(self._connection, self._schema, digest, raw)

    def finish(self) -> None:
        """The server has taken everything already."""

    def commit(self) -> PostgresStore:
        try:
            with plainly("whether the ledger was begun is unknown"):
                self._connection.execute("COMMIT")
        finally:
            self.abandon()
        return PostgresStore(self._address, timeout=self._timeout)

    def abandon(self) -> None:
        self._connection.close()
