"""Zero-concentrated differential privacy."""

import math
from dataclasses import dataclass

from privet._numerics import minimise, round_down, round_up
from privet._validate import finite, open_fraction
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.accounting.renyi import best_order, epsilon_of_renyi, log_delta_of_renyi
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss, ZcdpBound

_PER_OCTAVE = 1 << 16  # a closed form is cheap to ask: orders as dense as that leave nothing to gain


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
    guess = math.log2(math.sqrt(-math.log(delta) / rho))
    if guess < -20.0:
        return _near_one(rho, delta, guess * math.log(2.0))
    _, value = best_order(lambda a: epsilon_of_renyi(a, round_up(rho * a), delta), guess, _PER_OCTAVE)
    return max(0.0, value)


def _near_one(rho: float, delta: float, guess: float) -> float:
    """The epsilon of a large rho, in terms of ln(alpha - 1), which alpha itself is too coarse to show."""

    def objective(log_order: float) -> float:
        above = math.exp(log_order)
        log_alpha = math.log1p(above)
        return rho * (1.0 + above) + log_order - log_alpha - (log_alpha + math.log(delta)) / above

    return max(0.0, round_up(minimise(objective, guess - 8.0, guess + 2.0)[1], 64.0))


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
    **Proof:** docs/proofs/accounting/rdp.md.

    >>> from privet import privacy
    >>> round(Zcdp().epsilon(privacy.ZcdpLoss(0.1), 1e-6).upper, 8)
    2.14193893
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        rho, delta0 = _finite(loss)
        if delta <= delta0:
            raise NoGuarantee(f"the parts already set aside a failure probability of {delta0:.3g}; ask for more")
        # at a large delta the formula falls below 0, where an epsilon of 0 is as good
        return Bound(0.0, max(0.0, zcdp_epsilon(rho, round_down(delta - delta0))), "zCDP", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        rho, delta0 = _finite(loss)
        if rho == 0.0:
            return Bound(0.0, delta0, "zCDP", loss.unit)
        guess = math.log2(max(1e-6, (epsilon - rho) / (2.0 * rho)))
        _, value = best_order(lambda a: log_delta_of_renyi(a, round_up(rho * a), epsilon), guess, _PER_OCTAVE)
        delta = round_up(delta0 + round_up(math.exp(min(0.0, value)), 4.0))
        return Bound(0.0, min(1.0, delta), "zCDP", loss.unit)
