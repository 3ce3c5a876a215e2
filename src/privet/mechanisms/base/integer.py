"""Adding integer noise to integers: nothing is rounded, and a sum beyond 64 bits saturates."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, open_fraction
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.base.additive import read, saturated
from privet.mechanisms.base.error_bar import ErrorBar
from privet.mechanisms.base.mechanism import Mechanism, Source
from privet.mechanisms.base.sensitivity import Sensitivity

__all__ = ["IntegerMechanism", "integer_scale", "whole_sensitivity"]

_LARGEST_SCALE = 2.0**52
_REFUSED = (
    "the value must be an integer or an array of integers (round to a public grid first, or take Laplace or Gaussian)"
)


@dataclass(frozen=True, kw_only=True)
class IntegerMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms that add integer noise to an integer or an array of integers."""

    scale: float
    sensitivity: Sensitivity = field()
    at: float | None = field(default=None, repr=False)

    @abstractmethod
    def _noise(self, shape: tuple[int, ...], source: Source) -> Array:
        """Independent integer noise."""

    @abstractmethod
    def _noise_cdf(self, k: Array) -> Array:
        """Pr[noise <= k] for integers k."""

    @abstractmethod
    def _quantile(self, tail: float) -> float:
        """The least r with Pr[|noise| > r] <= tail, or a bound on it."""

    @abstractmethod
    def _expected(self, dimension: int) -> float:
        """Expected l1 error over all coordinates, or a bound on it."""

    def _prepare(self, value: Any) -> Array:
        try:
            array = saturated(read(value))
        except ValueError:
            raise InvalidData(_REFUSED) from None
        if array.dtype.kind not in "biu":
            raise InvalidData(_REFUSED)
        return array.astype(np.int64)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        return self._finish(_saturating_sum(prepared, self._noise((runs, *prepared.shape), source)))

    def _finish(self, total: Array) -> Array:
        """Post-processing of the noisy integers."""
        return total

    def _error_of(self, prepared: Array) -> ErrorBar:
        return self.error(dimension=max(1, prepared.size))

    def error(self, confidence: float = 0.95, *, dimension: int = 1) -> ErrorBar:
        """The exact quantile of the noise, jointly for all coordinates.

        **Error:** every coordinate lies within `radius` of its exact value with probability at least `confidence`.
        """
        k = count("dimension", dimension, 1)
        tail = -math.expm1(math.log(open_fraction("confidence", confidence)) / k)
        of = "the value" if k == 1 else f"each of {k} coordinates at once"
        return ErrorBar(float(self._quantile(tail)), confidence, of, self._expected(k))

    def exact_cdf(self, value: int, points: Array) -> Array:
        """Pr[release <= point] for the exact value: for tests and audits, not releasable."""
        return self._noise_cdf(np.floor(np.asarray(points, dtype=float)) - value)


def integer_scale(name: str, value: object) -> float:
    """A scale whose noise fits 64-bit integers, checked when the mechanism is made.

    >>> integer_scale("scale", 2)
    2.0
    """
    scale = above(name, value, 0.0)
    if scale > _LARGEST_SCALE:
        raise InvalidParameter(f"{name} must be at most 2^52, got {scale:g}: the budget is too small for integer noise")
    return scale


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
