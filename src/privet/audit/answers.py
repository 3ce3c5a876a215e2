"""Numbers of the caller's own records, and answers of the caller's own functions: errors that quote none of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData, PrivetError


def numbers(what: str, values: object) -> Array:
    """Values as an array of floats. What stands there instead of a number is not quoted: it is a record's.

    >>> numbers("scores", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        found = np.asarray(values)
        if found.dtype.kind == "c":  # numpy would drop a part of a complex number, with a warning
            raise TypeError
        return found.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidData(f"{what} must be numbers") from None


def answered(who: str, function: Callable[..., Any], *given: Any) -> Array:
    """The answer of a model, or of another function of the caller's; what is too large for a float is infinite.

    >>> answered("the model", lambda x: [x, x], 1.0).tolist()
    [1.0, 1.0]
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(function(*given))
    except PrivetError:
        raise
    except Exception as problem:
        raise failed(who, problem) from None


def failed(who: str, problem: Exception) -> InvalidData:
    """An error of the caller's own function, told by its kind alone, since its text may quote a record."""
    return InvalidData(f"{who} failed on the records it was asked about ({type(problem).__name__})")
