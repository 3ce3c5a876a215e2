"""The least noise multiplier of a Gaussian for (epsilon, delta), from its exact curve."""

import math

from privet._numerics import TINY


def analytic_noise_multiplier(epsilon: float, delta: float) -> float:
    """sigma/sensitivity at which the exact curve passes through (epsilon, delta), on the safe side by at most 1e-12 (1e-10
    for an epsilon below 0.01).

    **Reference:** Balle & Wang 2018, theorem 8.

    In logs, so that delta = 1e-300 works: ln delta = ln Phi(x) + ln(1 - exp(gap)) with x = mu/2 - epsilon/mu,
    y = -mu/2 - epsilon/mu and gap = epsilon + ln Phi(y) - ln Phi(x).

    >>> round(analytic_noise_multiplier(1.0, 1e-6), 10)
    4.2246788893
    """
    goal = math.log(delta)
    low, high = 0.0, 0.0  # ln of the multiplier: too little noise, enough noise
    while _log_delta(high, epsilon) > goal:
        low, high = high, high + 1.0
    while low == high or _log_delta(low, epsilon) <= goal:
        low, high = low - 1.0, low
    from scipy.optimize import brentq

    root = brentq(lambda s: _log_delta(s, epsilon) - goal, low, high, xtol=1e-14, rtol=1e-14)
    step = 1e-13
    while _log_delta(root + step, epsilon) + _rounding(root + step, epsilon) > goal:
        step *= 2.0
    return math.exp(root + step)


def _log_delta(log_multiplier: float, epsilon: float) -> float:
    from scipy.special import log_ndtr

    mu = math.exp(-log_multiplier)
    gap = _gap(mu, epsilon)
    return float(log_ndtr(mu / 2.0 - epsilon / mu)) + math.log(-math.expm1(gap)) if gap < 0.0 else -math.inf


def _gap(mu: float, epsilon: float) -> float:
    """epsilon + ln Phi(y) - ln Phi(x). Since exp(epsilon) phi(y) = phi(x), only the slowly moving parts of the tails
    remain: differences of the logarithms themselves lose all digits where these are large and mu is small."""
    from scipy.special import erfcx, log_ndtr

    x, y = mu / 2.0 - epsilon / mu, -mu / 2.0 - epsilon / mu
    if x > 5.0:
        return epsilon + float(log_ndtr(y)) - float(log_ndtr(x))
    return math.log(float(erfcx(-y / math.sqrt(2.0))) / float(erfcx(-x / math.sqrt(2.0))))


def _rounding(log_multiplier: float, epsilon: float) -> float:
    """A generous bound on the rounding error of `_log_delta`."""
    mu = math.exp(-log_multiplier)
    gap, x = _gap(mu, epsilon), mu / 2.0 - epsilon / mu
    return 4e-15 * (4.0 + x * x + (1.0 + max(x, 0.0) * mu) / max(-gap, TINY))
