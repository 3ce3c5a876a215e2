"""Checks of public parameters: each returns the clean value or raises `InvalidParameter`."""

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from privet.errors import InvalidParameter

_SMALLEST, _LARGEST = 1e-60, 1e60  # beyond, products of a few parameters would leave the doubles
_MOST = 10**18  # counts are kept as 64-bit numbers

_T = TypeVar("_T")


def finite(name: str, value: object) -> float:
    """A real number that is neither NaN nor infinite, as a float (and never -0.0).

    >>> finite("sigma", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter(f"{name} must be a real number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidParameter(f"{name} is too large for a float") from None
    if not math.isfinite(number):
        raise InvalidParameter(f"{name} must be finite, got {number}")
    return number + 0.0


def at_least(name: str, value: object, low: float) -> float:
    """A finite number >= low.

    >>> at_least("epsilon", 0, 0.0)
    0.0
    """
    number = finite(name, value)
    if number < low:
        raise InvalidParameter(f"{name} must be at least {low:g}, got {number}")
    return _sane(name, number)


def above(name: str, value: object, low: float) -> float:
    """A finite number > low.

    >>> above("scale", 0.5, 0.0)
    0.5
    """
    number = finite(name, value)
    if not number > low:
        raise InvalidParameter(f"{name} must be greater than {low:g}, got {number}")
    return _sane(name, number)


def above_or_infinite(name: str, value: object, low: float) -> float:
    """A number > low, infinity included: of noise, as much as one likes.

    >>> above_or_infinite("scale", math.inf, 0.0)
    inf
    """
    infinite = isinstance(value, Real) and value == math.inf  # an array is compared item by item
    return math.inf if infinite else above(name, value, low)


def noise_scale(name: str, value: object, exponent: int, remedy: str) -> float:
    """A scale whose noise can be drawn: positive, and at most 2^exponent.

    >>> noise_scale("scale", 2, 52, "measure in larger units")
    2.0
    """
    scale = above(name, value, 0.0)
    if scale > 2.0**exponent:
        raise InvalidParameter(f"{name} must be at most 2^{exponent}, got {scale:g}: {remedy}")
    return scale


def _sane(name: str, number: float) -> float:
    """Squares, products and sums of a parameter must stay inside the range of floats."""
    if number != 0.0 and not _SMALLEST <= abs(number) <= _LARGEST:
        raise InvalidParameter(f"{name} must be 0 or between {_SMALLEST:g} and {_LARGEST:g}, got {number}")
    return number


def fraction(name: str, value: object) -> float:
    """A number in [0, 1].

    >>> fraction("q", 1)
    1.0
    """
    number = finite(name, value)
    if not 0.0 <= number <= 1.0:
        raise InvalidParameter(f"{name} must lie in [0, 1], got {number}")
    return number


def open_fraction(name: str, value: object) -> float:
    """A number in (0, 1).

    >>> open_fraction("delta", 1e-5)
    1e-05
    """
    number = finite(name, value)
    if not 0.0 < number < 1.0:
        raise InvalidParameter(f"{name} must lie strictly between 0 and 1, got {number}")
    return number


def count(name: str, value: object, low: int = 0) -> int:
    """A whole number >= low (a float with a whole value is accepted).

    >>> count("steps", 10.0)
    10
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter(f"{name} must be a whole number, got {type(value).__name__}")
    if not isinstance(value, Integral) and not finite(name, value).is_integer():
        raise InvalidParameter(f"{name} must be a whole number, got {value}")
    number = int(float(value)) if not isinstance(value, Integral) else int(value)
    if not low <= number <= _MOST:
        raise InvalidParameter(f"{name} must be a whole number from {low} to {_MOST:.0e}, got {str(number)[:24]}")
    return number


def whole(name: str, value: object, low: int) -> int:
    """An integer >= low of any size, and no bool or float that looks like one.

    >>> whole("bound", 2**70, 1) == 2**70
    True
    """
    if type(value) is int and value >= low:  # nearly always, and quicker to see
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise InvalidParameter(f"{name} must be a whole number >= {low}")
    return int(value)


def flag(name: str, value: object) -> bool:
    """True or False, and nothing that merely looks like it.

    >>> flag("monotonic", True)
    True
    """
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False, got {type(value).__name__}")
    return value


def instance(name: str, value: _T, *kinds: type[Any]) -> _T:
    """The value itself, of one of these classes.

    >>> instance("bounds", (0, 1), tuple, list)
    (0, 1)
    """
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidParameter(f"{name} must be of type {wanted}, got {type(value).__name__}")
    return value


def items(name: str, value: object) -> tuple[Any, ...]:
    """A tuple of the items of a sequence, which a text is not.

    >>> items("alphas", [2.0, 8.0])
    (2.0, 8.0)
    """
    single = getattr(value, "ndim", 1) == 0  # a number in the clothes of an array
    if single or isinstance(value, str | bytes | type | Mapping) or not isinstance(value, Iterable):
        raise InvalidParameter(f"{name} must be a sequence, got {type(value).__name__}")
    refuse_set(name, value)
    try:
        return tuple(value)
    except (MemoryError, OverflowError):  # `range(10**12)`, whose length is asked for before its items
        raise InvalidParameter(f"{name} has more items than memory holds") from None


def refuse_set(name: str, value: object) -> None:
    """Refuse a set where the order of items matters: that of a set of texts is another one in every process.

    >>> refuse_set("labels", ["a", "b"])
    """
    if isinstance(value, set | frozenset):
        raise InvalidParameter(f"{name} must be in an order, and a set has none that lasts: give a list, sorted(...)")


def set_frozen(record: object, **values: object) -> None:
    """Store cleaned fields of a frozen dataclass, from its `__post_init__`; nothing else may change it.

    >>> from privet.privacy import Unit
    >>> unit = Unit()
    >>> set_frozen(unit, group_size=2)
    >>> unit.group_size
    2
    """
    for name, value in values.items():
        object.__setattr__(record, name, value)
