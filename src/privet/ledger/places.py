"""Where a ledger begins, is copied to, moves to and is restored from. There is one budget at every moment."""

import secrets
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from privet.accounting.filters import Odometer, Sums
from privet.errors import InvalidParameter, LedgerError, LedgerTampered
from privet.ledger.account import most_sums, plain_sums
from privet.ledger.anchor import Anchor, AnchorFile
from privet.ledger.budget import Budget, odometer_to_dict
from privet.ledger.custody import adopt, close
from privet.ledger.entry import DATASET, Entry, canonical, clean_text, linked
from privet.ledger.policy import Policy, raises
from privet.ledger.reading import Verified
from privet.ledger.session import SOFTWARE, Session, anchor_of, now
from privet.ledger.store import Draft, Reader, Store
from privet.ledger.stores import connect, draft
from privet.ledger.url import parse_url
from privet.ledger.values import copy_values
from privet.ledger.verify import verify_store
from privet.privacy import Unit


@dataclass(frozen=True)
class Terms:
    """The terms that the caller of `Ledger.open` said about the ledger.

    >>> Terms(Budget(1.0)).zero
    ((0, 0),)
    """

    budget: Budget | None = None
    odometer: Odometer | None = None
    unit: Unit | None = None
    dataset: str = "default"
    schedule: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("budget", Budget), ("odometer", Odometer), ("unit", Unit)):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), kind):
                raise InvalidParameter(f"{name} must be a {kind.__name__}, got {type(getattr(self, name)).__name__}")
        if self.budget is not None and self.odometer is not None:
            raise InvalidParameter("a ledger has a budget (it refuses) or an odometer (it reports), not both")
        rungs = (self.budget, *self.schedule) if self.budget is not None else self.schedule
        if not all(isinstance(rung, Budget) for rung in rungs) or (self.schedule and self.budget is None):
            raise InvalidParameter("a schedule is a list of budgets that the first one may be raised to, one by one")
        for low, high in pairwise(rungs):
            raises(low, high)

    @property
    def begins(self) -> bool:
        """Is enough said to begin a ledger?"""
        return self.budget is not None or self.odometer is not None

    @property
    def zero(self) -> Sums:
        """Nothing spent, in the currencies of the rule."""
        return Policy("", self.dataset, self.unit or Unit(), self.budget, self.odometer).account.zero

    def facts(self) -> dict[str, Any]:
        """The body of the `open` entry."""
        unit = {name: str(value) for name, value in (self.unit or Unit()).to_dict().items()}
        caps = None if self.budget is None else [[str(cap) for cap in rule.caps] for rule in self.budget.filter.rules]
        return {
            "ledger": secrets.token_hex(16),
            "dataset": self.dataset,
            "unit": unit,
            "budget": None if self.budget is None else self.budget.to_dict(),
            "odometer": None if self.odometer is None else odometer_to_dict(self.odometer),
            "schedule": [budget.to_dict() for budget in self.schedule],
            "caps": caps,
            "time": now(),
            "software": SOFTWARE,
        }

    def check(self, policy: Policy) -> None:
        """A check that what was said about a ledger that exists is what it was begun with, or has become."""
        budget = self.budget
        if budget is not None and policy.first is not None:
            budget = budget.like(policy.first)
        said = (budget, self.odometer, self.unit, None if self.dataset == "default" else self.dataset)
        kept = (policy.budget, policy.odometer, policy.unit, policy.dataset)
        for name, mine, theirs in zip(("budget", "odometer", "unit", "dataset"), said, kept, strict=True):
            if mine is not None and mine != theirs and not (name == "budget" and mine == policy.first):
                raise LedgerError(
                    f"this ledger exists already with another {name}; open it without {name}=, "
                    "and change a budget with raise_budget"
                )


def begin(url: object, terms: Terms, anchor: AnchorFile | None, timeout: float) -> Store:
    """Make the store with its `open` entry, all at once. With an anchor the entry says so, and is anchored before it
    exists: a ledger that says that it is anchored has an anchor at every moment.

    >>> from privet.ledger.budget import Budget
    >>> begin("memory:", Terms(Budget(1.0)), None, 1.0).head().kind
    'open'
    """
    if anchor is not None:
        if anchor.read() is not None:
            raise LedgerTampered(
                "the anchor belongs to another ledger; a new ledger needs a place of its own for its anchor"
            )
        anchor.probe()
    made = draft(url, timeout=timeout)
    try:
        sums = {DATASET: plain_sums(terms.zero)}
        facts = terms.facts() | {"policy": "1", "sums": sums}
        facts |= {} if anchor is None else {"anchor": {"key": anchor.expected_key()}}
        entry = linked(None, "open", body=canonical(facts))
        made.append(entry, {scope: canonical(plain) for scope, plain in sums.items()})
        if anchor is None:
            return made.commit()
        anchor.write(Anchor(facts["ledger"], entry.seq, entry.hash.hex(), sums, time=now()))
        try:
            return made.commit()
        except BaseException:
            with suppress(OSError):  # it anchors nothing
                Path(anchor.path).unlink()
            raise
    except BaseException:
        made.abandon()
        raise


def copy_entries(source: Reader, target: Draft) -> Entry:
    """Copy all entries, hash for hash, and return the last one.

    **Guarantee:** the copy is the same chain, so every anchor of the source holds for it.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> copy_entries(ledger._store, draft("memory:")).seq
    1
    """
    last = None
    for last in source.entries():
        target.append(last, carried(last))
    if last is None:
        raise LedgerError("there is no ledger in the source")
    return last


def carried(entry: Entry) -> dict[str, str]:
    """The rows of the balance cache that an entry changed: its body carries them."""
    return {scope: canonical(plain) for scope, plain in entry.facts["sums"].items()}


def backed_up(source: Store, path: object, *, timeout: float) -> Verified:
    """Write a snapshot to a new file and verify it there."""
    address = parse_url(path)
    if address.store != "sqlite":
        raise InvalidParameter("a backup is a file; to move a ledger to a server see migrate")
    made = draft(path, timeout=timeout, backup=True)
    try:
        with source.snapshot() as reader:
            last = copy_entries(reader, made)
            copy_values(reader, source, made)
        kept = made.commit()
    except BaseException:
        made.abandon()
        raise
    try:
        return verify_store(kept, [(None, last.seq, last.hash.hex())])
    finally:
        kept.close()


def moved(ledger: Any, to_url: object, *, timeout: float) -> None:
    """Move `ledger` to another store. What can fail there is tried before this one is closed: the new store is made and
    filled, unseen; then this one is closed; then the new one is seen.
    """
    address = parse_url(to_url)
    if address.store == "memory":
        raise InvalidParameter("a ledger is moved to a file or a server, not into memory")
    reason = f"moved to {address.shown}"
    if ledger.policy.closed == reason and _arrived(ledger, to_url, timeout):
        return
    verify_store(ledger._store)
    made = draft(to_url, timeout=timeout)  # refuses a place that is taken: by another ledger, a copy, or this one
    try:
        with ledger._writing() as session:
            policy = session.policy
            if policy.closed is None:
                close(session, reason)
            elif not policy.closed.startswith("moved to "):
                raise LedgerError(f"the data set {policy.dataset!r} is closed: {policy.closed}")
            elif policy.closed != reason and not _empty(policy.closed.removeprefix("moved to "), timeout):
                raise LedgerError(f"this ledger has {policy.closed}; go on from there")
            for entry in ledger._store.entries():
                if entry.seq < session.head.seq:
                    made.append(entry, carried(entry))
            copy_values(ledger._store, ledger._store, made)
            made.append(session.head, carried(session.head))
            made.append(*_arrival(session))
            made.finish()
        made.commit().close()
    except BaseException:
        made.abandon()
        raise


def _arrival(session: Any) -> tuple[Entry, dict[str, str]]:
    """The entry that opens the moved ledger again, at its new place only."""
    sums = {DATASET: plain_sums(session.spent)}
    body = {"policy": str(session.head.seq + 1), "sums": sums, "from": session.policy.closed, "time": now()}
    entry = linked(session.head, "moved", body=canonical(body))
    return entry, carried(entry)


def _arrived(ledger: Any, to_url: object, timeout: float) -> bool:
    """Does the target hold this ledger, moved? Then a move that was interrupted has nothing left to do."""
    try:
        target = connect(to_url, timeout=timeout, read_only=True)
    except LedgerError:
        return False
    try:
        head = ledger._store.head()
        found = None if head is None else target.entry(head.seq)
        return found is not None and found.hash == head.hash
    finally:
        target.close()


def _empty(shown: str, timeout: float) -> bool:
    """Is it certain that the place of an earlier attempt never received the entries?"""
    # the address of a server is shown without its password, so nobody can look
    return parse_url(shown).store == "sqlite" and nothing_at(shown, timeout)


def nothing_at(url: str, timeout: float) -> bool:
    """True if an address can be reached and holds no ledger."""
    try:
        connect(url, timeout=timeout, read_only=True).close()
    except LedgerError as problem:
        return "there is no ledger" in str(problem)
    return False


def restored(
    url: object,
    source: object,
    known: Anchor | None,
    word: tuple[str, bool],
    place: AnchorFile | None,
    timeout: float,
) -> Store:
    """Verify the copy, put it to its place where that is asked for, and append the `adopt` entry."""
    reason = clean_text("reason", word[0])
    if not reason.strip():
        raise InvalidParameter("say why: the reason is kept in the entry")
    if source is not None:
        _put(source, url, timeout)
    store = connect(url, timeout=timeout, adopting=True)
    try:
        verify_store(store)
        with store.transaction() as txn:
            session = Session(store, txn, None)
            _adopt(session, known, reason, word[1])
            assert session.policy is not None
            wanted = None if place is None else {"key": place.expected_key()}
            if session.policy.anchored != wanted:
                session.append("anchor", anchor=wanted, time=now())
            made = anchor_of(session)
        if place is not None:
            place.write(made, adopted=True)
    except BaseException:
        store.close()
        raise
    return store


def _put(source: object, url: object, timeout: float) -> None:
    """Bring a backup to the place where it is to be used, which must be free."""
    backup = connect(source, timeout=timeout, read_only=True)
    try:
        verify_store(backup)
        made = draft(url, timeout=timeout, backup=True)
        try:
            copy_entries(backup, made)
            copy_values(backup, backup, made)
            made.commit().close()
        except BaseException:
            made.abandon()
            raise
    finally:
        backup.close()


def _adopt(session: Session, known: Anchor | None, reason: str, complete: bool) -> None:
    policy = session.policy
    assert policy is not None
    if known is not None and not complete:
        adopt(session, known.check(), reason)
        return
    if known is not None and known.ledger != policy.ledger:
        raise LedgerError("this anchor belongs to another ledger")
    after: dict[str, Sums] = {}
    if not complete:
        if policy.budget is None:
            raise LedgerError(
                "what was spent since is unknown and an odometer has no cap to fill; state complete=True, or close it"
            )
        after[DATASET] = most_sums(session.spent, tuple(rule.caps for rule in policy.budget.filter.rules))
    session.append("adopt", after=after, anchor=None, complete=complete, reason=reason, time=now())
