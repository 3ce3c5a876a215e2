"""One exception tree for the whole library.

Every message says what was wrong, what was expected and what to do, and never contains a private value.
Catch `PrivetError` to catch everything that privet raises on purpose.
"""


class PrivetError(Exception):
    """Root of the tree: everything that privet raises on purpose derives from it.

    >>> from privet import privacy
    >>> try:
    ...     privacy.PureLoss(-1.0)
    ... except PrivetError as error:
    ...     print(error)
    epsilon must be at least 0, got -1.0
    """


class InvalidParameter(PrivetError, ValueError):
    """A public parameter is outside its domain (negative, NaN, wrong type, ...).

    >>> issubclass(InvalidParameter, ValueError)
    True
    """


class MixedUnits(PrivetError):
    """Losses with different privacy units meet where one unit is needed; convert them explicitly first.

    >>> issubclass(MixedUnits, PrivetError)
    True
    """


class NoGuarantee(PrivetError):
    """The question has no finite answer for this loss; privet refuses rather than returning infinity.

    >>> issubclass(NoGuarantee, PrivetError)
    True
    """


class Unreachable(PrivetError):
    """A calibration target cannot be met by any value of the parameter; the message states the limit.

    >>> issubclass(Unreachable, PrivetError)
    True
    """


class BudgetExceeded(PrivetError):
    """A filter or ledger refuses a charge: the message says spent, requested and remaining.

    >>> issubclass(BudgetExceeded, PrivetError)
    True
    """


class SerialisationError(PrivetError, ValueError):
    """A JSON text is not a price that this version of privet can read.

    >>> issubclass(SerialisationError, PrivetError)
    True
    """


class InternalError(PrivetError):
    """Two independent computations disagree; this is a bug in privet and worth a report.

    >>> issubclass(InternalError, PrivetError)
    True
    """


class InvalidData(PrivetError, ValueError):
    """Data has a shape or type that the mechanism cannot take; the message is the same whatever the values are.

    >>> issubclass(InvalidData, PrivetError)
    True
    """


class NoEntropy(PrivetError):
    """The system's random generator is stuck: nothing is drawn, rather than something that can be predicted.

    >>> issubclass(NoEntropy, PrivetError)
    True
    """


class NotPrivate(PrivetError):
    """Seeded (insecure) noise was offered where only secure noise is allowed.

    >>> issubclass(NotPrivate, PrivetError)
    True
    """


class ReleaseFailed(PrivetError):
    """A mechanism failed after it had been paid for; the message never says why, since the reason may depend on data.

    >>> issubclass(ReleaseFailed, PrivetError)
    True
    """


class MissingExtra(PrivetError, ImportError):
    """An optional package is not installed; the message names the extra to install.

    >>> issubclass(MissingExtra, PrivetError)
    True
    """


class LedgerError(PrivetError):
    """Root of everything that a ledger raises, apart from `BudgetExceeded`.

    >>> issubclass(LedgerError, PrivetError)
    True
    """


class LedgerBusy(LedgerError):
    """Another writer held the ledger longer than the timeout; nothing was spent, nothing released.

    >>> issubclass(LedgerBusy, LedgerError)
    True
    """


class LedgerUnavailable(LedgerError):
    """The store cannot be read or written (full disk, read-only file, lost connection); nothing was released.

    >>> issubclass(LedgerUnavailable, LedgerError)
    True
    """


class LedgerTampered(LedgerError):
    """The chain, a running sum or the anchored head does not match; the message names the first bad entry.

    >>> issubclass(LedgerTampered, LedgerError)
    True
    """


class KeyConflict(LedgerError):
    """A release key was used before for another request.

    >>> issubclass(KeyConflict, LedgerError)
    True
    """


class ReusedData(PrivetError):
    """An event was to be tested on runs that it was chosen on; test it on runs that nobody has looked at.

    >>> issubclass(ReusedData, PrivetError)
    True
    """
