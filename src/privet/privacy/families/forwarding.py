"""Prices that answer as another one does: under a label, for a person, in one of several steps."""

from abc import abstractmethod
from dataclasses import dataclass

from privet._numerics import Array
from privet.privacy.loss import Approximate, PrivacyLoss, RdpCurve, ZcdpBound
from privet.privacy.variable import Direction, LossVariable


@dataclass(frozen=True, eq=False)
class Forwarding(PrivacyLoss):
    """Base of the prices whose answers are those of `_answering`, except where a member says otherwise."""

    @property
    @abstractmethod
    def _answering(self) -> PrivacyLoss:
        """The price that is asked instead."""

    def pure(self) -> float:
        return self._answering.pure()

    def approximate(self) -> Approximate:
        return self._answering.approximate()

    def zcdp(self) -> ZcdpBound:
        return self._answering.zcdp()

    def gdp(self) -> float:
        return self._answering.gdp()

    def gaussian(self) -> float | None:
        return self._answering.gaussian()

    def rdp(self, alphas: Array) -> RdpCurve:
        return self._answering.rdp(alphas)

    def variable(self, direction: Direction) -> LossVariable:
        return self._answering.variable(direction)
