"""What it means for a certified interval to agree with a number known otherwise."""

from __future__ import annotations

from typing import Protocol


class Interval(Protocol):
    """The part of a `Bound` that these checks use."""

    lower: float
    upper: float


def assert_contains(bound: Interval, value: float, *, relative: float = 1e-10, absolute: float = 0.0) -> None:
    """The interval holds the value, up to the stated precision of the value itself (not of the interval)."""
    slack = relative * abs(value) + absolute
    assert bound.lower <= value + slack, f"lower end {bound.lower!r} lies above the true value {value!r}"
    assert bound.upper >= value - slack, f"upper end {bound.upper!r} lies below the true value {value!r}"


def assert_narrow(bound: Interval, width: float) -> None:
    """The interval is finite, ordered and no wider than asked."""
    assert 0.0 <= bound.upper - bound.lower <= width, f"[{bound.lower!r}, {bound.upper!r}] is wider than {width}"


def assert_upper(bound: Interval, *, exact: float, at_most: float) -> None:
    """The upper end is sound (not below the exact value) and as tight as it should be."""
    assert exact * (1 - 1e-10) <= bound.upper <= at_most, f"{bound.upper!r} is outside [{exact!r}, {at_most!r}]"
