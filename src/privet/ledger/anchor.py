"""Anchors: a signed head kept elsewhere. A chain alone does not see that its end was cut off or an old copy put back."""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from privet.errors import InvalidParameter, LedgerTampered, LedgerUnavailable
from privet.ledger.base import Entry, canonical

__all__ = ["Anchor", "AnchorFile", "new_signing_key", "public_key_of"]

_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Anchor:
    """What a ledger was at one moment: its id, the seq and hash of its head, the sums of its accounts.

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
        unsigned = replace(self, public_key=_hex_of(key.public_key()), signature=None)
        return replace(unsigned, signature=key.sign(unsigned.message()).hex())

    def check(self, public_key: str | None = None) -> "Anchor":
        """Refuse an anchor that was edited, or signed by another key than the one expected."""
        if public_key is not None and (self.public_key != public_key or self.signature is None):
            raise LedgerTampered("the anchor is not signed by the expected key; somebody else wrote it")
        if self.signature is None:
            return self
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key or ""))
            key.verify(bytes.fromhex(self.signature), self.message())
        except (InvalidSignature, ValueError):
            raise LedgerTampered("the signature of the anchor is wrong: it was edited") from None
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


@dataclass(frozen=True)
class AnchorFile:
    """Where anchors are kept: a file, best on another host or medium than the ledger.

    `key` is the file of the Ed25519 key that signs (only writers need it); `public_key` pins who may have signed.
    `every_reserve=True` anchors each reservation before its release is drawn: the setting for hosts that you do not
    trust. Keys are read when they are used and never kept in an object, so nothing secret can be pickled or logged.

    >>> AnchorFile("visits.anchor").read() is None
    True
    """

    path: str | os.PathLike[str]
    key: str | os.PathLike[str] | None = None
    public_key: str | None = None
    every_reserve: bool = False

    @staticmethod
    def of(anchor: Any) -> "AnchorFile | None":
        """A path means an anchor file without a key."""
        if anchor is None or isinstance(anchor, AnchorFile):
            return anchor
        if isinstance(anchor, str | os.PathLike):
            return AnchorFile(os.path.abspath(anchor))
        raise InvalidParameter("anchor must be an AnchorFile or the path of one")

    def expected_key(self) -> str | None:
        """Who must have signed, as far as this says."""
        return self.public_key or (None if self.key is None else public_key_of(self.key))

    def read(self) -> Anchor | None:
        """The anchor, checked; None where there is none yet."""
        try:
            text = Path(self.path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise LedgerUnavailable(f"the anchor cannot be read ({error}); nothing was spent") from error
        return Anchor.from_json(text).check(self.expected_key())

    def write(self, anchor: Anchor) -> Anchor:
        """Sign and keep an anchor, unless a newer one is there already. The file is replaced whole, or not at all."""
        made = replace(anchor, every_reserve=self.every_reserve)
        made = made if self.key is None else made.signed(self.key)
        path = Path(self.path)
        try:
            with _alone(path):
                known = self.read()
                if known is not None and known.ledger == made.ledger and known.seq > made.seq:
                    return known
                _replace_file(path, made.to_json() + "\n")
        except OSError as error:
            raise LedgerUnavailable(f"the anchor cannot be written ({error}); nothing was released") from error
        return made


def new_signing_key(path: str | os.PathLike[str]) -> str:
    """Make an Ed25519 key, keep it in a new file that only its owner may read, and return the public key.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(new_signing_key(folder + "/custodian.key"))
    64
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise LedgerUnavailable(f"the key cannot be written ({error.strerror}); choose a new file") from None
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    return _hex_of(key.public_key())


def public_key_of(path: str | os.PathLike[str]) -> str:
    """The public key that belongs to a key file.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new_signing_key(folder + "/custodian.key") == public_key_of(folder + "/custodian.key")
    True
    """
    return _hex_of(_load_key(path).public_key())


def wanted_head(head: Any) -> tuple[str | None, int | None, str]:
    """What a caller of `verify` expects: (ledger id, seq, hash), as far as it says."""
    if isinstance(head, Anchor):
        head.check()
        return head.ledger, head.seq, head.hash
    if isinstance(head, Entry):
        return None, head.seq, head.hash.hex()
    text = head.hex() if isinstance(head, bytes) else head
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise InvalidParameter("head must be an Anchor, an Entry, or the hash of an entry (32 bytes, or 64 hex digits)")
    return None, None, text


def _load_key(path: str | os.PathLike[str]) -> Any:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        key = serialization.load_pem_private_key(Path(path).read_bytes(), password=None)
    except (OSError, ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise LedgerUnavailable("the signing key cannot be read; expected an Ed25519 key that new_signing_key wrote")
    return key


def _hex_of(public_key: Any) -> str:
    return str(public_key.public_bytes_raw().hex())


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
