"""Zero-concentrated differential privacy as a statement about a mechanism that is not otherwise known."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array, product_up
from privet._validate import at_least, set_frozen
from privet.privacy.loss import PrivacyLoss, ZcdpBound, real_numbers
from privet.privacy.renyi import variable_of_rdp
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable

_LEAST_ABOVE, _MOST_ABOVE = (
    -700.0,
    345.0,
)  # logarithms of an order less 1: delta is 1 before, and squares overflow beyond
_LARGEST = 1e150  # of epsilon: delta is no double long before, and products stay finite
_UNDERFLOWN = 1e-323  # two of the smallest doubles: by so much an exponential near 0 may be too small
_HALVINGS = 60  # of that range: to 1e-15, at which the bound, flat around its best order, is not worse by a last digit
_COARSE = 1.1  # a pair that is worse than the formula by no more is left as it is: one curve for all that is made of it
_LOST = 32.0 * UNIT_ROUNDOFF  # of the sizes of what is added up, a few roundings each


@register
@dataclass(frozen=True, eq=False)
class ZcdpLoss(PrivacyLoss):
    """A mechanism known to be rho-zCDP.

    **Guarantee:** Rényi divergence of every order a > 1 at most rho a. **Reference:** Bun & Steinke 2016.
    **Proof:** docs/proofs/privacy/zcdp_rdp_gdp.md.

    >>> ZcdpLoss(0.5).zcdp()
    ZcdpBound(rho=0.5, delta0=0.0)
    """

    kind = "zcdp"

    rho: float = field(metadata={"help": "rho of one release"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, rho=at_least("rho", self.rho, 0.0))

    def pure(self) -> float:
        return 0.0 if self.rho == 0.0 else math.inf

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(self.rho, 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        return variable_of_rdp(self)

    def profile(self, epsilon: Array | float, direction: Direction | None = None) -> Array:
        """delta(epsilon): that of the pair, whose curve connects dots; where these are too coarse or have ended, that of
        the best Rényi order.
        """
        at = real_numbers("epsilon", epsilon)
        pair, proved = super().profile(at, direction), delta_of_zcdp(self.rho, np.maximum(at, 0.0))
        return np.where((at > 0.0) & (_COARSE * proved < pair), proved, pair)

    def grouped(self, size: int) -> PrivacyLoss:
        return ZcdpLoss(product_up(self.rho, size, size), unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.1)
        yield cls(0.0)


def delta_of_zcdp(rho: float, epsilons: Array) -> Array:
    """delta of rho-zCDP at epsilons >= 0: that of the best Rényi order, rounded up.

    ln delta = h (rho - epsilon) + h^2 rho + h ln h - (1 + h) ln(1 + h), in the order less 1, h. Its slope
    rho (1 + 2h) - epsilon - ln(1 + 1/h) increases with h, so that the best order is found by halving; every order is valid.

    **Reference:** Canonne, Kamath & Steinke 2020, proposition 12.

    >>> round(float(delta_of_zcdp(0.5, np.array(5.22153444))), 12)
    1e-06
    """
    epsilons = np.minimum(epsilons, _LARGEST)
    low, high = np.full(epsilons.shape, _LEAST_ABOVE), np.full(epsilons.shape, _MOST_ABOVE)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        h = np.exp(middle)
        rising = rho * (1.0 + 2.0 * h) - np.log1p(1.0 / h) > epsilons
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    h = np.exp(high)
    # h ln h - (1 + h) ln(1 + h), of parts that do not cancel: by ln(1 + 1/h) where h is large
    steep, flat = np.where(h > 1.0, -h * np.log1p(1.0 / h), h * high), np.where(h > 1.0, 1.0, 1.0 + h) * np.log1p(h)
    terms = h * (rho - epsilons), h * rho * h, steep, -flat
    log_delta = sum(terms) + _LOST * sum(np.abs(term) for term in terms)
    return np.minimum(1.0, np.exp(np.minimum(0.0, log_delta)) * (1.0 + _LOST) + _UNDERFLOWN)
