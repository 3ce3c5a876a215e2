"""The secret under which a ledger digests data: kept with the ledger, never in it."""

import secrets
from pathlib import Path
from weakref import WeakKeyDictionary

from privet.ledger.base import SECRET_BYTES, Store, parse_url, secret_beside

__all__ = ["keep_secret", "secret_of"]

_known: "WeakKeyDictionary[Store, bytes]" = WeakKeyDictionary()


def secret_of(store: Store) -> bytes:
    """The secret of a store, made when it is first needed: in memory, in a file beside (0600), in a table of its own.

    >>> from privet.ledger.stores import connect
    >>> store = connect("memory:", create=True)
    >>> len(secret_of(store)), secret_of(store) == secret_of(store)
    (32, True)
    """
    known = _known.get(store)
    if known is None:
        known = _known[store] = keep_secret(store, None)
    return known


def keep_secret(store: Store, secret: bytes | None) -> bytes:
    """Give a store that has none this secret (None: a fresh one); returns the one that is kept."""
    address = parse_url(store.url)
    if address.store == "sqlite":
        return secret_beside(Path(f"{address.target}.secret"), given=secret)
    fresh = secret or secrets.token_bytes(SECRET_BYTES)
    keep = getattr(store, "keep_secret", None)
    kept: bytes = fresh if keep is None else keep(fresh)
    return kept
