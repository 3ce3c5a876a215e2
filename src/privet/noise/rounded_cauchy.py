"""Cauchy noise rounded to the integers."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.noise.draw import Draws
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import TO_UNIT
from privet.noise.families.enclosure import cauchy_above, complement
from privet.noise.families.refined import Refined, invert
from privet.noise.families.rounded import SATURATION, Rest, draw_rounded, exact_rest, float_rest
from privet.noise.parameters import Center, Size, positive

# A word w stands for the cell [w, w + 1)/2^64 of a uniform number. From FIRST on half a cell moves the result x by at most
# 2^-44 (1 + |x|) scales, well inside MARGIN, and |x| < 2^19; words below go to the exact path.
FIRST = 2**44
MARGIN = 2.0**-42  # error of a float result, as a share of scale (1 + |x|): half a cell, and 64 ulp of the tangent

_HALF = Fraction(1, 2)


def rounded_cauchy(
    *, scale: int | float | Fraction, center: Center = 0, size: Size = None, source: Source | None = None
) -> Draws:
    """floor(center + scale * C + 1/2) for a standard Cauchy number C and any centre (one beyond 2^60 counts
    as that), with a scale of at most 2^52.

    **Guarantee:** exact law, saturated at +-2^62. Tails are heavy, so saturation does happen; it is a post-processing
    of the sum. Pass the value as `center`: noise that is saturated before a value is added would show the value.
    **Error:** without saturation there is neither mean nor variance; half of the mass lies within `scale` of the centre.
    **Reference:** Nissim, Raskhodnikova & Smith 2007; proof note noise/rounded_cauchy.

    >>> rounded_cauchy(scale=10, center=0.5, size=3).dtype
    dtype('int64')
    """
    return draw_rounded(_one, _sample, center, size, source, given=(positive("scale", scale),), saturate=True)


def _sample(stream: Stream, count: int, scale: Fraction, rest: Rest) -> NDArray[Any]:
    words = stream.words(count)
    upper = words >= np.uint64(2**63)
    folded = np.where(upper, ~words, words)  # never 1 - p: the upper half is the mirror image
    distance, margin = _distance(folded, float(scale), np.tan)
    y = np.where(upper, distance, -distance) + (float_rest(rest) + 0.5)
    out = np.floor(y)
    # Below FIRST cells may be too wide for the margin, and that of word 0 holds a whole tail.
    unsure = np.flatnonzero((np.abs(y - out - 0.5) >= 0.5 - margin) | (folded < np.uint64(FIRST)))
    result = np.clip(out, -(2.0**62), 2.0**62).astype(np.int64)
    for place in unsure.tolist():
        u = Refined(stream, int(words[place]), 64)
        result[place] = _exact(u, scale, exact_rest(rest, place), int(result[place]))
    return result


def _one(stream: Stream, scale: Fraction, rest: Fraction) -> int:
    word = stream.word()
    upper = word >= 2**63
    folded = 2**64 - 1 - word if upper else word
    distance, margin = _distance(folded, float(scale), math.tan)
    y = (distance if upper else -distance) + (float(rest) + 0.5)
    out = math.floor(y)
    if abs(y - out - 0.5) >= 0.5 - margin or folded < FIRST:
        return _exact(Refined(stream, word, 64), scale, rest, out)
    return out


def _distance(folded: Any, scale: float, tan: Callable[[Any], Any]) -> tuple[Any, Any]:
    """scale |cot(pi p)| for the middle p < 1/2 of the cell of a word, and how far off it may be."""
    x = 1.0 / tan(math.pi * TO_UNIT * (folded + 0.5))
    return scale * x, MARGIN * scale * (1.0 + x) + 2.0**-50  # the latter for what is rounded where rest + 1/2 is added


def _exact(u: Refined, scale: Fraction, rest: Fraction, guess: int) -> int:
    def cdf(k: int, bits: int) -> tuple[int, int]:
        x = (k + _HALF - rest) / scale
        ends = cauchy_above(abs(x.numerator), x.denominator, bits)
        return ends if x < 0 else complement(ends, bits)

    most = 2 * SATURATION - 1  # what lies beyond is saturated anyway
    return max(min(invert(u, cdf, guess), most), -most)
