"""Answers read off noisy vectors: counts, sums, means and variances with both ends of their intervals."""

import math
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.queries.family import Family, Noisy
from privet.queries.intervals import radius, ratio_interval
from privet.queries.second_moments import Corners, variance_interval
from privet.tables import Column, Float


class Read(NamedTuple):
    """A value and both ends of its interval: an array each, with a number for every group, or three numbers."""

    value: Any
    low: Any
    high: Any

    def farther(self) -> float:
        """The distance by which the interval of the first group reaches to its farther side.

        >>> Read(2.0, 1.0, 5.0).farther()
        3.0
        """
        told, least, most = (float(np.ravel(each)[0]) for each in self)
        return max(most - told, told - least)


def counted(noisy: Array, wide: object) -> Read:
    """Noisy counts as whole numbers, and both ends of their intervals; none is below 0."""
    value = np.rint(np.maximum(noisy, 0.0)).astype(np.int64)
    return Read(value, np.maximum(np.floor(noisy - wide), 0.0), np.maximum(np.ceil(noisy + wide), 0.0))


def count_of(noisy: Noisy, confidence: float) -> Read:
    """The number of rows, from sums that add up to `top` for each."""
    weights = np.full(noisy.family.width, 1.0 / noisy.family.top)
    return counted(weights @ noisy.values, radius(noisy.kind, noisy.scale, tuple(weights), confidence))


def sum_of(noisy: Noisy, confidence: float) -> Read:
    """The sum of a column."""
    weights = _sum_weights(noisy.family)
    value, wide = weights @ noisy.values, radius(noisy.kind, noisy.scale, tuple(weights), confidence)
    return Read(value, value - wide, value + wide)


def sum_radius(noisy: Noisy, confidence: float) -> float:
    """The distance by which the sum of a column may be off, whatever the rows are."""
    return radius(noisy.kind, noisy.scale, tuple(_sum_weights(noisy.family)), confidence)


def _sum_weights(family: Family) -> Array:
    """The sum of a column as a combination of what its family holds."""
    if family.kind == "signed":
        return np.array([family.tick])
    d, n = family.degree, round(family.top ** (1.0 / family.degree))
    # the mean step is j/d of n in the j-th sum, and every row adds n^d in all
    weights = [(family.start + family.tick * n * j / d) / family.top for j in range(d + 1)]
    return np.array(weights + [0.0] * family.missing)


def _forms(family: Family, power: int) -> tuple[Array, Array]:
    """(t/n)^power and 1, each times n^d and summed over rows, as combinations of the sums of a family."""
    d = family.degree
    top = [math.comb(j, power) / math.comb(d, power) for j in range(d + 1)]
    return np.array(top + [0.0] * family.missing), np.array([1.0] * (d + 1) + [0.0] * family.missing)


def _share(noisy: Noisy, power: int, confidence: float) -> tuple[Array, Array, Array, Array]:
    """The mean of (t/n)^power with its interval, and where there are too few rows to say anything."""
    top, bottom = _forms(noisy.family, power)
    above, below = top @ noisy.values, bottom @ noisy.values
    low, high, weak = ratio_interval(above, below, (top, bottom), (noisy.kind, noisy.scale), confidence)
    share = np.clip(np.where(weak, 0.5, above / np.where(weak, 1.0, below)), 0.0, 1.0)
    return share, low, high, weak


def mean_of(noisy: Noisy, column: Column, confidence: float) -> Read:
    """The mean of a column, within its bounds."""
    share, low, high, _ = _share(noisy, 1, confidence)
    family, span, half = noisy.family, span_of(column), _rounded_by(noisy.family, column)
    width = family.tick * round(family.top ** (1.0 / family.degree))
    ends = [np.clip(family.start + width * each + shift, *span) for each, shift in ((low, -half), (high, half))]
    return Read(np.clip(family.start + width * share, *span), ends[0], ends[1])


def deviation_of(noisy: Noisy, column: Column, confidence: float) -> Read:
    """The standard deviation of a column, from its sums of degree 2. Rounding to steps moves it by at most half a step."""
    family, span, half = noisy.family, span_of(column), _rounded_by(noisy.family, column)
    sums = Corners(noisy.values[:3], np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    low, high, weak = variance_interval(sums, (noisy.kind, noisy.scale), confidence)
    width, most = family.tick * round(family.top ** (1.0 / family.degree)), (span[1] - span[0]) / 2.0
    value = width * np.sqrt(np.where(weak, 0.125, np.clip(sums.entry(), 0.0, 0.25)))
    ends = width * np.sqrt(low) - half, width * np.sqrt(high) + half
    return Read(*(np.clip(each, 0.0, most) for each in (value, *ends)))


def span_of(column: Column) -> tuple[float, float]:
    """Both bounds of a column."""
    return float(column.span[0]), float(column.span[1])


def _rounded_by(family: Family, column: Column) -> float:
    """The distance that a value may have from its whole number of steps."""
    return 0.0 if not isinstance(column, Float) and family.tick == 1.0 else family.tick / 2.0
