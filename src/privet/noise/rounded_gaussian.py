"""Gaussian noise rounded to the integers."""

from fractions import Fraction

from privet.noise.base import Center, Draws, Size, Source, normal_above, positive
from privet.noise.base.rounded import draw_rounded

__all__ = ["rounded_gaussian"]


def rounded_gaussian(
    *, sigma: int | float | Fraction, center: Center = 0, size: Size = None, source: Source | None = None
) -> Draws:
    """floor(center + noise + 1/2) for Gaussian noise of this sigma, exactly, for any centre.

    >>> rounded_gaussian(sigma=10, size=3).dtype
    dtype('int64')
    """
    return draw_rounded(normal_above, positive("sigma", sigma), center, size, source)
