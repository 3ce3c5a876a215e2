"""The flag of the process: is a ledger in force here, does an audit watch, or is that so in a process above this one?

Processes above are looked up by their mark, a file in the folder for temporary files that is held locked while the flag
is up. Children learn its name from the environment; workers of a pool that are older than the block, and forks, from the
number of their parent. A process that is killed leaves a mark that nobody holds, which means nothing.
"""

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import final

from privet._locks import ProcessLock
from privet.errors import LedgerError

_NAMES = "PRIVET_IN_FORCE"  # of marks, of all processes above that had one when this was started


@final
class Flag:
    """Whatever is in force in this process, and whether something is in a process above.

    **Guarantee:** up for as long as one user is, in this process and in those that come from it.

    >>> flag, block = Flag(), object()
    >>> flag.raised(block)
    >>> flag.users == (block,), os.environ["PRIVET_IN_FORCE"].endswith(f"-{os.getpid()}.in-force")
    (True, True)
    >>> flag.lowered(block)
    >>> flag.users, flag.above()
    ((), False)
    """

    __slots__ = ("_file", "_lock", "_names", "_parents", "users")

    def __init__(self) -> None:
        self.users: tuple[object, ...] = ()  # replaced, never changed: whoever reads needs no lock
        self._file: int | None = None
        self._names = tuple(filter(None, os.environ.get(_NAMES, "").split(os.pathsep)))
        self._parents: tuple[int, ...] = ()
        self._lock = ProcessLock()
        os.register_at_fork(after_in_child=self._forked)

    def raised(self, user: object) -> None:
        """One user more."""
        with self._lock.held:
            self.users = (*self.users, user)
            if self._file is None:
                self._file = _made(_mark(os.getpid()))
                os.environ[_NAMES] = os.pathsep.join((*_others(), _mark(os.getpid())))

    def lowered(self, user: object) -> None:
        """One user less. It may be called again: what an interruption left is put right."""
        with self._lock.held:
            self.users = tuple(each for each in self.users if each is not user)
            if not self.users:
                self._clear()

    def _clear(self) -> None:
        mark, others = _mark(os.getpid()), _others()
        if others:
            os.environ[_NAMES] = os.pathsep.join(others)
        else:
            os.environ.pop(_NAMES, None)
        if os.path.lexists(mark):
            os.unlink(mark)
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def above(self) -> bool:
        """Is the flag up in a process that this one came from?"""
        return any(_is_held(mark) for mark in self._marks())

    def _marks(self) -> Iterator[str]:
        yield from self._names
        yield from map(_mark, self._parents)
        processes = sys.modules.get("multiprocessing.process")
        parent = None if processes is None else processes.parent_process()
        if parent is not None:
            yield _mark(parent.pid)

    def _forked(self) -> None:
        """In a forked child: what was in force stays with the parent, whose mark is looked up from now on."""
        self.users, self._parents = (), (*self._parents, os.getppid())
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def _mark(process: int) -> str:
    return os.path.join(tempfile.gettempdir(), f"privet-{os.getuid()}-{process}.in-force")


def _others() -> list[str]:
    """The names in the environment besides the mark of this process."""
    names = os.environ.get(_NAMES, "").split(os.pathsep)
    return [name for name in names if name and name != _mark(os.getpid())]


def _made(mark: str) -> int:
    """A fresh file, locked by this process."""
    try:
        if os.path.lexists(mark):  # of a process of this number that was killed
            os.unlink(mark)
        file = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        fcntl.lockf(file, fcntl.LOCK_EX)
    except OSError as problem:
        raise LedgerError(
            f"no ledger can be put in force: other processes are told by a file in {tempfile.gettempdir()}, which cannot "
            f"be written ({problem.strerror}). Set TMPDIR, or use ledger.release(mechanism, data)"
        ) from None
    return file


def _is_held(mark: str) -> bool:
    """True if the process that made a mark still holds it. What cannot be found out counts as held."""
    try:
        file = os.open(mark, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        if os.fstat(file).st_uid != os.getuid():
            return False  # not by one of ours, who would be locked out
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False
