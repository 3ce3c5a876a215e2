"""The secret under which a ledger digests data: kept with the ledger, never in it."""

import secrets
from pathlib import Path
from weakref import WeakKeyDictionary

from privet.ledger.secret_file import SECRET_BYTES, secret_beside
from privet.ledger.store import Store
from privet.ledger.url import parse_url

_known: "WeakKeyDictionary[Store, bytes]" = WeakKeyDictionary()


def secret_of(store: Store) -> bytes:
    """The secret of a store, made when it is first needed: in memory, in a file beside (0600), in a table of its own.

    >>> from privet.ledger.stores import draft
    >>> store = draft("memory:").commit()
    >>> len(secret_of(store)), secret_of(store) == secret_of(store)
    (32, True)
    """
    known = _known.get(store)
    if known is None:
        known = _known[store] = _kept(store, secrets.token_bytes(SECRET_BYTES)) or b""
    return known


def copy_secret(source: Store, target: Store) -> None:
    """Where entries go, the secret goes: without it no key could be compared with the data that it was used for.

    >>> from privet.ledger.stores import draft
    >>> one, other = draft("memory:").commit(), draft("memory:").commit()
    >>> made = secret_of(one)
    >>> copy_secret(one, other)
    >>> secret_of(other) == made
    True
    """
    known = _known.get(source) or _kept(source, None)
    if known is not None:
        _known[target] = _kept(target, known) or known


def _kept(store: Store, fresh: bytes | None) -> bytes | None:
    """What a store keeps; where it has nothing, `fresh` is kept from now on."""
    address = parse_url(store.url)
    if address.store == "memory":
        return fresh
    if address.store == "sqlite":
        place = Path(f"{address.target}.secret")
        return secret_beside(place, given=fresh) if fresh is not None or place.exists() else None
    kept: bytes | None = store.keep_secret(fresh)  # type: ignore[attr-defined]
    return kept
