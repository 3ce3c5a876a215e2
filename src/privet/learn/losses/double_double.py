"""Numbers as sums of two doubles, about 106 bits: what slopes are computed in where doubles would lose too much.

Additions and products of Dekker and Knuth, which need nothing but doubles that are rounded to nearest: the same bits on
every machine, also where long doubles are no longer than doubles.
"""

from typing import Any

import numpy as np

from privet._numerics import Array

Pair = tuple[Array, Array]  # the sum of both, the second one far smaller

_SPLIT = 2.0**27 + 1.0  # halves the 53 bits of a double (Dekker 1971)
_LN2 = (0.6931471805599453, 2.3190468138462996e-17, 5.707708438416212e-34)  # ln 2 in three doubles
_HALVINGS = 9  # of the argument of a power: its series is then short
_TERMS = 10  # of the exponential series, after the halvings


def pair(value: object) -> Pair:
    """A number as it is.

    >>> pair(2.0)
    (array(2.), array(0.))
    """
    high = np.asarray(value, dtype=np.float64)
    return high, np.zeros_like(high)


def exact_add(a: Array, b: Array) -> Pair:
    """a + b, and what rounding it lost.

    >>> bool(exact_add(np.array(1.0), np.array(2.0**-60))[1] == 2.0**-60)
    True
    """
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _halves(a: Array) -> Pair:
    wide = _SPLIT * a
    high = wide - (wide - a)
    return high, a - high


def exact_times(a: Array, b: Array) -> Pair:
    """a b, and what rounding it lost.

    >>> bool(exact_times(np.array(1.0 + 2.0**-40), np.array(1.0 + 2.0**-40))[1] == 2.0**-80)
    True
    """
    product = a * b
    (above, below), (over, under) = _halves(a), _halves(b)
    return product, ((above * over - product) + above * under + below * over) + below * under


def add(x: Pair, y: Pair) -> Pair:
    """x + y."""
    high, low = exact_add(x[0], y[0])
    rest, least = exact_add(x[1], y[1])
    high, low = exact_add(high, low + rest)
    return exact_add(high, low + least)


def negative(x: Pair) -> Pair:
    """-x."""
    return -x[0], -x[1]


def times(x: Pair, y: Pair) -> Pair:
    """x y."""
    high, low = exact_times(x[0], y[0])
    return exact_add(high, low + (x[0] * y[1] + x[1] * y[0]))


def over(x: Pair, y: Pair) -> Pair:
    """x/y.

    >>> third = over(pair(1.0), pair(3.0))
    >>> float(add(times(third, pair(3.0)), pair(-1.0))[0]) < 2.0**-104
    True
    """
    made = pair(x[0] / y[0])
    for _ in range(2):
        rest = add(x, negative(times(made, y)))
        made = add(made, pair(rest[0] / y[0]))
    return made


def power(x: Pair) -> Pair:
    """e^x for x up to 700; 0 below -700.

    >>> float(power(pair(1.0))[0]) == float(np.e), float(power(pair(-1000.0))[0])
    (True, 0.0)
    """
    small = x[0] < -700.0
    x = np.where(small, 0.0, x[0]), np.where(small, 0.0, x[1])
    times_two = np.rint(x[0] / _LN2[0])
    for part in _LN2:
        x = add(x, negative(exact_times(times_two, np.asarray(part))))
    x = np.ldexp(x[0], -_HALVINGS), np.ldexp(x[1], -_HALVINGS)
    less_one = pair(np.zeros_like(x[0]))
    for term in range(_TERMS, 0, -1):  # x/1 (1 + x/2 (1 + x/3 (...)))
        less_one = times(over(x, pair(float(term))), add(pair(1.0), less_one))
    for _ in range(_HALVINGS):  # (1 + s)^2 - 1
        less_one = add(add(less_one, less_one), times(less_one, less_one))
    made, scale = add(pair(1.0), less_one), times_two.astype(np.int64)
    return np.where(small, 0.0, np.ldexp(made[0], scale)), np.where(small, 0.0, np.ldexp(made[1], scale))


def within(x: Pair, low: Any, high: Any) -> Pair:
    """x, or the nearer of two ends, pairs themselves, where it lies beyond.

    >>> [float(each) for each in within(pair(3.0), pair(-1.0), pair(1.0))]
    [1.0, 0.0]
    """
    for end, sign in ((low, -1.0), (high, 1.0)):
        beyond = sign * add(x, negative(end))[0] > 0.0
        x = np.where(beyond, end[0], x[0]), np.where(beyond, end[1], x[1])
    return x
