"""Half the squared residual."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet.learn.losses import double_double as wide
from privet.learn.losses.double_double import Pair
from privet.learn.losses.loss import Loss, LossExample, register


@final
@register
@dataclass(frozen=True)
class Squared(Loss):
    """(m - y)^2/2. Its slope is unbounded: solvers from sufficient statistics take it, others take `Huber`.

    >>> Squared().slope(np.array([3.0]), np.array([1.0])).tolist()
    [2.0]
    """

    @property
    def lipschitz(self) -> float:
        return math.inf

    @property
    def smoothness(self) -> float:
        return 1.0

    def value(self, margins: Array, targets: Array) -> Array:
        return 0.5 * np.square(margins - targets)

    def slope(self, margins: Array, targets: Array) -> Array:
        return np.asarray(margins - targets)

    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        return wide.add(margins, wide.pair(-targets))

    def curvature(self, margins: Array, targets: Array) -> Array:
        return np.ones_like(margins)

    @classmethod
    def examples(cls) -> Iterable[LossExample]:
        yield LossExample(cls(), (-1.0, -0.3, 0.0, 1.0))
