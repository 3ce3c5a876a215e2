"""The logistic loss."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array, special
from privet.learn.losses import double_double as wide
from privet.learn.losses.double_double import Pair
from privet.learn.losses.loss import Loss, LossExample, register


@final
@register
@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y m)) for labels y of -1 and 1.

    >>> float(Logistic().slope(np.array([0.0]), np.array([1.0]))[0])
    -0.5
    """

    shape = "logistic"

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def smoothness(self) -> float:
        return 0.25

    def value(self, margins: Array, targets: Array) -> Array:
        behind = -np.sign(targets) * margins
        return np.asarray(np.maximum(behind, 0.0) + np.log1p(np.exp(-np.abs(margins))))

    def slope(self, margins: Array, targets: Array) -> Array:
        halves = 0.5 * np.sign(targets)  # a label beyond 1 would make a record count for more than is paid
        slopes = np.tanh(halves * margins)
        slopes -= 1.0
        slopes *= halves
        return np.asarray(slopes)

    def wide_slope(self, margins: Pair, targets: Array) -> Pair:
        signs = np.sign(targets)
        ahead = signs * margins[0], signs * margins[1]
        away = np.where(ahead[0] > 0.0, -1.0, 1.0)
        small = wide.power((away * ahead[0], away * ahead[1]))  # e^-|m|
        top = np.where(ahead[0] > 0.0, small[0], 1.0), np.where(ahead[0] > 0.0, small[1], 0.0)
        share = wide.over(top, wide.add(wide.pair(1.0), small))
        return -signs * share[0], -signs * share[1]

    def curvature(self, margins: Array, targets: Array) -> Array:
        t = np.asarray(special().expit(-np.abs(margins)))
        return t * (1.0 - t)

    @classmethod
    def examples(cls) -> Iterable[LossExample]:
        yield LossExample(cls(), (-1.0, 1.0))
