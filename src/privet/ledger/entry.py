"""One entry of the chain: canonical text, hash, and the fields that people read."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from privet.errors import InvalidParameter, LedgerTampered

ADMIN = ("open", "budget", "analyst", "partition", "adopt", "close", "anchor", "moved", "custodian")  # to be read first
KINDS = (*ADMIN, "reserve", "slice", "release", "checkpoint")
SIGNED = ("budget", "analyst", "partition", "close", "custodian")  # acts of the custodian, where one is appointed
GENESIS = bytes(32)  # what the first entry names as the hash before it
DATASET = "dataset"  # the scope of the cap that protects people; all others ration

_FORMAT = b"privet-ledger/1"
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
_DECODE = json.JSONDecoder().raw_decode
_QUOTE = json.encoder.encode_basestring_ascii
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_TURNING = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)  # letters after these are shown in another order


def canonical(value: object) -> str:
    """ASCII JSON with sorted keys and no blanks: equal values have equal texts.

    >>> canonical({"b": "1", "a": None})
    '{"a":null,"b":"1"}'
    """
    return _ENCODE(value)


def object_text(encoded: Mapping[str, str]) -> str:
    """`canonical` of an object whose values are JSON texts already. On the path of every charge, hence no encoder.

    >>> object_text({"c": "[]", "a": "null"})
    '{"a":null,"c":[]}'
    """
    if len(encoded) == 1:
        ((name, text),) = encoded.items()
        return f"{{{_QUOTE(name)}:{text}}}"
    return "{" + ",".join([f"{_QUOTE(name)}:{encoded[name]}" for name in sorted(encoded)]) + "}"


class Entry(NamedTuple):
    """A row of the ledger, as it is stored: `loss`, `amounts` and `body` are canonical JSON texts.

    **Guarantee:** `hash` covers every other field and, through `prev`, every entry before.

    >>> entry = linked(None, "open", body="{}")
    >>> entry.seq, entry.hash == hash_of(entry), entry.facts
    (1, True, {})
    """

    seq: int
    prev: bytes
    hash: bytes
    kind: str
    analyst: str
    key: str | None
    loss: str | None
    amounts: str
    body: str

    @property
    def facts(self) -> dict[str, Any]:
        """The body, read."""
        return _read(self.body, self.seq)

    @property
    def charged(self) -> dict[str, Any]:
        """The amounts, read: scope to sums, as texts in units of 10^-40."""
        return _read(self.amounts, self.seq)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for an export."""
        return {
            "seq": self.seq,
            "prev": self.prev.hex(),
            "hash": self.hash.hex(),
            "kind": self.kind,
            "analyst": self.analyst or None,
            "key": self.key,
            "loss": None if self.loss is None else _read(self.loss, self.seq),
            "amounts": self.charged,
            "body": self.facts,
        }


def _read(text: str, seq: int) -> dict[str, Any]:
    try:
        value, end = _DECODE(text)
    except (ValueError, RecursionError):
        value, end = None, 0
    if not isinstance(value, dict) or end != len(text):
        raise LedgerTampered(f"entry {seq} is not a JSON object; the ledger was edited", seq=seq)
    return value


def hash_of(entry: Entry) -> bytes:
    """SHA-256 over the format, the previous hash and all other fields, each as canonical JSON on a line of its own.

    No field that a ledger writes contains a line break, so the lines say where each begins and ends.

    >>> len(hash_of(linked(None, "open", body="{}")))
    32
    """
    return _hash(entry.seq, entry.prev, entry.kind, entry.analyst, entry.key, entry.loss, entry.amounts, entry.body)


def _hash(
    seq: int, prev: bytes, kind: str, analyst: str, key: str | None, loss: str | None, amounts: str, body: str
) -> bytes:
    name = "null" if key is None else _QUOTE(key)
    price = "null" if loss is None else f"={loss}"  # else the text 'null' would hash like no loss at all
    text = f'"{seq}"\n{_QUOTE(kind)}\n{_QUOTE(analyst)}\n{name}\n{price}\n{amounts}\n{body}'
    return hashlib.sha256(_FORMAT + prev + text.encode("utf-8", "surrogatepass")).digest()


def linked(
    head: Entry | None,
    kind: str,
    *,
    body: str,
    analyst: str = "",
    key: str | None = None,
    loss: str | None = None,
    amounts: str = "{}",
) -> Entry:
    """The next entry after `head`.

    >>> first = linked(None, "open", body="{}")
    >>> linked(first, "close", body="{}").prev == first.hash
    True
    """
    seq, prev = (1, GENESIS) if head is None else (head.seq + 1, head.hash)
    digest = _hash(seq, prev, kind, analyst, key, loss, amounts, body)
    return Entry(seq, prev, digest, kind, analyst, key, loss, amounts, body)


def clean_text(name: str, value: object, *, most: int = 2000, stored: bool = False) -> str:
    """A text that every store can hold and every reader sees as it is: no control characters, not endless. `stored`: it
    was written before marks that turn the order of letters were refused.

    >>> clean_text("purpose", "weekly report")
    'weekly report'
    """
    if not isinstance(value, str):
        raise InvalidParameter(f"{name} must be a text, got {type(value).__name__}")
    if len(value) > most or _CONTROL.search(value):
        raise InvalidParameter(f"{name} must have at most {most} characters and no control characters")
    if not stored and _TURNING.search(value):
        raise InvalidParameter(
            f"{name} holds a mark that turns the order of letters, so it would be read as another one"
        )
    return value


def clean_name(name: str, value: object, *, stored: bool = False) -> str:
    """A name of an analyst, group, part or key: not empty, no blanks around it.

    >>> clean_name("analyst", "ann")
    'ann'
    """
    text = clean_text(name, value, most=200, stored=stored)
    if not text or text != text.strip():
        raise InvalidParameter(f"{name} must not be empty or begin or end with a blank")
    return text
