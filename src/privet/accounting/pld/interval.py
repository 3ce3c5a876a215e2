"""What the engine returns: a certified interval."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A certified enclosure of the true value for the composed pair."""

    lower: float
    upper: float
    coarse: bool = False  # wider than asked for, as a finer grid would have cost too much


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
