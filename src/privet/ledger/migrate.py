"""Moving a ledger to another store, and writing a copy: the same entries, the same hashes, one budget."""

from typing import Any

from privet.errors import InvalidParameter, LedgerError
from privet.ledger import acts
from privet.ledger.amounts import plain_sums
from privet.ledger.entry import DATASET, Entry, canonical, linked
from privet.ledger.secret import copy_secret
from privet.ledger.session import now
from privet.ledger.store import Draft, Reader, Store
from privet.ledger.stores import connect, draft
from privet.ledger.url import parse_url
from privet.ledger.verify import verify_store
from privet.ledger.views import Verified


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


def backed_up(source: Store, path: Any, *, timeout: float) -> Verified:
    """Write a snapshot to a new file and verify it there."""
    address = parse_url(path)
    if address.store != "sqlite":
        raise InvalidParameter("a backup is a file; to move a ledger to a server see migrate")
    made = draft(path, timeout=timeout, backup=True)
    try:
        with source.snapshot() as reader:
            last = copy_entries(reader, made)
        kept = made.commit()
    except BaseException:
        made.abandon()
        raise
    copy_secret(source, kept)
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
                acts.close(session, reason)
            elif not policy.closed.startswith("moved to "):
                raise LedgerError(f"the data set {policy.dataset!r} is closed: {policy.closed}")
            elif policy.closed != reason and not _empty(policy.closed.removeprefix("moved to "), timeout):
                raise LedgerError(f"this ledger has {policy.closed}; go on from there")
            for entry in ledger._store.entries():
                if entry.seq < session.head.seq:
                    made.append(entry, carried(entry))
            made.append(session.head, carried(session.head))
            made.append(*_arrival(session))
            made.finish()
        arrived = made.commit()
        copy_secret(ledger._store, arrived)
        arrived.close()
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
    if parse_url(shown).store != "sqlite":
        return False  # the address is shown without its password, so nobody can look
    try:
        connect(shown, timeout=timeout, read_only=True).close()
    except LedgerError as problem:
        return "there is no ledger" in str(problem)
    return False
