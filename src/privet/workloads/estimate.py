"""Answers with their intervals, one or many, and sums over ranges of cells."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from privet._numerics import Array
from privet._validate import open_fraction
from privet.errors import InvalidParameter
from privet.workloads.ranges import public_range

_MOST_INTERVALS = 256  # cells of a picture


@final
@dataclass(frozen=True)
class Estimate:
    """One answer, or one for each query, with the radius of its interval.

    `noise_only` says that the answer is off even without noise (cells were guessed from few measurements), by an amount
    that no interval knows: the radius covers the noise, not that. `around` is the middle of the interval where the value
    was moved by a projection (counts are not negative): the interval stays where it was, and is cut at 0.

    >>> print(Estimate(41.5, 3.0, 0.95))
    41.5 +-3 (95%)
    """

    value: Any
    radius: Any
    confidence: float
    noise_only: bool = False
    around: Any = None

    @property
    def interval(self) -> tuple[Any, Any]:
        """Both ends."""
        if self.around is None:
            return self.value - self.radius, self.value + self.radius
        return np.maximum(self.around - self.radius, 0.0), np.maximum(self.around + self.radius, 0.0)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        level = f"({100.0 * self.confidence:.4g}%{', noise only' if self.noise_only else ''})"
        if np.ndim(self.value):
            return f"{np.size(self.value):,} answers, +-{np.min(self.radius):.4g} to {np.max(self.radius):.4g} {level}"
        return f"{self.value:.6g} +-{self.radius:.4g} {level}"


class RangeAnswers(ABC):
    """Whatever can answer any combination of cells can answer sums over ranges of them."""

    shows_intervals: ClassVar[bool] = True

    shape: tuple[int, ...]

    @property
    @abstractmethod
    def histogram(self) -> Array:
        """The cells."""

    @abstractmethod
    def linear(self, query: Array, *, confidence: float = 0.95) -> Estimate:
        """Any combination of the cells."""

    def columns(self) -> dict[str, Any]:
        """A row for every cell: its place, and what is in it."""
        cells = np.asarray(self.histogram)
        places = np.unravel_index(np.arange(cells.size), cells.shape)
        names = ["cell"] if cells.ndim == 1 else [f"cell_{i}" for i in range(cells.ndim)]
        return {**dict(zip(names, places, strict=True)), "value": cells.reshape(-1)}

    def columns_with_intervals(self) -> dict[str, Any]:
        """As `columns`, with the ends of the interval of every cell where they are few enough: each takes a pass."""
        told = self.columns()
        if len(told["value"]) > _MOST_INTERVALS:
            return told
        cells = len(told["value"])
        found = [self.linear(np.reshape(row, self.shape)) for row in np.eye(cells)]
        low, high = (np.array([float(each.interval[i]) for each in found]) for i in (0, 1))
        return {**told, "value_low": low, "value_high": high}

    def answer(self, first: int, last: int, *, confidence: float = 0.95) -> Estimate:
        """The sum of the cells from `first` to `last`, both included; an empty range (last = first - 1) is 0, exactly."""
        if len(self.shape) != 1:
            raise InvalidParameter("ranges are asked of histograms of one dimension; take answers(workload)")
        low, high = public_range((first, last), self.shape[0])
        if high < low - 1:
            raise InvalidParameter("first must not lie behind last: a range goes from its first cell to its last one")
        if high < low:
            return Estimate(0.0, 0.0, open_fraction("confidence", confidence))
        query = np.zeros(self.shape[0])
        query[low : high + 1] = 1.0
        return self.linear(query, confidence=confidence)
