"""The plurality of votes with Laplace noise."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

from privet import noise
from privet._numerics import product_up, ratio_down
from privet._validate import above, count, set_frozen
from privet.errors import NoGuarantee
from privet.mechanisms import Example, register
from privet.pate.aggregator import Aggregator, teachers_of
from privet.pate.small_votes import moved
from privet.pate.vote_law import LaplaceVotes
from privet.privacy import Guarantee, PrivacyLoss, Promise, PureLoss, Unit, as_unit


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
    def for_budget(
        cls,
        *,
        queries: int,
        classes: int,
        unit: Unit | None = None,
        fixed_ids: bool = False,
        **promise: Unpack[Promise],
    ) -> "LNMax":
        """The aggregator whose answers keep a pure promise together; Laplace noise has no use for a delta.

        >>> LNMax.for_budget(epsilon=1.0, queries=8, classes=2).gamma
        0.0625
        """
        target, unit = Guarantee(**promise), as_unit(unit)
        if target.epsilon is None:
            raise NoGuarantee("Laplace noise keeps an epsilon: give one, or take GNMax")
        gamma = ratio_down(target.epsilon, 2 * teachers_of(unit, fixed_ids) * count("queries", queries, 1))
        return cls(gamma=gamma, queries=queries, classes=classes, unit=unit, fixed_ids=fixed_ids)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        target = Guarantee(1.0)
        yield Example(cls.for_budget(epsilon=1.0, queries=1, classes=2), *moved([[0, 4]], [[1, 3]]), target)
        replaced = cls(gamma=0.25, queries=2, classes=3, unit=Unit("replace"))
        yield Example(replaced, *moved([[0, 6, 0]] * 2, [[2, 4, 0]] * 2), detects=0.3)
