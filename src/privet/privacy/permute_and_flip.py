"""Permute-and-flip selection."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._numerics import Array
from privet._validate import at_least, set_frozen
from privet.privacy.laplace import LaplaceLoss
from privet.privacy.loss import PrivacyLoss, RdpCurve
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable

_WIDEST = 1e300  # a smaller epsilon is priced as if it were 1e-300


@register
@dataclass(frozen=True, eq=False)
class PermuteAndFlipLoss(PrivacyLoss):
    """Permute-and-flip selection with budget epsilon; never worse in utility than the exponential mechanism.

    It is the same as reporting the largest utility with exponential noise, and no pair of neighbours is easier to tell
    apart than two Laplace laws whose largest loss is epsilon (proof note). The bounded range of the exponential mechanism
    does not carry over.

    **Guarantee:** pure epsilon; delta(e) <= 1 - exp((e - epsilon)/2) for |e| <= epsilon, as for Laplace noise of scale
    1/epsilon. **Reference:** McKenna & Sheldon 2020; Ding et al. 2021 for the noise.
    **Proof:** docs/proofs/privacy/permute_and_flip.md.

    >>> PermuteAndFlipLoss(0.5).pure()
    0.5
    >>> round(float(PermuteAndFlipLoss(0.5).profile(0.0)), 10)
    0.2211992169
    """

    kind = "permute_and_flip"

    epsilon: float = field(metadata={"help": "epsilon of one release"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, epsilon=at_least("epsilon", self.epsilon, 0.0))

    def pure(self) -> float:
        return self.epsilon

    def _noise(self) -> LaplaceLoss:
        """Laplace noise with the same largest loss."""
        return LaplaceLoss(min(1.0 / self.epsilon, _WIDEST) if self.epsilon > 0.0 else math.inf, unit=self.unit)

    def rdp(self, alphas: Array) -> RdpCurve:
        return self._noise().rdp(alphas)

    def variable(self, direction: Direction) -> LossVariable:
        return self._noise().variable(direction)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.5)
