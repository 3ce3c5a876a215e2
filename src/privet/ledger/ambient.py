"""The ambient ledger: what `with ledger:` has made current in this thread or task."""

from typing import cast

from privet.ledger.base import AMBIENT
from privet.ledger.ledger import Ledger

__all__ = ["current"]


def current() -> Ledger | None:
    """The innermost ledger of the surrounding `with ledger:` blocks, or None. Each thread and asyncio task has its own.

    >>> import privet as pv
    >>> with pv.Ledger.create("memory:", budget=pv.Budget(1.0)) as ledger:
    ...     print(current() is ledger)
    True
    >>> current() is None
    True
    """
    stack = AMBIENT.get()
    return cast(Ledger, stack[-1]) if stack else None
