"""Entries in memory: for trying out, for tests and for one process that needs no memory of it afterwards."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from privet.errors import LedgerError
from privet.ledger.entry import Entry
from privet.ledger.signals import HeldSignals
from privet.ledger.store import Draft, Held, Reader, Store, Txn, acquire


class MemoryStore(Store):
    """A list under a lock. It dies with its process and refuses to be used by a forked child, where a second copy of
    the budget would begin.

    **Guarantee:** atomic over threads; not durable.

    >>> store = MemoryStore()
    >>> store.head() is None
    True
    """

    durable = False
    url = "memory:"

    def __init__(self, *, timeout: float = 60.0) -> None:
        self._timeout = timeout
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._balances: dict[str, tuple[str, int]] = {}
        self._keys: dict[tuple[str, str], Entry] = {}
        self._values: dict[str, bytes] = {}

    def transaction(self, *, durable: bool = True) -> "_MemoryTxn":
        self._check()
        return _MemoryTxn(self)

    def _commit(self, txn: "_MemoryTxn") -> None:
        self._balances.update(txn.changed)
        for entry in txn.added:
            self._entries.append(entry)
            if entry.key is not None and entry.kind in ("reserve", "release"):
                place = (entry.analyst, entry.key)
                known = self._keys.get(place)
                if known is None or known.kind != "release":
                    self._keys[place] = entry

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerError(
                "a memory ledger lives in the process that opened it; a forked child needs a ledger with a file or a server"
            )

    def entries(self, after: int = 0, kinds: Sequence[str] | None = None) -> Iterator[Entry]:
        self._check()
        chosen = self._entries[after:]  # seq n stands at place n - 1, and entries are never removed
        return iter(chosen if kinds is None else [entry for entry in chosen if entry.kind in kinds])

    def entry(self, seq: int) -> Entry | None:
        self._check()
        return self._entries[seq - 1] if 0 < seq <= len(self._entries) else None

    def head(self) -> Entry | None:
        self._check()
        return self._entries[-1] if self._entries else None

    def balances(self) -> dict[str, tuple[str, int]]:
        self._check()
        return dict(self._balances)

    def damage(self) -> str | None:
        return None

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """A copy of the lists, which is as long as they are now."""
        self._check()
        copy = MemoryStore(timeout=self._timeout)
        with _MemoryTxn(self):
            copy._entries, copy._balances = list(self._entries), dict(self._balances)
        yield copy

    def keep_value(self, digest: str, raw: bytes) -> None:
        self._check()
        self._values.setdefault(digest, raw)

    def value(self, digest: str) -> bytes | None:
        return self._values.get(digest)

    def close(self) -> None:
        """Nothing to let go of; the entries stay as long as the object does."""


class MemoryDraft(Draft):
    """A memory store in the making: nobody else has it.

    >>> MemoryDraft().commit().head() is None
    True
    """

    def __init__(self, *, timeout: float = 60.0) -> None:
        self._store = MemoryStore(timeout=timeout)
        self._txn = _MemoryTxn(self._store)

    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        self._txn.append(entry, balances)

    def keep_value(self, digest: str, raw: bytes) -> None:
        self._store.keep_value(digest, raw)

    def finish(self) -> None:
        """Nothing can fail."""

    def commit(self) -> MemoryStore:
        self._store._commit(self._txn)
        return self._store

    def abandon(self) -> None:
        """Nothing is anywhere."""


class _MemoryTxn(Txn, AbstractContextManager[Txn]):
    """The transaction and its context manager in one: a generator would be a good part of the time of a charge."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.added: list[Entry] = []
        self.changed: dict[str, tuple[str, int]] = {}
        self._signals = HeldSignals()

    def __enter__(self) -> Txn:
        self._signals.__enter__()  # from here on, Ctrl-C waits: it could fall between the lock and the next line
        try:
            acquire(self._store._lock, self._store._timeout)
        except BaseException:
            self._signals.__exit__()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._store._commit(self)
        finally:
            self._store._lock.release()
            self._signals.__exit__()

    def head(self) -> Entry | None:
        entries = self.added or self._store._entries
        return entries[-1] if entries else None

    def sums(self, scope: str) -> Held | None:
        row = self.changed.get(scope) or self._store._balances.get(scope)
        if row is None:
            return None
        known = len(self._store._entries)
        source = self.added[row[1] - known - 1] if row[1] > known else self._store._entries[row[1] - 1]
        return Held(row[0], row[1], source.body)

    def find(self, analyst: str, key: str) -> Entry | None:
        mine = [entry for entry in self.added if (entry.analyst, entry.key) == (analyst, key)]
        known = self._store._keys.get((analyst, key))
        return known if known is not None and (known.kind == "release" or not mine) else (mine[-1] if mine else None)

    def append(self, entry: Entry, balances: Mapping[str, str]) -> None:
        self.added.append(entry)
        for scope, sums in balances.items():
            self.changed[scope] = (sums, entry.seq)
