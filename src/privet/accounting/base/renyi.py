"""From a Rényi bound to epsilon and delta, rounded to the safe side."""

import math

from privet._numerics import UNIT_ROUNDOFF

__all__ = ["epsilon_of_renyi", "log_delta_of_renyi"]


def epsilon_of_renyi(alpha: float, value: float, delta: float) -> float:
    """epsilon at delta from one Rényi bound: R + ln(1 - 1/a) - ln(a delta)/(a - 1), rounded up.

    **Reference:** Canonne, Kamath & Steinke 2020, proposition 12; Balle et al. 2020, theorem 21.

    >>> round(epsilon_of_renyi(2.0, 1.0, 1e-5), 6)
    11.126631
    """
    spread = math.log1p(-1.0 / alpha), math.log(alpha) / (alpha - 1.0), math.log(delta) / (alpha - 1.0)
    lost = 8.0 * UNIT_ROUNDOFF * (abs(value) + math.fsum(abs(term) for term in spread))
    return value + spread[0] - spread[1] - spread[2] + lost


def log_delta_of_renyi(alpha: float, value: float, epsilon: float) -> float:
    """ln delta at epsilon from one Rényi bound: (a - 1)(R - epsilon) + a ln(1 - 1/a) - ln(a - 1), rounded up.

    >>> round(log_delta_of_renyi(2.0, 1.0, 11.126631), 6) == round(math.log(1e-5), 6)
    True
    """
    terms = (alpha - 1.0) * value, -(alpha - 1.0) * epsilon, alpha * math.log1p(-1.0 / alpha), -math.log(alpha - 1.0)
    return math.fsum(terms) + 8.0 * UNIT_ROUNDOFF * math.fsum(abs(term) for term in terms)
