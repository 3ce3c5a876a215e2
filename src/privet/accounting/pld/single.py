"""Profiles that need no grid: of one release alone, and of a composition with few outcomes."""

from privet._numerics import bisect
from privet.accounting.pld.plan import Parts
from privet.privacy import DIRECTIONS, LossVariable
from privet.privacy.atoms import sum_of_atoms

_FEW = 2000  # outcomes that are summed one by one, exactly: beyond, the grid is quicker

Pair = tuple[LossVariable, LossVariable]


def without_grid(parts: Parts) -> Pair | None:
    """Both directions of a single release, or of a whole composition listed outcome by outcome while these are few.

    >>> from privet import privacy
    >>> remove, add = without_grid([(privacy.PureLoss(1.0), 2), (privacy.KRRLoss(3, 0.5), 1)])
    >>> len(remove.atoms().losses)
    9
    """
    if len(parts) == 1 and parts[0][1] == 1:
        remove, add = (parts[0][0].variable(direction) for direction in DIRECTIONS)
        return remove, add
    found = []
    for direction in DIRECTIONS:
        total = sum_of_atoms([(loss.variable(direction), n) for loss, n in parts], _FEW)
        if total is None:
            return None
        found.append(total)
    return found[0], found[1]


def _least(pair: Pair) -> float:
    return max(variable.least for variable in pair)


def _enclosure(pair: Pair, epsilon: float) -> tuple[float, float]:
    """delta(epsilon), the larger of both directions, from below and from above."""
    ends = [variable.enclose(epsilon) for variable in pair]
    return max(low for low, _ in ends), max(high for _, high in ends)


def pair_delta(pair: Pair, epsilon: float) -> tuple[float, float] | None:
    """Enclosure of delta(epsilon), or None when it is too small for this way.

    >>> from privet import privacy
    >>> low, high = pair_delta(without_grid([(privacy.LaplaceLoss(2.0), 1)]), 0.0)
    >>> low <= 0.2211992169285951 <= high
    True
    """
    ends = _enclosure(pair, epsilon)
    return None if ends[1] < _least(pair) else ends


def pair_epsilon(pair: Pair, delta: float) -> tuple[float, float] | None:
    """Enclosure of the smallest epsilon >= 0 with delta(epsilon) <= delta, or None when delta is too small.

    >>> from privet import privacy
    >>> low, high = pair_epsilon(without_grid([(privacy.ExponentialLoss(1.0), 1)]), 1e-5)
    >>> low <= 0.9949652666 + 1e-7 and high >= 0.9949652666 - 1e-10
    True
    """
    if delta < _least(pair) or max(variable.p_only for variable in pair) >= delta:
        return None
    tops = [variable.span(1e-3 * delta)[1] for variable in pair]
    tops += [float(losses[-1]) for losses in (variable.atoms().losses for variable in pair) if len(losses)]
    highest = max(0.0, *tops) * (1.0 + 1e-12) + 1e-9
    # the enclosure of the curve crosses the target at two places: its lower end first
    starts = [low > delta for low in _enclosure(pair, 0.0)]
    lower = bisect(lambda e: _enclosure(pair, e)[0] > delta, highest, 0.0, within=1e-12) if starts[0] else 0.0
    upper = bisect(lambda e: _enclosure(pair, e)[1] <= delta, 0.0, highest, within=1e-12) if starts[1] else 0.0
    return None if _enclosure(pair, upper)[1] > delta else (min(lower, upper), upper)
