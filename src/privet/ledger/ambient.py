"""The ledger in force: what `with ledger:` has made current in this thread or task, and the one way to pay."""

from typing import TYPE_CHECKING, Any, TypeGuard, Unpack, cast

from privet._calls import door
from privet.errors import InvalidParameter
from privet.ledger.questions import MISSING, loss_of, made_for
from privet.mechanisms import Release
from privet.mechanisms.payment import Payer, asked_here, in_force
from privet.privacy import Promise

if TYPE_CHECKING:
    from privet.ledger.ledger import Ledger


def current() -> "Ledger | None":
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
    return cast("Ledger | None", payer if payer is None or payer.charged is None else payer.charged)


def payer_of(ledger: "Ledger | None") -> "Ledger | None":
    """The ledger that pays here: the one that is given, else the one in force, or None; None too inside of a release that
    is paid for as a whole, whose parts cost nothing more. What is no ledger is refused.

    Rooms above ask this, and need not know how a ledger is made.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> payer_of(ledger) is ledger, payer_of(None) is None
    (True, True)
    """
    return _current() if ledger is None else checked_ledger(ledger)


def _current() -> "Ledger | None":
    found = current()
    return None if asked_here() is None else found


def checked_ledger(ledger: object) -> "Ledger":
    """The ledger itself, or a sentence for what is none.

    >>> checked_ledger("visits.ledger")
    Traceback (most recent call last):
    privet.errors.InvalidParameter: ledger must be a Ledger: pv.Ledger.open(...) or pv.Ledger.create(...), got str
    """
    if not _is_ledger(ledger):
        raise InvalidParameter(
            f"ledger must be a Ledger: pv.Ledger.open(...) or pv.Ledger.create(...), got {type(ledger).__name__}"
        )
    return ledger


def _is_ledger(what: object) -> "TypeGuard[Ledger]":
    return isinstance(what, Payer) and what.charged is what


@door
def pay(
    mechanism: Any,
    data: Any = MISSING,
    *,
    ledger: "Ledger | None" = None,
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
        payer = asked_here() if ledger is None else payer_of(ledger)
        if _is_ledger(payer):
            asked = {"key": key, "analyst": analyst, "purpose": purpose, "part": part, "at": at, "about": about}
            return payer.release(mechanism, data, **asked, **promise)
        behind = None if payer is None else payer.charged
        unit = behind.unit if _is_ledger(behind) else None
        mechanism, data = made_for(mechanism, data, dict(promise), unit)
        loss_of(mechanism)
        made: Release[Any] = mechanism.release(data)
        return made
    finally:
        del mechanism, data  # frames outlive an error, and the data with them
