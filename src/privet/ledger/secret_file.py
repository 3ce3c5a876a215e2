"""The secret of a ledger: random bytes that no entry, export, pickle or message contains."""

import os
import secrets
from pathlib import Path

from privet.errors import LedgerUnavailable

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
