"""Whose turn it is to write a file: a lock on a file beside it.

SQLite keeps writers apart with POSIX locks. A process loses those on a file as soon as anything in it opens and closes
that file, and whoever closes next deletes a log that others still write. A `flock` belongs to the open file it was made
with, and nobody has a reason to open this one. The kernel also queues those who wait, while SQLite lets them poll.
"""

import os
import threading
import time

from privet.errors import LedgerBusy, LedgerUnavailable
from privet.ledger.signals import give_way

try:
    import fcntl
except ImportError:  # no such locks there: SQLite's own have to do
    fcntl = None  # type: ignore[assignment]


_SLICE = 0.1  # how long a wait goes on before it looks for Ctrl-C


class Turn:
    """The right to write, held by one thread of one process. Call with the store's own lock held.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     turn = Turn(folder + "/a.lock", 0o600)
    ...     with turn.taken(1.0):
    ...         print(Path(folder, "a.lock").exists())
    True
    """

    def __init__(self, path: str, mode: int) -> None:
        self._path, self._mode = path, mode
        self._file: int | None = None
        self._identity: tuple[int, int] | None = None
        self._depth = 0

    def taken(self, timeout: float) -> "_Taken":
        """A context in which it is ours; re-entrant."""
        return _Taken(self, timeout)

    def take(self, timeout: float) -> None:
        """Wait for the turn, or say that the ledger is busy."""
        if self._depth == 0 and fcntl is not None:
            deadline = time.monotonic() + timeout
            try:
                while not self._try(deadline):
                    pass
            except BaseException:
                self.forget()
                raise
        self._depth += 1

    def _try(self, deadline: float) -> bool:
        if self._file is None:
            self._file = _opened(self._path, self._mode)
            status = os.fstat(self._file)
            self._identity = (status.st_dev, status.st_ino)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _wait(self, deadline)
        if identity_of(self._path) == self._identity:
            return True
        self.forget()  # somebody removed the file: others will lock a new one
        return False

    def give(self) -> None:
        """Let the next one write."""
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def forget(self) -> None:
        """Close the file, which gives the turn back, unless it is shared with the process that we were forked from."""
        file, self._file = self._file, None
        self._depth = 0
        if file is not None:
            os.close(file)

    def hand_over(self) -> int:
        """The file, which this turn will not use again."""
        file, self._file = self._file, None
        assert file is not None
        return file


class _Taken:
    def __init__(self, turn: Turn, timeout: float) -> None:
        self._turn, self._timeout = turn, timeout

    def __enter__(self) -> None:
        self._turn.take(self._timeout)

    def __exit__(self, *_: object) -> None:
        self._turn.give()


def _wait(turn: Turn, deadline: float) -> None:
    """Queue in the kernel, from a thread of its own: a call that waits for a `flock` cannot be given a time limit."""
    file = turn._file
    assert file is not None
    guard, got, left = threading.Lock(), threading.Event(), threading.Event()

    def queue() -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        finally:
            with guard:
                if left.is_set():
                    os.close(file)
                got.set()

    try:
        threading.Thread(target=queue, daemon=True).start()
        while not got.wait(min(_SLICE, max(deadline - time.monotonic(), 0.0))):
            give_way()
            if time.monotonic() >= deadline:
                raise LedgerBusy("another writer held the ledger longer than the timeout; nothing was spent")
    except BaseException:
        with guard:
            if not got.is_set():
                left.set()  # the thread closes the file as soon as it may
                turn.hand_over()
        raise


def _opened(path: str, mode: int) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    except OSError as error:
        raise LedgerUnavailable(
            f"the file {os.path.basename(path)!r} beside the ledger cannot be written ({error.strerror}); nothing was spent"
        ) from error
    return file


def identity_of(path: str) -> tuple[int, int] | None:
    """Device and inode of the file at a path; None where there is none.

    >>> identity_of("/no/such/file") is None
    True
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
