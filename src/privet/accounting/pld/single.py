"""One release alone: its profile needs no grid."""

from privet._numerics import UNIT_ROUNDOFF
from privet.privacy import AtomicVariable, LossVariable, PrivacyLoss
from privet.privacy.base import DIRECTIONS, ReversedVariable

__all__ = ["single_delta", "single_epsilon"]

_LEAST = 1e-8  # below this the difference of two tails has too few digits: the grid does better


def _term_by_term(loss: PrivacyLoss) -> bool:
    return all(isinstance(_unmirrored(loss.variable(direction)), AtomicVariable) for direction in DIRECTIONS)


def _unmirrored(variable: LossVariable) -> LossVariable:
    return variable.of if isinstance(variable, ReversedVariable) else variable


def _least(loss: PrivacyLoss) -> float:
    return 1e-250 if _term_by_term(loss) else _LEAST


def _enclosure(loss: PrivacyLoss, epsilon: float) -> tuple[float, float]:
    """delta(epsilon), the larger of both directions, from below and from above.

    Losses are floats: each may be off by a few units in its last place, which is as if epsilon moved by as much.
    """
    ends = []
    for direction in DIRECTIONS:
        variable = loss.variable(direction)
        losses = variable.atoms().losses
        reach = max(abs(epsilon), abs(float(losses[0])), abs(float(losses[-1]))) if len(losses) else abs(epsilon)
        move = 32.0 * UNIT_ROUNDOFF * (1.0 + reach)
        ends.append([float(variable.delta(epsilon + move)), float(variable.delta(epsilon - move))])
    error = 1e-300 if _term_by_term(loss) else 2e-13  # ndtr is good to 6e-14
    low, high = max(e[0] for e in ends), max(e[1] for e in ends)
    return max(0.0, low * (1.0 - 4e-12) - error), min(1.0, high * (1.0 + 4e-12) + error)


def single_delta(loss: PrivacyLoss, epsilon: float) -> tuple[float, float] | None:
    """Enclosure of delta(epsilon), or None when it is too small for this way.

    >>> from privet import privacy
    >>> low, high = single_delta(privacy.LaplaceLoss(2.0), 0.0)
    >>> low <= 0.2211992169285951 <= high
    True
    """
    ends = _enclosure(loss, epsilon)
    return None if ends[1] < _least(loss) else ends


def single_epsilon(loss: PrivacyLoss, delta: float) -> tuple[float, float] | None:
    """Enclosure of the smallest epsilon >= 0 with delta(epsilon) <= delta, or None when delta is too small.

    >>> from privet import privacy
    >>> low, high = single_epsilon(privacy.ExponentialLoss(1.0), 1e-5)
    >>> low <= 0.9949652666 + 1e-7 and high >= 0.9949652666 - 1e-10
    True
    """
    variables = [loss.variable(direction) for direction in DIRECTIONS]
    if delta < _least(loss) or max(v.p_only for v in variables) >= delta:
        return None
    tops = [v.span(1e-3 * delta)[1] for v in variables]
    tops += [float(v.atoms().losses[-1]) for v in variables if len(v.atoms().losses)]
    ends = []
    for side in (0, 1):  # the enclosure of the curve crosses the target at these two places
        low, high = 0.0, max(0.0, *tops) * (1.0 + 1e-12) + 1e-9
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if _enclosure(loss, middle)[side] <= delta else (middle, high)
            if high - low <= 1e-13 * (1.0 + high):
                break
        ends.append(low if side == 0 else high)
    return None if _enclosure(loss, ends[1])[1] > delta else (min(ends), ends[1])
