"""Many private numbers on a grid: whole steps and what they leave, with nothing lost and nothing refused.

Unlike `Grid.to_grid`, which serves public numbers, nothing here looks at a value to decide what to do: what lies beyond
the grid saturates.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._numerics import Array
from privet.noise.grid import FARTHEST, Grid

_MOST = 2**62  # steps: what lies farther saturates, inside int64


@final
@dataclass(frozen=True, eq=False)
class Steps:
    """Numbers in steps of a grid: a whole number and a rest in [-1/2, 1/2] for each, both exact.

    `whole` holds doubles that are whole numbers, and `low` what they leave of 64-bit integers; or it holds Python
    integers, and `rest` Fractions.
    """

    whole: Array
    low: Array | None
    rest: Array

    @staticmethod
    def of_ratios(ratios: Iterable[tuple[int, int]], grid: Grid) -> "Steps":
        """Each number by itself, in integers."""
        parts = [grid.split(*ratio) for ratio in ratios]
        wholes, rests = np.empty(len(parts), dtype=object), np.empty(len(parts), dtype=object)
        wholes[:] = [whole for whole, _ in parts]
        rests[:] = [rest for _, rest in parts]
        return Steps(wholes, None, rests)

    @staticmethod
    def of_array(array: Array, grid: Grid) -> "Steps":
        """All numbers of a dtype at once; NaN counts as 0."""
        high, low = _pair(array)
        with np.errstate(over="ignore"):
            scaled = np.clip(np.ldexp(high, -grid.exponent), -(2.0**FARTHEST), 2.0**FARTHEST)
        whole = np.rint(scaled)
        rest = scaled - whole
        if low is None:
            return Steps(whole, None, rest)
        lower = np.ldexp(low, -grid.exponent)
        near = np.rint(lower)
        rest = rest + (lower - near)  # exact: both are multiples of 2^-50, at least
        turn = np.rint(rest)
        return Steps(whole, near + turn, rest - turn)

    def plus(self, drawn: Array) -> Array:
        """whole + drawn in doubles, rounded once: a function of the exact sum, so post-processing of it.

        Noise beyond 2^53 must not be rounded by itself: which of its last digits survive would then depend on the value.
        """
        if self.whole.dtype == object:
            sums = self.whole + drawn.astype(object)
            try:
                return np.asarray(sums, dtype=np.float64)
            except OverflowError:  # beyond the doubles: what is there saturates
                return np.fromiter((_double(total) for total in sums.flat), np.float64, sums.size).reshape(sums.shape)
        noise = drawn.astype(np.float64)
        total = self.whole + noise if self.low is None else _sum_of_three(self.whole, self.low, noise)
        for place in np.flatnonzero((drawn > 2**53) | (drawn < -(2**53))).tolist():
            at = np.unravel_index(place, drawn.shape)
            exact = sum(
                int(np.broadcast_to(part, drawn.shape)[at]) for part in (self.whole, self.low) if part is not None
            )
            total[at] = float(exact + int(drawn[at]))
        return np.asarray(total)


def whole_steps(numbers: Array, grid: Grid) -> Array:
    """Numbers in whole steps, half up, as int64: what lies d apart lies at most ceil(d) steps apart.
    Saturates at 2^62.

    >>> whole_steps(np.array([1.25, -0.5]), Grid(-1)).tolist()
    [3, -1]
    >>> whole_steps(np.array([Fraction(1, 3)], dtype=object), Grid(-1)).tolist()
    [1]
    """
    if numbers.dtype == object:
        step = grid.step
        near = [math.floor(number / step + Fraction(1, 2)) for number in numbers.flat]
        return np.array([min(max(steps, -_MOST), _MOST) for steps in near], dtype=np.int64).reshape(numbers.shape)
    steps = Steps.of_array(numbers, grid)
    far = np.abs(steps.whole) >= float(_MOST)
    whole = np.where(far, 0.0, steps.whole).astype(np.int64)
    if steps.low is not None:
        whole = whole + np.where(far, 0.0, steps.low).astype(np.int64)
    whole = np.clip(whole + (steps.rest == 0.5), -_MOST, _MOST)
    return np.where(far, np.where(steps.whole > 0.0, _MOST, -_MOST), whole)


def _double(number: int) -> float:
    return float(number) if number.bit_length() < 1024 else float(2**1023 if number > 0 else -(2**1023))


def _pair(array: Array) -> tuple[Array, Array | None]:
    """The nearest doubles, and what they leave of integers of 64 bits (None where a double holds the whole dtype)."""
    if array.dtype.kind == "f":
        values = array.astype(np.float64, copy=False)
        return np.where(np.isnan(values), 0.0, values), None
    if array.dtype.itemsize < 8:
        return array.astype(np.float64), None
    top = (array >> array.dtype.type(11)).astype(np.float64) * 2048.0  # at most 53 bits
    bottom = (array & array.dtype.type(2047)).astype(np.float64)
    high = top + bottom
    return high, bottom - (high - top)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and the exact error of that (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _sum_of_three(a: Array, b: Array, c: Array) -> Array:
    """a + b + c, rounded once: the last addition follows one that is rounded to odd (Boldo & Melquiond 2008)."""
    upper, lower = _two_sum(b, c)
    top, rest = _two_sum(a, upper)
    tail, error = _two_sum(rest, lower)
    tail = np.ascontiguousarray(tail)
    even = (tail.view(np.int64) & 1) == 0
    odd = np.where((error != 0.0) & even, np.nextafter(tail, np.where(error > 0.0, np.inf, -np.inf)), tail)
    return np.asarray(top + odd)
