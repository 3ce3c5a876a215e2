"""The certified interval that the engine returns."""

import math
from dataclasses import dataclass

_SETTLED = 0.5  # share of the upper end from which on a lower end is more than a first sign


@dataclass(frozen=True)
class Interval:
    """A certified enclosure of the true value for the composed pair."""

    lower: float
    upper: float
    coarse: bool = False  # wider than asked for, as a finer grid would have cost too much

    def is_within(self, width: float) -> bool:
        """Is it known to so narrow a width? An end at infinity is not, whatever width is asked for.

        >>> Interval(1.0, 2.0).is_within(1.5), Interval(1.0, math.inf).is_within(math.inf)
        (True, False)
        """
        return math.isfinite(self.upper) and self.upper - self.lower <= width

    @property
    def settled(self) -> bool:
        """Does its width tell how fine the grid was? Not while an end is missing, or so far off that it as good as is."""
        return math.isfinite(self.upper) and self.lower >= _SETTLED * self.upper


def intersected(one: Interval, two: Interval) -> Interval:
    """The interval that two enclosures of the same value have in common.

    >>> intersected(Interval(0.0, 2.0), Interval(1.0, 3.0))
    Interval(lower=1.0, upper=2.0, coarse=False)
    """
    return Interval(max(one.lower, two.lower), min(one.upper, two.upper), one.coarse or two.coarse)


def larger_of(one: Interval, two: Interval) -> Interval:
    """The interval that encloses the larger of two values, end by end.

    >>> larger_of(Interval(0.0, 2.0), Interval(1.0, 3.0))
    Interval(lower=1.0, upper=3.0, coarse=False)
    """
    return Interval(max(one.lower, two.lower), max(one.upper, two.upper), one.coarse or two.coarse)
