"""The discrete Gaussian law."""

import math
from fractions import Fraction

import numpy as np

from privet.noise.base import Draws, Refined, Size, Source, Stream, draw, exp_neg, positive
from privet.noise.discrete_laplace import one_laplace

__all__ = ["discrete_gaussian"]


def discrete_gaussian(*, sigma: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """Integer noise with Pr[X = k] proportional to exp(-k^2 / (2 sigma^2)).

    >>> discrete_gaussian(sigma=10, size=3).dtype
    dtype('int64')
    """
    s2 = positive("sigma", sigma) ** 2
    return draw(lambda stream, count: np.array([_one(stream, s2) for _ in range(count)], dtype=np.int64), size, source)


def _one(stream: Stream, s2: Fraction) -> int:
    a, b = s2.numerator, s2.denominator
    t = math.isqrt(a // b) + 1
    while True:
        y = one_laplace(stream, Fraction(t))
        if Refined(stream).below(lambda bits, y=y: exp_neg((abs(y) * b * t - a) ** 2, 2 * a * b * t * t, bits)):
            return y
