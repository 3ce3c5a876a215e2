"""Anchors: a signed head kept elsewhere. A chain alone does not see that its end was cut off or an old copy put back."""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from privet import _signing
from privet._calls import door
from privet._validate import set_frozen
from privet.errors import InvalidParameter, LedgerTampered, LedgerUnavailable
from privet.ledger.entry import Entry, canonical

_HEX = re.compile(r"[0-9a-f]{64}")
Holds = Callable[[int], str | None]  # the hash that a ledger has at a seq


@dataclass(frozen=True)
class Anchor:
    """The state of a ledger at one moment: its id, the seq and hash of its head, the sums of its accounts.

    `every_reserve` says that the anchor followed every reservation before its release was drawn, so that nothing spent
    is newer than it. Without a signature it is worth what the place is worth where you keep it.

    **Guarantee:** a ledger whose entry `seq` has another hash, or that is shorter, is not the one that was anchored.

    >>> anchor = Anchor("id", 3, "ab" * 32, {"dataset": [["5"]]})
    >>> Anchor.from_json(anchor.to_json()) == anchor
    True
    """

    ledger: str
    seq: int
    hash: str
    sums: dict[str, list[list[str]]] = field(hash=False)
    time: str = ""
    every_reserve: bool = False
    public_key: str | None = None
    signature: str | None = None

    def message(self) -> bytes:
        """The bytes that are signed."""
        facts = {name: value for name, value in vars(self).items() if name != "signature"}
        return b"privet-anchor/1" + canonical({**facts, "seq": str(self.seq)}).encode("ascii")

    def signed(self, key_file: str | os.PathLike[str]) -> "Anchor":
        """The same anchor with a signature by the Ed25519 key in a file."""
        key = _load_key(key_file)
        unsigned = replace(self, public_key=_signing.public_hex(key), signature=None)
        return replace(unsigned, signature=key.sign(unsigned.message()).hex())

    def check(self, public_key: str | None = None) -> "Anchor":
        """Refuse an anchor that was edited, or signed by another key than the one expected."""
        if public_key is not None and (self.public_key != public_key or self.signature is None):
            raise LedgerTampered("the anchor is not signed by the expected key; somebody else wrote it")
        if self.signature is None:
            return self
        if not _signing.is_signed(self.message(), self.signature, self.public_key or ""):
            raise LedgerTampered("the signature of the anchor is wrong: it was edited")
        return self

    def to_json(self) -> str:
        """One JSON text, for a file, a printed page or another host."""
        return json.dumps({"privet_anchor": 1, **vars(self)}, sort_keys=True, indent=1)

    @staticmethod
    def from_json(text: str) -> "Anchor":
        """Inverse of `to_json`."""
        try:
            facts = json.loads(text)
            if facts.pop("privet_anchor") != 1 or not _HEX.fullmatch(facts["hash"]) or type(facts["seq"]) is not int:
                raise ValueError
            return Anchor(**facts)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise LedgerTampered("this text is not an anchor; it was edited or is something else") from None


@door
@dataclass(frozen=True)
class AnchorFile:
    """Where anchors are kept: a file, best on another host or medium than the ledger.

    `key` is the file of the Ed25519 key that signs (only writers need it); `public_key` pins who may have signed.
    `every_reserve=True` anchors each reservation before its release is drawn: the setting for hosts that you do not
    trust. Keys are read when they are used and never kept in an object, so nothing secret can be pickled or logged.

    Beside the file, `<path>.log` gets a line for every anchor and is never rewritten: two histories leave two lines.

    >>> AnchorFile("visits.anchor").read() is None, os.path.isabs(AnchorFile("visits.anchor").path)
    (True, True)
    """

    path: str | os.PathLike[str]
    key: str | os.PathLike[str] | None = None
    public_key: str | None = None
    every_reserve: bool = False

    def __post_init__(self) -> None:
        for name in ("path", "key"):  # a handle that travels to another folder finds the same files
            value = getattr(self, name)
            set_frozen(self, **{name: None if value is None else os.path.abspath(value)})

    @staticmethod
    @door
    def of(anchor: object) -> "AnchorFile | None":
        """A path means an anchor file without a key."""
        if anchor is None or isinstance(anchor, AnchorFile):
            return anchor
        if isinstance(anchor, str | os.PathLike):
            return AnchorFile(anchor)
        raise InvalidParameter("anchor must be an AnchorFile or the path of one")

    def expected_key(self) -> str | None:
        """Who must have signed, as far as this says."""
        return self.public_key or (None if self.key is None else public_key_of(self.key))

    def read(self) -> Anchor | None:
        """The anchor, checked; None where there is none yet."""
        try:
            status = os.stat(self.path)
            mark = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            known = _READ.get(self)
            if known is not None and known[0] == mark:
                return known[1]
            text = Path(self.path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerUnavailable(f"the anchor cannot be read ({error}); nothing was spent") from error
        found = Anchor.from_json(text).check(self.expected_key())
        _READ[self] = (mark, found)
        return found

    def probe(self) -> None:
        """Before anything is charged: could an anchor be signed and kept here now?"""
        if self.key is not None:
            _load_key(self.key)
        path = Path(self.path)
        try:
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
            try:
                os.write(handle, bytes(4096))
            finally:
                os.close(handle)
                os.unlink(name)
            os.close(os.open(_log_of(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
        except OSError as error:
            raise LedgerUnavailable(f"the anchor cannot be written ({error}); nothing was spent") from error

    def write(self, anchor: Anchor, holds: Holds | None = None, *, adopted: bool = False) -> Anchor:
        """Sign and keep an anchor, unless a newer one of the same history is there. The file is replaced whole, or not
        at all. `holds` says which hash the ledger has at a seq: what was anchored before must be among them.

        **Guarantee:** the anchor of another ledger, or of another history of this one, is never replaced; the attempt
        stays in the log. Only `adopted=True` (see `Ledger.restore`) begins anew.
        """
        made = replace(anchor, every_reserve=self.every_reserve)
        made = made if self.key is None else made.signed(self.key)
        path = Path(self.path)
        try:
            with _alone(path):
                known = None if adopted else self.read()
                if known is not None and known.ledger != made.ledger:
                    raise LedgerTampered(
                        "the anchor belongs to another ledger and is not replaced: this file was put in the place of the "
                        "original, or the anchor needs a place of its own"
                    )
                if known is not None and (known.seq, known.hash) == (made.seq, made.hash):
                    return known
                fork = known is not None and not _follows(known, made, holds)
                if fork or known is None or known.seq < made.seq:
                    _append(_log_of(path), self._line(made, adopted))
                if fork:
                    assert known is not None
                    raise LedgerTampered(
                        f"entry {known.seq} was anchored with another hash: this ledger was rolled back or copied, and has "
                        "two histories now. Nothing is released from this one; the anchor and its log show both"
                    )
                if known is not None and known.seq > made.seq:
                    return known
                _replace_file(path, made.to_json() + "\n")
        except OSError as error:
            raise LedgerUnavailable(
                f"the anchor cannot be written ({error}); the charge stands, nothing was released"
            ) from error
        return made

    def _line(self, anchor: Anchor, adopted: bool) -> str:
        facts: dict[str, Any] = {"ledger": anchor.ledger, "seq": anchor.seq, "hash": anchor.hash, "time": anchor.time}
        facts |= {"adopted": True} if adopted else {}
        if self.key is not None:
            key = _load_key(self.key)
            facts |= {
                "signature": key.sign(_line_text(facts).encode()).hex(),
                "public_key": _signing.public_hex(key),
            }
        return json.dumps(facts, sort_keys=True)

    def log(self) -> list[tuple[str, int, str]]:
        """The anchors that were left here, oldest first, as (ledger, seq, hash), since a backup was last adopted."""
        try:
            lines = _log_of(Path(self.path)).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerUnavailable(f"the log of the anchor cannot be read ({error})") from error
        found: list[tuple[str, int, str]] = []
        for line in lines:
            if line.startswith("{") and not line.endswith("}"):
                continue  # it was cut short while it was written, and its anchor was not written either
            try:
                facts = json.loads(line)
                said = (str(facts["ledger"]), int(facts["seq"]), str(facts["hash"]))
                adopted = bool(facts.get("adopted"))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise LedgerTampered(
                    "the log of the anchor holds a line that no ledger writes; it was edited"
                ) from None
            if adopted and not self._vouched(facts):
                raise LedgerTampered(
                    "the log of the anchor says that a backup was adopted, without the signature of the expected key: "
                    "somebody else wrote that, to make older lines forgotten"
                )
            found = [] if adopted else found
            found.append(said)
        return found

    def _vouched(self, facts: dict[str, Any]) -> bool:
        """Is a line of the log signed by the expected key, where one is expected?"""
        key = self.expected_key()
        if key is None:
            return True
        plain = {name: value for name, value in facts.items() if name not in ("public_key", "signature")}
        return is_signed(_line_text(plain), facts.get("signature"), key)


def _line_text(facts: Mapping[str, Any]) -> str:
    """The text that is signed of a line of the log."""
    return "privet-anchor-line/1" + canonical({**facts, "seq": str(facts["seq"])})


def _follows(known: Anchor, made: Anchor, holds: Holds | None) -> bool:
    """Is what was anchored before in the history that is to be anchored now?"""
    if holds is None:
        return known.seq != made.seq  # as far as one can tell
    return holds(known.seq) == known.hash


def check_anchor(place: AnchorFile, holds: Holds, ledger: str, anchored: Mapping[str, Any] | None) -> None:
    """The entry that was anchored is there, with its hash: one look, however long the ledger is."""
    anchor = place.read()
    if anchor is None:
        if not Path(place.path).parent.is_dir():
            raise LedgerUnavailable("the place of the anchor is not there; nothing was spent. Is it mounted?")
        if anchored is not None:
            raise LedgerTampered(
                f"the anchor is missing: this ledger is {describe_anchored(anchored)}, and without it nobody sees whether "
                "an old copy was put back. Bring the anchor back, or see Ledger.restore"
            )
        return
    if anchor.ledger != ledger:
        raise LedgerTampered("the anchor belongs to another ledger: this file was put in the place of the original")
    if anchored is not None and anchored.get("key") is not None and anchor.public_key != anchored["key"]:
        raise LedgerTampered(f"the anchor is signed by another key; this ledger is {describe_anchored(anchored)}")
    if holds(anchor.seq) != anchor.hash:
        raise LedgerTampered(
            f"the ledger is behind its anchor or was rewritten: entry {anchor.seq} is not the one that was anchored. "
            "Nothing was spent. An old copy may have been put back; see Ledger.restore"
        )


def describe_anchored(anchored: Mapping[str, Any]) -> str:
    """Words of a chain about its anchor.

    >>> describe_anchored({"key": None})
    'anchored in an unsigned file'
    """
    key = anchored.get("key")
    return "anchored in an unsigned file" if key is None else f"anchored by the key {str(key)[:16]}…"


def new_signing_key(path: str | os.PathLike[str]) -> str:
    """Make an Ed25519 key, keep it in a new file that only its owner may read, and return the public key.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(new_signing_key(folder + "/custodian.key"))
    64
    """
    key = _signing.new_private()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise LedgerUnavailable(f"the key cannot be written ({error.strerror}); choose a new file") from None
    with os.fdopen(handle, "wb") as file:
        file.write(_signing.pem_of(key))
    return _signing.public_hex(key)


def public_key_of(path: str | os.PathLike[str]) -> str:
    """The public key that belongs to a key file: PEM, as `new_signing_key` writes it, or the digits of `audit.new_key`.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_signing_key(folder + "/custodian.key") == public_key_of(folder + "/custodian.key")
    True
    """
    return _signing.public_hex(_load_key(path))


def wanted_head(head: object) -> tuple[str | None, int | None, str]:
    """The head that a caller of `verify` expects: (ledger id, seq, hash), as far as it says."""
    if isinstance(head, Anchor):
        head.check()
        return head.ledger, head.seq, head.hash
    if isinstance(head, Entry):
        return None, head.seq, head.hash.hex()
    text = head.hex() if isinstance(head, bytes) else head
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise InvalidParameter("head must be an Anchor, an Entry, or the hash of an entry (32 bytes, or 64 hex digits)")
    return None, None, text


def sign_text(path: str | os.PathLike[str], text: str) -> str:
    """The signature of a text by a key file, in hex digits.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = new_signing_key(folder + "/custodian.key")
    ...     signature = sign_text(folder + "/custodian.key", "an act")
    >>> is_signed("an act", signature, key), is_signed("another act", signature, key)
    (True, False)
    """
    return str(_load_key(path).sign(text.encode()).hex())


def is_signed(text: str, signature: object, public_key: str) -> bool:
    """Was this text signed by the holder of that key?"""
    return _signing.is_signed(text.encode(), signature, public_key)


def _load_key(path: str | os.PathLike[str]) -> Any:
    try:
        return _signing.private_key(Path(path))  # a file: no secret is handed about in arguments
    except InvalidParameter:
        pass
    raise LedgerUnavailable(
        "the signing key cannot be read; expected a file with an Ed25519 key, as ledger.new_signing_key writes it or "
        "audit.new_key returns it"
    )


_READ: "dict[AnchorFile, tuple[tuple[int, ...], Anchor]]" = {}  # what was read last, while the file has not changed


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + ".log")


def _append(path: Path, line: str) -> None:
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"  # a power cut, or a full disk
        text = (b"\n" if torn else b"") + line.encode() + b"\n"
        while text:
            text = text[os.write(handle, text) :]
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Writers of one anchor file take turns (where the system has advisory locks)."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path.with_name(path.name + ".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _replace_file(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
