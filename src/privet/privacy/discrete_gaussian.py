"""The discrete Gaussian mechanism on the integers."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privet._validate import above, count
from privet.errors import NoGuarantee
from privet.privacy.base import AtomicVariable, Direction, LossVariable, PrivacyLoss, ZcdpBound, register

__all__ = ["DiscreteGaussianLoss"]

_LARGEST_SIGMA = 1e5
_REACH = 39.0  # standard deviations: the mass outside is below 1e-330


@register
@dataclass(frozen=True, eq=False)
class DiscreteGaussianLoss(PrivacyLoss):
    """Integer noise with Pr[x] proportional to exp(-x^2 / (2 sigma^2)), on an integer query.

    **Guarantee:** rho-zCDP with rho = sensitivity^2/(2 sigma^2), in every dimension; for a scalar query with integer
    sensitivity also the exact pair, by summing the law. In several dimensions no scalar pair dominates: zCDP only.
    **Sensitivity:** l2; an integer when dimension is 1. **Reference:** Canonne, Kamath & Steinke 2020, theorem 4.

    >>> DiscreteGaussianLoss(sigma=4.0).zcdp().rho
    0.03125
    """

    kind = "discrete_gaussian"
    exact = True

    sigma: float
    sensitivity: int = 1
    dimension: int = 1

    def __post_init__(self) -> None:
        self._set(
            sigma=above("sigma", self.sigma, 0.0),
            sensitivity=count("sensitivity", self.sensitivity, 1),
            dimension=count("dimension", self.dimension, 1),
        )

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound((self.sensitivity / self.sigma) ** 2 / 2.0, 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if self.dimension > 1 or self.sigma > _LARGEST_SIGMA:
            raise NoGuarantee(
                "the exact curve of discrete Gaussian noise is known for scalar queries with sigma up to 1e5; "
                "use the zCDP or RDP accountant, or rounded Gaussian noise (GaussianLoss)"
            )
        return _shifted_discrete_gaussian(self.sigma, self.sensitivity)

    def grouped(self, size: int) -> PrivacyLoss:
        return DiscreteGaussianLoss(self.sigma, self.sensitivity * size, self.dimension, unit=self.unit)


@lru_cache(maxsize=64)
def _shifted_discrete_gaussian(sigma: float, shift: int) -> LossVariable:
    """The law at 0 against the law at `shift`: L(x) = shift (shift - 2x) / (2 sigma^2), a lattice."""
    reach = math.ceil(_REACH * sigma) + shift
    x = np.arange(reach + shift, -reach - 1, -1, dtype=float)  # decreasing x: increasing loss
    p = np.exp(-0.5 * (x / sigma) ** 2)
    total = p.sum()
    q = np.exp(-0.5 * ((x - shift) / sigma) ** 2) / total
    p /= total
    step = shift / (2.0 * sigma * sigma)
    losses = step * (shift - 2.0 * x)
    seen = (p > 0.0) | (q > 0.0)  # a mass that underflows is tiny, not impossible: its loss stays finite
    return AtomicVariable(losses[seen], p[seen], q[seen], 0.0, 0.0, (step * shift, 2.0 * step))
