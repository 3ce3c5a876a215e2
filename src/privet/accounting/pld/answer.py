"""Reading epsilon and delta off a composed law, on the safe side."""

import math
from typing import Literal

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array
from privet.accounting.pld.compose import ComposedLaw

__all__ = ["Profile", "Side"]

Side = Literal["upper", "lower"]

_LARGEST_EXPONENT = 600.0


class Profile:
    """The profile of a composed law, bounded on one side.

    Between two nodes the curve is p - exp(e) q with constants, so crossings are found in closed form. Masses are kept
    relative to the lowest loss that is asked about, so that undoing the tilt cannot overflow.
    """

    def __init__(self, law: ComposedLaw, side: Side, floor: float = -math.inf) -> None:
        self.law, self.side = law, side
        # nothing below the floor is asked, and where undoing the tilt would overflow nothing is known
        known = (law.log_scale - _LARGEST_EXPONENT) / law.tilt if law.tilt > 0.0 else -math.inf
        first = int(np.searchsorted(law.losses, max(floor - law.shift - 2.0 * law.step, known)))
        self.losses = losses = law.losses[min(first, len(law.losses) - 1) :]
        weight = law.weight[len(law.weight) - len(losses) :]
        self.reference = float(losses[0])
        factor = 1.0 + law.mass_error if side == "upper" else 1.0 - min(1.0, law.mass_error)
        self.constant = (law.infinite + law.above) * factor if side == "upper" else law.infinite * factor
        self.scale = math.exp(min(_LARGEST_EXPONENT, law.log_scale - law.tilt * self.reference)) * factor
        above = losses - self.reference  # never negative: the exponentials below can vanish but not overflow
        mass = (np.maximum(weight, 0.0) if side == "upper" else weight) * np.exp(-law.tilt * above)
        self.p = np.cumsum(mass[::-1])[::-1]  # mass at and above each node, of P and of Q
        self.q = np.cumsum((mass * np.exp(-above))[::-1])[::-1]

    def _charge(self, loss: float, index: int) -> float:
        """Error of delta at a loss: from the transform, from wrapping, and from adding up the masses above it."""
        spectral = self.law.error_weight * math.exp(min(self.law.log_scale - self.law.tilt * loss, 700.0))
        terms = 2.0 * UNIT_ROUNDOFF * (len(self.losses) - index + 8.0)  # sequential sums of P and of Q
        return spectral + terms * self.scale * float(abs(self.p[index]))

    def at_node(self, index: int) -> float:
        """delta at one node, before the shift of the losses is applied."""
        return self._delta(float(self.losses[index]), index, self._charge(float(self.losses[index]), index))

    def _delta(self, loss: float, index: int, charge: float) -> float:
        """delta at a loss, given the first node above it; the honest extreme where nothing is known."""
        upper, rise = self.side == "upper", loss - self.reference
        if rise > _LARGEST_EXPONENT and not upper:
            return self.constant  # the Q-sums have vanished: an upper bound may drop them, a lower one may not
        weighted = math.exp(rise) * float(self.q[index]) if rise <= _LARGEST_EXPONENT else 0.0
        value = self.scale * (float(self.p[index]) - weighted)
        if not (math.isfinite(value) and math.isfinite(charge)):
            return 1.0 if upper else self.constant
        return min(1.0, self.constant + (max(value, 0.0) + charge if upper else max(value - charge, 0.0)))

    def upper_deltas(self) -> Array:
        """delta at every node (`losses`) from above: the whole curve at once."""
        rise = self.losses - self.reference
        weighted = np.where(rise <= _LARGEST_EXPONENT, np.exp(np.minimum(rise, _LARGEST_EXPONENT)) * self.q, 0.0)
        charge = self.law.error_weight * np.exp(np.minimum(self.law.log_scale - self.law.tilt * self.losses, 700.0))
        terms = 2.0 * UNIT_ROUNDOFF * (len(rise) - np.arange(len(rise)) + 8.0)
        value = self.constant + self.scale * (self.p - weighted) + charge + terms * self.scale * self.p
        return np.where(np.isfinite(value), np.clip(value, self.constant, 1.0), 1.0)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon with delta(epsilon) <= delta (upper), or the largest with delta(epsilon) >= delta (lower).

        The bound at one point is enough for either claim, so the crossing is found by bisection over the nodes. Infinite,
        on the honest side, when the law cannot tell.
        """
        losses, shift = self.losses, self.law.shift
        if self.constant >= delta:
            return math.inf  # no epsilon at all
        left, right = -1, len(losses)  # delta is above the target at `left` and not above it at `right`
        while right - left > 1:
            middle = (left + right) // 2
            if self.at_node(middle) > delta:
                left = middle
            else:
                right = middle
        if left < 0:
            return float(losses[0]) + shift if self.side == "upper" else -math.inf
        if right == len(losses):
            return math.inf if self.side == "upper" else float(losses[left]) - shift
        charge = self._charge(float(losses[left]), left)  # charges fall with the loss: this one covers the cell
        target = (delta - self.constant + (charge if self.side == "lower" else -charge)) / self.scale
        gap, weight = float(self.p[right]) - target, float(self.q[right])
        low, high = float(losses[left]), float(losses[right])
        inside = self.reference + math.log(gap / weight) if gap > 0.0 and weight > 0.0 else math.nan
        if self.side == "upper":
            return (inside if low <= inside <= high else high) + shift
        return (inside if low <= inside <= high else low) - shift

    def delta(self, epsilon: float) -> float:
        """delta at one epsilon."""
        losses = self.losses
        upper = self.side == "upper"
        at = epsilon - self.law.shift if upper else epsilon + self.law.shift
        if at < float(losses[0]) and not (self.law.complete_below and len(losses) == len(self.law.losses)):
            return 1.0 if upper else self.constant
        index = int(np.searchsorted(losses, at, side="right"))
        charge = self._charge(min(at, float(losses[max(index - 1, 0)])), max(index - 1, 0))
        if index == len(losses):
            return min(1.0, self.constant + charge) if upper else self.constant
        return self._delta(at, index, charge)
