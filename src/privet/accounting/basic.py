"""Basic composition: epsilons and deltas add up."""

from dataclasses import dataclass

from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.errors import NoGuarantee
from privet.privacy import PrivacyLoss


@dataclass(frozen=True)
class Basic(Accountant):
    """Sum of the parts' (epsilon, delta) statements; parallel blocks count once (the costliest).

    Sums are exact and rounded up; a double such as 0.1 counts as the number that it is, a little above 1/10.

    **Guarantee:** (sum of epsilon, sum of delta), adaptively. **Reference:** Dwork & Roth 2014, theorem 3.16.

    >>> from privet import privacy
    >>> Basic().epsilon(privacy.Repeated(privacy.ApproxLoss(0.125, 1e-7), 8), 1e-6).upper
    1.0
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        epsilon, spent = loss.approximate()
        if spent > delta:
            raise NoGuarantee(f"basic composition spends delta {spent:.3g}, more than the target {delta:.3g}")
        return Bound(0.0, epsilon, "basic composition", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        total, spent = loss.approximate()
        if total > epsilon:
            raise NoGuarantee(f"basic composition spends epsilon {total:.6g}, more than the target {epsilon:.6g}")
        return Bound(0.0, spent, "basic composition", loss.unit)
