"""Staircase noise rounded to the integers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from privet._cache import kept_property
from privet.errors import InvalidParameter
from privet.noise.draw import Draws
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import TO_UNIT, fair_bits, flip
from privet.noise.families.enclosure import exp_neg
from privet.noise.families.refined import Refined
from privet.noise.families.rounded import Rest, draw_rounded, exact_rest, float_rest
from privet.noise.geometric import one_geometric, sample_geometric
from privet.noise.parameters import LARGEST_SCALE, Center, Size, positive, probability

_HALF = Fraction(1, 2)
_MARGIN = 2.0**-46  # relative to the magnitude of the noise: a few roundings of 2^-53 and the width 2^-64 of a word


def rounded_staircase(
    *,
    scale: int | float | Fraction,
    gamma: int | float | Fraction,
    width: int | float | Fraction,
    center: Center = 0,
    size: Size = None,
    source: Source | None = None,
) -> Draws:
    """floor(center + noise + 1/2) for staircase noise: symmetric, with a density that is constant on steps.

    The density is proportional to exp(-k / scale) on [k, k + gamma) `width` and to exp(-(k + 1) / scale) on the rest of
    [k, k + 1) `width`, for k = 0, 1, ...; so a shift by at most `width` changes it by a factor of at most exp(1 / scale).

    **Guarantee:** exact law: a post-processing of the continuous staircase mechanism at the exact centre.
    **Error:** for a given scale the least expected magnitude is at gamma = 1 / (1 + exp(1 / (2 scale))).
    **Reference:** Geng, Kairouz, Oh & Viswanath 2015; proof note noise/rounded_staircase.

    >>> rounded_staircase(scale=0.5, gamma=0.25, width=1000, center=0.5, size=3).dtype
    dtype('int64')
    """
    steps = _Steps(positive("scale", scale), probability("gamma", gamma), positive("width", width))
    return draw_rounded(steps.one, steps.sample, center, size, source)


@final
@dataclass(frozen=True)
class _Steps:
    """|noise| = width (G + V): G geometric, V uniform on [0, gamma) or on [gamma, 1), G, V and the sign independent."""

    scale: Fraction
    gamma: Fraction
    width: Fraction

    def __post_init__(self) -> None:
        if max(self.scale, Fraction(1)) * self.width > LARGEST_SCALE:
            raise InvalidParameter("scale times width must be at most 2^52, so that the noise fits 64-bit integers")

    def sample(self, stream: Stream, count: int, rest: Rest) -> NDArray[np.int64]:
        whole = sample_geometric(stream, count, self.scale).astype(np.float64)
        minus, outer = fair_bits(stream, count), flip(stream, count, self._outer)
        words = stream.words(count)
        start, length = (np.where(outer, *ends) for ends in self._floats)
        magnitude = float(self.width) * (whole + (start + length * (words * TO_UNIT)))
        y = np.where(minus, -magnitude, magnitude) + (float_rest(rest) + 0.5)
        out = np.floor(y)
        # Near a whole number floats cannot tell on which side the sum lies.
        unsure = np.abs(y - out - 0.5) >= 0.5 - _MARGIN * (1.0 + magnitude)
        result = out.astype(np.int64)
        for place in np.flatnonzero(unsure).tolist():
            u = Refined(stream, int(words[place]), 64)
            result[place] = self._exact(u, int(whole[place]), minus[place], outer[place], exact_rest(rest, place))
        return result

    def one(self, stream: Stream, rest: Fraction) -> int:
        whole, minus = one_geometric(stream, self.scale), bool(stream.word() & 1)
        outer = Refined(stream, stream.word(), 64).below(self._outer)
        word = stream.word()
        start, length = (ends[0] if outer else ends[1] for ends in self._floats)
        magnitude = float(self.width) * (whole + (start + length * (word * TO_UNIT)))
        y = (-magnitude if minus else magnitude) + (float(rest) + 0.5)
        out = math.floor(y)
        if abs(y - out - 0.5) < 0.5 - _MARGIN * (1.0 + magnitude):
            return out
        return self._exact(Refined(stream, word, 64), whole, minus, outer, rest)

    @kept_property
    def _floats(self) -> tuple[tuple[float, float], tuple[float, float]]:
        (start, zero), (far, near) = self._places
        return (float(start), float(zero)), (float(far), float(near))

    @property
    def _places(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Where V begins and how long its interval is: (outer, inner) for each."""
        return (self.gamma, Fraction(0)), (1 - self.gamma, self.gamma)

    def _exact(self, u: Refined, whole: int, minus: object, outer: object, rest: Fraction) -> int:
        """floor(rest +- width (whole + start + length U) + 1/2): U is refined until both of its ends agree."""
        start, length = (ends[0] if outer else ends[1] for ends in self._places)
        sign = -1 if minus else 1
        base = rest + _HALF + sign * self.width * (whole + start)
        slope = sign * self.width * length
        while True:
            near, far = (math.floor(base + slope * Fraction(end, 1 << u.length)) for end in (u.value, u.value + 1))
            if near == far or not slope:
                return near
            u.grow()

    def _outer(self, bits: int) -> tuple[int, int]:
        return _outer_chance(self.scale, self.gamma, bits)


@lru_cache(maxsize=64)
def _outer_chance(scale: Fraction, gamma: Fraction, bits: int) -> tuple[int, int]:
    """Encloses the chance (1 - gamma) b / (gamma + (1 - gamma) b), b = exp(-1 / scale), which grows with b."""
    inner, outer = gamma.numerator, gamma.denominator - gamma.numerator
    if not inner or not outer:  # one of the two intervals is empty
        return (0, 0) if not outer else (1 << bits, 1 << bits)
    guard = bits + 32
    low, high = exp_neg(scale.denominator, scale.numerator, guard)
    inner <<= guard
    return (outer * low << bits) // (inner + outer * low), -(-(outer * high << bits) // (inner + outer * high))
