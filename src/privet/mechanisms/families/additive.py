"""Adding continuous noise on a grid: the exact value plus noise, rounded once, with nothing lost on the way."""

import itertools
import math
import sys
from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import count, noise_scale, open_fraction, set_frozen
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.values import Numbers, admit_value, read_doubles
from privet.mechanisms.mechanism import Mechanism, Source
from privet.mechanisms.sensitivity import Norm, Sensitivity, as_sensitivity
from privet.noise import Grid, Steps
from privet.noise.grid import FARTHEST
from privet.privacy import Guarantee, Promise, Unit

_FINER = 20  # the grid is 2^20 times finer than the noise
_COARSEST = 50  # a rest of so many bits is a double
_LARGEST = sys.float_info.max
_PIECE = 2**16  # numbers worked on at a time: memory and speed only
_CACHED = 2**13  # whole numbers worked on at a time: they and what is made of them stay in the cache
_FINEST = -40  # a 64-bit integer's last 11 bits and noise below 2^52 steps of this grid are one double together


@dataclass(frozen=True, kw_only=True)
class AdditiveMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms that add continuous noise and round the sum to a public grid.

    The released number is `step * floor((x + noise)/step + 1/2)`, drawn exactly: rounding a continuous release is
    post-processing, so the price is that of continuous noise, in every dimension, for every number x whatever its type
    (an int, a float, a Fraction or a Decimal is the rational that it is), without any enlargement of the sensitivity.
    NaN and what is missing counts as 0. Beyond 2^1000 steps, or the doubles, a release saturates (no two values move
    apart by that); it then says so and carries no bar.

    **Sensitivity:** of the exact function that produced the value, as a real number: sum in integers (`BoundedSum`),
    not in floats, where order matters.
    """

    scale: float
    sensitivity: Sensitivity = field()
    at: float | None = field(default=None, repr=False)

    _norm: ClassVar[Norm] = "l1"  # in which neighbours' answers are close

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, scale=noise_scale("scale", self.scale, 100, "measure the data in larger units"))
        set_frozen(self, sensitivity=as_sensitivity(self.sensitivity, norm=self._norm))

    @classmethod
    def for_budget(
        cls,
        *,
        sensitivity: float | Fraction | Sensitivity,
        unit: Unit | None = None,
        **promise: Unpack[Promise],
    ) -> Self:
        """The mechanism with the least noise that stays within the budget."""
        target = Guarantee(**promise)
        bound = as_sensitivity(sensitivity, norm=cls._norm, unit=unit)
        return cls(**cls._fields_for(target, bound.value), sensitivity=bound)._charged_at(target)

    @classmethod
    def _fields_for(cls, target: Guarantee, sensitivity: Fraction) -> dict[str, Any]:
        """The fields that meet the target with the least noise. Whoever has a `for_budget` of its own needs none."""
        raise NotImplementedError

    @kept_property
    def step(self) -> float:
        """The grid: a power of two, about a millionth of the noise."""
        return self._grid.width

    @kept_property
    def _grid(self) -> Grid:
        return Grid.finer_than(self.scale, _FINER, coarsest=_COARSEST)

    @abstractmethod
    def _noisy(self, center: Array | Fraction, scale: Fraction, source: Source, *, size: int | None = None) -> Any:
        """floor(center + noise + 1/2), elementwise, for noise of that scale."""

    @abstractmethod
    def _noise_cdf(self, x: Array) -> Array:
        """Distribution function of the noise."""

    @abstractmethod
    def _quantile(self, tail: float) -> float:
        """The radius that one coordinate's noise leaves with probability `tail`."""

    def _combined_quantile(self, weights: Sequence[float], tail: float) -> float:
        """A radius that a sum of independent noises with these weights leaves with probability at most `tail`."""
        return sum(map(abs, weights)) * self._quantile(tail / len(weights))

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in one coordinate."""

    def _admit(self, value: object) -> None:
        admit_value(value)

    def _prepare(self, value: object) -> Numbers:
        return read_doubles(value)

    def _draw(self, prepared: Numbers, runs: int, source: Source) -> Array:
        if prepared.array is not None:
            drawn = self._draw_array(prepared.array, runs, source)
            if prepared.apart is not None:
                self._draw_apart(prepared.apart, drawn.reshape(runs, -1), source)
            return drawn
        assert prepared.ratios is not None
        if prepared.shape == ():  # one centre for all runs
            whole, rest = self._grid.split(*prepared.ratios[0])
            drawn = self._noisy(rest, self._steps, source, size=runs)
            return np.array([self._grid.double(whole + noise) for noise in drawn.tolist()])
        return self._draw_ratios(prepared.ratios, runs, source).reshape(runs, *prepared.shape)

    def _draw_ratios(self, ratios: Collection[tuple[int, int]], runs: int, source: Source) -> Array:
        steps = Steps.of_ratios(ratios, self._grid)
        centers = np.broadcast_to(steps.rest, (runs, len(steps.whole)))
        return self._finished(steps.plus(np.asarray(self._noisy(centers, self._steps, source))))

    def _draw_apart(self, apart: dict[int, tuple[int, int]], drawn: Array, source: Source) -> None:
        """Draws for the numbers that are no doubles in the place of those for 0, by themselves. One more is always made,
        and belongs to nobody: without it the clock would tell whether there is such a number.
        """
        drawn[:, list(apart)] = self._draw_ratios([*apart.values(), (1, 3)], len(drawn), source)[:, :-1]

    def _draw_array(self, array: Array, runs: int, source: Source) -> Array:
        """In pieces, so that memory is that of the result."""
        if array.dtype.kind in "biu" and _FINEST <= self._grid.exponent <= 0:  # whole numbers lie on the grid
            return self._draw_whole(array.reshape(-1), runs, source).reshape(runs, *array.shape)
        flat, size = array.reshape(-1), max(1, array.size)
        out = np.empty((runs, array.size))
        for start in range(0, array.size, _PIECE):
            steps = Steps.of_array(flat[start : start + _PIECE], self._grid)
            wide, many = len(steps.whole), max(1, _PIECE // size)
            for first in range(0, runs, many):
                block = out[first : first + many, start : start + wide]
                drawn = np.asarray(self._noisy(np.broadcast_to(steps.rest, block.shape), self._steps, source))
                block[:] = self._finished(steps.plus(drawn))
        return out.reshape(runs, *array.shape)

    def _draw_whole(self, flat: Array, runs: int, source: Source) -> Array:
        """Whole numbers plus whole steps of noise: nothing is left over that would have to be compared with the noise, and
        the exact sum is rounded once.
        """
        drawn = np.asarray(self._noisy(Fraction(0), self._steps, source, size=runs * len(flat))).reshape(
            runs, len(flat)
        )
        out, wide = drawn.view(np.float64), flat.dtype.itemsize == 8  # the sums stand where the noise lay
        noisy = np.empty(min(len(flat), _CACHED))
        for row, start in itertools.product(range(runs), range(0, len(flat), _CACHED)):
            numbers, steps = flat[start : start + _CACHED], drawn[row, start : start + _CACHED]
            total, added = out[row, start : start + _CACHED], noisy[: len(numbers)]
            if max(int(steps.max()), -int(steps.min())) >= 2**52:
                total[:] = self._finished(Steps.of_array(numbers, self._grid).plus(steps))
                continue
            np.multiply(steps, self.step, out=added)
            if wide:  # the last 11 bits go with the noise, the first 53 are a double
                last = numbers & numbers.dtype.type(2047)
                added += last
                numbers = np.subtract(numbers, last, out=last)
            np.add(added, numbers, out=total)
        return out

    def _finished(self, total: Array) -> Array:
        with np.errstate(over="ignore"):
            released = np.ldexp(total, self._grid.exponent)
        return np.clip(released, -_LARGEST, _LARGEST)

    @kept_property
    def _steps(self) -> Fraction:
        return self._grid.length(self.scale)

    def _protect(self, value: Fraction, runs: int, source: Source) -> list[Fraction]:
        """Noise on a rational number, rounded to the grid, `runs` times: for mechanisms that build on this one."""
        whole, rest = self._grid.split(*value.as_integer_ratio())
        noisy = self._noisy(rest, self._steps, source, size=runs)
        return [self._grid.times(whole + steps) for steps in noisy.tolist()]

    def _error_given(self, drawn: object, prepared: Numbers) -> ErrorBar | None:
        """The quantile of the noise, and half the distance of doubles where the released ones are large."""
        bar, largest = self._bar(max(1, prepared.size)), _largest(drawn)
        if largest < self.step * 2.0**53:
            return bar
        # a double beyond 1e76 says no more than its size
        return replace(bar, radius=bar.radius + math.ulp(largest) / 2.0) if largest < min(self._end, 1e76) else None

    @kept_property
    def _end(self) -> float:
        """Where a release has saturated, or may have."""
        return min(2.0 ** min(FARTHEST - 1 + self._grid.exponent, 1023), _LARGEST)

    def _notes(self, drawn: object) -> tuple[str, ...]:
        return ("saturated",) if _largest(drawn) >= self._end else ()

    def _bar(self, dimension: int) -> ErrorBar:
        """The bar at 95%, computed once for each number of coordinates."""
        bars: dict[int, ErrorBar] = self.__dict__.setdefault("_bars", {})
        if dimension not in bars:
            bars[dimension] = self.error(dimension=dimension)
        return bars[dimension]

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


def _largest(drawn: Any) -> float:
    if isinstance(drawn, float):
        return abs(drawn)
    return max(float(np.max(drawn, initial=0.0)), -float(np.min(drawn, initial=0.0)))
