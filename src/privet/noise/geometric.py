"""The geometric law on {0, 1, ...} with Pr[X >= m] = exp(-m / scale)."""

import math
from fractions import Fraction

import numpy as np

from privet.noise.base import Draws, Refined, Size, Source, Stream, complement, draw, exp_neg, invert, positive

__all__ = ["geometric", "one_geometric"]


def geometric(*, scale: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """A geometric number: Pr[X >= m] = exp(-m / scale) for m = 0, 1, ...

    >>> geometric(scale=3.0, size=1000).min() >= 0
    np.True_
    """
    t = positive("scale", scale)
    return draw(
        lambda stream, count: np.array([one_geometric(stream, t) for _ in range(count)], dtype=np.int64), size, source
    )


def one_geometric(stream: Stream, t: Fraction) -> int:
    u = Refined(stream)
    u.grow()

    def cdf(k: int, bits: int) -> tuple[int, int]:
        return (0, 0) if k < 0 else complement(exp_neg((k + 1) * t.denominator, t.numerator, bits), bits)

    tail = max(2.0**64 - u.value - 0.5, 0.5) * 2.0**-64
    return invert(u, cdf, min(int(-float(t) * math.log(tail)), 2**62))
