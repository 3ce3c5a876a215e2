"""The fixed-point grid: releases are integers times a power of two."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet._numerics import Array, as_rational, exact
from privet._validate import set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.noise.parameters import positive

FARTHEST = 1000  # steps of a private number saturate at 2 to this power
_MOST = 2**62  # steps from zero, as `_DATA` says: they fit int64, and so does a difference of two
_DATA = "data for the grid must be finite numbers within 2^62 steps of zero"
_LOWEST, _HIGHEST = -1000, 960  # steps stay normal doubles, and 2^62 steps too


@final
@dataclass(frozen=True)
class Grid:
    """The multiples of 2^exponent; values become integers (steps), exactly.

    **Sensitivity:** round each record after clipping and the integer bounds are the sensitivity; rounding a total costs
    one step per coordinate. Half a step goes up: half-even would turn a shift of 1 into 2.

    >>> grid = Grid(-2)
    >>> grid.to_grid(0.875), grid.from_grid(4), grid.ceil(0.3), grid.step
    (4, 1.0, 2, Fraction(1, 4))
    """

    exponent: int

    def __post_init__(self) -> None:
        if isinstance(self.exponent, bool) or not isinstance(self.exponent, int | np.integer):
            raise InvalidParameter(f"exponent must be an integer, got {type(self.exponent).__name__}")
        if not _LOWEST <= self.exponent <= _HIGHEST:
            raise InvalidParameter(f"exponent must lie between {_LOWEST} and {_HIGHEST}, got {self.exponent}")
        set_frozen(self, exponent=int(self.exponent))

    @classmethod
    def finer_than(cls, value: int | float | Fraction, bits: int, *, coarsest: int | None = None) -> "Grid":
        """The coarsest grid with step <= value / 2^bits, and <= 2^coarsest where that is given.

        >>> Grid.finer_than(1000, 20), Grid.finer_than(1000, 2, coarsest=0)
        (Grid(exponent=-11), Grid(exponent=0))
        """
        number = positive("value", value, largest=None)
        exponent = number.numerator.bit_length() - number.denominator.bit_length()
        if (number.numerator << max(0, -exponent)) < (number.denominator << max(0, exponent)):
            exponent -= 1
        return cls(exponent - bits if coarsest is None else min(exponent - bits, coarsest))

    @classmethod
    def for_sensitivity(cls, value: int | float | Fraction) -> "Grid":
        """The coarsest grid with step <= value / 2^20: rounding enlarges the sensitivity by at most 2^-20 of it.

        >>> Grid.for_sensitivity(1.0)
        Grid(exponent=-20)
        """
        return cls.finer_than(value, 20)

    @property
    def step(self) -> Fraction:
        """The distance of two neighbours, exactly."""
        return Fraction(2) ** self.exponent

    @property
    def width(self) -> float:
        """The same distance as a double, which holds it.

        >>> Grid(-2).width
        0.25
        """
        return math.ldexp(1.0, self.exponent)

    def length(self, x: int | float | Fraction) -> Fraction:
        """The public number x in steps, exactly.

        >>> Grid(-2).length(0.625)
        Fraction(5, 2)
        """
        top, bottom = exact("x", x).as_integer_ratio()
        return Fraction(top, bottom << self.exponent) if self.exponent > 0 else Fraction(top << -self.exponent, bottom)

    def to_grid(self, x: object) -> Any:
        """The nearest step, half a step up: floor(x / step + 1/2); an int, or an int64 array for an array.

        >>> Grid(0).to_grid(np.array([0.5, 1.5, -0.5])).tolist()
        [1, 2, 0]
        """
        return self._steps(x, _round, half_up)

    def truncate(self, x: object) -> Any:
        """The next step toward zero, which never lengthens a vector.

        >>> Grid(0).truncate(np.array([0.9, -1.9])).tolist()
        [0, -1]
        """
        return self._steps(x, math.trunc, np.trunc)

    def ceil(self, x: int | float | Fraction) -> int:
        """The least number of steps that is at least the public number x.

        >>> Grid(-1).ceil(1.1)
        3
        """
        return math.ceil(exact("x", x) / self.step)

    def floor(self, x: int | float | Fraction) -> int:
        """The greatest number of steps that is at most the public number x.

        >>> Grid(-1).floor(1.1)
        2
        """
        return math.floor(exact("x", x) / self.step)

    def from_grid(self, k: object) -> Any:
        """Steps as doubles; exact below 2^53 steps, one rounding beyond.

        >>> Grid(-1).from_grid(np.array([3, -1])).tolist()
        [1.5, -0.5]
        """
        if isinstance(k, np.ndarray) and k.dtype.kind in "iu":
            return np.ldexp(k.astype(np.float64), self.exponent)
        if isinstance(k, bool | np.bool_) or not isinstance(k, Integral):
            raise InvalidData("steps of the grid must be integers")
        return float(int(k) * self.step)

    def times(self, k: int) -> Fraction:
        """k steps, exactly.

        >>> Grid(-1).times(3)
        Fraction(3, 2)
        """
        return Fraction(k << self.exponent) if self.exponent >= 0 else Fraction(k, 1 << -self.exponent)

    def double(self, k: int) -> float:
        """k steps, rounded once to a double; beyond these, the largest.

        >>> Grid(-1).double(3), Grid(0).double(2**2000) == -Grid(0).double(-(2**2000))
        (1.5, True)
        """
        try:
            return math.ldexp(float(k), self.exponent)
        except OverflowError:
            return sys.float_info.max if k > 0 else -sys.float_info.max

    def split(self, numerator: int, denominator: int) -> tuple[int, Fraction]:
        """The nearest whole number of steps (halves to the even one) and the exact rest; saturates at 2^1000 steps.

        >>> Grid(-1).split(11, 4)
        (6, Fraction(-1, 2))
        """
        if self.exponent > 0:
            denominator <<= self.exponent
        else:
            numerator <<= -self.exponent
        whole, rest = divmod(numerator, denominator)
        if 2 * rest > denominator or (2 * rest == denominator and whole & 1):
            whole, rest = whole + 1, rest - denominator
        if whole.bit_length() > FARTHEST:
            return (2**FARTHEST if whole > 0 else -(2**FARTHEST)), Fraction(0)
        return whole, Fraction(rest, denominator)

    def nearest(self, x: Array) -> NDArray[np.int64]:
        """Doubles in whole steps, half a step up. For numbers that are known to lie within 2^62 steps: nothing is checked.

        >>> Grid(-1).nearest(np.array([0.25, 0.75, -0.25])).tolist()
        [1, 2, 0]
        """
        return half_up(np.ldexp(x, -self.exponent))

    def _steps(self, x: object, one: Callable[[Fraction], int], many: Callable[[Array], Array]) -> Any:
        if isinstance(x, np.ndarray):
            return _many_steps(x, self.exponent, one, many)
        number = as_rational(x)
        if number is None or abs(number) > _MOST * self.step:
            raise InvalidData(_DATA)
        return one(number / self.step)


def _round(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def half_up(x: Array) -> NDArray[np.int64]:
    """floor(x + 1/2): the sum could round, the distance to the floor cannot.

    >>> half_up(np.array([0.5, 1.5, -0.5, 0.49999999999999994])).tolist()
    [1, 2, 0, 0]
    """
    whole = np.floor(x)
    return whole.astype(np.int64) + (x - whole >= 0.5)


def _many_steps(
    x: Array, exponent: int, one: Callable[[Fraction], int], many: Callable[[Array], Array]
) -> NDArray[np.int64]:
    if x.dtype.kind not in "iuf" or x.dtype.itemsize > 8:
        raise InvalidData(_DATA)
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(x.astype(np.float64), -exponent)
    if not np.all(np.abs(scaled) <= _MOST):  # NaN included
        raise InvalidData(_DATA)
    if x.dtype.kind == "f" or not np.any(np.abs(x.astype(np.float64)) >= 2.0**53):
        return many(scaled).astype(np.int64)
    # 64-bit integers have more digits than a double.
    step = Fraction(2) ** exponent
    return np.array([one(value / step) for value in x.ravel().tolist()], dtype=np.int64).reshape(x.shape)
