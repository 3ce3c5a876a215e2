"""The head of a file, kept beside it: which entry was last made durable, and in which file.

What a copy of the file, a log that was cut short or an old file put back in its place lacks is the entry that the head
names. The head is written after the entry is on the disk, so it is never ahead of an honest file.
"""

import os
import time
import zlib
from typing import NamedTuple

from privet.errors import LedgerTampered, LedgerUnavailable

_SLOT = 128  # bytes of a line: more than an inode, a number, a hash and a check sum can need
_SYNC_EVERY = 64  # writes, and at most once in
_SYNC_SECONDS = 1.0  # the page cache keeps the others, which is enough for anything but loss of power
_sync = getattr(os, "fdatasync", os.fsync)  # the file keeps its length


class Head(NamedTuple):
    """An entry that the file with this inode must hold.

    >>> Head(7, 3, "ab" * 32).seq
    3
    """

    inode: int
    seq: int
    hash: str

    def line(self) -> bytes:
        """As it is kept: fixed length, with a check sum."""
        text = f"{self.inode} {self.seq} {self.hash}"
        return f"{text} {zlib.crc32(text.encode()):08x}".ljust(_SLOT - 1).encode() + b"\n"

    @staticmethod
    def read(line: bytes) -> "Head | None":
        """Back from `line`; None for anything else."""
        text, _, check = line.decode("ascii", "replace").strip().rpartition(" ")
        try:
            if int(check, 16) != zlib.crc32(text.encode()):
                return None
            inode, seq, digest = text.split(" ")
            return Head(int(inode), int(seq), digest)
        except ValueError:
            return None


class HeadFile:
    """Two places that are written in turn, so that one is whole at every moment.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = HeadFile(folder + "/a.head")
    ...     file.replace(Head(7, 2, "ab" * 32))
    ...     file.write(Head(7, 3, "ab" * 32))
    ...     print(file.read())
    ...     file.close()
    Head(inode=7, seq=3, hash='abababababababababababababababababababababababababababababababab')
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None
        self._identity: tuple[int, int] | None = None
        self._slot = 0
        self._unsynced = 0
        self._synced = 0.0  # when
        self._known: tuple[bytes, Head] | None = None  # what the file held when it was looked at, or written, last

    def read(self) -> Head | None:
        """The newest head; None where there is no file."""
        try:
            if self._file is None or not self._there():
                self.close()
                try:
                    self._open(os.O_RDWR)
                except (PermissionError, IsADirectoryError):
                    self._open(os.O_RDONLY)
            assert self._file is not None
            content = os.pread(self._file, 2 * _SLOT, 0)
        except FileNotFoundError:
            self.close()
            return None
        except OSError as error:
            raise LedgerUnavailable(
                f"the head of the ledger ({os.path.basename(self._path)!r}) cannot be read ({error.strerror}); "
                "nothing was spent"
            ) from error
        if self._known is not None and self._known[0] == content:
            return self._known[1]
        found = [(head.seq, slot, head) for slot in (0, 1) if (head := Head.read(content[slot * _SLOT :][:_SLOT]))]
        if not found:
            raise LedgerTampered(
                f"{os.path.basename(self._path)!r} is not the head of a ledger; it was damaged or edited"
            )
        _, slot, head = max(found)
        self._slot = 1 - slot
        self._known = content, head
        return head

    def _there(self) -> bool:
        status = os.stat(self._path)
        return (status.st_dev, status.st_ino) == self._identity

    def _open(self, flags: int) -> None:
        self._file = os.open(self._path, flags | os.O_CLOEXEC)
        status = os.fstat(self._file)
        self._identity = (status.st_dev, status.st_ino)

    def write(self, head: Head) -> None:
        """Keep a head. Nothing here is synced at once: an older head is no lie, and a power cut is no rollback."""
        try:
            if self._file is None:
                self._open(os.O_RDWR)
            assert self._file is not None
            line = head.line()
            known, self._known = self._known, None
            os.pwrite(self._file, line, self._slot * _SLOT)
            if known is not None:
                other = known[0].ljust(2 * _SLOT)[(1 - self._slot) * _SLOT :][:_SLOT]
                self._known = (line + other if self._slot == 0 else other + line), head
            self._slot = 1 - self._slot
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY and time.monotonic() - self._synced >= _SYNC_SECONDS:
                _sync(self._file)
                self._unsynced, self._synced = 0, time.monotonic()
        except OSError as error:
            raise LedgerUnavailable(
                f"the head of the ledger cannot be written ({error.strerror}); the charge stands, nothing was released"
            ) from error

    def replace(self, head: Head, *, mode: int = 0o600) -> None:
        """Begin anew with this head, whatever was there: for a file that was just made, or was adopted."""
        self.close()
        name = f"{self._path}.{os.getpid()}.new"
        try:
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
            try:
                os.write(file, head.line())
                os.fsync(file)
            finally:
                os.close(file)
            os.replace(name, self._path)
        except OSError as error:
            raise LedgerUnavailable(
                f"the head of the ledger cannot be written ({error.strerror}); nothing was released"
            ) from error

    def close(self) -> None:
        """Let go of the file."""
        file, self._file = self._file, None
        self._known = None
        if file is not None:
            os.close(file)
