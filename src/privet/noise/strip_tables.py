"""Strips as tables of whole numbers: a twin on a device decides by products of words, and asks no float.

A place v in strip c is kept with the probability 1 - A (1 - exp(-t)): t, v (2c + v) / 2L^2, is the fall of the logarithm of
the density from the near end, and A the density there over what the rectangle leaves of it. One is 2^64 units.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.noise.families.enclosure import normal_density
from privet.noise.strips import ALL_PREFIXES, LeftOver, Strips
from privet.noise.table import from_tails

CLOSE = 16  # units of half a chance: products of words are off by less than 8 (proof note noise/strips)
TERMS = 12  # of the series of (1 - exp(-t)) / t: the next one is below a hundredth of a unit where t is below .16
_ONE = 1 << 64
_BITS = 160  # of a density: the quotient that is made of it loses 16 bits


def strip_tables(strips: Strips) -> dict[str, NDArray[np.int64]]:
    """Words as int64, which have the same 64 bits.

    `strips`: the strip of every prefix of a word. Of what rectangles leave, strip by strip: `low` and `high`, thresholds of
    a word that draws the strip, which lies in between for one word in 2^53; `share`, 1/(2c + 1); `fall`, t at the far end;
    `half`, A times that over 2. `series`: 1/k! from the last term to k = 2.

    >>> made = strip_tables(Strips(Fraction(2**20)))
    >>> len(made["half"]) == len(made["high"]) < 1000
    True
    """
    law = strips.law
    low, high = from_tails(law).thresholds()
    ends = [(2 * c + 1, Fraction(2 * c + 1) / (2 * law.leading**2)) for c in range(len(high))]
    return {
        "strips": strips.of_prefixes(),
        "low": low.view(np.int64),
        "high": high.view(np.int64),
        "share": _words(Fraction(1, odd) for odd, _ in ends),
        "fall": _words(fall for _, fall in ends),
        "half": _words(fall * _excess(law, c) / 2 for c, (_, fall) in enumerate(ends)),
        "series": _words(Fraction(1, math.factorial(k)) for k in range(TERMS + 1, 1, -1)),
    }


def _excess(law: LeftOver, strip: int) -> Fraction:
    """The density at the near end of a strip over what the rectangle leaves of it, to within 2^-100."""
    if strip >= len(law.buckets):
        return Fraction(1)
    near = strip / law.leading
    density = Fraction(normal_density(near.numerator, near.denominator, _BITS)[0], 1 << _BITS)
    return density / (density - law.leading * law.buckets[strip] / ALL_PREFIXES)


def _words(numbers: Iterable[Fraction]) -> NDArray[np.int64]:
    """Numbers up to 1 in units, rounded down; 1 itself is a unit less."""
    return np.array([min(int(each * _ONE), _ONE - 1) for each in numbers], dtype=np.uint64).view(np.int64)
