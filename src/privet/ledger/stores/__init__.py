"""Stores: memory, SQLite, PostgreSQL. Each is loaded when an address asks for it."""

from privet.errors import LedgerError
from privet.ledger.store import Draft, Store
from privet.ledger.url import parse_url


def connect(url: object, *, timeout: float = 60.0, read_only: bool = False, adopting: bool = False) -> Store:
    """The store at an address, which must be there. `adopting`: it need not be the one that was spent from last.

    >>> connect("memory:")
    Traceback (most recent call last):
        ...
    privet.errors.LedgerError: a memory ledger ends with its object ... begin one with Ledger.create("memory:", budget=...)
    """
    address = parse_url(url)
    if address.store == "memory":
        raise LedgerError(
            "a memory ledger ends with its object and cannot be opened; begin one with "
            'Ledger.create("memory:", budget=...)'
        )
    if address.store == "sqlite":
        from privet.ledger.stores.sqlite import SqliteStore

        return SqliteStore(address, timeout=timeout, read_only=read_only, adopting=adopting)
    from privet.ledger.stores.postgres import PostgresStore

    return PostgresStore(address, timeout=timeout, read_only=read_only)


def draft(url: object, *, timeout: float = 60.0, backup: bool = False) -> Draft:
    """A new store at an address, where nothing may be yet.

    >>> draft("memory:").commit().head() is None
    True
    """
    address = parse_url(url)
    if address.store == "memory":
        from privet.ledger.stores.memory import MemoryDraft

        return MemoryDraft(timeout=timeout)
    if address.store == "sqlite":
        from privet.ledger.stores.sqlite_draft import SqliteDraft

        return SqliteDraft(address, timeout=timeout, backup=backup)
    from privet.ledger.stores.postgres_draft import PostgresDraft

    return PostgresDraft(address, timeout=timeout)
