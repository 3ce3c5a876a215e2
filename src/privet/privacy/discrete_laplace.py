"""The discrete Laplace mechanism (two-sided geometric noise) on the integers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._numerics import ratio_up
from privet._validate import above, count, set_frozen
from privet.privacy.families.integer import MOST_ATOMS, shifted_geometric
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable


@register
@dataclass(frozen=True, eq=False)
class DiscreteLaplaceLoss(PrivacyLoss):
    """Integer noise with Pr[x] proportional to exp(-|x|/scale), on an integer query.

    **Guarantee:** pure sensitivity/scale; the exact pair has the losses (sensitivity - 2j)/scale.
    **Sensitivity:** an integer, l1, in any dimension (the scalar pair dominates integer shifts, as for Laplace).
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009; Canonne, Kamath & Steinke 2020 for exact sampling.
    **Proof:** docs/proofs/privacy/discrete_laplace.md.

    >>> DiscreteLaplaceLoss(scale=2.0).pure()
    0.5
    """

    kind = "discrete_laplace"
    on_a_line = True
    scale: float = field(metadata={"help": "scale itself"})
    sensitivity: int = field(default=1, metadata={"help": "the integer sensitivity"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, scale=above("scale", self.scale, 0.0), sensitivity=count("sensitivity", self.sensitivity, 1))

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Up to the sensitivity where the pair is listed outcome by outcome."""
        return self.sensitivity <= MOST_ATOMS

    def pure(self) -> float:
        return ratio_up(self.sensitivity, self.scale)

    def variable(self, direction: Direction) -> LossVariable:
        return shifted_geometric(1.0 / self.scale, self.sensitivity)

    def grouped(self, size: int) -> PrivacyLoss:
        return DiscreteLaplaceLoss(self.scale, self.sensitivity * size, unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(2.0)
        yield cls(4.0, sensitivity=3)
