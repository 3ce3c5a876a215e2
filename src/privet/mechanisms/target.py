"""A budget for one mechanism as a target, and calibration on the safe side of it."""

import math
from collections.abc import Callable
from fractions import Fraction

from privet._numerics import bisect, bracket, down, minimise, round_up, up
from privet.errors import Unreachable
from privet.privacy import Guarantee, PrivacyLoss

_LEAST, _MOST = 1e-50, 1e50  # scales that are looked at
_PLACES = (-1.2, 0.0, 1.2, 2.4, 3.6, 4.8, 6.0, 7.2, 8.4, 9.6, 10.8)  # of orders, in logarithms of order - 1
_ROUNDS = ((1.2, 1e-2), (1.2, 1e-3), (0.3, 1e-6))  # how far around the best place, and how close the scale is found
_SAFETY = 1e-5  # of epsilon: accountants look for the best order by themselves, and may stop beside it


def smallest_scale(make_loss: Callable[[float], PrivacyLoss], target: Guarantee, *, start: float = 1.0) -> float:
    """The smallest double that meets the target (with a delta, up to 4e-9 of it); the price must fall as the scale grows.
    `start` is where the search begins, and ends at once if that is the answer.

    >>> from privet.privacy import LaplaceLoss
    >>> smallest_scale(lambda scale: LaplaceLoss(scale=scale), Guarantee(epsilon=0.5))
    2.0
    """

    def meets(scale: float) -> bool:
        return target.covers(make_loss(scale))

    start = min(max(start, _LEAST), _MOST)
    if meets(start) and not meets(math.nextafter(start, 0.0)):
        low, high = start, start  # the caller knew it
    else:
        low, high = bracket(meets, start, least=_LEAST, most=_MOST)
    if math.isinf(high):
        raise Unreachable("no scale of this mechanism meets the target; allow a delta, or ask for more epsilon")
    if low == 0.0:
        raise Unreachable("the target is so large that hardly any noise is needed; ask for less")
    high = bisect(meets, low, high)
    # Where a curve passes through (epsilon, delta), `accounting` certifies it up to 1e-9: stay on its safe side too.
    if target.delta > 0.0:
        return high * (1.0 + 2.0**-28)
    # mu is rounded up within a few units, which need not be monotone from one double to the next
    return high if target.mu is None else high * (1.0 + 2.0**-48)


def scale_for(multiplier: float, sensitivity: Fraction) -> float:
    """multiplier times sensitivity as a double, rounded up.

    >>> scale_for(3.0, Fraction(1, 10)) >= Fraction(3, 10)
    True
    """
    return up(Fraction(multiplier) * sensitivity)


def pure_scale(scale: float, sensitivity: Fraction, target: Guarantee) -> float:
    """The first double from `scale` on whose price (of scale over sensitivity, rounded down) keeps a pure target.

    >>> pure_scale(2.0, Fraction(1), Guarantee(0.5)), pure_scale(1.999, Fraction(1), Guarantee(rho=0.5))
    (2.0, 1.999)
    """
    if target.epsilon is not None and target.delta == 0.0:
        while Fraction(target.epsilon) * Fraction(ratio_down(scale, sensitivity)) < 1:
            scale = round_up(scale)
    return scale


def pure_noise(make_loss: Callable[[float], PrivacyLoss], target: Guarantee, sensitivity: Fraction) -> float:
    """The smallest scale for this sensitivity, of noise whose price depends on scale over sensitivity alone and is pure.

    >>> from privet.privacy import LaplaceLoss
    >>> pure_noise(lambda scale: LaplaceLoss(scale=scale), Guarantee(0.5), Fraction(3))
    6.0
    """
    return pure_scale(scale_for(smallest_scale(make_loss, target), sensitivity), sensitivity, target)


def ratio_down(scale: float | Fraction, sensitivity: Fraction) -> float:
    """scale over sensitivity as a double, rounded down: the price of what runs is never too low.

    >>> ratio_down(1.0, Fraction(3)) <= Fraction(1, 3)
    True
    """
    return down(Fraction(scale) / sensitivity)


def renyi_scale(divergence: Callable[[float, float], float], target: Guarantee, start: float) -> float:
    """The scale at which a composition meets (epsilon, delta) by its Rényi divergence at one order chosen well: a
    millisecond, where whole accountants take a tenth of a second and more.

    `divergence(scale, order)` is an upper bound for the whole composition that falls about like 1/scale^2; `start` is a
    scale that is about right.

    >>> round(renyi_scale(lambda scale, order: 0.5 * order / scale**2, Guarantee(1.0, 1e-6), 5.0), 2)  # Gaussian noise
    4.53
    """
    assert target.epsilon is not None
    goal, delta, scale = target.epsilon * (1.0 - _SAFETY), target.delta, start

    def proved(scale: float, order: float) -> float:
        """The epsilon that the divergence of this order proves (Canonne, Kamath & Steinke 2020)."""
        rest = math.log1p(-1.0 / order) - math.log(order * delta) / (order - 1.0)
        return max(0.0, divergence(scale, order) + rest)

    place = 0.0
    for width, tolerance in _ROUNDS:
        at = scale  # the search for an order looks at this scale

        def cost(e: float, at: float = at) -> float:
            return proved(at, 1.0 + math.exp(e))

        if width > 1.0:  # the best order may have moved far
            place = min(_PLACES, key=cost)
        place, _ = minimise(cost, place - width, place + width, 8)
        order = 1.0 + math.exp(place)
        scale = root_of_falling(lambda scale, order=order: proved(scale, order), goal, at, tolerance)  # type: ignore[misc]
    return scale


def root_of_falling(cost: Callable[[float], float], goal: float, start: float, tolerance: float) -> float:
    """The least scale seen at which a falling cost is at most the goal; secants in logarithms, else bisection.

    >>> 2.0 <= root_of_falling(lambda scale: 1.0 / scale, 0.5, 1.0, 1e-6) <= 2.00001
    True
    """
    low, high, x = 0.0, math.inf, start
    before: tuple[float, float] | None = None
    for _ in range(60):
        y = cost(x)
        low, high = (x, high) if y > goal else (low, x)
        if high <= low * (1.0 + tolerance):
            return high
        here, slope = (math.log(x), math.log(y / goal)) if 0.0 < y < math.inf else (math.log(x), math.nan), -1.0
        if before is not None and here[1] == here[1] and here[0] != before[0]:
            slope = (here[1] - before[1]) / (here[0] - before[0])
        before = here
        guess = x * math.exp(-here[1] / slope) if slope < -0.05 and abs(here[1]) < 50.0 else math.nan
        aside = tolerance / 3.0  # land beside the root, now on one side of it and now on the other
        guess *= 1.0 + aside if y > goal else 1.0 - aside
        if not low < guess < high:
            guess = 2.0 * x if high == math.inf else x / 2.0 if low == 0.0 else math.sqrt(low * high)
        x = guess
    return high
