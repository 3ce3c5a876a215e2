"""Two-sided geometric noise, as the discrete Laplace and the geometric mechanism add it."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, ratio_up
from privet._validate import set_frozen
from privet.mechanisms.families.integer import integer_scale, whole_sensitivity
from privet.mechanisms.mechanism import Source
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.mechanisms.target import pure_scale, smallest_scale
from privet.privacy import DiscreteLaplaceLoss, Guarantee, PrivacyLoss


@final
@dataclass(frozen=True)
class TwoSidedGeometric:
    """The law Pr[k] = tanh(1/(2 scale)) exp(-|k|/scale).

    >>> round(TwoSidedGeometric(1.0).expected, 4), TwoSidedGeometric(1.0).quantile(0.05)
    (0.8509, 3)
    """

    scale: float

    def draw(self, shape: tuple[int, ...], source: Source) -> Array:
        """Independent integers."""
        return np.asarray(noise.discrete_laplace(scale=self.scale, size=shape, source=source))

    def cdf(self, k: Array) -> Array:
        """Pr[noise <= k]."""
        beyond = np.exp(-(np.abs(k) + (k >= 0.0)) / self.scale) / (1.0 + math.exp(-1.0 / self.scale))
        return np.where(k < 0.0, beyond, 1.0 - beyond)

    def quantile(self, tail: float) -> float:
        """The least r with Pr[|noise| > r] = 2 exp(-(r + 1)/scale) / (1 + exp(-1/scale)) <= tail."""
        enough = -self.scale * (math.log(tail / 2.0) + math.log1p(math.exp(-1.0 / self.scale))) - 1.0
        return max(0.0, math.ceil(enough))

    @property
    def expected(self) -> float:
        """E|noise| = 1/sinh(1/scale), without overflow."""
        small = 1.0 / self.scale
        return 2.0 * math.exp(-small) / -math.expm1(-2.0 * small)


class GeometricNoise:
    """A mixin for mechanisms that add this noise: a scale that can be drawn, a whole l1 sensitivity, and their price."""

    scale: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the mechanism that this is mixed into
        bound = as_sensitivity(self.sensitivity, norm="l1")
        whole_sensitivity(bound)
        set_frozen(self, scale=integer_scale("scale", self.scale), sensitivity=bound)

    @property
    def loss(self) -> PrivacyLoss:
        """Exact: the pair of the noise and the noise moved by the sensitivity."""
        return DiscreteLaplaceLoss(self.scale, whole_sensitivity(self.sensitivity), unit=self.sensitivity.unit)

    @kept_property
    def _law(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(self.scale)


def smallest_geometric_scale(target: Guarantee, sensitivity: Sensitivity) -> float:
    """The smallest scale of two-sided geometric noise that meets the target.

    >>> smallest_geometric_scale(Guarantee(0.5), Sensitivity(3, norm="l1"))
    6.0
    """
    moved = whole_sensitivity(sensitivity)
    start = float(moved)
    if target.epsilon is not None and target.delta == 0.0:  # the price is the sensitivity over the scale
        start = ratio_up(moved, target.epsilon)
    scale = smallest_scale(lambda scale: DiscreteLaplaceLoss(scale, moved), target, start=start)
    return pure_scale(scale, sensitivity.value, target)
