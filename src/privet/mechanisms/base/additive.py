"""Adding continuous noise on a grid: the exact value plus noise, rounded once, with nothing lost on the way."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, open_fraction
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.base.error_bar import ErrorBar
from privet.mechanisms.base.mechanism import Mechanism, Source
from privet.mechanisms.base.sensitivity import Sensitivity

__all__ = ["AdditiveMechanism", "noise_scale", "numbers", "on_grid", "read", "saturated"]

_FINER = 20  # the grid is 2^20 times finer than the noise
_COARSEST = 50  # a rest of so many bits is a double
_LARGEST_SCALE = 2.0**100
_FARTHEST = 2.0**1000
_WHOLE = 2**53  # up to here every integer is a double
_LIMIT = 2.0**62  # where `on_grid` saturates


@dataclass(frozen=True, kw_only=True)
class AdditiveMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms that add continuous noise and round the sum to a public grid.

    The released number is `step * floor((x + noise)/step + 1/2)`, drawn exactly: rounding a continuous release is
    post-processing, so the price is that of continuous noise, in every dimension, for every double x, without any
    enlargement of the sensitivity. Integers beyond 2^53 and doubles beyond 2^1000 steps saturate (no two values move
    apart by that).

    **Sensitivity:** of the exact function that produced the value, as a real number: sum in integers (`BoundedSum`),
    not in floats, where order matters.
    """

    scale: float
    sensitivity: Sensitivity = field()
    at: float | None = field(default=None, repr=False)

    @property
    def step(self) -> float:
        """The grid: a power of two, about a millionth of the noise."""
        return math.ldexp(1.0, self._exponent)

    @property
    def _exponent(self) -> int:
        return min(math.frexp(self.scale)[1] - 1 - _FINER, _COARSEST)

    @abstractmethod
    def _noisy(self, center: Array | Fraction, scale: Fraction, source: Source, *, size: int | None = None) -> Any:
        """floor(center + noise + 1/2), elementwise, for noise of that scale."""

    @abstractmethod
    def _noise_cdf(self, x: Array) -> Array:
        """Distribution function of the noise."""

    @abstractmethod
    def _quantile(self, tail: float) -> float:
        """The radius that one coordinate's noise leaves with probability `tail`."""

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in one coordinate."""

    def _prepare(self, value: Any) -> tuple[Array, Array]:
        return _split(numbers(value), self._exponent)

    def _draw(self, prepared: tuple[Array, Array], runs: int, source: Source) -> Array:
        whole, part = (np.broadcast_to(side, (runs, *side.shape)) for side in prepared)
        steps = Fraction(self.scale) / Fraction(self.step)
        total = _sum(whole, np.asarray(self._noisy(part, steps, source)))
        with np.errstate(over="ignore"):
            released: Array = np.ldexp(total, self._exponent)
        return released

    def _protect(self, value: Fraction, runs: int, source: Source) -> list[Fraction]:
        """Noise on a rational number, rounded to the grid, `runs` times: for mechanisms that build on this one."""
        size = Fraction(self.step)
        whole = round(value / size)
        noisy = self._noisy(value / size - whole, Fraction(self.scale) / size, source, size=runs)
        return [(whole + steps) * size for steps in noisy.tolist()]

    def _error_of(self, prepared: tuple[Array, Array]) -> ErrorBar:
        return self.error(dimension=max(1, prepared[0].size))

    def error(self, confidence: float = 0.95, *, dimension: int = 1) -> ErrorBar:
        """The exact quantile of the noise, jointly for all coordinates.

        **Error:** every coordinate lies within `radius` of its exact value with probability `confidence`.
        """
        k = count("dimension", dimension, 1)
        tail = -math.expm1(math.log(open_fraction("confidence", confidence)) / k)
        of = "the value" if k == 1 else f"each of {k} coordinates at once"
        return ErrorBar(self._quantile(tail) + self.step / 2.0, confidence, of, self._expected(k))

    @abstractmethod
    def _expected(self, dimension: int) -> float:
        """Expected l1 error over all coordinates."""

    def exact_cdf(self, value: float, points: Array) -> Array:
        """Pr[release <= point] for the exact value: for tests and audits, not releasable."""
        edges = (np.floor(np.asarray(points) / self.step) + 0.5) * self.step
        return self._noise_cdf(edges - value)


def numbers(value: Any) -> Array:
    """The input as an array of float64 or int64; the refusal depends on type and shape, except that NaN is refused."""
    try:
        array = saturated(read(value))
    except ValueError:
        raise InvalidData("the value must be a number or an array of numbers of one shape") from None
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidData(f"the value must be a number or an array of numbers (64 bits at most), got {array.dtype}")
    if array.dtype.kind != "f":
        return array.astype(np.int64)
    array = array.astype(np.float64)
    if not np.all(np.isfinite(array)):
        raise InvalidData(
            "the value must be finite. A sensitivity says nothing about NaN or infinity: clip records to public bounds "
            "and replace missing ones first (BoundedSum and BoundedMean do)"
        )
    return array


def read(value: Any) -> Array:
    """numpy's array of what it is given, except that Python's integers stay what they are.

    numpy turns an integer beyond 64 bits into a double if it stands beside a negative number or a double. Next to one
    that is smaller by 1 and remains an integer, it would neither saturate nor move by 1 only.

    >>> read([2**63, -1]).dtype.kind, read([2**70, 0.5]).tolist() == [2**53, 0.5]
    ('O', True)
    """
    array = np.asarray(value)
    if array.dtype.kind == "f" and (isinstance(value, np.ndarray) or not np.any(np.abs(array) >= _WHOLE)):
        return array
    if array.dtype.kind not in "fO":
        return array
    items = np.asarray(value, dtype=object)
    if all(isinstance(item, int) for item in items.flat):
        return items
    if not all(isinstance(item, Real) and not isinstance(item, bool) for item in items.flat):
        return array
    clipped = [min(max(item, -_WHOLE), _WHOLE) if isinstance(item, Integral) else item for item in items.flat]
    return np.array(clipped, dtype=np.float64).reshape(items.shape)


def _sum(whole: Array, drawn: Array) -> Array:
    """Whole numbers plus integer noise, rounded to doubles once: a function of the exact sum, so post-processing of it.

    Noise beyond 2^53 must not be rounded by itself: which of its last digits survive would then depend on the value.
    """
    total: Array = whole + drawn.astype(np.float64)
    for place in np.flatnonzero((drawn > _WHOLE) | (drawn < -_WHOLE)).tolist():
        np.put(total, place, float(int(whole.flat[place]) + int(drawn.flat[place])))
    return total


def noise_scale(name: str, value: object) -> float:
    """A scale whose noise can be drawn: positive and not astronomically large, checked when the mechanism is made.

    >>> noise_scale("scale", 2)
    2.0
    """
    scale = above(name, value, 0.0)
    if scale > _LARGEST_SCALE:
        raise InvalidParameter(f"{name} must be at most 2^100, got {scale:g}; measure the data in larger units")
    return scale


def saturated(array: Array) -> Array:
    """Integers of any size, Python's own too, as int64 that stop at +-2^62; other arrays as they are.

    >>> saturated(np.array([2**70, -1])).tolist() == [2**62, -1]
    True
    """
    if array.dtype.kind == "O" and array.size and all(isinstance(item, int) for item in array.flat):
        return np.asarray(np.clip(array, -(2**62), 2**62)).astype(np.int64)
    if array.dtype == np.uint64:
        return np.minimum(array, np.uint64(2**62)).astype(np.int64)
    return np.clip(array, -(2**62), 2**62) if array.dtype == np.int64 else array


def _split(array: Array, exponent: int) -> tuple[Array, Array]:
    """Exact split of x / 2^exponent into a whole number, as a double, and a rest in [-1/2, 1). exponent <= 50."""
    if array.dtype.kind == "i" and exponent > 0:
        most = 2 ** min(53 + exponent, 62)
        clipped = np.clip(array, -most, most)
        return (clipped >> exponent).astype(np.float64), np.ldexp(
            (clipped & (2**exponent - 1)).astype(float), -exponent
        )
    if array.dtype.kind == "i":
        array = np.clip(array, -(2**53), 2**53).astype(np.float64)
    with np.errstate(over="ignore"):
        scaled = np.clip(np.ldexp(array, -exponent), -_FARTHEST, _FARTHEST)
    whole = np.rint(scaled)
    return whole, scaled - whole


def on_grid(array: Array, exponent: int) -> tuple[Array, Array]:
    """Exact split of x / 2^exponent into a whole int64 and a rest in [-1/2, 1/2]; saturates at 2^62. exponent <= 0.

    >>> whole, part = on_grid(np.array([1.3125, -7.0]), -2)
    >>> whole.tolist(), part.tolist()
    ([5, -28], [0.25, 0.0])
    """
    if array.dtype.kind == "i":
        most = 2**62 >> min(-exponent, 62)
        return np.clip(array, -most, most) << min(-exponent, 62), np.zeros(array.shape)
    with np.errstate(over="ignore"):
        scaled = np.clip(np.ldexp(array, -exponent), -_LIMIT, _LIMIT)
    whole = np.rint(scaled)
    return whole.astype(np.int64), scaled - whole
