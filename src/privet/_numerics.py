"""Small numerical tools shared by the rooms. scipy loads when first needed: importing privet stays quick."""

import importlib
import math
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import InvalidParameter

Array = NDArray[Any]  # of floats; numpy's stubs widen the scalar type at every turn

UNIT_ROUNDOFF = 2.0**-53  # the relative error of one rounding to a double
LARGEST_EXPONENT = 700.0  # e^700 is a double, and so is its product with whatever is below 1e4
ROOMY_EXPONENT = 600.0  # the same for products with whatever is below 1e48
TINY = 1e-300  # keeps quotients and logarithms of nothing finite; added to a bound, it covers masses that underflow

_FINEST = 1074  # every double is a whole multiple of 2^-1074
_SMALLEST, _LARGEST = 5e-324, math.nextafter(math.inf, 0.0)  # the ends of the positive doubles
BEYOND = 2**1100  # stands for infinity and for whatever is larger: beyond every double
_PLACES = 2000  # decimal places of a Decimal; what lies below them is cut off

_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of a standard normal variable at 0


def is_masked(value: object) -> bool:
    """True if it has a mask; plain values do not ask numpy, which would load them: a fork meanwhile hangs its child.

    >>> is_masked(np.ones(2)), is_masked(np.ma.masked_array([1.0], mask=[True]))
    (False, True)
    """
    return isinstance(value, np.ndarray) and type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray)


# --- reading a number exactly --------------------------------------------------------------------------------------------


def exact_ratio(value: object) -> tuple[int, int] | None:
    """The one reading of a number, whatever its type: numerator and denominator of the rational that it is.

    Python's and numpy's integers, booleans, floats of every width, Fractions and Decimals; equal numbers of different
    types are one ratio. Infinities, and what is larger than `BEYOND`, are `BEYOND`; NaN and what is no number is None.

    >>> exact_ratio(0.25), exact_ratio(2**60 + 1) == (2**60 + 1, 1), exact_ratio(np.float32(0.5)), exact_ratio("1")
    ((1, 4), True, (1, 2), None)
    """
    kind = type(value)
    if kind is float:
        return _float_ratio(value)
    known = _RATIO_BY_TYPE.get(kind)
    if known is not None:
        return known(value)
    if isinstance(value, np.timedelta64):  # numpy counts it among the integers
        return None
    if isinstance(value, Integral | np.bool_):
        return _within(int(value), 1)
    if isinstance(value, Rational):
        return _rational_ratio(value)
    if isinstance(value, Decimal):
        return _decimal_ratio(value)
    if isinstance(value, np.longdouble):
        if not np.isfinite(value):
            return _float_ratio(float(value))
        return _within(*value.as_integer_ratio())
    if not isinstance(value, Real):
        return None
    try:
        return _float_ratio(float(value))
    except Exception:  # a type of somebody else's making, whose reasons may quote its value
        return None


def _float_ratio(value: Any) -> tuple[int, int] | None:
    if math.isfinite(value):  # asked first: an exception would take ten times as long, and tell which it was
        return value.as_integer_ratio()
    if math.isnan(value):
        return None
    return (BEYOND, 1) if value > 0.0 else (-BEYOND, 1)


def _int_ratio(value: Any) -> tuple[int, int]:
    return _within(int(value), 1)


def _no_ratio(value: object) -> None:
    return None


def _within(numerator: int, denominator: int) -> tuple[int, int]:
    if numerator.bit_length() - denominator.bit_length() > 1100:
        return (BEYOND if numerator > 0 else -BEYOND), 1
    return numerator, denominator


def _rational_ratio(value: Rational) -> tuple[int, int]:
    return _within(int(value.numerator), int(value.denominator))


def _decimal_ratio(value: Decimal) -> tuple[int, int] | None:
    """Without ever writing out a power of ten that no memory holds."""
    finite = value.is_finite()
    size = value.adjusted() if finite else 0
    if not finite or (size > 400 and value):
        return None if value.is_nan() else ((-BEYOND if value.is_signed() else BEYOND), 1)
    if size > -400:
        return value.as_integer_ratio()
    sign, digits, power = value.as_tuple()
    assert type(power) is int
    if power < -_PLACES:
        digits, power = digits[: len(digits) + power + _PLACES] if len(digits) + power > -_PLACES else (), -_PLACES
    number = int("".join(map(str, digits)) or "0")
    if not number:
        return 0, 1
    top, bottom = (number * 10**power, 1) if power >= 0 else (number, 10**-power)
    common = math.gcd(top, bottom)
    return (-top if sign else top) // common, bottom // common


# What is common, by its type: the questions above take up to ten times as long, and what stands in a list is data.
_RATIO_BY_TYPE: dict[type, Callable[[Any], tuple[int, int] | None]] = {
    **dict.fromkeys((int, bool, np.bool_), _int_ratio),
    **dict.fromkeys((np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64), _int_ratio),
    **dict.fromkeys((np.float16, np.float32), lambda value: _float_ratio(float(value))),
    **dict.fromkeys(
        (type(None), str, bytes, list, tuple, dict, set, object, date, datetime, np.timedelta64), _no_ratio
    ),
    np.float64: _float_ratio,
    Fraction: _rational_ratio,
    Decimal: _decimal_ratio,
}


def as_rational(value: object) -> Fraction | None:
    """The rational that a finite real number is, or None for anything else; booleans are something else.

    >>> as_rational(0.25), as_rational(True), as_rational(float("nan"))
    (Fraction(1, 4), None, None)
    """
    if type(value) is float:  # first, since it is what most callers pass
        return Fraction(value) if math.isfinite(value) else None
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_):
        return None
    ratio = exact_ratio(value)
    return None if ratio is None or abs(ratio[0]) == BEYOND else Fraction(*ratio)


def exact(name: str, value: object) -> Fraction:
    """A finite real parameter as the rational it is: 0.1 means the double nearest to 0.1.

    >>> exact("scale", 0.5)
    Fraction(1, 2)
    """
    number = as_rational(value)
    if number is not None:
        return number
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        raise InvalidParameter(f"{name} must be a real number, got {type(value).__name__}")
    if exact_ratio(value) is None or value in (math.inf, -math.inf):
        raise InvalidParameter(f"{name} must be finite, got {value}")
    raise InvalidParameter(f"{name} is too large for a float")


# --- special functions ----------------------------------------------------------------------------------------------------


@cache
def special() -> Any:  # scipy ships no types
    """The module scipy.special, loaded on first use.

    >>> round(float(special().ndtr(0.0)), 3)
    0.5
    """
    return importlib.import_module("scipy.special")


def ndtr(x: Array | float) -> Array:
    """Standard normal distribution function.

    >>> float(ndtr(0.0))
    0.5
    """
    return special().ndtr(x)


def log_ndtr(x: Array | float) -> Array:
    """Logarithm of the standard normal distribution function, accurate in the far tail.

    >>> round(float(log_ndtr(-40.0)), 3)
    -804.608
    """
    return special().log_ndtr(x)


def ndtri(p: float) -> float:
    """Quantile of the standard normal distribution: Wichura's approximation, to the last digits of a double, as Python's
    own library has it; scipy takes a quarter of a second to load.

    >>> ndtri(0.5), round(ndtri(2.0**-64), 12), ndtri(0.0)
    (0.0, -9.080155124874, -inf)
    """
    if 0.0 < p < 1.0:
        return _standard_normal().inv_cdf(p)
    return math.nan if math.isnan(p) or not 0.0 <= p <= 1.0 else -math.inf if p == 0.0 else math.inf


@cache
def _standard_normal() -> Any:
    return importlib.import_module("statistics").NormalDist()


def normal_cells(x: Array) -> Array:
    """Standard normal mass of (-inf, x0], (x0, x1], ..., (xn, inf) for increasing x.

    Narrow cells are integrated by the Taylor series around their middle (Hermite polynomials, relative error below
    1e-13), wide ones are differences on the side of the smaller tail; so every cell keeps its leading digits, down to
    masses of 1e-300.

    >>> normal_cells(np.array([0.0])).tolist()
    [0.5, 0.5]
    """
    mass = np.empty(len(x) + 1)
    tail = ndtr(-np.abs(x))  # cells of the upper half are mirrored into the lower tail
    mass[0] = tail[0] if x[0] <= 0.0 else 1.0 - tail[0]
    mass[-1] = tail[-1] if x[-1] >= 0.0 else 1.0 - tail[-1]
    inner = mass[1:-1]
    np.abs(tail[1:] - tail[:-1], out=inner)
    middle_cell = int(np.searchsorted(x, 0.0))
    if 0 < middle_cell < len(x):
        inner[middle_cell - 1] = 1.0 - tail[middle_cell - 1] - tail[middle_cell]
    with np.errstate(invalid="ignore", over="ignore"):  # an empty cell between two infinite points counts as wide
        width = x[1:] - x[:-1]
        middle = x[:-1] + 0.5 * width
        narrow = width * np.maximum(np.abs(middle), 3.0) <= 0.2
        index = np.flatnonzero(narrow)
        if len(index):
            near = slice(int(index[0]), int(index[-1]) + 1)
            square, width = middle[near] ** 2, width[near]
            series = np.exp(-0.5 * square) * _taylor(square, width * width) * width * _DENSITY
            np.copyto(inner[near], series, where=narrow[near])
    return mass


def _taylor(square: Array, width2: Array) -> Array:
    """Mean over a cell of the normal density relative to its middle: sum of He_2k(m) (w/2)^2k / (2k+1)!."""
    he2 = square - 1.0
    he4 = (square - 6.0) * square + 3.0
    he6 = ((square - 15.0) * square + 45.0) * square - 15.0
    return 1.0 + width2 * (he2 / 24.0 + width2 * (he4 / 1920.0 + width2 * (he6 / 322560.0)))


def log1mexp(x: float) -> float:
    """ln(1 - exp(x)) for x < 0 without cancellation.

    >>> round(log1mexp(-1e-20), 4)
    -46.0517
    """
    return math.log(-math.expm1(x)) if x > -math.log(2.0) else math.log1p(-math.exp(x))


# --- searching ------------------------------------------------------------------------------------------------------------


def minimise(function: Callable[[float], float], low: float, high: float, iterations: int = 60) -> tuple[float, float]:
    """Golden-section search: the best point seen and its value. Any point seen is as valid as the minimum.

    >>> x, value = minimise(lambda x: (x - 1.0) ** 2, 0.0, 3.0)
    >>> round(x, 6)
    1.0
    """
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    a, b = low, high
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    fc, fd = function(c), function(d)
    for _ in range(iterations):
        if fc <= fd:
            b, d, fd = d, c, fc
            c = b - ratio * (b - a)
            fc = function(c)
        else:
            a, c, fc = c, d, fd
            d = a + ratio * (b - a)
            fd = function(d)
        if b - a <= 1e-9 * (abs(a) + abs(b)) + 1e-300:
            break
    return (c, fc) if fc <= fd else (d, fd)


def bracket(
    holds: Callable[[float], bool], start: float, *, least: float = TINY, most: float = math.inf
) -> tuple[float, float]:
    """(bad, good), a factor 2 apart, around the place from which on `holds` is true: doubling or halving from `start`.

    `good` has been tried, or is infinite where nothing up to `most` was good; `bad` is 0 where all down to `least` was.

    >>> bracket(lambda x: x >= 5.0, 1.0), bracket(lambda x: x >= 5.0, 64.0)
    ((4.0, 8.0), (4.0, 8.0))
    """
    if holds(start):
        while start > least:
            if not holds(start / 2.0):
                return start / 2.0, start
            start /= 2.0
        return 0.0, start
    while 2.0 * start <= min(most, _LARGEST):
        if holds(2.0 * start):
            return start, 2.0 * start
        start *= 2.0
    return start, math.inf


def bisect(holds: Callable[[float], bool], bad: float, good: float, *, within: float = 0.0, steps: int = 200) -> float:
    """The point nearest to `bad` at which `holds` was seen to be true; `good`, which must be such a point, if none was.

    So the answer is on the safe side whatever `holds` does in between. `bad` may lie on either side of `good`. A bracket
    of positive numbers is halved in its logarithm while it is wide. It ends when no double is left between the ends, when
    they differ by at most `within` times the good one, or after so many steps.

    >>> bisect(lambda x: x * x >= 2.0, 0.0, 2.0), bisect(lambda x: x * x <= 2.0, 2.0, 0.0)
    (1.4142135623730951, 1.414213562373095)
    """
    for _ in range(steps):
        low, high = (bad, good) if bad < good else (good, bad)
        middle = math.sqrt(low) * math.sqrt(high) if 0.0 < 4.0 * low < high else 0.5 * low + 0.5 * high
        if not low < middle < high or high - low <= within * abs(good):
            break
        bad, good = (bad, middle) if holds(middle) else (middle, good)
    return good


# --- rounding to the safe side --------------------------------------------------------------------------------------------


def up(value: Fraction | Decimal | float) -> float:
    """The smallest double that is not below a number, which is taken exactly: infinity above all doubles.

    >>> up(Fraction(1, 4)), up(Fraction(1, 3)) >= Fraction(1, 3), up(Fraction(1, 10**400))
    (0.25, True, 5e-324)
    """
    return _upwards(*value.as_integer_ratio())


def down(value: Fraction | Decimal | float) -> float:
    """The largest double that is not above a number, which is taken exactly.

    >>> down(Fraction(1, 4)), down(Fraction(1, 3)) <= Fraction(1, 3), down(Fraction(1, 10**400))
    (0.25, True, 0.0)
    """
    numerator, denominator = value.as_integer_ratio()
    return -_upwards(-numerator, denominator) + 0.0


def root_up(value: Fraction | float) -> float:
    """The smallest double that is not below the square root of a number >= 0, which is taken exactly.

    >>> root_up(4), Fraction(root_up(2)) ** 2 >= 2
    (2.0, True)
    """
    numerator, denominator = value.as_integer_ratio()
    # to 64 bits more than a double has, rounded up: a root that is no double itself stays on its side of all doubles
    bits = max(0, 2 * 118 + denominator.bit_length() - numerator.bit_length() + 1) // 2
    square = -(-(numerator << (2 * bits)) // denominator)
    whole = math.isqrt(square)
    return _upwards(whole + (whole * whole < square), 1 << bits)


def round_up(x: float, units: float = 1.0) -> float:
    """A double above x by at least `units` units in the last place: for a number that was computed with that error.

    One unit is the next double, which covers the rounding of one operation. Zero stays zero: what is computed as exactly
    nothing is nothing.

    >>> round_up(1.0) > 1.0, round_up(0.0), round_up(math.inf)
    (True, 0.0, inf)
    """
    if x == 0.0 or math.isinf(x):
        return x
    if units <= 1.0:
        return math.nextafter(x, math.inf)
    return math.nextafter(x + units * (abs(x) * 2.0 * UNIT_ROUNDOFF + _SMALLEST), math.inf)


def round_down(x: float, units: float = 1.0) -> float:
    """The mirror image of `round_up`.

    >>> round_down(1.0) < 1.0, round_down(0.0)
    (True, 0.0)
    """
    return -round_up(-x, units)


def ratio_up(a: float, b: float) -> float:
    """The smallest double that is not below a/b, for a >= 0 and b > 0; whole numbers of any size are taken exactly.

    >>> ratio_up(1.0, 4.0), ratio_up(1.0, 3.0) > 1.0 / 3.0
    (0.25, True)
    """
    if math.isinf(b):
        return 0.0
    if math.isinf(a):
        return math.inf
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    return _upwards(n * e, d * m)


def ratio_down(a: float, b: float) -> float:
    """The largest double that is not above a/b, for a >= 0 and b > 0.

    >>> ratio_down(1.0, 4.0), ratio_down(1.0, 10.0) < 0.1  # the double 0.1 lies above 1/10
    (0.25, True)
    """
    if math.isinf(a):
        return math.inf
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    return -_upwards(-n * e, d * m) + 0.0


def product_up(*factors: float) -> float:
    """The smallest double that is not below the product of numbers >= 0; infinity wins against zero.

    >>> product_up(0.5, 3), product_up(0.1, 3) >= 0.30000000000000004
    (1.5, True)
    """
    numerator, denominator = 1, 1
    for factor in factors:
        if math.isinf(factor):
            return math.inf
        n, d = factor.as_integer_ratio()
        numerator, denominator = numerator * n, denominator * d
    return _upwards(numerator, denominator)


def square_up(x: float) -> float:
    """The smallest double that is not below x squared.

    >>> square_up(0.5), square_up(0.1) >= 0.01
    (0.25, True)
    """
    return product_up(x, x)


def sum_up(terms: Iterable[tuple[float, int]]) -> float:
    """The smallest double that is not below the sum of n x over the terms (x, n), all >= 0; added exactly.

    >>> sum_up([(0.5, 3), (0.25, 1)]), sum_up([(0.1, 10)])  # the double 0.1 lies above 1/10
    (1.75, 1.0000000000000002)
    """
    total = 0
    for x, n in terms:
        if math.isinf(x):
            if n:
                return math.inf
            continue
        numerator, denominator = x.as_integer_ratio()
        total += n * numerator << (_FINEST + 1 - denominator.bit_length())
    return _upwards(total, 1 << _FINEST)


def _upwards(numerator: int, denominator: int) -> float:
    """A quotient of whole numbers as a double, rounded up."""
    try:
        nearest = numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -_LARGEST
    n, d = nearest.as_integer_ratio()
    return nearest if n * denominator >= numerator * d else math.nextafter(nearest, math.inf)


def exp_capped(x: float) -> float:
    """e^x, or e^700 where x is larger: for bounds in which a larger power would change nothing that a double shows.

    >>> exp_capped(1.0) == math.e, math.isfinite(exp_capped(1e9))
    (True, True)
    """
    return math.exp(min(x, LARGEST_EXPONENT))


# --- showing a number -----------------------------------------------------------------------------------------------------


def plain(value: float) -> str:
    """A number as people write it: thousands set apart, no exponent where none is needed.

    >>> plain(12000.0), plain(0.94692), plain(1e-05), plain(3.5e12), plain(0.0)
    ('12,000', '0.94692', '1e-05', '3.5e+12', '0')
    """
    size = abs(value)
    if value == 0.0:
        return "0"
    if 1e3 <= size < 1e9:
        return f"{value:,.0f}" if size >= 1e4 or value == int(value) else f"{value:,.1f}"
    return f"{value:.6g}"
