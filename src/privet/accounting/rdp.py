"""Rényi differential privacy (the moments accountant) with a continuous order."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import round_down, round_up
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.accounting.renyi import best_order, epsilon_of_renyi, log_delta_of_renyi
from privet.errors import NoGuarantee
from privet.privacy import PrivacyLoss


@dataclass(frozen=True)
class Rdp(Accountant):
    """The accountant of Rényi divergences, which add up at each order; the best real order is found for each question.

    **Guarantee:** adaptive composition at every fixed order. The order may be chosen afterwards: since the parts are
    fixed in advance, the bounds of all orders hold together.
    **Reference:** Mironov 2017; Abadi et al. 2016 (moments accountant: order lambda + 1).
    **Proof:** docs/proofs/accounting/rdp.md.

    >>> from privet import privacy
    >>> loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000)
    >>> round(Rdp().epsilon(loss, 1e-5).upper, 3)
    1.035
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        rest = round_down(delta - _set_aside(loss))
        if rest <= 0.0:
            raise NoGuarantee(
                f"the parts already set aside a failure probability of {delta - rest:.3g}; ask for a larger delta"
            )

        def objective(alpha: float) -> float:
            return epsilon_of_renyi(alpha, float(loss.rdp(np.array([alpha])).values[0]), rest)

        order, value = best_order(objective, given=loss.stated_orders())
        return Bound(0.0, max(0.0, value), f"RDP, order {order:.4g}", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        def objective(alpha: float) -> float:
            return log_delta_of_renyi(alpha, float(loss.rdp(np.array([alpha])).values[0]), epsilon)

        order, value = best_order(objective, given=loss.stated_orders())
        delta = round_up(math.exp(min(0.0, value)), 4.0)
        return Bound(0.0, min(1.0, round_up(_set_aside(loss) + delta)), f"RDP, order {order:.4g}", loss.unit)


def _set_aside(loss: PrivacyLoss) -> float:
    """The probability of the event outside of which the Rényi divergences of a loss hold: one event for all orders."""
    return loss.rdp(np.array([2.0])).delta0
