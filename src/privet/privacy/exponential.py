"""The exponential mechanism, through its bounded range."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import ROOMY_EXPONENT, UNIT_ROUNDOFF, Array, square_up
from privet._validate import at_least, flag, set_frozen
from privet.privacy.binary import binary_rdp, binary_variable
from privet.privacy.families.sampling import MARGIN
from privet.privacy.families.within import WithinEpsilon
from privet.privacy.loss import PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.serial import register
from privet.privacy.variable import Direction, Enclosure, LossVariable, SymmetricVariable


@dataclass(frozen=True, eq=False)
class BoundedRangeVariable(WithinEpsilon, SymmetricVariable):
    """The envelope of all pairs whose loss lies in some interval [t - epsilon, t]: P-density of L ~ exp(L/2).

    >>> round(float(BoundedRangeVariable(1.0).delta(0.0)), 10)
    0.2449186624
    """

    epsilon: float

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        e = self.epsilon
        low, width = self._pieces(nodes)
        total = 2.0 * math.sinh(e / 2.0)
        p = np.exp(low / 2.0) * np.expm1(width / 2.0) / total
        q = np.exp(-low / 2.0) * -np.expm1(-width / 2.0) / total
        return p, q

    def delta(self, epsilon: Array | float) -> Array:
        e, r = np.asarray(epsilon, dtype=float), self.epsilon
        inside = np.expm1((np.minimum(e, r) - r) / 2.0) ** 2 / -math.expm1(-r)
        return np.where(e < -r, -np.expm1(np.minimum(e, 0.0)), inside)

    def enclose(self, epsilon: float) -> Enclosure:
        low, high = (float(self.delta(epsilon + move)) for move in (MARGIN * self.epsilon, -MARGIN * self.epsilon))
        return low * (1.0 - 1e-14), min(1.0, high * (1.0 + 1e-14))


@register
@dataclass(frozen=True, eq=False)
class ExponentialLoss(PrivacyLoss):
    """The exponential mechanism with weights exp(epsilon u / (2 Delta u)); `monotonic` utilities have half the range.

    Several calls: the Rényi bound of the bounded range is often tighter than composing the one-call envelope, and both
    hold adaptively; `accounting` takes the better one.

    **Guarantee:** pure epsilon (epsilon/2 when monotonic), of bounded range equal to the same number; one call has
    delta(e) <= (1 - exp((e - r)/2))^2/(1 - exp(-r)) with r the range. **Error:** utility within
    (2 Delta u/epsilon) ln(|T|/beta) of the best with probability 1 - beta.
    **Reference:** McSherry & Talwar 2007; Dong, Durfee & Rogers 2020.
    **Proof:** docs/proofs/privacy/exponential.md.

    >>> round(float(ExponentialLoss(1.0).profile(0.0)), 10)
    0.2449186624
    """

    kind = "exponential"

    epsilon: float = field(metadata={"help": "epsilon of one release"})
    monotonic: bool = field(default=False, metadata={"help": "the utility moves one way only"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, epsilon=at_least("epsilon", self.epsilon, 0.0), monotonic=flag("monotonic", self.monotonic))

    @property
    def range(self) -> float:
        """Length of the interval that holds the privacy loss."""
        return self.epsilon / 2.0 if self.monotonic else self.epsilon

    def pure(self) -> float:
        return self.range

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(square_up(self.range) / 8.0, 0.0)

    def rdp(self, alphas: Array) -> RdpCurve:
        a = orders_of(alphas)
        if self.range > ROOMY_EXPONENT:
            return RdpCurve(np.minimum(binary_rdp(self.range, a), a * (self.zcdp().rho * (1.0 + MARGIN))), 0.0)
        values = [bounded_range_rdp(self.range, float(alpha)) for alpha in a.ravel()]
        return RdpCurve(np.minimum(np.reshape(values, a.shape), a * (self.zcdp().rho * (1.0 + MARGIN))), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        wide = self.range > ROOMY_EXPONENT or self.range == 0.0
        return binary_variable(self.range) if wide else BoundedRangeVariable(self.range)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(1.0)
        yield cls(1.0, monotonic=True)
        yield cls(0.0)


def bounded_range_rdp(epsilon: float, alpha: float) -> float:
    """Largest Rényi divergence of order alpha over pairs with loss in [t - epsilon, t], all t; rounded up.

    For each t the worst pair has the two losses t and t - epsilon. With y = e^{t - epsilon} its moment is a product of a
    power of y and a linear function of y, largest at y = (1 - 1/a)(1 - e^{-a epsilon})/(1 - e^{-(a-1) epsilon}); what
    follows is that value. For small epsilon its terms cancel, and a epsilon^2/8 is the better bound.

    >>> 0.12 < bounded_range_rdp(1.0, 1.0 + 1e-6) <= 0.125 * (1.0 + 1e-6)
    True
    """
    if epsilon == 0.0:
        return 0.0
    whole, rest, one = (math.log(-math.expm1(-x)) for x in (alpha * epsilon, (alpha - 1.0) * epsilon, epsilon))
    terms = (
        epsilon,
        math.log1p(-1.0 / alpha),
        whole,
        -rest,
        *(t / (alpha - 1.0) for t in (whole, -math.log(alpha), -one)),
    )
    lost = 2.0 + 2.0 / (alpha - 1.0) + math.fsum(abs(term) for term in terms)
    value = math.fsum(terms) + 8.0 * UNIT_ROUNDOFF * lost
    return min(value, epsilon, alpha * (epsilon * epsilon / 8.0) * (1.0 + MARGIN))
