"""Large values, which lie outside of the chain under their SHA-256: writing, reading, copying and checking them."""

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from privet.errors import LedgerError, LedgerTampered, LedgerUnavailable
from privet.ledger.entry import Entry
from privet.ledger.store import Draft, Reader, Store
from privet.mechanisms import Outside

_DIGEST = re.compile(r"[0-9a-f]+")
_NAMED = '"outside": {'


def outside_of(entry: Entry) -> Outside | None:
    """The name in a release whose value lies outside of the entry; the value itself is not read.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> outside_of(ledger.entries()[0]) is None
    True
    """
    if entry.kind != "release":
        return None
    text = entry.facts["release"]
    if _NAMED not in text:
        return None
    value = json.loads(text)["value"]
    named = value.get("outside") if isinstance(value, dict) else None
    return None if named is None else Outside(str(named["kind"]), int(named["size"]), str(named["sha256"]))


def loaded(store: Store, outside: Outside, seq: int) -> bytes:
    """The bytes of a value, compared with the digest in the chain."""
    raw = store.value(outside.sha256)
    if raw is None:
        raise LedgerError(
            f"the release that entry {seq} paid for is {outside!r}, and its bytes were deleted from beside the ledger. It "
            "was paid for and cannot be answered again; ask under a new key, which pays again"
        )
    if not outside.holds(raw):
        raise LedgerTampered(f"the value that entry {seq} paid for is not the one that was recorded", seq=seq)
    return raw


def named_values(reader: Reader) -> Iterator[tuple[int, Outside]]:
    """Every value that lies outside, with the entry that names it."""
    for entry in reader.entries(0, ("release",)):
        found = outside_of(entry)
        if found is not None:
            yield entry.seq, found


def copy_values(reader: Reader, source: Store, target: "Draft | Store") -> None:
    """Where entries go, their values go. One that was deleted stays deleted."""
    for seq, outside in named_values(reader):
        raw = source.value(outside.sha256)
        if raw is None:
            continue
        if not outside.holds(raw):
            raise LedgerTampered(f"the value that entry {seq} recorded is not the one that lies there", seq=seq)
        target.keep_value(outside.sha256, raw)


def check_values(reader: Reader, store: Store) -> tuple[int, tuple[int, ...]]:
    """Read every value that lies outside: how many are as they were recorded, and which entries lost theirs."""
    good, deleted = 0, []
    for seq, outside in named_values(reader):
        raw = store.value(outside.sha256)
        if raw is None:
            deleted.append(seq)
        elif not outside.holds(raw):
            raise LedgerTampered(f"the value that entry {seq} recorded is not the one that lies there", seq=seq)
        else:
            good += 1
    return good, tuple(deleted)


def write_value(folder: Path, digest: str, raw: bytes) -> None:
    """A file in a folder, whole or not at all, and on the disk when this returns.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_value(Path(place, "a.values"), "ab", b"content")
    ...     read_value(Path(place, "a.values"), "ab")
    b'content'
    """
    path = folder / digest
    draft = folder / f"{digest}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
            synced(folder.parent)
        if path.exists():
            synced(folder)  # another process may have put it there just now
            return
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(raw)
            while view:
                view = view[os.write(file, view) :]
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(draft, path)
        synced(folder)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise LedgerUnavailable(
            f"the value cannot be written to {folder.name!r} ({error.strerror}); the charge stands, nothing was released"
        ) from error


def read_value(folder: Path, digest: str) -> bytes | None:
    """The bytes of a file in a folder; None where there is none."""
    if not _DIGEST.fullmatch(digest):
        raise LedgerTampered("an entry names a value by what is no digest; it was edited")
    try:
        return (folder / digest).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnavailable(f"a value in {folder.name!r} cannot be read ({error.strerror})") from error


def synced(path: Path | str) -> None:
    """Wait until a file, or the names in a folder, are on the disk.

    >>> synced(".")
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
