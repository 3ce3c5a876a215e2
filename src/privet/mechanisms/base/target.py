"""A budget for one mechanism as a target, and calibration on the safe side of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from privet._validate import above, fraction
from privet.errors import InvalidParameter, Unreachable
from privet.privacy import PrivacyLoss

__all__ = ["Target", "pure_scale", "ratio_down", "scale_for", "smallest_scale"]


@dataclass(frozen=True)
class Target:
    """What `for_budget` must stay within: (epsilon, delta), or rho (zCDP), or mu (GDP); exactly one of them.

    >>> from privet.privacy import GaussianLoss
    >>> Target(rho=0.5).covers(GaussianLoss(1.0)), Target(rho=0.5).covers(GaussianLoss(0.9))
    (True, False)
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("epsilon", "rho", "mu") if getattr(self, name) is not None}
        if len(given) != 1:
            raise InvalidParameter("give exactly one of epsilon (with or without delta), rho or mu")
        ((name, value),) = given.items()
        object.__setattr__(self, name, above(name, value, 0.0))
        object.__setattr__(self, "delta", fraction("delta", self.delta))
        if self.delta >= 1.0:
            raise InvalidParameter("delta must be below 1: delta = 1 promises nothing")
        if self.delta > 0.0 and self.epsilon is None:
            raise InvalidParameter("delta goes with epsilon; rho and mu are complete by themselves")

    def covers(self, loss: PrivacyLoss) -> bool:
        """Whether a single release at this price stays within the target."""
        if self.rho is not None:
            return loss.zcdp().rho <= self.rho and loss.zcdp()[1] == 0.0
        if self.mu is not None:
            return loss.gdp() <= self.mu
        assert self.epsilon is not None
        return loss.pure() <= self.epsilon if self.delta == 0.0 else bool(loss.profile(self.epsilon) <= self.delta)


def smallest_scale(make_loss: Callable[[float], PrivacyLoss], target: Target, *, start: float = 1.0) -> float:
    """The smallest double that meets the target (with a delta, up to 4e-9 of it); the price must fall as the scale grows.

    >>> from privet.privacy import LaplaceLoss
    >>> smallest_scale(lambda scale: LaplaceLoss(scale=scale), Target(epsilon=0.5))
    2.0
    """
    low = high = start
    while not target.covers(make_loss(high)):
        low, high = high, 2.0 * high
        if high > 1e50:
            raise Unreachable("no scale of this mechanism meets the target; allow a delta, or ask for more epsilon")
    while low == high or target.covers(make_loss(low)):
        low, high = low / 2.0, low
        if low < 1e-50:
            raise Unreachable("the target is so large that hardly any noise is needed; ask for less")
    middle = math.sqrt(low) * math.sqrt(high)
    while low < middle < high:
        low, high = (low, middle) if target.covers(make_loss(middle)) else (middle, high)
        middle = low + (high - low) / 2.0
    # Where a curve passes through (epsilon, delta), `accounting` certifies it up to 1e-9: stay on its safe side too.
    return high * (1.0 + 2.0**-28) if target.delta > 0.0 else high


def scale_for(multiplier: float, sensitivity: Fraction) -> float:
    """multiplier times sensitivity as a double, rounded up.

    >>> scale_for(3.0, Fraction(1, 10)) >= Fraction(3, 10)
    True
    """
    product = Fraction(multiplier) * sensitivity
    nearest = float(product)
    return nearest if nearest >= product else math.nextafter(nearest, math.inf)


def pure_scale(scale: float, sensitivity: Fraction, target: Target) -> float:
    """The first double from `scale` on whose price (of scale over sensitivity, rounded down) keeps a pure target.

    >>> pure_scale(2.0, Fraction(1), Target(0.5)), pure_scale(1.999, Fraction(1), Target(rho=0.5))
    (2.0, 1.999)
    """
    if target.epsilon is not None and target.delta == 0.0:
        while Fraction(target.epsilon) * Fraction(ratio_down(scale, sensitivity)) < 1:
            scale = math.nextafter(scale, math.inf)
    return scale


def ratio_down(scale: float | Fraction, sensitivity: Fraction) -> float:
    """scale over sensitivity as a double, rounded down: the price of what runs is never too low.

    >>> ratio_down(1.0, Fraction(3)) <= Fraction(1, 3)
    True
    """
    ratio = Fraction(scale) / sensitivity
    nearest = float(ratio)
    return nearest if nearest <= ratio else math.nextafter(nearest, 0.0)
