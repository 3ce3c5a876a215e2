"""The contract of stores: four verbs under one lock, and reading."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from privet.errors import LedgerBusy
from privet.ledger.entry import Entry
from privet.ledger.signals import HeldSignals, give_way

_SLICE = 0.1  # how long a wait goes on before it looks for Ctrl-C


class Held(NamedTuple):
    """A row of the balance cache with the body of the entry that it claims to come from.

    >>> Held('[["0"]]', 1, None).upto
    1
    """

    sums: str
    upto: int
    body: str | None


class Txn(ABC):
    """One write transaction: it sees the newest head, and nobody else writes until it ends.

    >>> [verb for verb in sorted(Txn.__abstractmethods__)]
    ['append', 'find', 'head', 'sums']
    """

    @abstractmethod
    def head(self) -> Entry | None:
        """The last entry."""

    @abstractmethod
    def sums(self, scope: str) -> Held | None:
        """The cached running sums of a scope."""

    @abstractmethod
    def find(self, analyst: str, key: str) -> Entry | None:
        """The release under this key; else its latest reservation; else None."""

    @abstractmethod
    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        """Write the next entry and the sums that it changed."""


class Reader(ABC):
    """Entries to look at: a store as it is now, or a snapshot that stays as it was.

    >>> sorted(Reader.__abstractmethods__)
    ['balances', 'damage', 'entries', 'entry', 'head']
    """

    @abstractmethod
    def entries(self, after: int = 0, kinds: Sequence[str] | None = None) -> Iterator[Entry]:
        """Entries with a larger seq, in order."""

    @abstractmethod
    def entry(self, seq: int) -> Entry | None:
        """One entry."""

    @abstractmethod
    def head(self) -> Entry | None:
        """The last committed entry."""

    @abstractmethod
    def balances(self) -> dict[str, tuple[str, int]]:
        """The whole balance cache: scope to (sums, upto)."""

    @abstractmethod
    def damage(self) -> str | None:
        """The physical damage of the store, in words, or None."""


class Store(Reader):
    """Where entries live. A transaction either commits whole or leaves nothing.

    **Guarantee:** when `transaction(durable=True)` ends without an error, its entries survive a loss of power.

    >>> from privet.ledger.stores import draft
    >>> isinstance(draft("memory:").commit(), Store)
    True
    """

    durable: bool = True  # does it outlive the process?
    url: str

    @property
    def caveat(self) -> str | None:
        """A warning to whoever reads the sums about the place that they were read from; mostly nothing."""
        return None

    @abstractmethod
    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Txn]:
        """Begin, hold the lock, commit at the end (or roll back when an exception passes)."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Reader]:
        """All entries and balances as they are together at one moment, for as long as it takes. Blocks no writer."""

    @abstractmethod
    def keep_value(self, digest: str, raw: bytes) -> None:
        """Keep the bytes of a large value under their SHA-256, durably; what is there already is left as it is."""

    @abstractmethod
    def value(self, digest: str) -> bytes | None:
        """The bytes under a digest; None where there are none."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections; the next use opens new ones."""


class Draft(ABC):
    """A store in the making. Nobody else sees it before `commit`, which refuses a place that is taken.

    >>> sorted(Draft.__abstractmethods__)
    ['abandon', 'append', 'commit', 'finish', 'keep_value']
    """

    @abstractmethod
    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        """Write the next entry and the sums that it changed."""

    @abstractmethod
    def keep_value(self, digest: str, raw: bytes) -> None:
        """Keep the bytes of a large value; they become visible with the rest."""

    @abstractmethod
    def finish(self) -> None:
        """Do now what may fail; only `commit` or `abandon` comes after."""

    @abstractmethod
    def commit(self) -> Store:
        """Now it exists, durably and whole, and is open."""

    @abstractmethod
    def abandon(self) -> None:
        """Leave nothing behind."""


def acquire(lock: "threading.Lock | threading.RLock", timeout: float) -> None:
    """Take a lock, or say that the ledger is busy.

    >>> acquire(threading.Lock(), 1.0)
    """
    if lock.acquire(blocking=False):
        return
    deadline = time.monotonic() + timeout
    while not lock.acquire(timeout=min(_SLICE, max(deadline - time.monotonic(), 0.0))):
        give_way()
        if time.monotonic() >= deadline:
            raise LedgerBusy(
                f"another thread held the ledger for more than {timeout:g} s; nothing was spent, try again"
            )


class locked:  # reads as a verb; a generator would be a good part of the time of a charge
    """Hold a lock, or say that the ledger is busy. Ctrl-C waits meanwhile.

    >>> with locked(threading.RLock(), 1.0):
    ...     print("held")
    held
    """

    __slots__ = ("_lock", "_signals", "_timeout")

    def __init__(self, lock: "threading.Lock | threading.RLock", timeout: float) -> None:
        self._lock, self._timeout, self._signals = lock, timeout, HeldSignals()

    def __enter__(self) -> None:
        self._signals.__enter__()  # from here on, Ctrl-C waits: it could fall between the lock and the next line
        try:
            acquire(self._lock, self._timeout)
        except BaseException:
            self._signals.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._lock.release()
        finally:
            self._signals.__exit__()


def abandon(handle: object) -> None:
    """Never close this handle, not even when the interpreter ends: a forked child would close its parent's.

    >>> abandon(object())
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(handle))
