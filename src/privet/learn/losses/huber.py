"""Squares with bounded slope: Huber's loss."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import above, set_frozen
from privet.learn.losses import double_double as wide
from privet.learn.losses.double_double import Pair
from privet.learn.losses.loss import Loss, LossExample, register


@final
@register
@dataclass(frozen=True)
class Huber(Loss):
    """(m - y)^2/2 where |m - y| <= `bend`, straight lines beyond. The squared loss with its residual clipped.

    >>> Huber(1.0).slope(np.array([0.5, 3.0, -7.0]), np.zeros(3)).tolist()
    [0.5, 1.0, -1.0]
    """

    bend: float = 1.0

    def __post_init__(self) -> None:
        set_frozen(self, bend=above("bend", self.bend, 0.0))

    @property
    def lipschitz(self) -> float:
        return self.bend

    @property
    def smoothness(self) -> float:
        return 1.0

    def value(self, margins: Array, targets: Array) -> Array:
        far, c = np.abs(margins - targets), self.bend
        return np.where(far <= c, 0.5 * far * far, c * (far - 0.5 * c))

    def slope(self, margins: Array, targets: Array) -> Array:
        return np.clip(margins - targets, -self.bend, self.bend)

    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        return wide.within(wide.add(margins, wide.pair(-targets)), wide.pair(-self.bend), wide.pair(self.bend))

    def curvature(self, margins: Array, targets: Array) -> Array:
        return np.where(np.abs(margins - targets) <= self.bend, 1.0, 0.0)

    @classmethod
    def examples(cls) -> Iterable[LossExample]:
        yield LossExample(cls(1.0), (-1.0, -0.3, 0.0, 1.0))
        yield LossExample(cls(0.1), (-1.0, -0.3, 0.0, 1.0))
