"""The samplers of Canonne, Kamath and Steinke: integers only, no table, no float, no enclosure.

Slower than the samplers of `privet.noise` and with nothing in common but the random bits, they are the second opinion.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import InvalidParameter
from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import fair_bits
from privet.noise.parameters import Size, positive
from privet.noise.uniform_int import below

Bools = NDArray[np.bool_]


def cks_discrete_laplace(*, scale: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """Integer noise with Pr[X = k] proportional to exp(-|k| / scale), by algorithm 2 of the paper.

    **Guarantee:** exact law. **Reference:** Canonne, Kamath & Steinke 2020.

    >>> cks_discrete_laplace(scale=10, size=3).dtype
    dtype('int64')
    """
    t = positive("scale", scale)
    return draw(lambda stream: int(_laplace(stream, 1, t)[0]), lambda stream, n: _laplace(stream, n, t), size, source)


def cks_discrete_gaussian(*, sigma: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """Integer noise with Pr[X = k] proportional to exp(-k^2 / (2 sigma^2)), by algorithm 3 of the paper.

    **Guarantee:** exact law. **Reference:** Canonne, Kamath & Steinke 2020.

    >>> cks_discrete_gaussian(sigma=10, size=3).dtype
    dtype('int64')
    """
    s = positive("sigma", sigma)
    return draw(lambda stream: int(_gaussian(stream, 1, s)[0]), lambda stream, n: _gaussian(stream, n, s), size, source)


def _ratio_coins(stream: Stream, num: NDArray[Any], den: int) -> Bools:
    """Bernoulli(num / den), element by element."""
    if den < 2**63:
        return below(stream, len(num), den) < num
    # Too large for 64 bits: Python integers, drawn and compared one by one.
    length = (den - 1).bit_length()
    out = np.empty(len(num), dtype=bool)
    for place, top in enumerate(num.tolist()):
        while (value := stream.bits(length)) >= den:
            pass
        out[place] = value < top
    return out


def _exp_coins(stream: Stream, num: NDArray[Any], den: int) -> Bools:
    """Bernoulli(exp(-num / den)) for 0 <= num <= den: stop at the first k whose coin num / (den k) fails; odd is heads."""
    heads = np.zeros(len(num), dtype=bool)
    alive = np.arange(len(num))
    k = 1
    while len(alive):
        alive = alive[_ratio_coins(stream, num[alive], den * k)]
        heads[alive] ^= True  # one success more
        k += 1
    return ~heads


def _exp_coins_any(stream: Stream, num: NDArray[Any], den: int) -> Bools:
    """Bernoulli(exp(-num / den)) for num >= 0: one coin of exp(-1) for every whole unit, then one for the rest."""
    units, rest = num // den, num % den
    alive = np.flatnonzero(_exp_coins(stream, rest, den))
    done = 0
    heads = np.zeros(len(num), dtype=bool)
    while len(alive):
        heads[alive[units[alive] <= done]] = True
        alive = alive[units[alive] > done]
        alive = alive[_exp_coins(stream, np.ones(len(alive), dtype=np.int64), 1)]
        done += 1
    return heads


def _laplace(stream: Stream, count: int, t: Fraction) -> NDArray[np.int64]:
    out = np.empty(0, dtype=np.int64)
    while len(out) < count:
        out = np.concatenate([out, _laplace_round(stream, 2 * (count - len(out)) + 8, t)])
    return out[:count]


def _laplace_round(stream: Stream, count: int, t: Fraction) -> NDArray[np.int64]:
    """For t = a / b: X uniform below a and kept with exp(-X / a), V successes of exp(-1), Y = (X + a V) // b."""
    a, b = t.as_integer_ratio()
    if a >= 2**62:
        raise InvalidParameter("the reference sampler takes scales whose numerator is below 2^62")
    start = below(stream, count, a)
    start = start[_exp_coins(stream, start, a)]
    laps = np.zeros(len(start), dtype=np.int64)
    alive = np.arange(len(start))
    while len(alive):
        alive = alive[_exp_coins(stream, np.ones(len(alive), dtype=np.int64), 1)]
        laps[alive] += 1
    wide = max(a * (int(laps.max(initial=0)) + 1), b) >= 2**62
    total = start.astype(object) + a * laps.astype(object) if wide else start + a * laps
    value = (total // b).astype(np.int64)
    minus = fair_bits(stream, len(value))
    return np.where(minus, -value, value)[~(minus & (value == 0))]


def _gaussian(stream: Stream, count: int, sigma: Fraction) -> NDArray[np.int64]:
    t = math.floor(sigma) + 1
    a, b = (sigma * sigma).as_integer_ratio()
    out = np.empty(0, dtype=np.int64)
    while len(out) < count:
        y = _laplace(stream, 2 * (count - len(out)) + 8, Fraction(t))
        # (|y| - sigma^2/t)^2 / (2 sigma^2) over a common denominator; the square soon leaves 64 bits.
        largest = (int(np.abs(y).max()) * b * t + a) ** 2
        magnitude = np.abs(y) if max(largest, 2 * a * b * t * t) < 2**62 else np.abs(y).astype(object)
        kept = _exp_coins_any(stream, (magnitude * (b * t) - a) ** 2, 2 * a * b * t * t)
        out = np.concatenate([out, y[kept]])
    return out[:count]
