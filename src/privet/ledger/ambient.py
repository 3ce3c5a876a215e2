"""The ledger in force: what `with ledger:` has made current in this thread or task, and the one way to pay."""

from typing import Any, Unpack, cast

from privet._calls import door
from privet.errors import InvalidParameter
from privet.ledger.ledger import Ledger
from privet.ledger.questions import MISSING, made_for
from privet.ledger.requests import loss_of
from privet.ledger.runs import Slice
from privet.mechanisms import Release
from privet.mechanisms.payment import asked_here, in_force
from privet.privacy import Promise


def current() -> Ledger | None:
    """The ledger that pays for a release here: of the innermost `with ledger:` block, or None.

    Each thread and each asyncio task has blocks of its own. One without any, while a ledger is in force elsewhere in the
    process, is refused with a `LedgerError`, and so is a release there: `ledger.task(f)` hands a ledger on.

    >>> import privet as pv
    >>> with pv.Ledger.create("memory:", budget=pv.Budget(1.0)) as ledger:
    ...     print(current() is ledger)
    True
    >>> current() is None
    True
    """
    payer = in_force()
    return cast("Ledger | None", payer.run.ledger if isinstance(payer, Slice) else payer)


@door
def pay(
    mechanism: Any,
    data: Any = MISSING,
    *,
    ledger: Ledger | None = None,
    key: str | None = None,
    analyst: str | None = None,
    purpose: str | None = None,
    part: Any = None,
    at: float | None = None,
    about: str | None = None,
    **promise: Unpack[Promise],
) -> "Release[Any]":
    """Release, paid by the given ledger, else by the one in force here, else by nobody: then `Release.paid` is None.

    The one way to pay for all rooms. Inside a release that is paid for as a whole, parts cost nothing more. A `Question`
    takes its promise: `pay(question, epsilon=0.5)`; where it leaves the unit open, that is the ledger's.

    >>> import privet as pv
    >>> laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.25, sensitivity=1.0)
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> pay(laplace, 42, ledger=ledger, key="how many").paid["entry"], pay(laplace, 42).paid is None
    (2, True)
    """
    try:
        if ledger is not None and not isinstance(ledger, Ledger):
            raise InvalidParameter(f"ledger must be a Ledger, got {type(ledger).__name__}")
        payer = asked_here() if ledger is None else ledger
        if isinstance(payer, Ledger):
            asked = {"key": key, "analyst": analyst, "purpose": purpose, "part": part, "at": at, "about": about}
            return payer.release(mechanism, data, **asked, **promise)
        unit = payer.run.ledger.unit if isinstance(payer, Slice) else None
        mechanism, data = made_for(mechanism, data, dict(promise), unit)
        loss_of(mechanism)
        made: Release[Any] = mechanism.release(data)
        return made
    finally:
        del mechanism, data  # frames outlive an error, and the data with them
