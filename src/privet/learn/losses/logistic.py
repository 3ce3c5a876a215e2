"""The logistic loss."""

from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array, special
from privet.learn.losses.loss import Loss


@final
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

    def curvature(self, margins: Array, targets: Array) -> Array:
        t = np.asarray(special().expit(-np.abs(margins)))
        return t * (1.0 - t)
