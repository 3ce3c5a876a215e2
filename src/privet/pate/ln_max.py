"""The plurality of votes with Laplace noise."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet import noise
from privet._numerics import product_up
from privet._validate import above, set_frozen
from privet.mechanisms import Example, register
from privet.pate.aggregator import Aggregator
from privet.pate.small_votes import moved
from privet.pate.vote_law import LaplaceVotes
from privet.privacy import PrivacyLoss, PureLoss, Unit


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

    def _query(self, unit: Unit) -> PrivacyLoss:
        return PureLoss(product_up(2.0, self.gamma), unit=unit)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(gamma=0.5, queries=1, classes=2), *moved([[0, 4]], [[1, 3]]))
        replaced = cls(gamma=0.25, queries=2, classes=3, unit=Unit("replace"))
        yield Example(replaced, *moved([[0, 6, 0]] * 2, [[2, 4, 0]] * 2), detects=0.3)
