"""Advanced composition, as the lectures state it and with the sharper drift term."""

import math
from dataclasses import dataclass

from privet._numerics import ROOMY_EXPONENT, bisect, bracket, round_down, round_up
from privet._validate import above, at_least, count, open_fraction
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss


def advanced_epsilon(epsilon: float, steps: int, delta_prime: float, *, sharp: bool = True) -> float:
    """epsilon sqrt(2 T ln(1/delta')) + T * drift; drift is epsilon tanh(epsilon/2), or epsilon (e^epsilon - 1) as taught.

    **Reference:** Dwork, Rothblum & Vadhan 2010; Dwork & Rothblum 2016 for the expected loss epsilon tanh(epsilon/2).

    >>> round(advanced_epsilon(0.1, 100, 1e-6), 4), round(advanced_epsilon(0.1, 100, 1e-6, sharp=False), 4)
    (5.7561, 6.3082)
    """
    at_least("epsilon", epsilon, 0.0)
    steps = count("steps", steps)
    open_fraction("delta_prime", delta_prime)
    if not sharp and epsilon > ROOMY_EXPONENT:
        raise NoGuarantee("exp(epsilon) overflows in the drift as taught; use the sharp drift")
    drift = epsilon * (math.tanh(epsilon / 2.0) if sharp else math.expm1(epsilon))
    return epsilon * math.sqrt(2.0 * steps * math.log(1.0 / delta_prime)) + steps * drift


def per_step_epsilon_corollary(total: float, steps: int, delta_prime: float) -> float:
    """The lectures' corollary: epsilon <= total / sqrt(8 T ln(1/delta')); stated for 0 < total <= 1.

    It also needs delta' away from 1: we refuse delta' > 1/2, where the promised total is not kept.

    >>> round(per_step_epsilon_corollary(1.0, 100, 1e-6), 8)
    0.00951199
    """
    total, delta_prime = above("total", total, 0.0), open_fraction("delta_prime", delta_prime)
    if total > 1.0 or delta_prime > 0.5:
        raise InvalidParameter("the corollary holds for total epsilon <= 1 and delta' <= 1/2; use per_step_epsilon")
    return total / math.sqrt(8.0 * count("steps", steps, 1) * math.log(1.0 / delta_prime))


def per_step_epsilon(total: float, steps: int, delta_prime: float, *, sharp: bool = False) -> float:
    """The exact inverse of advanced composition: the largest epsilon per step that keeps the total.

    >>> round(per_step_epsilon(1.0, 100, 1e-6), 8)
    0.01837567
    """
    total = above("total", total, 0.0)

    def over(epsilon: float) -> bool:
        return advanced_epsilon(epsilon, steps, delta_prime, sharp=sharp) > total

    low, high = bracket(over, total)
    return bisect(lambda epsilon: not over(epsilon), high, low)


@dataclass(frozen=True)
class Advanced(Accountant):
    """Advanced composition of (epsilon_i, delta_i): sqrt(2 ln(1/delta') sum eps^2) + sum eps tanh(eps/2).

    What is left of the target delta after the sum of the parts' deltas is spent as delta'. Never worse than basic.

    **Guarantee:** (epsilon', sum delta + delta'), adaptively. **Reference:** Dwork, Rothblum & Vadhan 2010; Kairouz, Oh &
    Viswanath 2015, theorem 3.5 for unequal parts.

    >>> from privet import privacy
    >>> round(Advanced().epsilon(privacy.Repeated(privacy.PureLoss(0.1), 100), 1e-6).upper, 4)
    5.7561
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        total = loss.approximate()
        rest = round_down(delta - total.delta)
        if total.delta > delta:
            raise NoGuarantee(f"the parts spend delta {total.delta:.3g}, more than the target {delta:.3g}")
        squares, drift = _moments(loss)
        best = total.epsilon
        if rest > 0.0 and math.isfinite(squares):
            best = min(best, round_up(math.sqrt(-2.0 * math.log(rest) * squares) + drift, 16.0))
        return Bound(0.0, best, "advanced composition", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        total = loss.approximate()
        if total.epsilon <= epsilon:
            return Bound(0.0, total.delta, "advanced composition", loss.unit)
        squares, drift = _moments(loss)
        if not math.isfinite(squares) or epsilon <= drift:
            raise NoGuarantee(f"advanced composition proves nothing at epsilon {epsilon:.6g} for this loss")
        room = round_down(epsilon - drift)
        exponent = round_down(room * room / (2.0 * squares), 8.0)
        delta = round_up(total.delta + round_up(math.exp(-exponent), 4.0))
        return Bound(0.0, min(1.0, delta), "advanced composition", loss.unit)


def _moments(loss: PrivacyLoss) -> tuple[float, float]:
    """Sum of epsilon^2 and of epsilon tanh(epsilon/2) over the parts, rounded up."""
    parts = [(part.approximate().epsilon, n) for part, n in loss.parts()]
    return (
        round_up(math.fsum(n * e * e for e, n in parts), 4.0),
        round_up(math.fsum(n * e * math.tanh(e / 2.0) for e, n in parts if math.isfinite(e)), 8.0),
    )
