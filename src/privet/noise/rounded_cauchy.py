"""Cauchy noise rounded to the integers."""

from fractions import Fraction

from privet.noise.base import Center, Draws, Size, Source, cauchy_above, positive
from privet.noise.base.rounded import draw_rounded

__all__ = ["rounded_cauchy"]


def rounded_cauchy(
    *, scale: int | float | Fraction, center: Center = 0, size: Size = None, source: Source | None = None
) -> Draws:
    """floor(center + noise + 1/2) for Cauchy noise of this scale, exactly, for any centre.

    >>> rounded_cauchy(scale=10, size=3).dtype
    dtype('int64')
    """
    return draw_rounded(cauchy_above, positive("scale", scale), center, size, source)
