"""k-ary randomized response."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import Array, exp_capped
from privet._validate import at_least, count, set_frozen
from privet.privacy.binary import binary_variable
from privet.privacy.loss import Blanket, PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable


@register
@dataclass(frozen=True, eq=False)
class KRRLoss(PrivacyLoss):
    """k-ary randomized response: the true value with probability e^eps/(e^eps + k - 1), else any other one.

    **Guarantee:** pure epsilon, exact pair with the three losses epsilon, 0, -epsilon. The relation is replace: a
    person's value is exchanged. **Reference:** Kairouz, Bonawitz & Ramage 2016.
    **Proof:** docs/proofs/privacy/k_rr.md.

    >>> round(float(KRRLoss(k=1024, epsilon=2.0).profile(0.0)), 10)
    0.006200625
    """

    kind = "k_rr"
    exact = True

    k: int = field(metadata={"help": "number of possible answers"})
    epsilon: float = field(metadata={"help": "epsilon of one release"})
    unit: Unit = field(default=Unit("replace"), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, k=count("k", self.k, 2), epsilon=at_least("epsilon", self.epsilon, 0.0))

    def pure(self) -> float:
        return self.epsilon

    def variable(self, direction: Direction) -> LossVariable:
        if self.k == 2 or self.epsilon == 0.0:
            return binary_variable(self.epsilon)
        lie = 1.0 / (exp_capped(self.epsilon) + self.k - 1)
        truth = 1.0 / (1.0 + (self.k - 1) * math.exp(-self.epsilon))
        p = np.array([lie, (self.k - 2) * lie, truth])
        losses = np.array([-self.epsilon, 0.0, self.epsilon])
        return AtomicVariable(losses, p, p[::-1].copy(), 0.0, 0.0, (0.0, self.epsilon))

    def blanket(self, epsilons: Array) -> Blanket:
        """Exact: the least probability of an output is that of a lie, and only the outputs x and x' tell them apart."""
        lie = np.full(len(epsilons), 1.0 / (exp_capped(self.epsilon) + self.k - 1))
        return Blanket(lie, lie, (self.k - 2) * float(lie[0]) if len(lie) else 0.0)

    def response(self) -> tuple[int, float]:
        return self.k, self.epsilon

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(3, 1.3862943611198906)
        yield cls(1024, 2.0)
        yield cls(2, 0.5)
