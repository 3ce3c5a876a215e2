"""Reading epsilon and delta off a composed law, on the safe side."""

import math
from typing import Literal

import numpy as np

from privet._numerics import Array
from privet.accounting.pld.compose import ComposedLaw

__all__ = ["Profile", "Side"]

Side = Literal["upper", "lower"]


class Profile:
    """The profile of a composed law, bounded on one side.

    Between two nodes the curve is p - exp(e) q with constants, so crossings are found in closed form. Masses are kept
    relative to a reference loss in the middle of the window, so that undoing the tilt neither over- nor underflows.
    """

    def __init__(self, law: ComposedLaw, side: Side, floor: float = -math.inf) -> None:
        self.law, self.side = law, side
        first = max(0, int(np.searchsorted(law.losses, floor - law.shift)) - 2)  # nothing below the floor is asked
        self.losses = losses = law.losses[first:]
        weight = law.weight[first:]
        self.reference = float(losses[len(losses) // 2])
        relative = 1e-13 * math.log2(len(losses) + 2) + law.mass_error  # of sums and of masses
        self.constant = law.infinite + law.above if side == "upper" else law.infinite
        self.factor = 1.0 + relative if side == "upper" else 1.0 - min(1.0, relative)
        self.scale = math.exp(min(700.0, law.log_scale - law.tilt * self.reference)) * self.factor
        with np.errstate(over="ignore", invalid="ignore"):
            untilt = np.exp(-law.tilt * (losses - self.reference)) if law.tilt > 0.0 else 1.0
            mass = (np.maximum(weight, 0.0) if side == "upper" else weight) * untilt
            decay = np.exp(self.reference - losses)
            self.p = np.cumsum(mass[::-1])[::-1]  # mass at and above each node, of P and of Q
            self.q = np.cumsum((mass * decay)[::-1])[::-1]

    def _charge(self, loss: float) -> float:
        """Error of delta at a loss, from the transform and from wrapping."""
        return self.law.error_weight * math.exp(min(self.law.log_scale - self.law.tilt * loss, 700.0))

    def at_node(self, index: int) -> float:
        """delta at one node, before the shift of the losses is applied; 1 (or the constant) where nothing is known."""
        loss, upper = float(self.losses[index]), self.side == "upper"
        value = float(self.p[index]) - math.exp(min(loss - self.reference, 700.0)) * float(self.q[index])
        raw, charge = self.scale * max(value, 0.0), self._charge(loss)
        if not math.isfinite(raw + value):
            return 1.0 if upper else self.constant
        return min(1.0, self.constant + (raw + charge if upper else max(raw - charge, 0.0)))

    def deltas(self) -> Array:
        """delta at every node (`losses`)."""
        law, upper = self.law, self.side == "upper"
        with np.errstate(over="ignore", invalid="ignore"):
            raw = self.scale * np.maximum(self.p - np.exp(self.losses - self.reference) * self.q, 0.0)
            charge = law.error_weight * np.exp(np.minimum(law.log_scale - law.tilt * self.losses, 700.0))
            value = self.constant + (raw + charge if upper else np.maximum(raw - charge, 0.0))
        return np.minimum(np.where(np.isfinite(value), value, 1.0 if upper else self.constant), 1.0)

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
        charge = self._charge(float(losses[left]))  # charges fall with the loss: this one covers the cell
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
        if at < float(losses[0]):
            return 1.0 if upper else self.constant
        index = int(np.searchsorted(losses, at, side="right"))
        charge = self._charge(float(losses[index - 1]))
        if index == len(losses):
            return min(1.0, self.constant + charge) if upper else self.constant
        value = self.scale * (float(self.p[index]) - math.exp(at - self.reference) * float(self.q[index]))
        if not math.isfinite(value) or not math.isfinite(charge):
            return 1.0 if upper else self.constant
        return self.constant + (max(value, 0.0) + charge if upper else max(0.0, value - charge))
