"""Gaussian differential privacy as a statement about a mechanism that is not otherwise known."""

from dataclasses import dataclass

import numpy as np

from privet._numerics import Array
from privet._validate import at_least
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

__all__ = ["GdpLoss"]


@register
@dataclass(frozen=True, eq=False)
class GdpLoss(PrivacyLoss):
    """A mechanism known to be mu-GDP: telling two worlds apart is at least as hard as N(0,1) from N(mu,1).

    **Guarantee:** delta(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu); composes to sqrt(sum of mu^2).
    **Reference:** Dong, Roth & Su 2019.

    >>> round(float(GdpLoss(1.0).profile(1.0)), 10)
    0.1269367375
    """

    kind = "gdp"
    exact = True

    mu: float

    def __post_init__(self) -> None:
        self._set(mu=at_least("mu", self.mu, 0.0))

    def pure(self) -> float:
        return 0.0 if self.mu == 0.0 else float("inf")

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
        return GdpLoss(self.mu * size, unit=self.unit)
