"""Laplace noise rounded to the integers."""

from fractions import Fraction

from privet.noise.base import Center, Draws, Size, Source, exp_neg, positive
from privet.noise.base.rounded import draw_rounded

__all__ = ["rounded_laplace"]


def rounded_laplace(
    *, scale: int | float | Fraction, center: Center = 0, size: Size = None, source: Source | None = None
) -> Draws:
    """floor(center + noise + 1/2) for Laplace noise of this scale, exactly, for any centre.

    >>> rounded_laplace(scale=10, size=3).dtype
    dtype('int64')
    """
    return draw_rounded(_above, positive("scale", scale), center, size, source)


def _above(num: int, den: int, bits: int) -> tuple[int, int]:
    lo, hi = exp_neg(num, den, bits)
    return lo >> 1, -(-hi >> 1)
