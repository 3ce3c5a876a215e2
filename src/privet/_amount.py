"""Objects that stand for a number: they compare, convert and compute as that number does."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
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


class Computed:
    """A mixin for numbers that came out of releases: whatever is computed from one is another one.

    Without it the plain number `a + b` of two releases would count as a public number in `a + b + c`, and the sum would
    carry the bar of `c` alone. A conversion cannot carry the mark: `float(a + b)`, `np.float64(a + b)`, an array, a text
    and what `math` and numpy's functions make of it are plain numbers.
    """

    # above that of numpy's scalars, so that `np.float64(2) * marked` is left to us, and below that of arrays
    __array_priority__ = -1.0

    def __neg__(self) -> Any:
        return computed(-plain(self))

    def __abs__(self) -> Any:
        return computed(abs(plain(self)))

    def __pos__(self) -> Any:
        return computed(plain(self))

    def __round__(self, digits: Any = None) -> Any:
        return computed(round(plain(self), digits))


def _computing(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    compute = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        second = other._number() if isinstance(other, Amount) else plain(other)
        if not is_number(second):
            return NotImplemented
        return computed(compute(second, plain(self)) if swapped else compute(plain(self), second))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Computed, f"__{_name}__", _computing(_name, swapped=False))
    setattr(Computed, f"__r{_name}__", _computing(_name, swapped=True))


class ComputedFloat(Computed, float):
    """A double computed from releases."""


class ComputedInt(Computed, int):
    """A whole number computed from releases."""


def computed(value: Any) -> Any:
    """The same number, marked as computed from releases; anything else as it is.

    >>> type(computed(3) + 0.5).__name__, computed(3) + 4, computed(True)
    ('ComputedFloat', 7, True)
    """
    if isinstance(value, float | np.floating):
        return ComputedFloat(value)
    return ComputedInt(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else value


def plain(value: Any) -> Any:
    """The number without its mark.

    >>> type(plain(computed(2.0))).__name__
    'float'
    """
    if not isinstance(value, Computed):
        return value
    return int(value) if isinstance(value, int) else float(value)  # type: ignore[arg-type]
