"""Whole plans under a filter, and why a PLD total is not one."""

from typing import NoReturn

import numpy as np

from privet._numerics import TINY
from privet._validate import above, open_fraction
from privet.accounting.renyi import best_order, epsilon_of_renyi
from privet.accounting.tightest import epsilon as fixed_epsilon
from privet.errors import NoGuarantee
from privet.privacy import ApproxLoss, PrivacyLoss


def best_order_for(loss: PrivacyLoss, *, epsilon: float, delta: float) -> float:
    """The order at which an `RdpFilter` for (epsilon, delta) grants the most copies of this loss.

    **Guarantee:** none is needed: every order fixed before the first charge is valid.

    >>> from privet import privacy
    >>> step = privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01)
    >>> 15 < best_order_for(step, epsilon=1.0, delta=1e-5) < 30
    True
    """
    above("epsilon", epsilon, 0.0)
    open_fraction("delta", delta)

    def shortage(alpha: float) -> float:  # minus the number of copies; without room, how much room is missing
        room = epsilon - epsilon_of_renyi(alpha, 0.0, delta)
        price = float(loss.rdp(np.array([alpha])).values[0])
        return -room / max(price, TINY) if room > 0.0 else -room

    order = best_order(shortage)[0]
    if shortage(order) >= 0.0:
        raise NoGuarantee("no order leaves room for this loss under the target; ask for a larger epsilon or delta")
    return order


def plan_point(loss: PrivacyLoss, *, delta: float) -> ApproxLoss:
    """A whole plan as one charge: the tight (epsilon, delta) of losses that are all declared before the first release.

    Inside the plan outputs may steer *what* is asked, never what it costs or whether the plan goes on.

    **Guarantee:** the plan is one (epsilon, delta)-DP mechanism, which every filter with a delta may charge.

    >>> from privet import privacy
    >>> plan = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000)
    >>> round(plan_point(plan, delta=1e-7).epsilon, 2)
    1.21
    """
    return ApproxLoss(fixed_epsilon(loss, delta=delta).upper, delta, unit=loss.unit)


def pld_filter(epsilon: float, *, delta: float) -> NoReturn:
    """Refuses: composing privacy-loss distributions until the budget's curve is crossed is not a filter.

    **Guarantee:** none exists in general. Charge a plan declared in advance through `plan_point`, or open another rule.
    **Reference:** "f-DP filters: validity and approximate solutions" 2026, arXiv 2602.06756.

    >>> pld_filter(1.0, delta=1e-5)
    Traceback (most recent call last):
    privet.errors.NoGuarantee: a PLD total is no stopping rule: ...
    """
    raise NoGuarantee(
        "a PLD total is no stopping rule: with adaptively chosen losses it can be overrun although the composed curve "
        "stays within the budget (arXiv 2602.06756). Charge a plan declared in advance as one loss (plan_point), or "
        "open the budget with RdpFilter, ZcdpFilter or GdpFilter"
    )
