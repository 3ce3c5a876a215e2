"""The plurality of votes with Laplace noise."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet import noise
from privet._numerics import Array, product_up, ratio_down
from privet._validate import above, set_frozen
from privet.errors import NoGuarantee
from privet.mechanisms import Example, register
from privet.pate.aggregator import Aggregator
from privet.pate.small_votes import moved
from privet.pate.vote_law import LaplaceVotes
from privet.pate.vote_theorems import ln_theorem, log_losing_laplace
from privet.privacy import Guarantee, PrivacyLoss, PureLoss, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class LNMax(Aggregator):
    """The class with the largest count plus Laplace noise of scale 1/`gamma`, in each query: the lectures' aggregation.

    **Guarantee:** of a query pure 2 gamma.
    **Reference:** Papernot et al. 2017. **Proof:** docs/proofs/pate/ln_max.md.

    >>> LNMax(gamma=0.0625, queries=100, classes=10).loss.pure()
    12.5
    """

    name = "pate_ln_max"
    _winner = staticmethod(noise.argmax_laplace)
    _noise = "laplace"

    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, gamma=above("gamma", self.gamma, 0.0))

    @property
    def noise_scale(self) -> Fraction:
        return 1 / Fraction(self.gamma)

    @property
    def law(self) -> LaplaceVotes:
        return LaplaceVotes(self.gamma)

    def _bound(self, counts: Array, orders: Array) -> Array:
        return ln_theorem(log_losing_laplace(counts, self.gamma), self.gamma, orders)

    def _query(self, unit: Unit) -> PrivacyLoss:
        return PureLoss(product_up(2.0, self.gamma), unit=unit)

    @classmethod
    def _noise_for(cls, target: Guarantee, moved: int, queries: int) -> dict[str, float]:
        if target.epsilon is None:
            raise NoGuarantee("Laplace noise keeps an epsilon: give one, or take GNMax")
        return {"gamma": ratio_down(target.epsilon, 2 * moved * queries)}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        target = Guarantee(1.0)
        yield Example(cls.for_budget(epsilon=1.0, queries=1, classes=2), *moved([[0, 4]], [[1, 3]]), target)
        replaced = cls(gamma=0.25, queries=2, classes=3, unit=Unit("replace"))
        yield Example(replaced, *moved([[0, 6, 0]] * 2, [[2, 4, 0]] * 2), detects=0.3)
