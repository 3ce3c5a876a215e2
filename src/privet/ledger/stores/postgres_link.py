"""Connections to PostgreSQL that do not wait for ever, and servers that keep what they have committed."""

import importlib
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from privet.errors import LedgerBusy, LedgerUnavailable, MissingExtra
from privet.ledger.signals import give_way
from privet.ledger.url import secrets_for

_GRACE = 1.0  # seconds that an answer may come later than the server's own limits allow


def driver() -> Any:
    """psycopg, or the extra that brings it."""
    try:
        return importlib.import_module("psycopg")
    except ImportError:
        raise MissingExtra("a ledger in PostgreSQL needs psycopg; run: pip install 'privet[postgres]'") from None


@cache
def _connection_class() -> Any:
    """Connections that do not wait for ever. The server's own limits do not help against a server that has stopped."""

    class Timed(driver().Connection):  # type: ignore[misc]
        limit = 60.0

        def wait(self, gen: object, *arguments: object, **options: object) -> Any:
            return super().wait(self._limited(gen), *arguments, **options)

        def _limited(self, gen: Any) -> Generator[Any, Any, Any]:
            deadline = time.monotonic() + self.limit + _GRACE
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready:
                        give_way()
                        if time.monotonic() > deadline:
                            self.pgconn.finish()
                            raise driver().OperationalError(f"no answer within {self.limit:g} s")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Timed


@contextmanager
def plainly(outcome: str) -> Iterator[None]:
    """Errors of the driver in our words, with what became of the attempt."""
    try:
        yield
    except driver().Error as error:
        if getattr(error, "sqlstate", None) in ("55P03", "57014"):
            raise LedgerBusy(f"another process is beginning a ledger there; {outcome}") from error
        raise LedgerUnavailable(f"the server cannot be used ({error}); {outcome}") from error


def connected(dsn: str, timeout: float) -> Any:
    """A connection on which nothing waits much longer than the timeout: for a lock, an answer, or the network."""
    milliseconds = int(1000 * timeout)
    connection = _connection_class().connect(
        dsn,
        autocommit=True,
        connect_timeout=max(2, int(timeout)),
        keepalives=1,
        keepalives_idle=max(1, int(timeout)),
        keepalives_interval=max(1, int(timeout / 4)),
        keepalives_count=3,
        tcp_user_timeout=milliseconds,
        **secrets_for(dsn),
    )
    try:
        connection.limit = timeout
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{milliseconds}ms",))
        connection.execute("SELECT set_config('statement_timeout', %s, false)", (f"{milliseconds + 500}ms",))
    except BaseException:
        connection.close()
        raise
    return connection


def require_durable(connection: Any) -> None:
    """Settings that durability rests on, as the server has them now."""
    for setting in ("fsync", "full_page_writes"):
        if connection.execute(f"SHOW {setting}").fetchone()[0] != "on":
            raise LedgerUnavailable(f"the server runs with {setting} = off, where a crash can lose charges; turn it on")
    standbys = connection.execute("SELECT count(*) FROM pg_stat_replication").fetchone()[0]
    names = connection.execute("SHOW synchronous_standby_names").fetchone()[0]
    if standbys and not names:
        raise LedgerUnavailable(
            "the server has asynchronous standbys: one that is promoted would have lost charges, and they would be spent "
            "twice; set synchronous_standby_names"
        )
    if connection.execute("SELECT pg_is_in_recovery()").fetchone()[0]:
        raise LedgerUnavailable("this server is a standby and cannot be written to; connect to the primary")
