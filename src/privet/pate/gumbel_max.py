"""The plurality of votes with Gumbel noise: a class chosen by the exponential mechanism."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

from privet import noise
from privet._numerics import ratio_up
from privet._validate import above, count, set_frozen
from privet.errors import NoGuarantee
from privet.mechanisms import Example, register
from privet.pate.aggregator import Aggregator, teachers_of
from privet.pate.small_votes import moved
from privet.pate.vote_law import GumbelVotes
from privet.privacy import ExponentialLoss, Guarantee, PrivacyLoss, Promise, Unit, as_unit


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
    def for_budget(
        cls,
        *,
        queries: int,
        classes: int,
        unit: Unit | None = None,
        fixed_ids: bool = False,
        **promise: Unpack[Promise],
    ) -> "GumbelMax":
        """The aggregator whose answers keep a pure promise together.

        >>> GumbelMax.for_budget(epsilon=1.0, queries=8, classes=2).scale
        16.0
        """
        target, unit = Guarantee(**promise), as_unit(unit)
        if target.epsilon is None:
            raise NoGuarantee("Gumbel noise keeps an epsilon: give one, or take GNMax")
        scale = ratio_up(2 * teachers_of(unit, fixed_ids) * count("queries", queries, 1), target.epsilon)
        return cls(scale=scale, queries=queries, classes=classes, unit=unit, fixed_ids=fixed_ids)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        target = Guarantee(1.0)
        yield Example(cls.for_budget(epsilon=1.0, queries=1, classes=2), *moved([[0, 4]], [[1, 3]]), target)
        replaced = cls(scale=4.0, queries=2, classes=3, unit=Unit("replace"))
        yield Example(replaced, *moved([[0, 6, 0]] * 2, [[2, 4, 0]] * 2), detects=0.3)
