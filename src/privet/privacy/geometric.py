"""The geometric mechanism, parametrised by the ratio of neighbouring probabilities."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._numerics import product_up, round_up
from privet._validate import count, open_fraction, set_frozen
from privet.privacy.families.integer import MOST_ATOMS, shifted_geometric
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable


@register
@dataclass(frozen=True, eq=False)
class GeometricLoss(PrivacyLoss):
    """Integer noise with Pr[x] proportional to ratio^|x|: discrete Laplace of scale -1/ln(ratio).

    A rational ratio can be sampled exactly without any logarithm.

    **Guarantee:** pure epsilon = sensitivity * ln(1/ratio). **Sensitivity:** an integer, l1.
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009.
    **Proof:** docs/proofs/privacy/discrete_laplace.md.

    >>> round(GeometricLoss(ratio=0.5).pure(), 6)
    0.693147
    """

    kind = "geometric"
    on_a_line = True
    ratio: float = field(metadata={"help": "ratio of neighbouring probabilities"})
    sensitivity: int = field(default=1, metadata={"help": "the integer sensitivity"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(
            self, ratio=open_fraction("ratio", self.ratio), sensitivity=count("sensitivity", self.sensitivity, 1)
        )

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """True up to the sensitivity at which `variable` still lists every outcome; beyond, it is a bound."""
        return self.sensitivity <= MOST_ATOMS

    def pure(self) -> float:
        return product_up(round_up(-math.log(self.ratio), 2.0), self.sensitivity)

    def variable(self, direction: Direction) -> LossVariable:  # the noise is symmetric: both directions are alike
        return shifted_geometric(-math.log(self.ratio), self.sensitivity)

    def grouped(self, size: int) -> PrivacyLoss:
        return GeometricLoss(self.ratio, self.sensitivity * size, unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.5)
        yield cls(0.9, sensitivity=4)
