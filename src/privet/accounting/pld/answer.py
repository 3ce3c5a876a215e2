"""Reading epsilon and delta off a composed law, on the safe side."""

import math
from typing import Literal

import numpy as np

from privet._numerics import LARGEST_EXPONENT, ROOMY_EXPONENT, TINY, UNIT_ROUNDOFF, Array, exp_capped
from privet.accounting.pld.compose import BandLaw, ComposedLaw, Sum

Side = Literal["upper", "lower"]

_NEWTON = 1e-7  # a step this small (as a share) ends the search
_SHARES = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.4, 0.2, 0.0)


class Profile:
    """The profile of a composed law, bounded on one side.

    Between two nodes the curve is p - exp(e) q with constants, so crossings are found in closed form. Masses are kept
    relative to the lowest loss that is asked about, so that undoing the tilt cannot overflow.
    """

    def __init__(self, law: ComposedLaw, side: Side, floor: float = -math.inf) -> None:
        self.law, self.side = law, side
        # nothing below the floor is asked, and where undoing the tilt would overflow nothing is known
        known = (law.log_scale - ROOMY_EXPONENT) / law.tilt if law.tilt > 0.0 else -math.inf
        first = int(np.searchsorted(law.losses, max(floor - law.shift - 2.0 * law.step, known)))
        self.losses = losses = law.losses[min(first, len(law.losses) - 1) :]
        weight = law.weight[len(law.weight) - len(losses) :]
        self.reference = float(losses[0])
        factor = 1.0 + law.mass_error if side == "upper" else 1.0 - min(1.0, law.mass_error)
        self.constant = (law.infinite + law.above) * factor if side == "upper" else law.infinite * factor
        self.scale = math.exp(min(ROOMY_EXPONENT, law.log_scale - law.tilt * self.reference)) * factor
        above = losses - self.reference  # never negative: the exponentials below can vanish but not overflow
        mass = (np.maximum(weight, 0.0) if side == "upper" else weight) * np.exp(-law.tilt * above)
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
        """delta at a loss, given the first node above it; the honest extreme where nothing is known."""
        upper, rise = self.side == "upper", loss - self.reference
        if rise > ROOMY_EXPONENT and not upper:
            return self.constant  # the Q-sums have vanished: an upper bound may drop them, a lower one may not
        weighted = math.exp(rise) * float(self.q[index]) if rise <= ROOMY_EXPONENT else 0.0
        value = self.scale * (float(self.p[index]) - weighted)
        if not (math.isfinite(value) and math.isfinite(charge)):
            return 1.0 if upper else self.constant
        return min(1.0, self.constant + (max(value, 0.0) + charge if upper else max(value - charge, 0.0)))

    def upper_deltas(self) -> Array:
        """delta at every node (`losses`) from above: the whole curve at once."""
        rise = self.losses - self.reference
        weighted = np.where(rise <= ROOMY_EXPONENT, np.exp(np.minimum(rise, ROOMY_EXPONENT)) * self.q, 0.0)
        charge = self.law.error_weight * np.exp(
            np.minimum(self.law.log_scale - self.law.tilt * self.losses, LARGEST_EXPONENT)
        )
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


class BandProfile:
    """The profile of a sum of which only a few frequencies are known, bounded on one side.

    The sum over all nodes above e of e^{-t(x - e)} times a wave is a geometric series, and so is the one with t + 1; thus
    delta is a short sum over the frequencies, at any e.
    """

    def __init__(self, law: BandLaw, side: Side, floor: float = -math.inf) -> None:
        self.law, self.side = law, side
        self.factor = 1.0 + law.mass_error if side == "upper" else 1.0 - min(1.0, law.mass_error)
        self.constant = (law.infinite + (law.above if side == "upper" else 0.0)) * self.factor
        self.bottom = law.lowest + law.first * law.step
        self.top = self.bottom + (law.nodes - 1) * law.step
        self.floor = max(floor - law.shift - 2.0 * law.step, self.bottom)
        self.frequency = np.arange(len(law.spectrum))
        twice = np.where(self.frequency > 0, 2.0, 1.0) * law.spectrum / law.nodes
        turn = 2.0j * np.pi / law.nodes * self.frequency
        self.rates = max(law.tilt, TINY) * law.step, (law.tilt + 1.0) * law.step
        series = np.array([twice / -np.expm1(-(rate + turn)) for rate in self.rates])
        self.real, self.imag = np.ascontiguousarray(series.real), np.ascontiguousarray(series.imag)
        self.ends = self._series(law.first)
        # every term is off by at most 64 u, the sums over the terms by their number; here and at the end of the window
        terms = 2.0 * (128.0 + len(twice)) * UNIT_ROUNDOFF
        self.error = law.error_weight + terms * float(np.abs(series).sum())

    def _series(self, node: int) -> list[float]:
        """The geometric series from a node on (never ending), for P and for Q."""
        nodes = self.law.nodes
        angle = (self.frequency * (node % nodes)) % nodes * (2.0 * np.pi / nodes)
        sums: list[float] = (self.real @ np.cos(angle) + self.imag @ np.sin(angle)).tolist()  # a few hundred terms
        return sums

    def _at(self, loss: float) -> tuple[float, float]:
        """delta on the honest side, and minus its slope (roughly), at a loss inside the window."""
        law, upper = self.law, self.side == "upper"
        exponent = law.log_scale - law.tilt * loss
        if exponent > ROOMY_EXPONENT:
            return (1.0 if upper else self.constant), 0.0
        node = min(max(law.first, math.floor((loss - law.lowest) / law.step) + 1), law.first + law.nodes - 1)
        gap, left = law.lowest + node * law.step - loss, law.first + law.nodes - node
        scale = math.exp(exponent)
        p, q = (
            scale * math.exp(-(law.tilt + i) * gap) * (whole - math.exp(-rate * left) * end)
            for i, (whole, rate, end) in enumerate(zip(self._series(node), self.rates, self.ends, strict=True))
        )
        charge = scale * self.error
        value = max(p - q, 0.0) * self.factor + charge if upper else max((p - q) * self.factor - charge, 0.0)
        return min(1.0, self.constant + value), max(q, 0.0) * self.factor + (charge * law.tilt if upper else 0.0)

    def delta(self, epsilon: float) -> float:
        """delta at one epsilon."""
        upper = self.side == "upper"
        at = epsilon - self.law.shift if upper else epsilon + self.law.shift
        if at < self.bottom and not self.law.complete_below:
            return 1.0 if upper else self.constant
        if at >= self.top:
            return self._at(self.top)[0] if upper else self.constant
        return self._at(at)[0]

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon with delta(epsilon) <= delta (upper), or the largest with delta(epsilon) >= delta (lower).

        Newton steps on ln delta. That curve is not concave for sampled losses (heavy right tails), so the bracket is
        halved wherever a step would leave it or does not shrink; the point returned has been tried.
        """
        if self.constant >= delta:
            return math.inf
        law, upper = self.law, self.side == "upper"
        bad, good = self.floor, self.top  # ends of the search; neither is tried unless the search comes there
        at, before = min(max(law.guess, bad), good), math.inf
        for _ in range(200):
            value, slope = self._at(at)
            if value > delta:
                bad = max(bad, at)
            else:
                good = min(good, at)
            if at == self.floor and value <= delta:
                return self.floor + law.shift if upper else -math.inf
            excess = value - self.constant
            known = slope > 0.0 and excess > 0.0
            move = excess / slope * math.log(excess / (delta - self.constant)) if known else math.inf
            if abs(move) <= _NEWTON * (1.0 + abs(at)):  # the next one would be about its square
                at = min(max(at + move, bad), good)
                break
            if good - bad <= 1e-12 * (1.0 + abs(at)):
                break
            following = at + move
            if not bad < following < good or abs(move) > 0.5 * before:
                following = 0.5 * (bad + good)
            at, before = following, abs(following - at)
        return self._tried(at, delta)

    def _tried(self, at: float, delta: float) -> float:
        """A point close to `at`, on the safe side, at which the claim has been checked."""
        upper, margin = self.side == "upper", 1e-13 * (1.0 + abs(at))
        while self.floor <= at <= self.top:
            value = self._at(at)[0]
            if (value <= delta) if upper else (value >= delta):
                return at + self.law.shift if upper else at - self.law.shift
            at, margin = at + margin if upper else at - margin, 4.0 * margin
        return math.inf if upper else -math.inf


def profile_of(law: Sum, side: Side, floor: float = -math.inf) -> Profile | BandProfile:
    """The profile of a composed law, from wherever its masses are kept."""
    if isinstance(law, BandLaw):
        return BandProfile(law, side, floor)
    assert isinstance(law, ComposedLaw)
    return Profile(law, side, floor)


class Layers:
    """The profile of a sum of measures, each with a profile of its own; bounds add up."""

    def __init__(self, laws: list[Sum], side: Side, floor: float, guess: float) -> None:
        self.layers = [profile_of(law, side, floor) for law in laws]
        self.side, self.guess = side, guess
        self.top = max(float(law.top) for law in laws)

    def delta(self, epsilon: float) -> float:
        """delta at one epsilon."""
        return min(1.0, math.fsum(layer.delta(epsilon) for layer in self.layers))

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon >= 0 found with delta(epsilon) <= delta (upper), or the largest with delta(epsilon) >= delta.

        Each point is a claim of its own, so the bracket is halved (in its logarithm, while it is wide).
        """
        upper = self.side == "upper"
        low, high = 0.0, self.top  # above the target at `low`, not above it at `high`
        if upper and self.delta(low) <= delta:
            return low
        if not upper:  # below its window a lower bound knows nothing: start from a point that it sees
            seen = [share * self.guess for share in _SHARES if self.delta(share * self.guess) >= delta]
            if not seen:
                return -math.inf
            low = seen[0]
        if self.delta(high) > delta:
            return math.inf if upper else high
        middle = self.guess
        for _ in range(100):
            if not low < middle < high:
                middle = 0.5 * (low + high)
            if self.delta(middle) > delta:
                low = middle
            else:
                high = middle
            if high - low <= 1e-9 * high + TINY:
                break
            middle = math.sqrt(low * high) if 0.0 < 4.0 * low < high else 0.5 * (low + high)
        return high if upper else low
