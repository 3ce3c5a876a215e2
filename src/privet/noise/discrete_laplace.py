"""The discrete Laplace law."""

from fractions import Fraction

import numpy as np

from privet.noise.base import Draws, Size, Source, Stream, draw, positive
from privet.noise.geometric import one_geometric

__all__ = ["discrete_laplace", "one_laplace"]


def discrete_laplace(*, scale: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """Integer noise with Pr[X = k] proportional to exp(-|k| / scale).

    >>> discrete_laplace(scale=10, size=3).dtype
    dtype('int64')
    """
    t = positive("scale", scale)
    return draw(
        lambda stream, count: np.array([one_laplace(stream, t) for _ in range(count)], dtype=np.int64), size, source
    )


def one_laplace(stream: Stream, t: Fraction) -> int:
    while True:
        magnitude, minus = one_geometric(stream, t), stream.bits(1)
        if magnitude or not minus:  # minus zero would count zero twice
            return -magnitude if minus else magnitude
