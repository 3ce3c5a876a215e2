"""Signatures on certificates: Ed25519, so that a certificate cannot be made by somebody else."""

from privet._signing import Key, is_signed, new_private, private_key, public_hex, trusted_hex
from privet.errors import SerialisationError

_ALGORITHM = "Ed25519"


def new_key() -> str:
    """A new private key in hexadecimal. Keep it secret; `public_key` gives what others need.

    >>> len(new_key())
    64
    """
    return str(new_private().private_bytes_raw().hex())


def public_key(key: Key) -> str:
    """The public half of a private key, in hexadecimal. The key is given in hexadecimal or as PEM, or as a file with one of
    them: that of `ledger.new_signing_key` does as well.

    >>> len(public_key(new_key()))
    64
    """
    return public_hex(key)


def sign(digest: str, key: Key) -> dict[str, str]:
    """The signature of a digest, with the public key that checks it.

    >>> sorted(sign("00", new_key()))
    ['algorithm', 'public_key', 'value']
    """
    private = private_key(key)
    return {
        "algorithm": _ALGORITHM,
        "public_key": public_hex(private),
        "value": private.sign(_message(digest)).hex(),
    }


def verify(digest: str, signature: dict[str, str], key: Key | None = None) -> None:
    """Refuse a signature that is not of this digest, or not by the key that is trusted.

    >>> secret = new_key()
    >>> verify("00", sign("00", secret), public_key(secret))
    """
    wanted = None if key is None else trusted_hex(key)
    try:
        algorithm, shown, value = (signature[name] for name in ("algorithm", "public_key", "value"))
    except (KeyError, TypeError):
        raise SerialisationError("the signature does not belong to this certificate") from None
    if algorithm != _ALGORITHM:
        raise SerialisationError("the certificate is signed by an unknown algorithm")
    if wanted is not None and shown != wanted:
        raise SerialisationError("the certificate is signed by another key than the one that is trusted")
    if not is_signed(_message(digest), value, shown):
        raise SerialisationError("the signature does not belong to this certificate")


def _message(digest: str) -> bytes:
    return f"privet audit certificate {digest}".encode()
