"""One release alone: its profile needs no grid."""

from privet.privacy import LossVariable, PrivacyLoss
from privet.privacy.base import DIRECTIONS

__all__ = ["single_delta", "single_epsilon"]

_Pair = tuple[LossVariable, LossVariable]


def _pair(loss: PrivacyLoss) -> _Pair:
    """Both directions, asked for once: a variable may be dear to build."""
    remove, add = (loss.variable(direction) for direction in DIRECTIONS)
    return remove, add


def _least(pair: _Pair) -> float:
    return max(variable.least for variable in pair)


def _enclosure(pair: _Pair, epsilon: float) -> tuple[float, float]:
    """delta(epsilon), the larger of both directions, from below and from above."""
    ends = [variable.enclose(epsilon) for variable in pair]
    return max(low for low, _ in ends), max(high for _, high in ends)


def single_delta(loss: PrivacyLoss, epsilon: float) -> tuple[float, float] | None:
    """Enclosure of delta(epsilon), or None when it is too small for this way.

    >>> from privet import privacy
    >>> low, high = single_delta(privacy.LaplaceLoss(2.0), 0.0)
    >>> low <= 0.2211992169285951 <= high
    True
    """
    pair = _pair(loss)
    ends = _enclosure(pair, epsilon)
    return None if ends[1] < _least(pair) else ends


def single_epsilon(loss: PrivacyLoss, delta: float) -> tuple[float, float] | None:
    """Enclosure of the smallest epsilon >= 0 with delta(epsilon) <= delta, or None when delta is too small.

    >>> from privet import privacy
    >>> low, high = single_epsilon(privacy.ExponentialLoss(1.0), 1e-5)
    >>> low <= 0.9949652666 + 1e-7 and high >= 0.9949652666 - 1e-10
    True
    """
    pair = _pair(loss)
    if delta < _least(pair) or max(variable.p_only for variable in pair) >= delta:
        return None
    tops = [variable.span(1e-3 * delta)[1] for variable in pair]
    tops += [float(losses[-1]) for losses in (variable.atoms().losses for variable in pair) if len(losses)]
    ends = []
    for side in (0, 1):  # the enclosure of the curve crosses the target at these two places
        low, high = 0.0, max(0.0, *tops) * (1.0 + 1e-12) + 1e-9
        if _enclosure(pair, low)[side] <= delta:
            ends.append(0.0)
            continue
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if _enclosure(pair, middle)[side] <= delta else (middle, high)
            if high - low <= 1e-12 * high:
                break
        ends.append(low if side == 0 else high)
    return None if _enclosure(pair, ends[1])[1] > delta else (min(ends), ends[1])
