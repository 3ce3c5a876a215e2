"""Ed25519 keys and signatures, for the anchors and custodians of ledgers and for the certificates of audits.

A key is written in one of two ways, PEM or 64 hexadecimal digits, and either is read wherever a key is asked for.
"""

import os
import re
from pathlib import Path
from typing import Any

from privet.errors import InvalidParameter

Key = Any  # an Ed25519 key of `cryptography`, its 32 bytes, the text of one (hexadecimal or PEM), or the path of a file
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_PEM = "-----BEGIN"
_LONGEST = 8_192  # characters of a file with a key: anything longer is something else
_PRIVATE = "a private key is 64 hexadecimal digits or a PEM text of an Ed25519 key, or a file that holds one of them"
_PUBLIC = "a public key is 64 hexadecimal digits or a PEM text of an Ed25519 key, or a file that holds one of them"


def new_private() -> Any:
    """A new private key.

    >>> len(public_hex(new_private()))
    64
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def pem_of(key: Any) -> bytes:
    """A private key as PEM, without a password.

    >>> public_hex(private_key(pem_of(key := new_private()))) == public_hex(key)
    True
    """
    from cryptography.hazmat.primitives import serialization

    text: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return text


def private_key(key: Key) -> Any:
    """A private key out of whatever holds it; no message repeats what was handed in.

    >>> key = new_private()
    >>> public_hex(private_key(key.private_bytes_raw().hex())) == public_hex(key)
    True
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        if isinstance(key, Ed25519PrivateKey):
            return key
        raw = _raw(key)
        found = (
            serialization.load_pem_private_key(raw, password=None)
            if len(raw) > 32
            else Ed25519PrivateKey.from_private_bytes(raw)
        )
        if isinstance(found, Ed25519PrivateKey):
            return found
    except (OSError, ValueError, TypeError):
        pass
    raise InvalidParameter(_PRIVATE)


def public_hex(key: Key) -> str:
    """The public half of a private key, in hexadecimal.

    >>> len(public_hex(pem_of(new_private())))
    64
    """
    return str(private_key(key).public_key().public_bytes_raw().hex())


def trusted_hex(key: Key) -> str:
    """A public key that somebody trusts, in hexadecimal, out of whatever holds it. Of a PEM text of a private key it is the
    public half; hexadecimal digits do not say which half they are, and are taken as the public one.

    >>> known = public_hex(new_private())
    >>> trusted_hex(known.upper()) == known
    True
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        if isinstance(key, Ed25519PublicKey):
            return str(key.public_bytes_raw().hex())
        raw = _raw(key)
        if len(raw) == 32:
            return raw.hex()
        if b"PRIVATE" in raw:
            return public_hex(raw)
        found = serialization.load_pem_public_key(raw)
        if isinstance(found, Ed25519PublicKey):
            return str(found.public_bytes_raw().hex())
    except (OSError, ValueError, TypeError):
        pass
    raise InvalidParameter(_PUBLIC)


def is_signed(message: bytes, signature: object, public_key: str) -> bool:
    """True if the holder of a public key (in hexadecimal) has signed a message (signature in hexadecimal).

    >>> key = new_private()
    >>> is_signed(b"an act", key.sign(b"an act").hex(), public_hex(key)), is_signed(b"an act", "00", public_hex(key))
    (True, False)
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        known = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        known.verify(bytes.fromhex(str(signature)), message)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _raw(key: Key) -> bytes:
    """The 32 bytes of a key, or its PEM text. A path object is always the name of a file, a text is one where it is no key
    itself: names may have 64 characters, too.
    """
    if isinstance(key, bytes) and len(key) == 32:
        return key
    text = key.decode("ascii") if isinstance(key, bytes) else str(key)
    named = isinstance(key, os.PathLike) or not (_HEX.fullmatch(text.strip()) or _PEM in text)
    if named:
        with Path(text).open(encoding="ascii") as file:
            text = file.read(_LONGEST)
    text = text.strip()
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    if text.startswith(_PEM):
        return text.encode("ascii")
    raise ValueError
