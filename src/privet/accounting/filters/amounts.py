"""Amounts: prices and limits as integers in units of 10^-40, so that sums are exact and their order is free."""

import math

from privet.errors import InternalError

Amount = int | None  # None is infinite: no such guarantee is known

COMPUTED = 1.0 - 1e-12  # limits that come out of a formula or a bisection give this much away

_DIGITS = 40  # after the point, of amounts in whole numbers; what is finer is rounded to the side that is asked for
_ONE = 10**_DIGITS  # the whole number that stands for 1


def to_amount(value: float, *, up: bool) -> Amount:
    """A price (up) or a limit (down) as an integer; None where it is infinite. A negative one is an error of ours.

    A double of up to 15 digits is taken for the decimal that its author wrote: 0.1 is 1/10, and ten of them fill a budget
    of 1.0 exactly. That may be half a unit in the last place less than the double, which is a convention about what people
    write and lies within what prices are rounded up by. Anything longer counts as the number that it is, rounded up if
    `up`, else down.

    >>> 10 * to_amount(0.1, up=True) == to_amount(1.0, up=False)
    True
    """
    if value == 0.0:
        return 0
    value = float(value)
    if not value > 0.0:
        raise InternalError(f"a price or a limit came out as {value}")
    if value == math.inf:
        return None
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = whole + part
    if len(digits) <= 15 or len(digits.strip("0")) <= 15:
        shift = _DIGITS - len(part) + (int(exponent) if exponent else 0)
        if shift >= 0:
            return int(digits) * int(10**shift)
        numerator, denominator = int(digits), int(10**-shift)
    else:
        numerator, denominator = value.as_integer_ratio()
        numerator *= _ONE
    return -(-numerator // denominator) if up else numerator // denominator


def to_float(amount: Amount) -> float:
    """An amount as a float, for reading only: decisions are made on the integers.

    >>> to_float(None)
    inf
    """
    return math.inf if amount is None else amount / _ONE


def add(a: Amount, b: Amount) -> Amount:
    """The sum; infinite (None) where one of them is.

    >>> add(1, None) is None
    True
    """
    return None if a is None or b is None else a + b
