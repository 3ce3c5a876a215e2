"""Adding integer noise to integers: nothing is rounded, and a sum beyond 64 bits saturates."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from privet._numerics import Array
from privet._validate import count, noise_scale, open_fraction
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.columns import holds_floats, is_number, is_typed
from privet.mechanisms.families.values import admit_value, read_value
from privet.mechanisms.mechanism import Mechanism, Source
from privet.mechanisms.sensitivity import Sensitivity

_MOST = 2**62  # where data saturate: with noise they still fit int64
_PIECE = 2**18  # numbers worked on at a time: memory and speed only
_NEAR_THE_END = 2**62 - 2**59  # noise of the largest scale hardly reaches further
_REFUSED = (
    "the value must be an integer or an array of integers (round to a public grid first, or take Laplace or Gaussian)"
)


class IntegerLaw(Protocol):
    """The law of integer noise: what an `IntegerMechanism` draws from and states its bars by."""

    def draw(self, shape: tuple[int, ...], source: Source) -> Array:
        """Independent integers."""

    def cdf(self, k: Array) -> Array:
        """Pr[noise <= k] for integers k."""

    def quantile(self, tail: float) -> float:
        """The least r with Pr[|noise| > r] <= tail, or a bound on it."""

    @property
    def expected(self) -> float:
        """E|noise|, or a bound on it."""


@dataclass(frozen=True, kw_only=True)
class IntegerMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms that add integer noise to an integer or to several integers.

    A single integer may have any size. Of several, those beyond 2^62 saturate; a release near that end says so and
    carries no bar. In a list, what is missing or no number counts as 0, and a fraction is rounded half up.
    """

    scale: float
    sensitivity: Sensitivity = field()
    at: float | None = field(default=None, repr=False)

    @property
    @abstractmethod
    def _law(self) -> "IntegerLaw":
        """The law of the noise."""

    def _noise(self, shape: tuple[int, ...], source: Source) -> Array:
        return self._law.draw(shape, source)

    def _admit(self, value: object) -> None:
        admit_value(value)
        if is_number(value):
            whole = isinstance(value, Integral | np.bool_)
        else:
            whole = not is_typed(value) or not holds_floats(value)
        if not whole:
            raise InvalidData(_REFUSED)

    def _prepare(self, value: object) -> int | Array:
        numbers = read_value(value)
        if numbers.array is not None:
            array = numbers.array
            return np.clip(array, 0 if array.dtype.kind in "bu" else -_MOST, _MOST).astype(np.int64)
        assert numbers.ratios is not None
        wholes = [(2 * top + bottom) // (2 * bottom) for top, bottom in numbers.ratios]  # half up
        if numbers.shape == ():
            return wholes[0]
        return np.array([min(max(whole, -_MOST), _MOST) for whole in wholes], dtype=np.int64).reshape(numbers.shape)

    def _draw(self, prepared: int | Array, runs: int, source: Source) -> Array:
        if isinstance(prepared, int):  # of any size: nothing saturates
            sums = [self._finish(prepared + drawn) for drawn in self._noise((runs,), source).tolist()]
            return np.array(sums, dtype=np.int64 if abs(prepared) < _MOST else object)
        out = np.empty((runs, *prepared.shape), dtype=np.int64)
        flat, exact = out.reshape(runs, -1), prepared.reshape(-1)
        wide = max(1, _PIECE // runs)
        for start in range(0, exact.size, wide):  # in pieces, so that memory is that of the result
            part = exact[start : start + wide]
            noisy = _saturating_sum(part, self._noise((runs, len(part)), source))
            flat[:, start : start + wide] = self._finish(noisy)
        return out

    def _finish(self, total: object) -> Any:
        """Post-processing of the noisy integers."""
        return total

    def _error_given(self, drawn: object, prepared: int | Array) -> ErrorBar | None:
        size = 1 if isinstance(prepared, int) else max(1, prepared.size)
        bars: dict[int, ErrorBar] = self.__dict__.setdefault(
            "_bars", {}
        )  # computed once for each number of coordinates
        if size not in bars:
            bars[size] = self.error(dimension=size)
        return None if self._notes(drawn) else bars[size]

    def _notes(self, drawn: object) -> tuple[str, ...]:
        if not isinstance(drawn, np.ndarray) or not np.any(np.abs(drawn) >= _NEAR_THE_END):
            return ()
        return ("saturated",)

    def error(self, confidence: float = 0.95, *, dimension: int = 1) -> ErrorBar:
        """The exact quantile of the noise, jointly for all coordinates.

        **Error:** every coordinate lies within `radius` of its exact value with probability at least `confidence`.
        """
        k = count("dimension", dimension, 1)
        tail = -math.expm1(math.log(open_fraction("confidence", confidence)) / k)
        of = "the value" if k == 1 else f"each of {k} coordinates at once"
        return ErrorBar(float(self._law.quantile(tail)), confidence, of, k * self._law.expected)

    def exact_cdf(self, value: int, points: Array) -> Array:
        """Pr[release <= point] for the exact value: for tests and audits, not releasable."""
        return self._law.cdf(np.floor(np.asarray(points, dtype=float)) - value)


def integer_scale(name: str, value: object) -> float:
    """A scale whose noise fits 64-bit integers, checked when the mechanism is made.

    >>> integer_scale("scale", 2)
    2.0
    """
    return noise_scale(name, value, 52, "the budget is too small for integer noise")


def whole_sensitivity(sensitivity: Sensitivity) -> int:
    """The sensitivity of an integer-valued function as the whole number that it must be.

    >>> whole_sensitivity(Sensitivity(3, norm="l1"))
    3
    """
    if sensitivity.value.denominator != 1:
        raise InvalidParameter(
            f"integers move by whole numbers: the sensitivity must be one, got {float(sensitivity):g}; take the floor if "
            "the function only ever returns integers"
        )
    return int(sensitivity.value)


def _saturating_sum(exact: Array, noise: Array) -> Array:
    """Saturate the sum, which is post-processing; never the noise, which would show the value."""
    total = exact + np.asarray(noise)
    wrapped = ((exact ^ total) & (noise ^ total)) < 0
    ends = np.where(np.asarray(noise) < 0, np.iinfo(np.int64).min, np.iinfo(np.int64).max)
    return np.where(wrapped, ends, total)
