"""Binary randomized response."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._calls import door
from privet._numerics import LARGEST_EXPONENT, round_up
from privet._validate import at_least, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.loss import Approximate, PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit


@register
@dataclass(frozen=True, eq=False)
class RandomizedResponseLoss(PrivacyLoss):
    """One bit, reported truthfully with probability e^eps/(1 + e^eps).

    **Guarantee:** pure epsilon, exactly; the lie has probability 1/(1 + e^eps). Relation: replace.
    **Reference:** Warner 1965; Kairouz, Oh & Viswanath 2015.
    **Proof:** docs/proofs/privacy/k_rr.md.

    >>> round(RandomizedResponseLoss.from_lie_probability(0.25).epsilon, 10)  # a fair coin decides whether to answer
    1.0986122887
    """

    kind = "randomized_response"
    exact = True

    epsilon: float = field(metadata={"help": "epsilon of one release"})
    unit: Unit = field(default=Unit("replace"), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, epsilon=at_least("epsilon", self.epsilon, 0.0))

    @classmethod
    @door
    def from_lie_probability(cls, lie: float, *, unit: Unit | None = None) -> "RandomizedResponseLoss":
        """The price of reporting the opposite bit with probability `lie` <= 1/2.

        >>> round(RandomizedResponseLoss.from_lie_probability(0.5).epsilon, 3)
        0.0
        """
        if open_fraction("lie", lie) > 0.5:
            raise InvalidParameter(f"lie must be at most 1/2, got {lie}; flip the meaning of the answer instead")
        lie = at_least("lie", lie, 0.0)
        odds = math.log1p((1.0 - 2.0 * lie) / lie) if lie > 0.25 else math.log((1.0 - lie) / lie)
        return cls(round_up(odds, 4.0), unit=unit or Unit("replace"))

    @property
    def lie_probability(self) -> float:
        """Probability of reporting the opposite bit: 1/(1 + e^epsilon)."""
        return 1.0 / (1.0 + math.exp(self.epsilon)) if self.epsilon < LARGEST_EXPONENT else math.exp(-self.epsilon)

    def pure(self) -> float:
        return self.epsilon

    def known_only_as(self) -> Approximate:
        return self.approximate()

    def response(self) -> tuple[int, float]:
        return 2, self.epsilon

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(1.0986122886681098)
