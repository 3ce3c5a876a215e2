"""The plurality of votes with Gumbel noise: a class chosen by the exponential mechanism."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet import noise
from privet._numerics import Array, ratio_up
from privet._validate import above, set_frozen
from privet.errors import NoGuarantee
from privet.mechanisms import Example, register
from privet.pate.aggregator import Aggregator
from privet.pate.small_votes import moved
from privet.pate.vote_law import GumbelVotes
from privet.privacy import ExponentialLoss, Guarantee, PrivacyLoss, Unit


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
    _noise = "gumbel"

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

    def _bound(self, counts: Array, orders: Array) -> Array:
        return np.broadcast_to(np.minimum(orders / (2.0 * self.scale**2), 2.0 / self.scale), (len(counts), len(orders)))

    def _query(self, unit: Unit) -> PrivacyLoss:
        return ExponentialLoss(ratio_up(2.0, self.scale), unit=unit)

    @classmethod
    def _noise_for(cls, target: Guarantee, moved: int, queries: int) -> dict[str, float]:
        if target.epsilon is None:
            raise NoGuarantee("Gumbel noise keeps an epsilon: give one, or take GNMax")
        return {"scale": ratio_up(2 * moved * queries, target.epsilon)}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        target = Guarantee(1.0)
        yield Example(cls.for_budget(epsilon=1.0, queries=1, classes=2), *moved([[0, 4]], [[1, 3]]), target)
        replaced = cls(scale=4.0, queries=2, classes=3, unit=Unit("replace"))
        yield Example(replaced, *moved([[0, 6, 0]] * 2, [[2, 4, 0]] * 2), detects=0.3)
