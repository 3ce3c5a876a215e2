"""One exception tree for the whole library.

    PrivetError
    ├── InvalidParameter (also ValueError)      a public parameter is outside its domain
    │   ├── InvalidCall (also TypeError)        a keyword that does not exist, or one that is missing
    │   └── UnknownName (also KeyError and AttributeError)  a name that does not exist, with the nearest that does
    ├── InvalidData (also ValueError)           data of a type or shape that cannot be taken
    │   └── InvalidType (also TypeError)        of a type that is never taken
    ├── SerialisationError (also ValueError)    a text that is no price
    ├── MixedUnits                              prices about different neighbours meet
    ├── NoGuarantee                             a question without a finite answer
    ├── Unreachable                             a target that no parameter meets
    ├── BudgetExceeded                          a charge that a filter or ledger refuses
    ├── NotPrivate                              seeded noise where only secure noise is allowed
    ├── NoEntropy                               the system's random generator is stuck
    ├── ReleaseFailed                           a mechanism failed after it was paid for
    ├── ReusedData                              a test on runs that its event was chosen on
    ├── MissingExtra (also ImportError)         an optional package is not installed
    ├── InternalError                           two computations disagree: a bug of privet
    └── LedgerError
        ├── LedgerBusy                          another writer held the ledger too long
        ├── LedgerUnavailable                   the store cannot be read or written
        ├── LedgerTampered                      chain, sums or anchor do not match
        └── KeyConflict                         a release key was used for another request

Every message says what was wrong, what was expected and what to do, and never contains a private value. What a program
may want to read off it (`spent`, `requested`, `remaining`, `seq`, `column`, `key`) are attributes, None where it is not
known. Catch `PrivetError` to catch everything that privet raises on purpose.
"""

from typing import Self


class PrivetError(Exception):
    """Root of the tree: everything that privet raises on purpose derives from it.

    >>> from privet import privacy
    >>> try:
    ...     privacy.PureLoss(-1.0)
    ... except PrivetError as error:
    ...     print(error)
    epsilon must be at least 0, got -1.0
    """

    def __init__(self, message: object = "", **facts: object) -> None:
        super().__init__(message)
        for name, value in facts.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no fact {name!r}")
            setattr(self, name, value)

    def retold(self, message: object, **facts: object) -> Self:
        """The same error with another message: what it knows stays, `facts` are added.

        >>> BudgetExceeded("too much", point=(0.5, 0.0)).retold("for ada: too much", account="ada").point
        (0.5, 0.0)
        """
        known = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return type(self)(message, **{**known, **facts})


class InvalidParameter(PrivetError, ValueError):
    """A public parameter is outside its domain (negative, NaN, wrong type, ...)."""


class InvalidCall(InvalidParameter, TypeError):
    """A call with a keyword that does not exist, or without one that is needed; the message names the right one."""


class UnknownName(InvalidParameter, KeyError, AttributeError):
    """A name that a room, a table or an answer does not have; the message says which was probably meant.

    >>> import privet as pv
    >>> try:
    ...     pv.acounting
    ... except AttributeError as error:
    ...     print(error)
    privet has no 'acounting': did you mean accounting?
    """

    __str__ = Exception.__str__  # a KeyError prints its message in quotes


class MixedUnits(PrivetError):
    """Losses with different privacy units meet where one unit is needed; convert them explicitly first."""


class NoGuarantee(PrivetError):
    """The question has no finite answer for this loss; privet refuses rather than returning infinity."""


class Unreachable(PrivetError):
    """A calibration target cannot be met by any value of the parameter; the message states the limit."""


class BudgetExceeded(PrivetError):
    """A filter or ledger refuses a charge: the message says spent, requested and remaining, and so do the attributes.

    Each is a dictionary from "rule currency" to a number; `account` is whose budget it is, where a ledger refuses, and
    `point` the (epsilon, delta) that one more request may ask for and be granted.

    >>> from privet import accounting, privacy
    >>> state = accounting.BasicFilter(1.0).start().charge(privacy.PureLoss(0.75))
    >>> try:
    ...     state.charge(privacy.PureLoss(0.5))
    ... except BudgetExceeded as error:
    ...     print(error.spent["basic epsilon"], error.requested["basic epsilon"], error.remaining["basic epsilon"])
    0.75 0.5 0.25
    """

    spent: dict[str, float] | None = None
    requested: dict[str, float] | None = None
    remaining: dict[str, float] | None = None
    account: str | None = None
    point: tuple[float, float] | None = None
    explanation: str | None = None

    def explain(self) -> str:
        """Every rule with what it has spent and left, and the theorem behind it."""
        return self.explanation or str(self)


class SerialisationError(PrivetError, ValueError):
    """A JSON text is not a price that this version of privet can read."""


class InternalError(PrivetError):
    """Two independent computations disagree; this is a bug in privet and worth a report."""


class InvalidData(PrivetError, ValueError):
    """Data has a shape or type that the mechanism cannot take; the message is the same whatever the values are.

    `column` is the name of the column that is meant, where there are several.
    """

    column: str | None = None


class InvalidType(InvalidData, TypeError):
    """Data of a type that is never taken; the type is named, no value is."""


class PrivacyWarning(UserWarning):
    """Something beside a private release is not private, or costs more than it seems. It names classes, no values."""


class NoEntropy(PrivetError):
    """The system's random generator is stuck: nothing is drawn, rather than something that can be predicted."""


class NotPrivate(PrivetError):
    """Seeded (insecure) noise was offered where only secure noise is allowed."""


class ReleaseFailed(PrivetError):
    """A mechanism failed after it had been paid for; the message never says why, since the reason may depend on data.

    `seq` is the entry of the ledger that paid for it.
    """

    seq: int | None = None


class MissingExtra(PrivetError, ImportError):
    """An optional package is not installed; the message names the extra to install."""


class LedgerError(PrivetError):
    """Root of everything that a ledger raises, apart from `BudgetExceeded`."""


class LedgerBusy(LedgerError):
    """Another writer held the ledger longer than the timeout; nothing was spent, nothing released."""


class LedgerUnavailable(LedgerError):
    """The store cannot be read or written (full disk, read-only file, lost connection); nothing was released."""


class LedgerTampered(LedgerError):
    """The chain, a running sum or the anchored head does not match; the message names the first bad entry, `seq` too."""

    seq: int | None = None


class KeyConflict(LedgerError):
    """A release key was used before for another request; `key` is that key, `seq` the entry that holds it."""

    key: str | None = None
    seq: int | None = None


class ReusedData(PrivetError):
    """An event was to be tested on runs that it was chosen on; test it on runs that nobody has looked at."""
