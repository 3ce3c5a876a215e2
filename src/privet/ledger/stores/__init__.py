"""Stores: memory, SQLite, PostgreSQL. Each is loaded when an address asks for it."""

from privet.ledger.base import Store, parse_url

__all__ = ["connect"]


def connect(url: object, *, create: bool, timeout: float = 60.0) -> Store:
    """The store at an address; without `create` it must be there already.

    >>> connect("memory:", create=True).head() is None
    True
    """
    address = parse_url(url)
    if address.store == "memory":
        from privet.ledger.stores.memory import MemoryStore

        return MemoryStore(timeout=timeout)
    if address.store == "sqlite":
        from privet.ledger.stores.sqlite import SqliteStore

        return SqliteStore(address, create=create, timeout=timeout)
    from privet.ledger.stores.postgres import PostgresStore

    return PostgresStore(address, create=create, timeout=timeout)
