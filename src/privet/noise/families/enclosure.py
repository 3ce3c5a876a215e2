"""Real functions between two integers: `f(..., bits)` returns (lo, hi) with lo <= 2^bits f <= hi.

Fixed-point arithmetic in Python integers, every rounding counted or directed. The ends meet as `bits` grows.
"""

import math
from collections.abc import Callable
from functools import lru_cache

Enclosure = Callable[[int], tuple[int, int]]


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def _ceil_shift(a: int, bits: int) -> int:
    return -(-a >> bits)


def _narrow(lo: int, hi: int, extra: int) -> tuple[int, int]:
    """Drop `extra` guard bits, outward; what is below zero is rounding, since every function here is positive."""
    return max(lo, 0) >> extra, _ceil_shift(hi, extra)


def rational(num: int, den: int, bits: int) -> tuple[int, int]:
    """num/den.

    >>> rational(1, 3, 4)
    (5, 6)
    """
    return (num << bits) // den, _ceil_div(num << bits, den)


def complement(ends: tuple[int, int], bits: int) -> tuple[int, int]:
    """1 - f from the ends of f.

    >>> complement((5, 6), 4)
    (10, 11)
    """
    return (1 << bits) - ends[1], (1 << bits) - ends[0]


def exp_neg(num: int, den: int, bits: int) -> tuple[int, int]:
    """exp(-num/den) for num/den >= 0.

    >>> exp_neg(1, 1, 10)
    (376, 377)
    """
    if num == 0:
        return 1 << bits, 1 << bits
    if 10_000 * num >= 6_932 * den * (bits + 1):  # then the value is at most half a unit, as ln 2 < 0.6932
        return 0, 1
    halvings = (num // den).bit_length() + 1  # brings the argument below 1/2
    guard = bits + 2 * halvings + 40
    y = (num << guard) // (den << halvings)
    term = total = 1 << guard
    steps = 0
    while term:
        steps += 1
        term = (term * y >> guard) // steps  # at most 3 units below its true value
        total += -term if steps & 1 else term
    slack = 3 * steps + 5  # 3 a term, 4 for what was cut off, 1 for the rounding of y
    lo, hi = total - slack, total + slack
    for _ in range(halvings):
        lo, hi = lo * lo >> guard, _ceil_shift(hi * hi, guard)
    return _narrow(lo, min(hi, 1 << guard), guard - bits)


def _atanh(num: int, den: int, guard: int) -> tuple[int, int]:
    """atanh(num/den) for 0 <= num/den <= 1/3, in units of 2^-guard."""
    power = (num << guard) // den
    square = power * power >> guard
    total, odd = power, 1
    while power:
        power = power * square >> guard
        odd += 2
        total += power // odd
    # Everything was rounded down: at most 3 units a term, and 8 for the first power and the tail.
    return total, total + 3 * odd + 8


@lru_cache(maxsize=64)
def _ln2(guard: int) -> tuple[int, int]:
    lo, hi = _atanh(1, 3, guard)
    return 2 * lo, 2 * hi


def neg_log(prefix: int, length: int, bits: int) -> tuple[int, int]:
    """-ln(prefix / 2^length) for 1 <= prefix <= 2^length.

    >>> neg_log(1, 1, 10)
    (709, 710)
    """
    guard = bits + length.bit_length() + 32
    halves = length - prefix.bit_length()  # prefix / 2^length = mantissa / 2^halves, mantissa in [1/2, 1)
    one = 1 << prefix.bit_length()
    if 4 * prefix < 3 * one:  # mantissa in [3/4, 3/2) keeps the argument of atanh below 1/5
        one >>= 1
        halves += 1
    lo, hi = _atanh(abs(prefix - one), prefix + one, guard)
    lo, hi = (2 * lo, 2 * hi) if prefix < one else (-2 * hi, -2 * lo)
    ln2 = _ln2(guard)
    return _narrow(lo + halves * ln2[0], hi + halves * ln2[1], guard - bits)


def _atan_of_inverse(n: int, guard: int) -> tuple[int, int]:
    power = (1 << guard) // n
    total, odd, sign = power, 1, 1
    while power:
        power //= n * n
        odd += 2
        sign = -sign
        total += sign * (power // odd)
    return total - 2 * odd, total + 2 * odd  # each term is at most 2 units low, and there are odd/2 of them


@lru_cache(maxsize=64)
def _pi(guard: int) -> tuple[int, int]:
    """Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""
    a, b = _atan_of_inverse(5, guard), _atan_of_inverse(239, guard)
    return 16 * a[0] - 4 * b[1], 16 * a[1] - 4 * b[0]


def normal_above(num: int, den: int, bits: int) -> tuple[int, int]:
    """Pr[N(0, 1) > num/den] for num/den >= 0.

    The mass between 0 and x is the density at x times sum x^(2k+1)/(2k+1)!!, a series of positive terms.

    >>> normal_above(0, 1, 10), normal_above(1, 1, 20)
    ((512, 512), (166362, 166363))
    """
    if num == 0:
        return 1 << (bits - 1), 1 << (bits - 1)
    if 10_000 * num * num >= 2 * 6_932 * den * den * (bits + 1):  # the mass is below exp(-x^2/2)
        return 0, 1
    guard = bits + 32 + num * num // (den * den)  # the sum is as large as exp(x^2/2)
    x = (num << guard) // den  # the mass above it is too large by less than one unit
    square = x * x >> guard
    low = high = term_low = term_high = x
    odd = 3
    while term_high > 2 or odd << guard <= 2 * (square + 1):
        term_low = (term_low * square >> guard) // odd
        term_high = _ceil_div(term_high * (square + 1), odd << guard)
        low, high, odd = low + term_low, high + term_high, odd + 2
    high += term_high + 1  # from here on every term is less than half the one before
    density = exp_neg(x * x, 2 << 2 * guard, guard)
    pi = _pi(guard)
    root = math.isqrt(2 * pi[0] << guard), math.isqrt(2 * pi[1] << guard) + 1
    low, high = low * density[0] // root[1], _ceil_div(high * density[1], root[0])
    half = 1 << (guard - 1)
    return _narrow(half - high - 1, half - low, guard - bits)


def normal_density(num: int, den: int, bits: int) -> tuple[int, int]:
    """The density of N(0, 1) at num/den >= 0.

    >>> normal_density(0, 1, 10)  # 1/sqrt(2 pi)
    (408, 409)
    """
    guard = bits + 32
    low, high = exp_neg(num * num, 2 * den * den, guard)
    pi = _pi(guard)
    root = math.isqrt(2 * pi[0] << guard), math.isqrt(2 * pi[1] << guard) + 1
    return _narrow((low << guard) // root[1], _ceil_div(high << guard, root[0]), guard - bits)


def _atan(num: int, den: int, guard: int) -> tuple[int, int]:
    """atan(num/den) for 0 <= num/den <= 1: three halvings of the angle, then the series."""
    one = 1 << guard
    y = (num << guard) // den
    for _ in range(3):  # each halves the error so far and adds at most 2 units
        y = (y << guard) // (one + math.isqrt((one << guard) + y * y))
    square = y * y >> guard
    power, total, odd, sign = y, y, 1, 1
    while power:
        power = power * square >> guard
        odd += 2
        sign = -sign
        total += sign * (power // odd)
    slack = 2 * odd + 8
    return 8 * (total - slack), 8 * (total + slack)


def cauchy_above(num: int, den: int, bits: int) -> tuple[int, int]:
    """Pr[C > num/den] for the standard Cauchy law and num/den >= 0, that is 1/2 - atan(num/den)/pi.

    >>> cauchy_above(0, 1, 10), cauchy_above(1, 1, 10)
    ((512, 512), (255, 257))
    """
    if num == 0:
        return 1 << (bits - 1), 1 << (bits - 1)
    guard = bits + 40
    pi = _pi(guard)
    lo, hi = _atan(min(num, den), max(num, den), guard)
    lo, hi = (max(lo, 0) << guard) // pi[1], _ceil_div(hi << guard, pi[0])
    if num < den:
        half = 1 << (guard - 1)
        lo, hi = half - hi, half - lo
    return _narrow(lo, hi, guard - bits)
