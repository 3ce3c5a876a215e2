"""Two-sided geometric noise, as the discrete Laplace and the geometric mechanism add it."""

import math
from dataclasses import dataclass

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import set_frozen
from privet.mechanisms.families.integer import IntegerMechanism, integer_scale, whole_sensitivity
from privet.mechanisms.mechanism import Source
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.mechanisms.target import pure_scale, smallest_scale
from privet.privacy import DiscreteLaplaceLoss, Guarantee


@dataclass(frozen=True, kw_only=True)
class TwoSidedGeometric(IntegerMechanism):
    """Base of the mechanisms whose noise has Pr[k] = tanh(1/(2 scale)) exp(-|k|/scale)."""

    def __post_init__(self) -> None:
        set_frozen(self, scale=integer_scale("scale", self.scale))
        set_frozen(self, sensitivity=as_sensitivity(self.sensitivity, norm="l1"))
        whole_sensitivity(self.sensitivity)

    @property
    def loss(self) -> DiscreteLaplaceLoss:
        """Exact: the pair of the noise and the noise moved by the sensitivity."""
        return DiscreteLaplaceLoss(self.scale, whole_sensitivity(self.sensitivity), unit=self.sensitivity.unit)

    def _noise(self, shape: tuple[int, ...], source: Source) -> Array:
        return np.asarray(noise.discrete_laplace(scale=self.scale, size=shape, source=source))

    def _noise_cdf(self, k: Array) -> Array:
        beyond = np.exp(-(np.abs(k) + (k >= 0.0)) / self.scale) / (1.0 + math.exp(-1.0 / self.scale))
        return np.where(k < 0.0, beyond, 1.0 - beyond)

    def _quantile(self, tail: float) -> float:
        # Pr[|X| > r] = 2 exp(-(r + 1)/scale) / (1 + exp(-1/scale))
        enough = -self.scale * (math.log(tail / 2.0) + math.log1p(math.exp(-1.0 / self.scale))) - 1.0
        return max(0.0, math.ceil(enough))

    def _expected(self, dimension: int) -> float:
        small = 1.0 / self.scale
        return dimension * 2.0 * math.exp(-small) / -math.expm1(-2.0 * small)  # 1/sinh, without overflow


def smallest_geometric_scale(target: Guarantee, sensitivity: Sensitivity) -> float:
    """The smallest scale of two-sided geometric noise that meets the target.

    >>> smallest_geometric_scale(Guarantee(0.5), Sensitivity(3, norm="l1"))
    6.0
    """
    moved = whole_sensitivity(sensitivity)
    scale = smallest_scale(lambda scale: DiscreteLaplaceLoss(scale, moved), target, start=float(moved))
    return pure_scale(scale, sensitivity.value, target)
