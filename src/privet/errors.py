"""One exception tree for the whole library.

Every message says what was wrong, what was expected and what to do, and never contains a private value.
Catch `PrivetError` to catch everything that privet raises on purpose.
"""

__all__ = [
    "BudgetExceeded",
    "InternalError",
    "InvalidParameter",
    "MixedUnits",
    "NoGuarantee",
    "PrivetError",
    "SerialisationError",
    "Unreachable",
]


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
