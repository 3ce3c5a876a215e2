"""Signatures on certificates: Ed25519, so that a certificate cannot be made by somebody else."""

from pathlib import Path
from typing import Any

from privet.errors import InvalidParameter, SerialisationError

_ALGORITHM = "Ed25519"
Key = Any  # an Ed25519 key of `cryptography`, its raw 32 bytes, their hexadecimal text, or the path of a file with one


def new_key() -> str:
    """A new private key in hexadecimal. Keep it secret; `public_key` gives what others need.

    >>> len(new_key())
    64
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate().private_bytes_raw().hex()


def public_key(key: Key) -> str:
    """The public half of a private key, in hexadecimal.

    >>> len(public_key(new_key()))
    64
    """
    return str(_private(key).public_key().public_bytes_raw().hex())


def sign(digest: str, key: Key) -> dict[str, str]:
    """The signature of a digest, with the public key that checks it.

    >>> sorted(sign("00", new_key()))
    ['algorithm', 'public_key', 'value']
    """
    value = _private(key).sign(_message(digest)).hex()
    return {"algorithm": _ALGORITHM, "public_key": public_key(key), "value": value}


def verify(digest: str, signature: dict[str, str], key: str | None = None) -> None:
    """Refuse a signature that is not of this digest, or not by the key that is trusted.

    >>> secret = new_key()
    >>> verify("00", sign("00", secret), public_key(secret))
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        if signature["algorithm"] != _ALGORITHM:
            raise SerialisationError("the certificate is signed by an unknown algorithm")
        shown = signature["public_key"]
        if key is not None and shown != _text(key).lower():
            raise SerialisationError("the certificate is signed by another key than the one that is trusted")
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(shown)).verify(
            bytes.fromhex(signature["value"]), _message(digest)
        )
    except (InvalidSignature, ValueError, KeyError, TypeError, AttributeError) as problem:
        if isinstance(problem, SerialisationError):
            raise
        raise SerialisationError("the signature does not belong to this certificate") from None


def _message(digest: str) -> bytes:
    return f"privet audit certificate {digest}".encode()


def _text(key: Key) -> str:
    """The hexadecimal text of a key, out of a file where it is the name of one."""
    text = str(key).strip()
    if len(text) == 64:
        return text
    try:
        return Path(text).read_text(encoding="utf-8").strip()
    except OSError:
        raise InvalidParameter("a key is 64 hexadecimal digits, or a file that holds them") from None


def _private(key: Key) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if isinstance(key, Ed25519PrivateKey):
        return key
    try:
        raw = key if isinstance(key, bytes) else bytes.fromhex(_text(key))
        return Ed25519PrivateKey.from_private_bytes(raw)
    except ValueError:
        raise InvalidParameter("a private key is 32 bytes: 64 hexadecimal digits, or a file that holds them") from None
