"""The common ground of noise with an exponential tail, Laplace's and that of `Ball`: its price and its calibration."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.mechanisms.sensitivity import Sensitivity
from privet.mechanisms.target import pure_noise, ratio_down
from privet.privacy import Guarantee, LaplaceLoss


class LaplaceScale:
    """A mixin for mechanisms whose density falls by exp(-distance/scale) in the norm of their sensitivity."""

    scale: float
    sensitivity: Sensitivity

    @classmethod
    def _fields_for(cls, target: Guarantee, sensitivity: Fraction) -> dict[str, Any]:
        return {"scale": pure_noise(lambda scale: LaplaceLoss(scale=scale), target, sensitivity)}

    def _noise_cdf(self, x: Array) -> Array:
        half = np.exp(-np.abs(x) / self.scale) / 2.0
        return np.where(x < 0.0, half, 1.0 - half)

    def _quantile(self, tail: float) -> float:
        return -self.scale * math.log(tail)

    @property
    def loss(self) -> LaplaceLoss:
        """The loss of one number that moves by the sensitivity: no vector that moves by it, in any direction, costs more.

        **Proof:** docs/proofs/mechanisms/ball.md.
        """
        return LaplaceLoss(scale=ratio_down(self.scale, self.sensitivity.value), unit=self.sensitivity.unit)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise on a single number."""
        return math.sqrt(2.0) * self.scale
