"""A transaction of a ledger, from the lock to the anchor."""

import sys
from typing import Any

from privet.ledger import acts
from privet.ledger.session import Session


class Writing:
    """One transaction: lock, read the head, compare it with the anchor, do, commit, remember the head, anchor it.

    >>> import privet as pv
    >>> with Writing(pv.Ledger.create("memory:", budget=pv.Budget(1.0)), True) as session:
    ...     print(session.head.seq)
    1
    """

    def __init__(self, ledger: Any, durable: bool) -> None:
        self._ledger, self._durable = ledger, durable

    def __enter__(self) -> Session:
        ledger = self._ledger
        self._transaction = ledger._store.transaction(durable=self._durable)
        txn = self._transaction.__enter__()
        try:
            self._session = Session(ledger._store, txn, ledger._tip)
            self._session.signer = ledger._signer
            if self._durable and self._session.policy is not None:
                ledger._check_anchor(self._session.policy)
                if ledger._anchor is not None and ledger._anchor.every_reserve:
                    ledger._anchor.probe()
        except BaseException:
            self._transaction.__exit__(*sys.exc_info())
            raise
        self._before = self._session.head
        return self._session

    def __exit__(self, *error: Any) -> None:
        ledger, session = self._ledger, self._session
        place = ledger._anchor
        anchor = None
        if error[0] is None and place is not None and place.every_reserve and self._durable:
            anchor = acts.anchor_of(session) if session.head is not self._before else None
        self._transaction.__exit__(*error)
        if error[0] is None:
            ledger._tip = session.tip
            if anchor is not None and place is not None:
                place.write(anchor, ledger._holds)
