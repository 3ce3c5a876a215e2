"""The secret of a ledger, kept with it and never in it, and the digest of data under that secret."""

import hashlib
import hmac
import math
import numbers
import os
import pickle
import secrets
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from privet.errors import InvalidParameter, LedgerUnavailable
from privet.ledger.store import Store
from privet.ledger.url import parse_url

SECRET_BYTES = 32


def secret_beside(path: Path, *, given: bytes | None = None) -> bytes:
    """The secret in the file `path`, made when there is none: for its owner alone (0600). `given`: keep this one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     secret_beside(Path(folder, "a.secret")) == secret_beside(Path(folder, "a.secret"))
    True
    """
    try:
        if not path.exists():
            _write(path, given or secrets.token_bytes(SECRET_BYTES))
        found = path.read_bytes()
    except OSError as error:
        raise LedgerUnavailable(
            f"the secret of the ledger ({path.name!r}) cannot be read or made: {error.strerror}; nothing was released"
        ) from None
    if len(found) != SECRET_BYTES:
        raise LedgerUnavailable(f"the secret of the ledger ({path.name!r}) is damaged; restore it from a backup")
    return found


def _write(path: Path, secret: bytes) -> None:
    """Whole or not at all, and never over another one: of two processes the first wins."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, secret)
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


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


Feed = Callable[[bytes], None]


def digest_of(data: Any, secret: bytes, *where: str) -> str:
    """The name of the secret and HMAC-SHA256 of the data under it, bound to `where` (ledger, analyst, key).

    Without the secret the digest of a guessed table cannot be computed, so it says nothing about who is in the data; and
    since it is bound to one key, equal data under two keys have digests that nobody can compare.

    >>> digest_of([1, 2.5], b"s" * 32, "visits", "", "k") == digest_of([1.0, 2.5], b"s" * 32, "visits", "", "k")
    True
    >>> digest_of([1, 2.5], b"s" * 32, "visits", "", "k") == digest_of([1, 2.5], b"s" * 32, "visits", "", "other")
    False
    """
    mac = hmac.new(secret, b"privet-data/1", hashlib.sha256)
    for name in where:
        _text(mac.update, name)
    failed = False
    try:
        _feed(mac.update, data)
    except Exception:
        failed = True
    del data
    if failed:  # outside the handler: the error carries no context
        raise InvalidParameter(
            "these data have no form that could be told from another; a key then needs the version of the data: "
            'about="2024-05", a public word. Or leave the key out'
        )
    return f"{_name(secret)}:{mac.hexdigest()}"


def _name(secret: bytes) -> str:
    """Tells two secrets apart without telling either."""
    return hashlib.sha256(b"privet-secret-name/1" + secret).hexdigest()[:16]


def _text(feed: Feed, text: str) -> None:
    _sized(feed, b"s", text.encode("utf-8", "surrogatepass"))


def _sized(feed: Feed, tag: bytes, content: Any) -> None:
    feed(tag + str(len(content)).encode() + b":")
    feed(content)


def _feed(feed: Feed, value: Any) -> None:
    """Every value as a text that no other value has; numbers that are equal have one text, whatever their type."""
    if value is None:
        feed(b"n")
    elif isinstance(value, np.generic):
        _feed(feed, value.item())
    elif isinstance(value, numbers.Integral):
        feed(b"i%d;" % int(value))
    elif isinstance(value, float):
        feed(
            b"i%d;" % int(value) if math.isfinite(value) and value.is_integer() else b"f" + value.hex().encode() + b";"
        )
    elif isinstance(value, str):
        _text(feed, value)
    elif isinstance(value, bytes | bytearray | memoryview):
        _sized(feed, b"b", bytes(value))
    elif type(value) is np.ndarray:
        _array(feed, value)
    elif type(value) in (list, tuple):
        feed(b"l%d:" % len(value))
        for each in value:
            _feed(feed, each)
    elif isinstance(value, Mapping) and type(value) is dict:
        _sorted(feed, b"d", ((key, each) for key, each in value.items()), len(value))
    elif isinstance(value, Set) and type(value) in (set, frozenset):
        _sorted(feed, b"e", value, len(value))
    elif callable(getattr(type(value), "fingerprint", None)):  # it says by itself what tells it from another
        _feed(feed, value.fingerprint())
    else:
        kind = type(value)
        _text(feed, f"{kind.__module__}.{kind.__qualname__}")
        _sized(feed, b"p", pickle.dumps(value, protocol=5))


def _array(feed: Feed, array: Any) -> None:
    feed(b"a" + repr(array.shape).encode())
    if array.dtype.kind == "O":
        for each in array.flat:
            _feed(feed, each)
        return
    if array.dtype.kind in "biu":
        array = array.astype(np.uint64 if array.dtype == np.uint64 else np.int64)
    elif array.dtype.kind == "f":
        array = array.astype(np.float64) + 0.0 if array.dtype.itemsize <= 8 else array
    _sized(feed, array.dtype.str.encode(), np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # without a copy


def _sorted(feed: Feed, tag: bytes, values: Any, count: int) -> None:
    """A mapping or a set has no order."""
    parts = []
    for each in values:
        digest = hashlib.sha256()
        _feed(digest.update, each)
        parts.append(digest.digest())
    feed(tag + b"%d:" % count)
    feed(b"".join(sorted(parts)))
