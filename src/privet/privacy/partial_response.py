"""The price of reports that say something only now and then, and then by randomized response."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import exp_capped
from privet._validate import at_least, fraction, set_frozen
from privet.privacy.binary import binary_variable
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable


@register
@dataclass(frozen=True, eq=False)
class PartialResponseLoss(PrivacyLoss):
    """With probability `share` an answer of randomized response, else one that both neighbours give alike.

    The worst pair of unary encoding (share 1/2 where it is optimised), Hadamard response (1/2), subset selection and local
    hashing: whatever the protocol, two values are told apart by three losses.

    **Guarantee:** pure epsilon, exact pair with the losses epsilon, 0, -epsilon. Relation: replace.
    **Reference:** Wang, Blocki, Li & Jha 2017. **Proof:** docs/proofs/privacy/partial_response.md.

    >>> loss = PartialResponseLoss(1.0, share=0.5)
    >>> loss.pure(), round(float(loss.profile(0.0)), 9)
    (1.0, 0.231058579)
    """

    kind = "partial_response"
    exact = True

    epsilon: float = field(metadata={"help": "epsilon of one release"})
    share: float = field(default=0.5, metadata={"help": "how often a report tells two values apart"})
    unit: Unit = field(default=Unit("replace"), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, epsilon=at_least("epsilon", self.epsilon, 0.0), share=fraction("share", self.share))

    def pure(self) -> float:
        return self.epsilon if self.share else 0.0

    def variable(self, direction: Direction) -> LossVariable:
        if self.epsilon == 0.0 or self.share == 0.0:
            return AtomicVariable(np.zeros(1), np.ones(1), np.ones(1))
        if self.share == 1.0:
            return binary_variable(self.epsilon)
        lie = 1.0 / (1.0 + exp_capped(self.epsilon))
        truth = 1.0 / (1.0 + exp_capped(-self.epsilon))
        p = np.array([self.share * lie, 1.0 - self.share, self.share * truth])
        losses = np.array([-self.epsilon, 0.0, self.epsilon])
        return AtomicVariable(losses, p, p[::-1].copy(), known_lattice=(0.0, self.epsilon))

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(1.0)
        yield cls(2.0, 0.876)
        yield cls(0.5, 1.0)
        yield cls(0.0)
