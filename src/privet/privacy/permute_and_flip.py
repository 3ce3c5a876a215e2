"""Permute-and-flip selection."""

from dataclasses import dataclass

from privet._validate import at_least
from privet.privacy.base import PrivacyLoss, register

__all__ = ["PermuteAndFlipLoss"]


@register
@dataclass(frozen=True, eq=False)
class PermuteAndFlipLoss(PrivacyLoss):
    """Permute-and-flip selection with budget epsilon; never worse in utility than the exponential mechanism.

    Priced as pure epsilon: the bounded-range refinement of the exponential mechanism is not claimed for it.

    **Guarantee:** pure epsilon (epsilon/2 of the utility weight on each side). **Reference:** McKenna & Sheldon 2020.

    >>> PermuteAndFlipLoss(0.5).pure()
    0.5
    """

    kind = "permute_and_flip"

    epsilon: float

    def __post_init__(self) -> None:
        self._set(epsilon=at_least("epsilon", self.epsilon, 0.0))

    def pure(self) -> float:
        return self.epsilon
