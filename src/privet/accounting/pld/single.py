"""One release alone: its profile needs no grid."""

import math

from privet.privacy import PrivacyLoss
from privet.privacy.base import DIRECTIONS

__all__ = ["single_delta", "single_epsilon"]

_LEAST = 1e-8  # below this the difference of two tails has too few digits: the grid does better


def _delta(loss: PrivacyLoss, epsilon: float) -> tuple[float, float]:
    """delta(epsilon), the larger of both directions, and a bound on its rounding error."""
    value = max(float(loss.variable(direction).delta(epsilon)) for direction in DIRECTIONS)
    return value, 2e-13 + 4e-12 * value  # ndtr is good to 6e-14


def single_delta(loss: PrivacyLoss, epsilon: float) -> tuple[float, float] | None:
    """Enclosure of delta(epsilon), or None when it is too small for this way.

    >>> from privet import privacy
    >>> low, high = single_delta(privacy.LaplaceLoss(2.0), 0.0)
    >>> low <= 0.2211992169285951 <= high
    True
    """
    value, error = _delta(loss, epsilon)
    return None if value < _LEAST else (max(0.0, value - error), min(1.0, value + error))


def single_epsilon(loss: PrivacyLoss, delta: float) -> tuple[float, float] | None:
    """Enclosure of the smallest epsilon >= 0 with delta(epsilon) <= delta, or None when delta is too small.

    >>> from privet import privacy
    >>> low, high = single_epsilon(privacy.ExponentialLoss(1.0), 1e-5)
    >>> low <= 0.9949652666 <= high + 1e-10
    True
    """
    variables = [loss.variable(direction) for direction in DIRECTIONS]
    if delta < _LEAST or max(v.p_only for v in variables) >= delta:
        return None
    tops = [v.span(1e-3 * delta)[1] for v in variables]
    tops += [float(v.atoms().losses[-1]) for v in variables if len(v.atoms().losses)]
    ends = []
    for sign in (-1.0, 1.0):  # the enclosure of the curve crosses the target at these two places
        low, high = 0.0, max(0.0, *tops) + 1e-9
        for _ in range(100):
            middle = 0.5 * (low + high)
            value, error = _delta(loss, middle)
            low, high = (low, middle) if value + sign * error <= delta else (middle, high)
            if high - low <= 1e-13 * (1.0 + high):
                break
        ends.append(low if sign < 0.0 else high)
    value, error = _delta(loss, ends[1])
    return None if value + error > delta or math.isnan(value) else (min(ends), ends[1])
