"""A budget for one mechanism as a target, and calibration on the safe side of it."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privet._numerics import Array, bisect, bracket, down, minimise, round_up, up
from privet.errors import Unreachable
from privet.privacy import Guarantee, PrivacyLoss

_APART = 0.6  # neighbours among the orders that are tried first, in logarithms of order - 1
_ORDERS = 1.0 + np.exp(np.arange(-1.2, 11.0, _APART))
_SAFETY = 1e-5  # of epsilon: accountants look for the best order by themselves, and may stop beside it


def smallest_scale(make_loss: Callable[[float], PrivacyLoss], target: Guarantee, *, start: float = 1.0) -> float:
    """The smallest double that meets the target (with a delta, up to 4e-9 of it); the price must fall as the scale grows.

    >>> from privet.privacy import LaplaceLoss
    >>> smallest_scale(lambda scale: LaplaceLoss(scale=scale), Guarantee(epsilon=0.5))
    2.0
    """

    def meets(scale: float) -> bool:
        return target.covers(make_loss(scale))

    low, high = bracket(meets, start, least=1e-50, most=1e50)
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


def ratio_down(scale: float | Fraction, sensitivity: Fraction) -> float:
    """scale over sensitivity as a double, rounded down: the price of what runs is never too low.

    >>> ratio_down(1.0, Fraction(3)) <= Fraction(1, 3)
    True
    """
    return down(Fraction(scale) / sensitivity)


def renyi_scale(
    price: Callable[[float], PrivacyLoss],
    target: Guarantee,
    start: float,
    *,
    like: Callable[[float], PrivacyLoss] | None = None,
) -> float:
    """The scale at which a composition meets (epsilon, delta) by its Rényi divergence at one order chosen well: some
    milliseconds, where whole accountants take a tenth of a second and more.

    `start` is a scale that is about right; the price must fall like 1/scale, as its pure epsilon does. `like` is a price
    that is nearly the same and quicker: it finds the order, and `price` has the last word.

    >>> from privet.privacy import ExponentialLoss, Repeated
    >>> round(renyi_scale(lambda scale: Repeated(ExponentialLoss(2.0 / scale), 20), Guarantee(1.0, 1e-6), 20.0), 2)
    19.6
    """
    assert target.epsilon is not None
    goal, delta = target.epsilon * (1.0 - _SAFETY), target.delta
    look = like or price
    rough = _root(lambda scale: float(_at_orders(look(scale), _ORDERS, delta).min()), goal, start, 1e-2)
    loss = look(rough)
    middle = math.log(_ORDERS[int(np.argmin(_at_orders(loss, _ORDERS, delta)))] - 1.0)
    better, _ = minimise(lambda e: _at_order(loss, 1.0 + math.exp(e), delta), middle - _APART, middle + _APART, 8)
    return _root(lambda scale: _at_order(price(scale), 1.0 + math.exp(better), delta), goal, rough, 1e-6)


def _at_order(loss: PrivacyLoss, order: float, delta: float) -> float:
    return float(_at_orders(loss, np.array([order]), delta)[0])


def _at_orders(loss: PrivacyLoss, orders: Array, delta: float) -> Array:
    """The epsilon that the divergence of each order proves (Canonne, Kamath & Steinke 2020)."""
    divergence = loss.rdp(orders)
    rest = delta - divergence.delta0
    if rest <= 0.0:
        return np.full(len(orders), math.inf)
    proved: Array = divergence.values + np.log1p(-1.0 / orders) - np.log(orders * rest) / (orders - 1.0)
    return np.maximum(proved, 0.0)


def _root(cost: Callable[[float], float], goal: float, start: float, tolerance: float) -> float:
    """The least scale seen at which a falling cost is at most the goal; secants in logarithms, else bisection."""
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
