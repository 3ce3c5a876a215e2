"""A composed law node by node, and its profile."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import LARGEST_EXPONENT, ROOMY_EXPONENT, UNIT_ROUNDOFF, Array, exp_capped
from privet.accounting.pld.law import LOWER, ComposedLaw, Profile, Side


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class NodeLaw(ComposedLaw):
    """Tilted masses of the sum on consecutive nodes."""

    losses: Array  # nodes of the window
    weight: Array  # tilted masses (may be slightly negative by rounding)

    @property
    def length(self) -> int:
        return len(self.weight)

    @property
    def bottom(self) -> float:
        return float(self.losses[0])

    @property
    def top(self) -> float:
        return float(self.losses[-1])

    def profile(self, side: Side, floor: float = -math.inf) -> "NodeProfile":
        return NodeProfile(self, side, floor)


@final
class NodeProfile(Profile):
    """The profile of a law on nodes.

    Between two nodes the curve is p - exp(e) q with constants, so crossings are found in closed form. Masses are kept
    relative to the lowest loss that is asked about, so that undoing the tilt cannot overflow.
    """

    def __init__(self, law: NodeLaw, side: Side, floor: float) -> None:
        self.law, self.side = law, side
        # nothing below the floor is asked, and where undoing the tilt would overflow nothing is known
        known = (law.log_scale - ROOMY_EXPONENT) / law.tilt if law.tilt > 0.0 else -math.inf
        first = int(np.searchsorted(law.losses, max(floor - law.shift - 2.0 * law.step, known)))
        self.losses = losses = law.losses[min(first, len(law.losses) - 1) :]
        self.reference = float(losses[0])
        self.constant = side.constant(law)
        scale = math.exp(min(ROOMY_EXPONENT, law.log_scale - law.tilt * self.reference))
        self.scale = scale * side.factor(law.mass_error)
        above = losses - self.reference  # never negative: the exponentials below can vanish but not overflow
        mass = side.masses(law.weight[len(law.weight) - len(losses) :]) * np.exp(-law.tilt * above)
        self.p = np.cumsum(mass[::-1])[::-1]  # mass at and above each node, of P and of Q
        self.q = np.cumsum((mass * np.exp(-above))[::-1])[::-1]

    def _charge(self, loss: float, index: int) -> float:
        """Error of delta at a loss: from the transform, from wrapping, and from adding up the masses above it."""
        spectral = self.law.error_weight * exp_capped(self.law.log_scale - self.law.tilt * loss)
        terms = 2.0 * UNIT_ROUNDOFF * (len(self.losses) - index + 8.0)  # sequential sums of P and of Q
        return spectral + terms * self.scale * float(abs(self.p[index]))

    def at_node(self, index: int) -> float:
        """delta at one node, before the shift of the losses is applied."""
        return self._delta(float(self.losses[index]), index, self._charge(float(self.losses[index]), index))

    def _delta(self, loss: float, index: int, charge: float) -> float:
        """delta at a loss, given the first node above it."""
        rise = loss - self.reference
        if rise > ROOMY_EXPONENT and self.side is LOWER:
            return self.constant  # the Q-sums have vanished: an upper bound may drop them, a lower one may not
        weighted = math.exp(rise) * float(self.q[index]) if rise <= ROOMY_EXPONENT else 0.0
        value = self.scale * (float(self.p[index]) - weighted)
        if not (math.isfinite(value) and math.isfinite(charge)):
            return self.side.unknown(self.constant)
        return min(1.0, self.constant + self.side.charged(value, charge))

    def upper_deltas(self) -> Array:
        """delta at every node (`losses`) from above: the whole curve at once."""
        rise = self.losses - self.reference
        weighted = np.where(rise <= ROOMY_EXPONENT, np.exp(np.minimum(rise, ROOMY_EXPONENT)) * self.q, 0.0)
        exponent = self.law.log_scale - self.law.tilt * self.losses
        charge = self.law.error_weight * np.exp(np.minimum(exponent, LARGEST_EXPONENT))
        terms = 2.0 * UNIT_ROUNDOFF * (len(rise) - np.arange(len(rise)) + 8.0)
        value = self.constant + self.scale * (self.p - weighted) + charge + terms * self.scale * self.p
        return np.where(np.isfinite(value), np.clip(value, self.constant, 1.0), 1.0)

    def epsilon(self, delta: float) -> float:
        """The bound at one point is enough for either claim, so the crossing is found by bisection over the nodes.
        Infinite, on the safe side, when the law cannot tell."""
        losses, side, moved = self.losses, self.side, self.side.sign * self.law.shift
        if self.constant >= delta:
            return math.inf  # no epsilon at all
        left, right = -1, len(losses)  # delta is above the target at `left` and not above it at `right`
        while right - left > 1:
            middle = (left + right) // 2
            left, right = (middle, right) if self.at_node(middle) > delta else (left, middle)
        if left < 0:
            return side.end(-math.inf, float(losses[0]) + moved)
        if right == len(losses):
            return side.end(float(losses[left]) + moved, math.inf)
        charge = self._charge(float(losses[left]), left)  # charges fall with the loss: this one covers the cell
        target = (delta - self.constant - side.sign * charge) / self.scale
        gap, weight = float(self.p[right]) - target, float(self.q[right])
        low, high = float(losses[left]), float(losses[right])
        inside = self.reference + math.log(gap / weight) if gap > 0.0 and weight > 0.0 else math.nan
        return (inside if low <= inside <= high else side.end(low, high)) + moved

    def delta(self, epsilon: float) -> float:
        losses = self.losses
        at = epsilon - self.side.sign * self.law.shift
        if at < float(losses[0]) and not (self.law.complete_below and len(losses) == len(self.law.losses)):
            return self.side.unknown(self.constant)
        index = int(np.searchsorted(losses, at, side="right"))
        charge = self._charge(min(at, float(losses[max(index - 1, 0)])), max(index - 1, 0))
        if index == len(losses):
            return min(1.0, self.constant + self.side.charged(0.0, charge))
        return self._delta(at, index, charge)
