"""The fixed-point grid: releases are integers times a power of two."""

import math
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

_MOST = 2**62
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
    def for_sensitivity(cls, value: int | float | Fraction) -> "Grid":
        """The coarsest grid with step <= value / 2^20: rounding enlarges the sensitivity by at most 2^-20 of it.

        >>> Grid.for_sensitivity(1.0)
        Grid(exponent=-20)
        """
        number = positive("value", value, largest=None)
        exponent = number.numerator.bit_length() - number.denominator.bit_length()
        if Fraction(2) ** exponent > number:
            exponent -= 1
        return cls(exponent - 20)

    @property
    def step(self) -> Fraction:
        """The distance of two neighbours, exactly."""
        return Fraction(2) ** self.exponent

    def to_grid(self, x: Any) -> Any:
        """The nearest step, half a step up: floor(x / step + 1/2); an int, or an int64 array for an array.

        >>> Grid(0).to_grid(np.array([0.5, 1.5, -0.5])).tolist()
        [1, 2, 0]
        """
        return self._steps(x, _round, _round_many)

    def truncate(self, x: Any) -> Any:
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

    def from_grid(self, k: Any) -> Any:
        """Steps as doubles; exact below 2^53 steps, one rounding beyond.

        >>> Grid(-1).from_grid(np.array([3, -1])).tolist()
        [1.5, -0.5]
        """
        if isinstance(k, np.ndarray) and k.dtype.kind in "iu":
            return np.ldexp(k.astype(np.float64), self.exponent)
        if isinstance(k, bool | np.bool_) or not isinstance(k, Integral):
            raise InvalidData("steps of the grid must be integers")
        return float(int(k) * self.step)

    def _steps(self, x: Any, one: Callable[[Fraction], int], many: Callable[[Array], Array]) -> Any:
        if isinstance(x, np.ndarray):
            return _many_steps(x, self.exponent, one, many)
        number = as_rational(x)
        if number is None or abs(number) > _MOST * self.step:
            raise InvalidData(_DATA)
        return one(number / self.step)


def _round(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def _round_many(x: Array) -> Array:
    whole = np.floor(x)
    return whole + (x - whole >= 0.5)  # x + 1/2 could round, the distance to the floor cannot


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
