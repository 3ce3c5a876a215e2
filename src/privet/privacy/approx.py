"""Approximate differential privacy as a statement about a mechanism that is not otherwise known."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._validate import at_least, fraction, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.loss import Approximate, PrivacyLoss
from privet.privacy.serial import register


@register
@dataclass(frozen=True, eq=False)
class ApproxLoss(PrivacyLoss):
    """A mechanism known to be (epsilon, delta)-DP at this one point.

    It has no finite Rényi divergence: with probability delta anything may happen. Answers carry that delta along.

    **Guarantee:** Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta for every event; not a statement about single
    outcomes. **Reference:** Dwork et al. 2006; Kairouz, Oh & Viswanath 2015 for the worst pair.
    **Proof:** docs/proofs/privacy/pure_and_approx.md.

    >>> ApproxLoss(0.5, 1e-6).approximate()
    Approximate(epsilon=0.5, delta=1e-06)
    """

    kind = "approx"
    exact = True

    epsilon: float = field(metadata={"help": "epsilon of one release"})
    delta: float = field(metadata={"help": "delta of one release"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, epsilon=at_least("epsilon", self.epsilon, 0.0), delta=fraction("delta", self.delta))
        if self.delta == 1.0:
            raise InvalidParameter("delta = 1 promises nothing; expected delta < 1")

    def pure(self) -> float:
        return self.epsilon if self.delta == 0.0 else math.inf

    def approximate(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)

    def known_only_as(self) -> Approximate:
        return self.approximate()

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.5, 1e-6)
        yield cls(0.1, 0.0)
        yield cls(0.0, 1e-6)
        yield cls(1.0, 0.01)
