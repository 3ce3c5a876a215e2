"""Zero-concentrated differential privacy."""

import math
from dataclasses import dataclass

from privet._numerics import minimise
from privet._validate import finite, open_fraction
from privet.accounting.base import Accountant, Bound
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss, ZcdpBound

__all__ = ["Zcdp", "zcdp_epsilon"]


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon at delta of rho-zCDP, over all real orders (never the loose rho + 2 sqrt(rho ln(1/delta))).

    **Reference:** Canonne, Kamath & Steinke 2020, corollary 13.

    >>> round(zcdp_epsilon(0.5, 1e-6), 8)
    5.22153444
    """
    rho, delta = finite("rho", rho), open_fraction("delta", delta)
    if rho < 0.0:
        raise InvalidParameter(f"rho must be at least 0, got {rho}")
    if rho == 0.0:
        return 0.0
    guess = math.log(math.sqrt(-math.log(delta) / rho))

    def objective(log_order: float) -> float:
        above = math.exp(log_order)  # alpha - 1, which alpha itself may be too coarse to show
        log_alpha = math.log1p(above)
        return rho * (1.0 + above) + log_order - log_alpha - (log_alpha + math.log(delta)) / above

    return max(0.0, minimise(objective, guess - 8.0, guess + 2.0)[1])


def _finite(loss: PrivacyLoss) -> ZcdpBound:
    bound = loss.zcdp()
    if not math.isfinite(bound.rho):
        raise NoGuarantee(f"the loss {loss.kind!r} has no finite zCDP parameter; use RDP or PLD")
    return bound


@dataclass(frozen=True)
class Zcdp(Accountant):
    """rho adds up; all orders hold at once, so the conversion may choose the best one afterwards.

    **Guarantee:** adaptive composition, also with adaptively chosen parameters (it is a filter).
    **Reference:** Bun & Steinke 2016; Canonne, Kamath & Steinke 2020.

    >>> from privet import privacy
    >>> round(Zcdp().epsilon(privacy.ZcdpLoss(0.1), 1e-6).upper, 8)
    2.14193893
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        rho, delta0 = _finite(loss)
        if delta <= delta0:
            raise NoGuarantee(f"the parts already set aside a failure probability of {delta0:.3g}; ask for more")
        return Bound(0.0, zcdp_epsilon(rho, delta - delta0), "zCDP", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        rho, delta0 = _finite(loss)
        if rho == 0.0:
            return Bound(0.0, delta0, "zCDP", loss.unit)
        guess = math.log(max(1e-6, (epsilon - rho) / (2.0 * rho)))

        def objective(log_order: float) -> float:
            alpha = 1.0 + math.exp(log_order)
            return (alpha - 1.0) * (rho * alpha - epsilon) + alpha * math.log1p(-1.0 / alpha) - math.log(alpha - 1.0)

        value = minimise(objective, guess - 5.0, guess + 3.0)[1]
        return Bound(0.0, min(1.0, delta0 + math.exp(min(0.0, value))), "zCDP", loss.unit)
