"""Profiles that need no grid: of one release alone, and of a composition with few outcomes."""

import math
from collections.abc import Callable

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
    """delta(epsilon), the larger of both directions, from below and from above; NaN above where one of them is."""
    ends = [variable.enclose(epsilon) for variable in (pair[:1] if pair[0].symmetric else pair)]
    return max(low for low, _ in ends), max((high for _, high in ends), key=lambda high: (math.isnan(high), high))


def _excess(pair: Pair, epsilon: float, end: int, delta: float) -> float:
    """The logarithm of an end of the enclosure over delta; NaN, which bounds nothing, where the end is NaN."""
    found = _enclosure(pair, epsilon)[end]
    return -math.inf if found <= 0.0 else math.log(found / delta)


def pair_delta(pair: Pair, epsilon: float) -> tuple[float, float] | None:
    """Enclosure of delta(epsilon), or None when it is too small for this way.

    >>> from privet import privacy
    >>> low, high = pair_delta(without_grid([(privacy.LaplaceLoss(2.0), 1)]), 0.0)
    >>> low <= 0.2211992169285951 <= high
    True
    """
    ends = _enclosure(pair, epsilon)
    return ends if ends[1] >= _least(pair) else None  # NaN bounds nothing


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
    lower = cross(lambda e: -_excess(pair, e, 0, delta), highest, 0.0, within=1e-12) if starts[0] else 0.0
    near = lower * (1.0 + 1e-9) + 1e-12  # most often the ends are as near as this
    good = near if near < highest and _excess(pair, near, 1, delta) <= 0.0 else highest
    upper = cross(lambda e: _excess(pair, e, 1, delta), lower, good, within=1e-12) if starts[1] else 0.0
    return (min(lower, upper), upper) if _enclosure(pair, upper)[1] <= delta else None  # NaN bounds nothing


def cross(excess: Callable[[float], float], bad: float, good: float, *, within: float, steps: int = 200) -> float:
    """As `bisect` for where `excess` is at most 0, in fewer calls where it is smooth: Chandrupatla's way, a parabola
    through the last three points where it can be trusted, else the middle.

    What comes back was seen to be good, whatever `excess` does in between, or is `good`, which must be.

    >>> cross(lambda x: 2.0 - x * x, 0.0, 2.0, within=1e-12) ** 2 - 2.0 < 1e-11
    True
    """
    new, old = (bad, excess(bad)), (good, excess(good))  # one of them is good, the other is not
    third, share = old, 0.5
    for _ in range(steps):
        low, high = sorted((new[0], old[0]))
        if share == 0.5 and 0.0 < 4.0 * low < high:
            at = math.sqrt(low) * math.sqrt(high)
        else:
            at = new[0] + share * (old[0] - new[0])
        if not low < at < high:
            break
        found = excess(at)
        if (found <= 0.0) == (new[1] <= 0.0):
            third = new
        else:
            third, old = old, new
        new = at, found
        apart, allowed = abs(old[0] - at), within * abs(at if found <= 0.0 else old[0])
        if apart <= allowed:
            break
        # at least half of what is allowed from either end, so that both ends come near
        share = min(max(_share(new, old, third), 0.5 * allowed / apart), 1.0 - 0.5 * allowed / apart)
    return new[0] if new[1] <= 0.0 else old[0]


def _share(new: tuple[float, float], old: tuple[float, float], third: tuple[float, float]) -> float:
    """Where the parabola, read as x over f, through three points is 0: as a share of the way from `new` to `old`."""
    (x1, f1), (x2, f2), (x3, f3) = new, old, third
    if x3 == x2 or not all(map(math.isfinite, (f1, f2, f3))) or f3 in (f1, f2):
        return 0.5
    xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    if not (phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi):
        return 0.5
    return f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
