"""The Gaussian mechanism."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array
from privet._validate import above
from privet.privacy.base import (
    AtomicVariable,
    Direction,
    LossVariable,
    NormalVariable,
    PrivacyLoss,
    RdpCurve,
    ZcdpBound,
    register,
)

__all__ = ["GaussianLoss"]


@register
@dataclass(frozen=True, eq=False)
class GaussianLoss(PrivacyLoss):
    """Normal noise of standard deviation `noise_multiplier` times the l2-sensitivity under `unit`.

    Clip norm C means sensitivity C under add_remove and 2C under replace; the multiplier is relative to that.

    **Guarantee:** mu-GDP with mu = 1/noise_multiplier, exactly; rho-zCDP with rho = mu^2/2. Infinite noise is free.
    **Sensitivity:** l2, in every dimension. **Error:** standard deviation noise_multiplier * sensitivity per coordinate.
    **Reference:** Balle & Wang 2018; Dong, Roth & Su 2019.

    >>> round(float(GaussianLoss(noise_multiplier=1.0).profile(0.0)), 10)
    0.3829249225
    """

    kind = "gaussian"
    exact = True

    noise_multiplier: float

    def __post_init__(self) -> None:
        if self.noise_multiplier != math.inf:
            self._set(noise_multiplier=above("noise_multiplier", self.noise_multiplier, 0.0))

    @property
    def mu(self) -> float:
        """Distance of the two worlds in standard deviations."""
        return 1.0 / self.noise_multiplier

    def pure(self) -> float:
        return 0.0 if self.mu == 0.0 else math.inf

    def gaussian(self) -> float | None:
        return self.mu

    def gdp(self) -> float:
        return self.mu

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(self.mu * self.mu / 2.0, 0.0)

    def rdp(self, alphas: Array) -> RdpCurve:
        return RdpCurve(np.asarray(alphas, dtype=float) * (self.mu * self.mu / 2.0), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if self.mu == 0.0:
            return AtomicVariable(np.zeros(1), np.ones(1), np.ones(1))
        return NormalVariable(self.mu)

    def grouped(self, size: int) -> PrivacyLoss:
        return GaussianLoss(self.noise_multiplier / size, unit=self.unit)
