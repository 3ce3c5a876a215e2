"""Optimal composition of equal (epsilon, delta) parts (Kairouz, Oh & Viswanath)."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, bisect, round_down, round_up, special, sum_up
from privet._validate import at_least, count, fraction, open_fraction
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.errors import NoGuarantee
from privet.privacy import PrivacyLoss
from privet.privacy.atoms import any_failure

_MOST_STEPS = 2_000_000  # terms of the sum: seconds, and then refused in favour of PLD


def _rounding(steps: int) -> float:
    """Relative error of a sum of binomial weights: gammaln carries an error in proportion to its size."""
    return 1e-12 + 16.0 * UNIT_ROUNDOFF * (steps + 2) * math.log(steps + 2)


def optimal_delta(epsilon: float, delta: float, steps: int, at: float) -> float:
    """Total delta at total epsilon `at` of `steps` mechanisms, each (epsilon, delta)-DP and nothing more is known.

    **Reference:** Kairouz, Oh & Viswanath 2015, theorem 3.3.

    >>> f"{optimal_delta(0.1, 0.0, 100, 4.774567588108):.6e}"
    '1.000000e-06'
    """
    epsilon, at = at_least("epsilon", epsilon, 0.0), at_least("at", at, 0.0)
    delta, steps = fraction("delta", delta), count("steps", steps)
    if delta == 1.0:
        return 1.0
    if steps > _MOST_STEPS:
        raise NoGuarantee(f"steps must be at most {_MOST_STEPS:.0e} for the sum over all outcomes, got {steps:.0e}")
    truthful = np.arange(steps + 1)[::-1]  # number of truthful answers, loss (2 truthful - steps) epsilon, decreasing
    losses = (2.0 * truthful - steps) * epsilon
    above = losses > at
    k, losses = truthful[above], losses[above]
    gammaln = special().gammaln
    log_choose = gammaln(steps + 1.0) - gammaln(k + 1.0) - gammaln(steps - k + 1.0)
    log_mass = log_choose + k * epsilon - steps * (epsilon + math.log1p(math.exp(-epsilon)))
    excess = float(np.sum(np.exp(log_mass) * -np.expm1(at - losses)))
    return -math.expm1(steps * math.log1p(-delta) + math.log1p(-min(excess, 1.0))) if excess < 1.0 else 1.0


def optimal_epsilon(epsilon: float, delta: float, steps: int, target: float) -> float:
    """Smallest total epsilon at total delta `target`, on the safe side.

    >>> round(optimal_epsilon(0.1, 0.0, 100, 1e-6), 10)
    4.7745675881
    """
    epsilon, delta = at_least("epsilon", epsilon, 0.0), fraction("delta", delta)
    steps, target = count("steps", steps), open_fraction("target", target)
    if delta == 1.0 or steps * math.log1p(-delta) <= math.log1p(-target):
        raise NoGuarantee(f"the parts alone fail with probability above the target {target:.3g}")
    if optimal_delta(epsilon, delta, steps, 0.0) <= target:
        return 0.0
    return bisect(lambda e: optimal_delta(epsilon, delta, steps, e) <= target, 0.0, steps * epsilon, within=1e-14)


@dataclass(frozen=True)
class Optimal(Accountant):
    """The exact composition of equal parts of which only (epsilon, delta) is known.

    **Guarantee:** tight over all mechanisms with that statement; two-sided when the loss says no more than it.
    **Reference:** Kairouz, Oh & Viswanath 2015; unequal parts are #P-hard (Murtagh & Vadhan 2016): use PLD.
    **Proof:** docs/proofs/accounting/optimal.md.

    >>> from privet import privacy
    >>> round(Optimal().epsilon(privacy.Repeated(privacy.ApproxLoss(0.1, 1e-9), 100), 1e-6).upper, 8)
    4.78772376
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        part, steps = _single_part(loss)
        epsilon, delta0 = part.approximate()
        error, lost = _rounding(steps), any_failure([(delta0, steps)])
        if lost > delta:
            raise NoGuarantee(f"the parts alone fail with probability {lost:.3g}, above the target {delta:.3g}")
        upper = sum_up([(epsilon, steps)])  # there nothing but the failures is left
        if lost < delta * (1.0 - error):
            upper = min(upper, optimal_epsilon(epsilon, delta0, steps, delta * (1.0 - error)) * (1.0 + 1e-12))
        lower = 0.0
        if part.known_only_as() is not None:
            lower = optimal_epsilon(epsilon, delta0, steps, min(delta * (1.0 + error), 1.0 - 1e-16)) * (1.0 - 1e-12)
        return Bound(lower, upper, "optimal composition (KOV)", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        part, steps = _single_part(loss)
        own, delta0 = part.approximate()
        # the losses are multiples of a double: as if epsilon moved by a few units in its last place
        value = optimal_delta(own, delta0, steps, round_down(epsilon, 8.0))
        lower = 0.0
        if part.known_only_as() is not None:
            lower = optimal_delta(own, delta0, steps, round_up(epsilon, 8.0)) * (1.0 - _rounding(steps))
        return Bound(lower, min(1.0, value * (1.0 + _rounding(steps))), "optimal composition (KOV)", loss.unit)


def _single_part(loss: PrivacyLoss) -> tuple[PrivacyLoss, int]:
    parts = loss.parts()
    if not parts:
        return loss, 0
    if len(parts) != 1 or not math.isfinite(parts[0][0].approximate().epsilon):
        raise NoGuarantee("optimal composition needs equal parts with a finite (epsilon, delta); use PLD otherwise")
    if parts[0][1] > _MOST_STEPS:
        raise NoGuarantee(f"optimal composition is summed term by term, up to {_MOST_STEPS} steps; use PLD")
    return parts[0]
