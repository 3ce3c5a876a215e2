"""Noisy sums over a binary tree of steps."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._numerics import ratio_down, ratio_up, root_up
from privet._validate import above_or_infinite, count, set_frozen
from privet.privacy.families.normal_loss import NormalLoss
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register


@register
@dataclass(frozen=True, eq=False)
class TreeAggregationLoss(NormalLoss):
    """All prefix sums of `steps` steps from a binary tree, Gaussian noise on every node; a record takes part in one step.

    Each step lies below at most floor(log2 steps) + 1 complete nodes, so a record moves that many sums. Several trees of
    one epoch: the largest of them. A record in several epochs: `Repeated`. A record in up to k steps of one tree:
    `Grouped(..., k)`.

    **Guarantee:** mu-GDP with mu = sqrt(levels)/noise_multiplier, exactly; later steps may depend on earlier sums.
    **Sensitivity:** l2 of one step; the multiplier is relative to it. **Error:** a prefix sum adds at most `levels` nodes.
    **Reference:** Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011; Kairouz et al. 2021.
    **Proof:** docs/proofs/privacy/tree_aggregation.md.

    >>> TreeAggregationLoss(noise_multiplier=5.0, steps=1000).levels
    10
    """

    kind = "tree_aggregation"

    noise_multiplier: float = field(metadata={"help": "standard deviation over l2-sensitivity"})
    steps: int = field(metadata={"help": "steps of the tree"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, noise_multiplier=above_or_infinite("noise_multiplier", self.noise_multiplier, 0.0))
        set_frozen(self, steps=count("steps", self.steps, 1))

    @property
    def levels(self) -> int:
        """The number of nodes that hold one step, at most."""
        return self.steps.bit_length()

    def gaussian(self) -> float:
        return ratio_up(root_up(self.levels), self.noise_multiplier)

    def grouped(self, size: int) -> PrivacyLoss:
        return TreeAggregationLoss(ratio_down(self.noise_multiplier, size), self.steps, unit=self.unit)

    attained_by_groups = False  # several records of one step attain it; several steps of one person cost less

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(5.0, 1000)
        yield cls(2.0, 1)
