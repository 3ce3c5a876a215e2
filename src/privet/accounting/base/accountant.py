"""What every accountant is: a pure function of a price."""

from abc import ABC, abstractmethod

from privet.accounting.base.bound import Bound
from privet.privacy import PrivacyLoss

__all__ = ["Accountant"]


class Accountant(ABC):
    """Turns a loss into numbers. Accountants are frozen values without state.

    **Guarantee:** every `Bound` holds for every mechanism with this loss; `NoGuarantee` is raised instead of infinity.

    >>> from privet import accounting, privacy
    >>> float(accounting.Basic().epsilon(privacy.PureLoss(0.5), 0.0))
    0.5
    """

    @abstractmethod
    def epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        """Smallest epsilon that this method proves at delta."""

    @abstractmethod
    def delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        """Smallest delta that this method proves at epsilon."""
