"""Pure differential privacy as a statement about a mechanism that is not otherwise known."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._numerics import product_up
from privet._validate import at_least, set_frozen
from privet.privacy.loss import Approximate, PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit


@register
@dataclass(frozen=True, eq=False)
class PureLoss(PrivacyLoss):
    """A mechanism known to be epsilon-DP, whatever it is.

    **Guarantee:** Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] for every event. The worst such mechanism is randomized
    response, whose pair prices compositions exactly. **Reference:** Dwork et al. 2006; Kairouz, Oh & Viswanath 2015.
    **Proof:** docs/proofs/privacy/pure_and_approx.md.

    >>> PureLoss(0.5).pure()
    0.5
    """

    kind = "pure"
    exact = True
    attained_by_groups = False  # no epsilon-DP mechanism is randomized response of k epsilon on groups of k

    epsilon: float = field(metadata={"help": "epsilon of one release"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, epsilon=at_least("epsilon", self.epsilon, 0.0))

    def pure(self) -> float:
        return self.epsilon

    def known_only_as(self) -> Approximate:
        return self.approximate()

    def response(self) -> tuple[int, float]:
        return 2, self.epsilon

    def grouped(self, size: int) -> PrivacyLoss:
        return PureLoss(product_up(self.epsilon, size), unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.5)
        yield cls(1.0, unit=Unit("replace"))
        yield cls(0.0)
