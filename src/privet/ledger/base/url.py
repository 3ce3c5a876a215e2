"""Where a ledger lives, as an address."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from privet.errors import InvalidParameter

__all__ = ["Address", "parse_url"]

_SCHEME = re.compile(r"^([a-z][a-z0-9+]*):")
_PASSWORD = re.compile(r"(://[^/@:]*):[^@/]*@")


class Address(NamedTuple):
    """A parsed address: the kind of store, what it needs to connect, and the form that may be shown.

    >>> parse_url("postgresql://ann:secret@db/visits").shown
    'postgresql://ann:***@db/visits'
    """

    store: str
    target: str
    url: str
    shown: str


def parse_url(url: object) -> Address:
    """`memory:`, a path, `sqlite:///path` or `postgresql://...`; relative paths become absolute, so that a handle that
    travels to another process finds the same file.

    >>> parse_url("memory:").store, parse_url("/data/visits.ledger").url
    ('memory', 'sqlite:////data/visits.ledger')
    """
    if isinstance(url, os.PathLike):
        url = os.fspath(url)
    if not isinstance(url, str) or not url or "\0" in url:
        raise InvalidParameter("a ledger's url is 'memory:', a path, 'sqlite:///path' or 'postgresql://host/database'")
    if url in ("memory:", ":memory:"):
        return Address("memory", "", "memory:", "memory:")
    if url.startswith(("postgresql://", "postgres://")):
        return Address("postgres", url, url, _PASSWORD.sub(r"\1:***@", url))
    path = url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else url
    scheme = _SCHEME.match(path)
    if not path or (scheme and len(scheme[1]) > 1):  # one letter is a drive
        raise InvalidParameter(
            f"no store is known for {url.partition(':')[0]!r}; use 'memory:', a path, 'sqlite:///path' or 'postgresql://...'"
        )
    absolute = str(Path(path).expanduser().absolute())
    return Address("sqlite", absolute, f"sqlite:///{absolute}", f"sqlite:///{absolute}")
