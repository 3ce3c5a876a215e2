"""The ambient ledger: what `with ledger:` has made current in this thread or task."""

from typing import cast

from privet.ledger.ledger import Ledger
from privet.ledger.runs import Slice
from privet.mechanisms.payment import in_force


def current() -> Ledger | None:
    """The ledger that pays for a release here: of the innermost `with ledger:` block, or None.

    Each thread and each asyncio task has blocks of its own; one without any uses the only ledger that is in force in the
    process. Where it is not clear which ledger pays, this is a `LedgerError`, and so is a release.

    >>> import privet as pv
    >>> with pv.Ledger.create("memory:", budget=pv.Budget(1.0)) as ledger:
    ...     print(current() is ledger)
    True
    >>> current() is None
    True
    """
    payer = in_force()
    return cast("Ledger | None", payer.run.ledger if isinstance(payer, Slice) else payer)
