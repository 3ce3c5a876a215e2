"""From a Rényi bound to epsilon and delta, rounded to the safe side, and the search for the best order."""

import math
from collections.abc import Callable, Iterable

from privet._numerics import UNIT_ROUNDOFF

_GOLDEN = (3.0 - math.sqrt(5.0)) / 2.0  # the smaller part of the golden section
_SHORTER = 0.6  # where a step leaves more of the bracket than this share, a golden section follows. Speed only
# Octaves that are walked from the start (which is 3 for most): orders from 1 + 2^-34, where a double hardly tells an order
# from 1, to 1 + 2^40, whose conversion differs from the order infinity by less than it is rounded up.
_WIDEST = 37
# Added to the results, so that rounding never makes them too small: these shares of the sum of the sizes of the terms, more
# than the few roundings that are made. That of epsilon is the larger one: asked for its delta again, an epsilon that was
# found for a delta then hardly ever gives a larger one.
_EPSILON_LOST, _DELTA_LOST = 40.0 * UNIT_ROUNDOFF, 8.0 * UNIT_ROUNDOFF


def epsilon_of_renyi(alpha: float, value: float, delta: float) -> float:
    """epsilon at delta from one Rényi bound: R + ln(1 - 1/a) - ln(a delta)/(a - 1), rounded up.

    **Reference:** Canonne, Kamath & Steinke 2020, proposition 12; Balle et al. 2020, theorem 21.

    >>> round(epsilon_of_renyi(2.0, 1.0, 1e-5), 6)
    11.126631
    """
    terms = value, *_log_share(alpha), -math.log(alpha) / (alpha - 1.0), -math.log(delta) / (alpha - 1.0)
    return math.fsum(terms) + _EPSILON_LOST * math.fsum(map(abs, terms))


def log_delta_of_renyi(alpha: float, value: float, epsilon: float) -> float:
    """ln delta at epsilon from one Rényi bound, the inverse of the above: (a - 1)(R - epsilon) + a ln(1 - 1/a) - ln(a - 1),
    rounded up.

    >>> round(log_delta_of_renyi(2.0, 1.0, 11.126631), 6) == round(math.log(1e-5), 6)
    True
    """
    above = alpha - 1.0
    terms = above * value, -above * epsilon, *(alpha * part for part in _log_share(alpha)), -math.log(above)
    return math.fsum(terms) + _DELTA_LOST * math.fsum(map(abs, terms))


def _log_share(alpha: float) -> tuple[float, ...]:
    """Terms with the sum ln(1 - 1/a), each to a few roundings of itself: near 1 the quotient 1/a would lose a - 1, which a
    double has exactly.
    """
    return (math.log(alpha - 1.0), -math.log(alpha)) if alpha <= 2.0 else (math.log1p(-1.0 / alpha),)


def best_order(
    objective: Callable[[float], float],
    start: float = 3.0,
    per_octave: int = 1024,
    given: Iterable[float] = (),
) -> tuple[float, float]:
    """The order with the least value, and that value: among a = 1 + 2^(k/per_octave), k whole, and those in `given`.

    A walk in octaves from 1 + 2^start (start rounded), then parabolas. The search expects one valley; where the objective
    has more, the value that it finds is that of its order, but maybe not the least. That orders are on a lattice lets the
    searches for epsilon and for delta look at the same ones.

    >>> order, value = best_order(lambda a: (math.log(a - 1.0) - 3.0) ** 2)
    >>> round(math.log(order - 1.0), 2)
    3.0
    """
    seen: dict[int, float] = {}

    def value_at(k: int) -> float:
        if k not in seen:
            order = 1.0 + 2.0 ** (k / per_octave)
            value = objective(order) if order > 1.0 else math.inf  # too near 1 for a double to show
            seen[k] = math.inf if math.isnan(value) else value  # NaN: no bound at this order
        return seen[k]

    first = round(start) * per_octave
    place = first
    for step in (per_octave, -per_octave):
        while abs(place - first) < _WIDEST * per_octave and value_at(place + step) < value_at(place):
            place += step
    _narrow(value_at, place - per_octave, place, place + per_octave)
    best = min(seen, key=lambda k: seen[k])
    found = [(1.0 + 2.0 ** (best / per_octave), seen[best]), *((order, objective(order)) for order in given)]
    return min(found, key=lambda pair: math.inf if math.isnan(pair[1]) else pair[1])


def _narrow(value: Callable[[int], float], low: int, middle: int, high: int) -> None:
    """A search for the whole number with the least value between two ends; `value` remembers what it was asked.

    The next point is the vertex of the parabola through all three, or a golden section of the longer side where the last
    point hardly shortened the bracket.
    """
    before = 2 * (high - low)  # the bracket before the last step: so wide that the first step is a parabola
    while high - low > 2:
        point = _vertex(value, low, middle, high) if high - low <= _SHORTER * before else None
        before = high - low
        if point is None:
            longer = high - middle if high - middle >= middle - low else low - middle
            point = middle + max(1, round(abs(longer) * _GOLDEN)) * (1 if longer > 0 else -1)
            before *= 2  # so that the next one may be a parabola again
        if value(point) < value(middle):
            low, middle, high = (middle, point, high) if point > middle else (low, point, middle)
        elif point > middle:
            high = point
        else:
            low = point


def _vertex(value: Callable[[int], float], low: int, middle: int, high: int) -> int | None:
    """The whole number nearest to the vertex of the parabola through three points, never the middle itself; None if
    they do not curve upwards."""
    left, right = middle - low, high - middle
    rise_left, rise_right = value(low) - value(middle), value(high) - value(middle)
    curve = rise_left * right + rise_right * left
    if not 0.0 < curve < math.inf:
        return None
    move = 0.5 * (rise_left * right * right - rise_right * left * left) / curve
    point = middle + round(move)
    if point == middle:
        point += 1 if (move > 0.0 and right > 1) or left <= 1 else -1
    return min(max(point, low + 1), high - 1)
