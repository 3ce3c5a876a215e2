"""The hinge loss with its corner rounded off: a support vector machine that can be trained privately."""

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
class HuberHinge(Loss):
    """max(0, 1 - y m), quadratic within `half_width` of the corner; labels y of -1 and 1.

    >>> HuberHinge(0.5).slope(np.array([0.0, 1.0, 2.0]), np.ones(3)).tolist()
    [-1.0, -0.5, -0.0]
    """

    half_width: float = 0.5
    shape = "fixed_sign"

    def __post_init__(self) -> None:
        set_frozen(self, half_width=above("half_width", self.half_width, 0.0))

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def smoothness(self) -> float:
        return 0.5 / self.half_width

    def _share(self, margins: Array, targets: Array) -> Array:
        """-y psi', between 0 and 1."""
        h = self.half_width
        return np.clip((1.0 + h - np.sign(targets) * margins) / (2.0 * h), 0.0, 1.0)

    def value(self, margins: Array, targets: Array) -> Array:
        share, h = self._share(margins, targets), self.half_width
        return np.where(share < 1.0, h * share * share, 1.0 - np.sign(targets) * margins)

    def slope(self, margins: Array, targets: Array) -> Array:
        return -np.sign(targets) * self._share(margins, targets)  # a label beyond 1 would count for more than is paid

    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        signs, h = np.sign(targets), self.half_width
        left = wide.add(wide.exact_add(np.asarray(1.0), np.asarray(h)), (-signs * margins[0], -signs * margins[1]))
        share = wide.within(wide.over(left, wide.pair(2.0 * h)), wide.pair(0.0), wide.pair(1.0))
        return -signs * share[0], -signs * share[1]

    def curvature(self, margins: Array, targets: Array) -> Array:
        share = self._share(margins, targets)
        return np.where((share > 0.0) & (share < 1.0), self.smoothness, 0.0)

    @classmethod
    def examples(cls) -> Iterable[LossExample]:
        yield LossExample(cls(0.5), (-1.0, 1.0))
        yield LossExample(cls(0.05), (-1.0, 1.0))
