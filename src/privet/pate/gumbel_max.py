"""The plurality of votes with Gumbel noise: a class chosen by the exponential mechanism."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet import noise
from privet._numerics import ratio_up
from privet._validate import above, set_frozen
from privet.mechanisms import Example, register
from privet.pate.aggregator import Aggregator
from privet.pate.small_votes import moved
from privet.pate.vote_law import GumbelVotes
from privet.privacy import ExponentialLoss, PrivacyLoss, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class GumbelMax(Aggregator):
    """The class with the largest count plus Gumbel noise of this `scale`, in each query.

    **Guarantee:** of a query pure 2/scale, of bounded range 2/scale.
    **Reference:** McSherry & Talwar 2007; Dong, Durfee & Rogers 2020. **Proof:** docs/proofs/pate/gumbel_max.md.

    >>> GumbelMax(scale=16.0, queries=8, classes=2).loss.pure()
    1.0
    """

    name = "pate_gumbel_max"
    _winner = staticmethod(noise.argmax_gumbel)

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, scale=above("scale", self.scale, 0.0))

    @property
    def noise_scale(self) -> Fraction:
        return Fraction(self.scale)

    @property
    def law(self) -> GumbelVotes:
        return GumbelVotes(self.scale)

    def _query(self, unit: Unit) -> PrivacyLoss:
        return ExponentialLoss(ratio_up(2.0, self.scale), unit=unit)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(scale=2.0, queries=1, classes=2), *moved([[0, 4]], [[1, 3]]))
        replaced = cls(scale=4.0, queries=2, classes=3, unit=Unit("replace"))
        yield Example(replaced, *moved([[0, 6, 0]] * 2, [[2, 4, 0]] * 2), detects=0.3)
