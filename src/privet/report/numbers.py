"""Numbers for readers: what is shown of an upper bound is never smaller than the bound."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from privet._numerics import plain as plain


def round_up(value: float, digits: int = 5) -> float:
    """The smallest number of `digits` significant digits that is not below `value`.

    >>> round_up(0.9469161), round_up(2.1), round_up(1e-5, 1)
    (0.94692, 2.1, 1e-05)
    """
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float, digits: int = 5) -> float:
    """The largest number of `digits` significant digits that is not above `value`.

    >>> round_down(0.9468429)
    0.94684
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> float:
    # By its shortest decimal form: 2.1 is shown as 2.1 although the float lies a little above it.
    return float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(float(value)))))


def percent_up(share: float) -> str:
    """A share as a percentage, rounded up: for what is at most so much.

    Close to 100% the digits that count are those of what is missing: 99.996% is not shown as 100%.

    >>> percent_up(0.720501), percent_up(0.0191501), percent_up(0.9999599), percent_up(1.0)
    ('72.1%', '1.92%', '99.996%', '100%')
    """
    if 0.99 < share < 1.0:
        return f"{100.0 - round_down(100.0 * (1.0 - share), 2):.12g}%"
    return f"{round_up(100.0 * share, 3):g}%"


def percent_down(share: float) -> str:
    """A share as a percentage, rounded down: for what is at least so much.

    >>> percent_down(0.98085)
    '98%'
    """
    return f"{round_down(100.0 * share, 3):g}%"
