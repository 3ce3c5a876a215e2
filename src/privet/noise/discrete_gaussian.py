"""The discrete Gaussian law."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet.noise.discrete_laplace import one_laplace, sample_laplace
from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import accept, accept_one
from privet.noise.families.enclosure import Enclosure, exp_neg
from privet.noise.families.tails import Tails
from privet.noise.parameters import Size, positive
from privet.noise.table import TableCache, from_tails

TABLE_SIGMA = 1024  # up to here a table of tails is small; changes speed only, either path is exact


def discrete_gaussian(*, sigma: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """Integer noise with Pr[X = k] proportional to exp(-k^2 / (2 sigma^2)).

    **Guarantee:** exact law; a shift by an integer vector of length D is D^2 / (2 sigma^2)-zCDP in any dimension. Its
    (epsilon, delta) curve is not that of the continuous Gaussian: `rounded_gaussian` has that one.
    **Error:** variance at most sigma^2. **Reference:** Canonne, Kamath & Steinke 2020; proof note
    noise/discrete_gaussian.

    >>> discrete_gaussian(sigma=10, size=3).dtype
    dtype('int64')
    """
    return draw(_one, _sample, size, source, given=(positive("sigma", sigma),))


@final
@dataclass(frozen=True)
class DiscreteGaussianTails(Tails):
    """Upper tails of the discrete Gaussian, summed from the far end.

    >>> DiscreteGaussianTails(Fraction(1)).upper(1, 10)
    (307, 308)
    """

    sigma: Fraction
    symmetric = True

    def upper(self, m: int, bits: int) -> tuple[int, int]:
        column = _column(self.sigma, bits)
        return column[m - 1] if m <= len(column) else (0, 1)

    def column(self, bits: int) -> list[tuple[int, int]]:
        return _column(self.sigma, bits)


@lru_cache(maxsize=4)
def _column(sigma: Fraction, bits: int) -> list[tuple[int, int]]:
    weights, beyond = _weights(sigma, bits + 64, bits)
    half = 1 << bits + 63
    lows, highs = [0], [beyond]  # the tail beyond the last weight counts in the upper ends only
    for lo, hi in reversed(weights):
        lows.append(lows[-1] + lo)
        highs.append(highs[-1] + hi)
    least, most = 2 * (half + lows[-1]), 2 * (half + highs[-1])  # the normaliser: weight 1 at zero and both sides
    return [((lo << bits) // most, -(-(hi << bits) // least)) for lo, hi in zip(lows[:0:-1], highs[:0:-1], strict=True)]


def _weights(sigma: Fraction, guard: int, bits: int) -> tuple[list[tuple[int, int]], int]:
    """exp(-k^2 / (2 sigma^2)) for k = 1, 2, ... in units of 2^-guard, and an upper bound on the sum of all that follow.

    The quotient of neighbours falls by a constant factor, so two products a step do; both ends are rounded outward.
    """
    num, den = (2 * sigma * sigma).as_integer_ratio()
    lo, hi = ratio_lo, ratio_hi = exp_neg(den, num, guard)
    fall_lo, fall_hi = exp_neg(2 * den, num, guard)
    weights = [(lo, hi)]
    unit = 1 << guard
    while True:
        ratio_lo, ratio_hi = ratio_lo * fall_lo >> guard, -(-ratio_hi * fall_hi >> guard)
        lo, hi = lo * ratio_lo >> guard, -(-hi * ratio_hi >> guard)
        weights.append((lo, hi))
        # Log-concave: from here on quotients stay below this one, so what follows is at most a geometric series.
        beyond = -(-hi * ratio_hi // (unit - ratio_hi)) + 1
        if hi + beyond << bits < unit >> 1:
            return weights, beyond


_tables = TableCache(lambda sigma: from_tails(DiscreteGaussianTails(sigma)))


def _sample(stream: Stream, count: int, sigma: Fraction) -> NDArray[Any]:
    """A table for moderate sigma, else rejection from the discrete Laplace law of scale t = floor(sigma) + 1."""
    if sigma <= TABLE_SIGMA:
        table = _tables.get(sigma, count, stream.repeats)
        if table is not None:
            return table.sample(stream, count)
    out = np.empty(0, dtype=np.int64)
    while len(out) < count:
        out = np.concatenate([out, _accepted(stream, int(1.33 * (count - len(out))) + 8, sigma)])
    return out[:count]


def _accepted(stream: Stream, count: int, sigma: Fraction) -> NDArray[np.int64]:
    t = math.floor(sigma) + 1
    proposals = sample_laplace(stream, count, Fraction(t)).astype(np.int64, copy=False)
    with np.errstate(over="ignore"):  # an infinite exponent is a certain rejection
        x = 0.5 * _distance(np.abs(proposals), t, _as_float(sigma)) ** 2
    kept = accept(stream, x, lambda place: _density(int(proposals[place]), t, sigma))
    return proposals[np.flatnonzero(kept)]


def _one(stream: Stream, sigma: Fraction) -> int:
    t = math.floor(sigma) + 1
    scale, s = Fraction(t), _as_float(sigma)
    while True:
        y = one_laplace(stream, scale)
        distance = min(_distance(abs(y), t, s), 100.0)  # its square must not overflow
        if accept_one(stream, 0.5 * distance * distance, _density(y, t, sigma)):
            return y


def _as_float(sigma: Fraction) -> float:
    return max(float(sigma), 1e-300)  # below, every proposal but zero is rejected all the same


def _distance(magnitude: Any, t: int, sigma: float) -> Any:
    """(|y| - sigma^2 / t) / sigma."""
    return (magnitude - sigma * (sigma / t)) * (1.0 / sigma)


def _density(y: int, t: int, sigma: Fraction) -> Enclosure:
    """exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)), the probability to keep a proposal y of scale t."""

    def enclosure(bits: int) -> tuple[int, int]:
        a, b = (sigma * sigma).as_integer_ratio()
        return exp_neg((abs(y) * b * t - a) ** 2, 2 * a * b * t * t, bits)

    return enclosure
