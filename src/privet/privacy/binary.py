"""The worst pair of all (epsilon, delta)-DP mechanisms: randomized response, plus a failure of probability delta."""

import math

import numpy as np

from privet._cache import remember
from privet._numerics import LARGEST_EXPONENT, UNIT_ROUNDOFF, Array, exp_capped
from privet.privacy.variable import AtomicVariable


def binary_variable(epsilon: float, delta: float = 0.0) -> AtomicVariable:
    """Loss +-epsilon with the odds of randomized response; mass delta where the other world is impossible.

    **Reference:** Kairouz, Oh & Viswanath 2015, theorem 3.1 (this pair dominates every (epsilon, delta)-DP one).

    >>> binary_variable(0.0, 0.25).p_only
    0.25
    """
    found: AtomicVariable = _binary(float(epsilon), float(delta))
    return found


@remember(1_000_000)  # one question asks for the pair of a part a dozen times
def _binary(epsilon: float, delta: float) -> AtomicVariable:
    rest = 1.0 - delta
    if epsilon == 0.0:
        return AtomicVariable(np.zeros(1), np.array([rest]), np.array([rest]), delta, delta)
    lie = rest / (1.0 + math.exp(epsilon)) if epsilon < LARGEST_EXPONENT else rest * math.exp(-epsilon)
    truth = rest / (1.0 + math.exp(-epsilon))
    losses = np.array([-epsilon, epsilon])
    return AtomicVariable(losses, np.array([lie, truth]), np.array([truth, lie]), delta, delta)


def binary_rdp(epsilon: float, alphas: Array) -> Array:
    """Rényi divergence of the randomized-response pair, rounded up: at most min(epsilon, alpha epsilon^2 / 2).

    Written as ln(1 + x)/(alpha - 1) with x = (e^{a eps} + e^{(1-a) eps})/(1 + e^eps) - 1 collected so that small
    epsilon keeps its digits: x = (e^{(a-1) eps} - 1)(e^{a eps} - 1) e^{(1-a) eps}/(1 + e^eps).
    """
    if not math.isfinite(epsilon):
        return np.full(np.shape(alphas), math.inf)
    a = np.asarray(alphas, dtype=float)
    small = (a * epsilon) < 500.0
    with np.errstate(over="ignore"):
        x = np.expm1((a - 1.0) * epsilon) * -np.expm1(-a * epsilon) * np.exp(epsilon) / (1.0 + exp_capped(epsilon))
        near = np.log1p(np.where(small, x, 0.0)) / (a - 1.0) * (1.0 + 32.0 * UNIT_ROUNDOFF)
    return np.minimum(np.where(small, near, epsilon), epsilon)
