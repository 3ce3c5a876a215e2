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
            self.untilt = np.exp(-law.tilt * (losses - self.reference)) if law.tilt > 0.0 else 1.0
            mass = (np.maximum(weight, 0.0) if side == "upper" else weight) * self.untilt
            decay = np.exp(self.reference - losses)
            self.p = np.cumsum(mass[::-1])[::-1]  # mass at and above each node, of P and of Q
            self.q = np.cumsum((mass * decay)[::-1])[::-1]
            raw = self.p - self.q / decay
        self.raw = raw

    def _charge(self) -> Array:
        """Error of delta at each node."""
        scale = self.scale / self.factor * self.law.error_weight
        with np.errstate(over="ignore"):
            return np.broadcast_to(scale * self.untilt, self.raw.shape)

    def deltas(self) -> Array:
        """delta at every node (`losses`), before the shift of the losses is applied."""
        with np.errstate(over="ignore", invalid="ignore"):
            raw, charge = self.scale * np.maximum(self.raw, 0.0), self._charge()
            if self.side == "upper":
                return np.minimum(raw + self.constant + charge, 1.0)
            return np.maximum(raw - charge, 0.0) + self.constant

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon with delta(epsilon) <= delta (upper), or the largest with delta(epsilon) >= delta (lower).

        Infinite, on the honest side, when the law cannot tell.
        """
        curve, losses, shift = self.deltas(), self.losses, self.law.shift
        nothing = math.inf if self.side == "upper" else -math.inf
        if self.constant >= delta:
            return math.inf  # no epsilon at all
        if not np.all(np.isfinite(curve)):
            return nothing
        crossing = np.flatnonzero(curve > delta)
        if len(crossing) == 0:
            return float(losses[0]) + shift if self.side == "upper" else nothing
        last = int(crossing[-1])
        if last == len(curve) - 1:
            return nothing if self.side == "upper" else float(losses[last]) - shift
        charge = float(self._charge()[last])  # charges fall with the loss: the one on the left covers the cell
        target = (delta - self.constant - charge if self.side == "upper" else delta - self.constant + charge) / self.scale
        gap = float(self.p[last + 1]) - target
        weight = float(self.q[last + 1])
        low, high = float(losses[last]), float(losses[last + 1])
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
        charge = float(self._charge()[index - 1])
        if index == len(losses):
            return min(1.0, self.constant + charge) if upper else self.constant
        value = self.scale * (float(self.p[index]) - math.exp(at - self.reference) * float(self.q[index]))
        if not math.isfinite(value) or not math.isfinite(charge):
            return 1.0 if upper else self.constant
        return self.constant + (max(value, 0.0) + charge if upper else max(0.0, value - charge))
