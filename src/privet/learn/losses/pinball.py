"""The loss of quantile regression, its corner rounded off."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import above, open_fraction, set_frozen
from privet.learn.losses import double_double as wide
from privet.learn.losses.double_double import Pair
from privet.learn.losses.loss import Loss, LossExample, register


@final
@register
@dataclass(frozen=True)
class Pinball(Loss):
    """q (y - m) where m < y and (1 - q)(m - y) where m > y, quadratic within `half_width` of y.

    >>> Pinball(0.5, 0.1).slope(np.array([-1.0, 0.0, 1.0]), np.zeros(3)).tolist()
    [-0.5, 0.0, 0.5]
    """

    quantile: float = 0.5
    half_width: float = 0.1

    def __post_init__(self) -> None:
        set_frozen(self, quantile=open_fraction("quantile", self.quantile))
        set_frozen(self, half_width=above("half_width", self.half_width, 0.0))

    @property
    def lipschitz(self) -> float:
        return max(self.quantile, 1.0 - self.quantile)

    @property
    def smoothness(self) -> float:
        return 0.5 / self.half_width

    def value(self, margins: Array, targets: Array) -> Array:
        q, h, far = self.quantile, self.half_width, margins - targets
        inside = far * far / (4.0 * h) + far * (0.5 - q) + h / 4.0
        return np.where(np.abs(far) <= h, inside, np.where(far > 0.0, (1.0 - q) * far, -q * far))

    def slope(self, margins: Array, targets: Array) -> Array:
        q = self.quantile
        return np.clip((margins - targets) / (2.0 * self.half_width) + 0.5 - q, -q, 1.0 - q)

    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        q = self.quantile
        far = wide.over(wide.add(margins, wide.pair(-targets)), wide.pair(2.0 * self.half_width))
        one_less = wide.exact_add(np.asarray(1.0), np.asarray(-q))
        return wide.within(wide.add(far, wide.exact_add(np.asarray(0.5), np.asarray(-q))), wide.pair(-q), one_less)

    def curvature(self, margins: Array, targets: Array) -> Array:
        return np.where(np.abs(margins - targets) <= self.half_width, self.smoothness, 0.0)

    @classmethod
    def examples(cls) -> Iterable[LossExample]:
        yield LossExample(cls(0.5, 0.1), (-1.0, -0.3, 0.0, 1.0))
        yield LossExample(cls(0.9, 0.02), (-1.0, -0.3, 0.0, 1.0))
