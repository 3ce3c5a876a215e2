"""Where a ledger lives, as an address without its secrets."""

import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from privet.errors import InvalidParameter

_SCHEME = re.compile(r"^([a-z][a-z0-9+]*):")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_PLAIN = {  # options of a connection that hold no secret; what is not listed is not shown
    "host", "hostaddr", "port", "dbname", "user", "sslmode", "application_name", "connect_timeout", "service",
    "target_session_attrs", "channel_binding", "sslrootcert", "gssencmode", "keepalives",
}  # fmt: skip
_SECRET = ("password", "sslpassword", "secret", "token")
_secrets: dict[str, dict[str, str]] = {}  # of addresses that this process was given; they are written nowhere


class Address(NamedTuple):
    """A parsed address: the kind of store, what it needs to connect, the address that travels, the form that is shown.

    None of them holds a password: that stays in the memory of the process that was given it (`secrets_for`).

    >>> parse_url("postgresql://ann:secret@db/visits").shown
    'postgresql://ann@db/visits'
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
        url = None
        raise InvalidParameter("a ledger's url is 'memory:', a path, 'sqlite:///path' or 'postgresql://host/database'")
    if url in ("memory:", ":memory:"):
        return Address("memory", "", "memory:", "memory:")
    if url.startswith(("postgresql://", "postgres://")):
        return _server(url)
    path = url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else url
    scheme = _SCHEME.match(path)
    if not path or (scheme and len(scheme[1]) > 1):  # one letter is a drive
        name = url.partition(":")[0]
        del url, path
        raise InvalidParameter(
            f"no store is known for {name!r:.40}; use 'memory:', a path, 'sqlite:///path' or 'postgresql://...'"
        )
    absolute = str(Path(path).expanduser().absolute())
    return Address("sqlite", absolute, f"sqlite:///{absolute}", f"sqlite:///{absolute}")


def secrets_for(url: str) -> dict[str, str]:
    """The password, and the like, that this process was given for an address; else the driver finds its own, in
    PGPASSWORD or ~/.pgpass.

    >>> secrets_for(parse_url("postgresql://ann:se/cret@db/visits").url)
    {'password': 'se/cret'}
    """
    return dict(_secrets.get(url.partition("#")[0], {}))


def _server(url: str) -> Address:
    """Take the address apart at the *last* @: a password may contain every other mark that an address is made of."""
    scheme, _, rest = url.partition("://")
    login, at, place = rest.rpartition("@") if "@" in rest.partition("?")[0] else ("", "", rest)
    if not at and "@" in rest and ":" in rest.partition("?")[0].partition("/")[0]:
        login, at, place = rest.rpartition("@")  # a question mark before the @ belongs to the password
    user, _, password = login.partition(":")
    place, _, schema = place.partition("#")
    where, _, query = place.partition("?")
    kept, hidden = [], {"password": unquote(password)} if password else {}
    for option in filter(None, query.split("&")):
        name, _, value = option.partition("=")
        word = unquote(name).strip().lower()
        if word.endswith(_SECRET):
            hidden.setdefault(word, unquote(value))
        else:
            kept.append((word, value))
    login = f"{user}@" if user else ""
    fragment = f"#{schema}" if schema else ""
    options = "&".join(f"{name}={value}" for name, value in kept)
    clean = f"{scheme}://{login}{where}{'?' if options else ''}{options}{fragment}"
    told = "&".join(f"{name}={value if name in _PLAIN else '***'}" for name, value in kept)
    seen = fragment if _SCHEMA.fullmatch(schema) else ("#***" if schema else "")
    shown = f"{scheme}://{login}{where}{'?' if told else ''}{told}{seen}"
    if hidden:
        _secrets[clean.partition("#")[0]] = hidden
    return Address("postgres", clean, clean, shown)
