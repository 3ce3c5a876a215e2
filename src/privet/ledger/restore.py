"""Going on with a copy: an act of the custodian, and an entry."""

from privet.accounting.filters import Sums
from privet.errors import InvalidParameter, LedgerError
from privet.ledger import acts
from privet.ledger.amounts import most_sums
from privet.ledger.anchor import Anchor, AnchorFile
from privet.ledger.entry import DATASET, clean_text
from privet.ledger.migrate import copy_entries
from privet.ledger.secret import copy_secret
from privet.ledger.session import Session, now
from privet.ledger.store import Store
from privet.ledger.stores import connect, draft
from privet.ledger.verify import verify_store


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
            made = acts.anchor_of(session)
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
            kept = made.commit()
            copy_secret(backup, kept)
            kept.close()
        except BaseException:
            made.abandon()
            raise
    finally:
        backup.close()


def _adopt(session: Session, known: Anchor | None, reason: str, complete: bool) -> None:
    policy = session.policy
    assert policy is not None
    if known is not None and not complete:
        acts.adopt(session, known.check(), reason)
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
