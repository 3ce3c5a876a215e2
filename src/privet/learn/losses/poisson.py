"""The Poisson loss with its slope clipped."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import above, at_least, set_frozen
from privet.learn.losses import double_double as wide
from privet.learn.losses.double_double import Pair
from privet.learn.losses.loss import Loss, LossExample, register


@final
@register
@dataclass(frozen=True)
class ClippedPoisson(Loss):
    """exp(m) - y m for counts y from 0 to `largest`, continued by straight lines where the slope exp(m) - y would leave
    [-`bend`, `bend`]. It stays convex, and what was clipped is a record that fits badly.

    >>> ClippedPoisson(10.0, 3.0).slope(np.array([0.0, 5.0]), np.array([1.0, 0.0])).tolist()
    [0.0, 3.0]
    """

    largest: float
    bend: float

    def __post_init__(self) -> None:
        set_frozen(self, largest=at_least("largest", self.largest, 0.0), bend=above("bend", self.bend, 0.0))

    @property
    def lipschitz(self) -> float:
        return self.bend

    @property
    def smoothness(self) -> float:
        return self.largest + self.bend  # exp(m) where the slope is not clipped

    def _counts(self, targets: Array) -> Array:
        """Within 0 and `largest`, on which the smoothness rests."""
        return np.clip(targets, 0.0, self.largest)

    def _ends(self, targets: Array) -> tuple[Array, Array]:
        """The margins between which the slope is not clipped."""
        targets = self._counts(targets)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(targets - self.bend, 0.0)), np.log(targets + self.bend)

    def value(self, margins: Array, targets: Array) -> Array:
        low, high = self._ends(targets)
        targets = self._counts(targets)
        inside = np.clip(margins, low, high)
        with np.errstate(over="ignore"):
            curve = np.exp(inside) - targets * inside
        return (
            curve
            + np.where(margins > high, self.bend * (margins - high), 0.0)
            + np.where(margins < low, self.bend * (np.where(np.isfinite(low), low, 0.0) - margins), 0.0)
        )

    def slope(self, margins: Array, targets: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.clip(np.exp(margins) - self._counts(targets), -self.bend, self.bend)

    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        top = np.log(self.smoothness) + 1.0  # beyond, the slope is clipped for every count
        rate = wide.power(wide.within(margins, wide.pair(-700.0), wide.pair(top)))
        return wide.within(
            wide.add(rate, wide.pair(-self._counts(targets))), wide.pair(-self.bend), wide.pair(self.bend)
        )

    def curvature(self, margins: Array, targets: Array) -> Array:
        with np.errstate(over="ignore"):
            rate = np.exp(margins)
        return np.where(np.abs(rate - self._counts(targets)) <= self.bend, np.minimum(rate, self.smoothness), 0.0)

    @classmethod
    def examples(cls) -> Iterable[LossExample]:
        yield LossExample(cls(9.0, 3.0), (0.0, 1.0, 2.5, 9.0))
        yield LossExample(cls(9.0, 20.0), (0.0, 1.0, 2.5, 9.0))
