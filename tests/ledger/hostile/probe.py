"""What the hostile tests share: tiny mechanisms, an independent audit of a ledger's books, and fresh stores."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import privet as pv
from privet.accounting.filters import Filter, FilterState
from privet.ledger.stores.head import Head, HeadFile
from privet.mechanisms import Release
from privet.privacy import PrivacyLoss, PureLoss, Unit, from_json

TINY = 0.001
ROW = Unit()


def fresh_number() -> float:
    """53 random bits: two draws never agree by accident."""
    return (int.from_bytes(os.urandom(7)) >> 3) / 2.0**53


@dataclass(frozen=True)
class Coin:
    """A mechanism that ignores its data and returns fresh random bits; `before` runs first and may do harm."""

    epsilon: float = TINY
    unit: Unit = ROW
    label: str = ""
    before: Callable[[Any], None] | None = field(default=None, compare=False, repr=False)
    insecure: bool = False
    value: Any = None

    name = "coin"

    @property
    def loss(self) -> PrivacyLoss:
        return PureLoss(self.epsilon, unit=self.unit)

    def release(self, data: Any) -> Release[Any]:
        if self.before is not None:
            self.before(data)
        value = fresh_number() if self.value is None else self.value
        return Release(value, loss=self.loss, mechanism=self.name, insecure=self.insecure)

    def to_dict(self) -> dict[str, Any]:
        return {"mechanism": self.name, "epsilon": repr(self.epsilon), "label": self.label}


@dataclass(frozen=True)
class Books:
    """A ledger as its own entries tell it."""

    reserved: list[PrivacyLoss]
    released: list[Release[Any]]
    orphans: int

    @property
    def values(self) -> Counter[Any]:
        return Counter(release.value for release in self.released)


def books_of(ledger: pv.Ledger) -> Books:
    entries = list(ledger.entries())
    seqs = [entry.seq for entry in entries]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs))), "gaps or disorder in seq"
    reserves = [entry for entry in entries if entry.kind == "reserve"]
    releases = [entry for entry in entries if entry.kind == "release"]
    paid = [int(entry.facts["reserve"]) for entry in releases]
    assert len(set(paid)) == len(paid), "one reservation paid for two releases"
    assert set(paid) <= {entry.seq for entry in reserves}, "a release without its reservation"
    return Books(
        [from_json(entry.loss) for entry in reserves],
        [Release.from_json(entry.facts["release"]) for entry in releases],
        len(reserves) - len(releases),
    )


def replay(rule: Filter, losses: Iterable[PrivacyLoss], unit: Unit | None = None) -> FilterState:
    """The sums by an independent road: the rule's own arithmetic over the losses, in order. Overspending raises."""
    state = rule.start(unit)
    for loss in losses:
        state = state.charge(loss)
    return state


def check_books(ledger: pv.Ledger, rule: Filter) -> Books:
    """Chain and caches agree, nothing is over the cap, and the balance is the sum of the reservations."""
    ledger.verify()
    books = books_of(ledger)
    assert sums_of(ledger) == replay(rule, books.reserved).sums
    return books


def check_seen(books: Books, seen: Iterable[float]) -> None:
    """Whatever a caller has seen is in the log, bit for bit, and at most once."""
    missing = Counter(seen) - books.values
    assert not missing, f"{len(missing)} values were seen and are not in the log"
    assert all(count == 1 for count in books.values.values())


def wait_until(condition: Callable[[], bool], seconds: float = 200.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


@contextmanager
def impatient(ledger: pv.Ledger, seconds: float = 0.5) -> Iterator[None]:
    """Within, this handle waits no longer. One that is opened so might meet a slow moment of the machine before."""
    patience = ledger._store._timeout
    _wait_at_most(ledger._store, seconds)
    try:
        yield
    finally:
        _wait_at_most(ledger._store, patience)


def _wait_at_most(store: Any, seconds: float) -> None:
    store._timeout = seconds
    connection = getattr(store, "_connection", None)
    if connection is not None and hasattr(connection, "limit"):  # a server has limits of its own for each connection
        connection.limit = seconds
        for limit in ("lock_timeout", "statement_timeout"):
            connection.execute("SELECT set_config(%s, %s, false)", (limit, f"{int(1000 * seconds)}ms"))


def forge_head(path: str | Path) -> Path:
    """What somebody who may write beside a file can do: give a copy a head that says nothing."""
    HeadFile(f"{path}.head").replace(Head(os.stat(path).st_ino, 0, ""))
    return Path(path)


def sums_of(ledger: pv.Ledger) -> Any:
    """The integers that decide."""
    return ledger.spent.sums
