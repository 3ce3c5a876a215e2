"""An exact value, as a mechanism that adds noise takes it: one number, a list of numbers, or an array of one dtype.

A number is the rational that it is, whatever its type. A list is read element by element, an array by its dtype: which
path is taken, and how long it takes, follows from the container and never from a value. What is missing or no number
counts as 0, and what lies beyond 2^1000 steps of the grid as that end.
"""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array, exact_ratio
from privet.errors import InvalidData
from privet.mechanisms.families.columns import admit_column, is_number, is_typed, read_column

FARTHEST = 1000  # steps saturate at 2 to this power
_MOST = 2**62
_ZERO = (0, 1)
_SCALAR: tuple[int, ...] = ()
_RAGGED = "a list of lists must have rows of one length: pass an array, or a list of numbers"


@final
@dataclass(frozen=True)
class Numbers:
    """Exact numbers and the shape they were given in: ratios of integers, or an array whose dtype is that of the input.

    >>> Numbers(((1, 4),), None, ()) == read_value(0.25) == read_value(Fraction(1, 4))
    True
    """

    ratios: tuple[tuple[int, int], ...] | None
    array: Array | None
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)

    def fractions(self) -> list[Fraction]:
        """The numbers themselves, in one list."""
        if self.ratios is not None:
            return [Fraction(*ratio) for ratio in self.ratios]
        assert self.array is not None
        return [Fraction(*(exact_ratio(item) or _ZERO)) for item in self.array.reshape(-1).tolist()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and self.shape == other.shape and self.fractions() == other.fractions()

    __hash__ = None  # type: ignore[assignment]


def admit_value(value: Any) -> None:
    """Refuse what is neither a number nor a container of numbers, by type, dtype and shape alone.

    >>> admit_value([1, 2.5]), admit_value(3)
    (None, None)
    """
    if is_number(value):
        return
    admit_column(value, labels=False)
    if not is_typed(value) and isinstance(value, list | tuple):
        _shape(value)


def read_value(value: Any) -> Numbers:
    """The numbers in a value that `admit_value` let pass.

    >>> read_value([[1, 2**60 + 1], [None, 0.5]]).ratios == ((1, 1), (2**60 + 1, 1), (0, 1), (1, 2))
    True
    """
    if is_number(value):
        return Numbers((exact_ratio(value) or _ZERO,), None, _SCALAR)
    if is_typed(value):
        array, absent = read_column(value)
        if array.dtype.itemsize <= 8:
            if absent is not None:
                array = np.where(absent, array.dtype.type(0), array)
            return Numbers(None, array, array.shape)
        shape = array.shape
        items: Iterable[Any] = np.where(absent, 0, array).flat if absent is not None else array.flat
    else:
        value = value if isinstance(value, list | tuple) else list(value)
        shape = _shape(value)
        items = value
        for _ in shape[1:]:
            items = [item for row in items for item in row]
    return Numbers(tuple(exact_ratio(item) or _ZERO for item in items), None, shape)


def size_of(value: Any) -> int | None:
    """How many numbers a value holds, from its container alone; None where it must be read to know.

    >>> size_of(3), size_of([1, 2]), size_of(iter([1])) is None
    (1, 2, True)
    """
    if is_number(value):
        return 1
    if isinstance(value, list | tuple):
        return int(np.prod(_shape(value), dtype=np.int64))
    size = getattr(value, "size", None)
    if isinstance(size, int):
        return size
    return len(value) if hasattr(value, "__len__") else None


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of a list, of lists of one length, and so on: that of the answer, which is public."""
    if not value or not isinstance(value[0], list | tuple):
        return (len(value),)
    inner = {_shape(row) if isinstance(row, list | tuple) else () for row in value}
    if len(inner) > 1:
        raise InvalidData(_RAGGED)
    return len(value), *inner.pop()


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
    def of_ratios(ratios: Iterable[tuple[int, int]], exponent: int) -> "Steps":
        """Each number by itself, in integers."""
        parts = [split_ratio(*ratio, exponent) for ratio in ratios]
        wholes, rests = np.empty(len(parts), dtype=object), np.empty(len(parts), dtype=object)
        wholes[:] = [whole for whole, _ in parts]
        rests[:] = [rest for _, rest in parts]
        return Steps(wholes, None, rests)

    @staticmethod
    def of_array(array: Array, exponent: int) -> "Steps":
        """All numbers of a dtype at once; NaN counts as 0."""
        high, low = _pair(array)
        with np.errstate(over="ignore"):
            scaled = np.clip(np.ldexp(high, -exponent), -(2.0**FARTHEST), 2.0**FARTHEST)
        whole = np.rint(scaled)
        rest = scaled - whole
        if low is None:
            return Steps(whole, None, rest)
        lower = np.ldexp(low, -exponent)
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


def whole_steps(numbers: Array, exponent: int) -> Array:
    """Numbers in whole steps of 2^exponent, half up, as int64: what lies d apart lies at most ceil(d) steps apart.
    Saturates at 2^62.

    >>> whole_steps(np.array([1.25, -0.5]), -1).tolist(), whole_steps(np.array([Fraction(1, 3)], dtype=object), -1).tolist()
    ([3, -1], [1])
    """
    if numbers.dtype == object:
        step = Fraction(2) ** exponent
        near = [math.floor(number / step + Fraction(1, 2)) for number in numbers.flat]
        return np.array([min(max(steps, -_MOST), _MOST) for steps in near], dtype=np.int64).reshape(numbers.shape)
    steps = Steps.of_array(numbers, exponent)
    far = np.abs(steps.whole) >= float(_MOST)
    whole = np.where(far, 0.0, steps.whole).astype(np.int64)
    if steps.low is not None:
        whole = whole + np.where(far, 0.0, steps.low).astype(np.int64)
    whole = np.clip(whole + (steps.rest == 0.5), -_MOST, _MOST)
    return np.where(far, np.where(steps.whole > 0.0, _MOST, -_MOST), whole)


def _double(number: int) -> float:
    return float(number) if number.bit_length() < 1024 else float(2**1023 if number > 0 else -(2**1023))


def grid_double(steps: int, exponent: int) -> float:
    """steps times 2^exponent, rounded once to a double; beyond them, the largest.

    >>> grid_double(3, -1), grid_double(2**2000, 0) == -grid_double(-(2**2000), 0)
    (1.5, True)
    """
    try:
        return math.ldexp(float(steps), exponent)
    except OverflowError:
        return sys.float_info.max if steps > 0 else -sys.float_info.max


def split_ratio(numerator: int, denominator: int, exponent: int) -> tuple[int, Fraction]:
    """The nearest whole number of steps of 2^exponent (halves to the even one) and the exact rest.

    >>> split_ratio(11, 4, -1)
    (6, Fraction(-1, 2))
    """
    if exponent > 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    whole, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and whole & 1):
        whole, rest = whole + 1, rest - denominator
    if whole.bit_length() > FARTHEST:
        return (2**FARTHEST if whole > 0 else -(2**FARTHEST)), Fraction(0)
    return whole, Fraction(rest, denominator)


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
