"""Objects that stand for a number: they compare, convert and compute as that number does."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from privet.errors import InvalidCall


class Amount(ABC):
    """Comparison and arithmetic of the number in `_number()`; the result is a plain number.

    What is about more than one number (a table, an array) says so instead.
    """

    __array_ufunc__ = None  # numpy leaves `array + amount` to us

    @abstractmethod
    def _number(self) -> Any:
        """The number, or an array of them; `InvalidCall` where there is none."""

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def _single(self) -> Any:
        number = self._number()
        if isinstance(number, np.ndarray):
            raise InvalidCall(f"this is an array of {number.size:,} numbers: take .value")
        return number

    def __lt__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a < b)

    def __le__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a <= b)

    def __gt__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a > b)

    def __ge__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a >= b)

    def __add__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other: object) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: object) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other: object) -> Any:
        return self._with(other, lambda a, b: b * a)

    def __truediv__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: object) -> Any:
        return self._with(other, lambda a, b: b / a)

    def __neg__(self) -> Any:
        return -self._number()

    def __abs__(self) -> Any:
        return abs(self._number())

    def _with(self, other: object, result: Any) -> Any:
        operand = other._number() if isinstance(other, Amount) else other
        if not is_number(operand) and not (isinstance(operand, np.ndarray) and operand.dtype.kind in "biuf"):
            return NotImplemented
        return result(self._number(), operand)


def is_number(value: object) -> bool:
    """A real number, and no truth value.

    >>> is_number(np.float32(1.0)), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
