"""The common ground of prices whose worst pair is two normal distributions."""

import math
from abc import abstractmethod

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array, square_up
from privet.privacy.families.normal import NormalVariable
from privet.privacy.loss import PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.variable import AtomicVariable, Direction, LossVariable


class NormalLoss(PrivacyLoss):
    """Base of the prices that are exactly mu-GDP: every question has its closed form; a subclass says what mu is.

    **Guarantee:** mu-GDP, rho = mu^2/2, Renyi divergence alpha mu^2/2. mu = 0 is free.
    **Reference:** Dong, Roth & Su 2019.

    >>> from privet.privacy import GaussianLoss, GdpLoss
    >>> isinstance(GaussianLoss(2.0), NormalLoss), GdpLoss(0.5).zcdp() == GaussianLoss(2.0).zcdp()
    (True, True)
    """

    exact = True

    @abstractmethod
    def gaussian(self) -> float:
        """mu: the distance of the two worlds in standard deviations."""

    def pure(self) -> float:
        return 0.0 if self.gaussian() == 0.0 else math.inf

    def gdp(self) -> float:
        return self.gaussian()

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(square_up(self.gaussian()) / 2.0, 0.0)

    def rdp(self, alphas: Array) -> RdpCurve:
        return RdpCurve(orders_of(alphas) * self.zcdp().rho * (1.0 + 4.0 * UNIT_ROUNDOFF), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if self.gaussian() == 0.0:
            return AtomicVariable(np.zeros(1), np.ones(1), np.ones(1))
        return NormalVariable(self.gaussian())
