"""Moving a ledger to another store: the same entries, the same hashes, one budget."""

from privet.errors import LedgerError
from privet.ledger.base import Entry, Store, canonical
from privet.ledger.verify import verify_store
from privet.ledger.views import Verified

__all__ = ["copy_entries"]


def copy_entries(source: Store, target: Store, *, upto: int) -> Verified:
    """Copy the first `upto` entries, hash for hash, into an empty store, in one commit, and verify the copy there.

    **Guarantee:** the copy is the same chain, so every anchor of the source holds for it. A target that already holds
    these entries is left as it is, so a move that was interrupted can be repeated.

    >>> import privet as pv
    >>> from privet.ledger.stores import connect
    >>> ledger = pv.Ledger.open("memory:", budget=pv.Budget(1.0))
    >>> copy_entries(ledger._store, connect("memory:", create=True), upto=1).entries
    1
    """
    last = source.entry(upto)
    if last is None:
        raise LedgerError("the source has fewer entries than were to be moved")
    with target.transaction() as txn:
        head = txn.head()
        if head is None:
            for entry in source.entries():
                if entry.seq > upto:
                    break
                txn.append(entry, _carried(entry))
        elif _at(target, head, upto) != last.hash:
            raise LedgerError("the target holds another ledger already; choose an empty one")
    return verify_store(target, [(None, upto, last.hash.hex())])


def _carried(entry: Entry) -> dict[str, str]:
    """The rows of the balance cache that an entry changed: its body carries them."""
    return {scope: canonical(plain) for scope, plain in entry.facts["sums"].items()}


def _at(store: Store, head: Entry, seq: int) -> bytes | None:
    found = head if head.seq == seq else store.entry(seq)
    return None if found is None else found.hash
