"""Planning a composition: tilt, window and grid step, from a coarse summary of each part.

Nothing here is certified and nothing needs to be: a bad plan gives a wide interval, never a wrong one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privet._numerics import Array
from privet.privacy import Direction, LossVariable, PrivacyLoss

__all__ = ["Plan", "Summary", "make_plan", "step_tail", "summary_of"]

_POINTS, _MANY_POINTS = 80, 200
_LONG_TAILED = 80.0  # standard deviations
_LADDER = 2.0 ** np.arange(-5.0, 9.5)  # orders that are tried for a Chernoff bound
_TOP_TAIL = 1e-8  # share of delta that may lie above the window
_WRAPPED = 1e-10  # tilted mass that may wrap around
_STEP_TAIL = 1e-8  # share of delta that all steps together may send to infinity


@dataclass(frozen=True, eq=False)
class Summary:
    """A few hundred losses with the logarithm of their mass: enough for moments."""

    losses: Array
    log_mass: Array
    points: Array  # outline of the continuous part: cells between these losses ...
    inside: Array  # ... and their P-masses


@lru_cache(maxsize=512)
def summary_of(loss: PrivacyLoss, direction: Direction, tail: float) -> Summary:
    """The coarse law of one part, cut at the same tail as the grid laws (beyond it the mass sits at infinity)."""
    variable = loss.variable(direction)
    points, p, q = _outline(variable, _POINTS, tail)
    if _is_long_tailed(points, p[1:-1]):
        points, p, q = _outline(variable, _MANY_POINTS, tail)
    inside = p[1:-1].copy()
    p[-1] = 0.0
    seen = (p > 0.0) & (q > 0.0)
    atoms, atom_mass, _ = variable.atoms()
    heavy = atom_mass > 0.0
    losses = np.concatenate((np.log(p[seen] / q[seen]), atoms[heavy]))
    mass = np.concatenate((p[seen], atom_mass[heavy]))
    if len(losses) == 0:
        losses, mass = np.zeros(1), np.ones(1)
    return Summary(losses, np.log(mass), points, inside)


def _outline(variable: LossVariable, count: int, tail: float) -> tuple[Array, Array, Array]:
    points = variable.points(count, tail)
    return points, *variable.cells(points)


def _is_long_tailed(points: Array, inside: Array) -> bool:
    """Is the law much wider than its standard deviation? Then few points are too far apart where it decides."""
    middle = 0.5 * (points[1:] + points[:-1])
    total = max(float(inside.sum()), 1e-300)
    mean = float((inside * middle).sum()) / total
    variance = float((inside * (middle - mean) ** 2).sum()) / total
    return bool((points[-1] - points[0]) ** 2 > _LONG_TAILED**2 * variance)


def step_tail(delta: float, steps: int) -> float:
    """Mass of one step that may go to infinity; a power of a hundred, so that neighbouring questions share their grids."""
    return 100.0 ** math.floor(0.5 * math.log10(max(delta * _STEP_TAIL / steps, 1e-290)))


@dataclass(frozen=True)
class Plan:
    """Where to look and how finely: exponential tilt t, window [low, high], the scale of one step's loss."""

    tilt: float
    low: float
    high: float
    top_order: float
    low_order: float
    high_order: float
    step_scale: float
    target: float  # rough epsilon
    part_width: float  # width of the widest single law
    log_delta: float  # logarithm of the Chernoff bound on delta at the target
    guess: float  # a better guess of epsilon than the target, most often a little too large
    order: float  # the tilt under which the losses that decide are typical


class _Sum:
    """Cumulants of the whole composition: one row per distinct part."""

    def __init__(self, parts: list[tuple[Summary, int]]) -> None:
        width = max(len(s.losses) for s, _ in parts)
        self.losses = np.zeros((len(parts), width))
        self.log_mass = np.full((len(parts), width), -np.inf)
        for row, (summary, _) in enumerate(parts):
            self.losses[row, : len(summary.losses)] = summary.losses
            self.log_mass[row, : len(summary.losses)] = summary.log_mass
        self.counts = np.array([float(n) for _, n in parts])
        self.part_width = max(float(np.ptp(s.losses)) for s, _ in parts)
        self.top = sum(n * float(s.losses.max()) for s, n in parts)
        self.bottom = sum(n * float(s.losses.min()) for s, n in parts)

    def __call__(self, t: float) -> tuple[float, float, float]:
        """ln E exp(t L) with its first and second derivative."""
        exponent = t * self.losses + self.log_mass
        peak = exponent.max(axis=1)
        weight = np.exp(exponent - peak[:, None])
        total = weight.sum(axis=1)
        weight /= total[:, None]
        mean = (weight * self.losses).sum(axis=1)
        variance = (weight * (self.losses - mean[:, None]) ** 2).sum(axis=1)
        sums = [float((self.counts * row).sum()) for row in (peak + np.log(total), mean, variance)]
        return sums[0], sums[1], sums[2]

    def log_moments(self, orders: Array) -> Array:
        """ln E exp(t L) at many orders at once."""
        exponent = np.multiply.outer(orders, self.losses) + self.log_mass
        peak = exponent.max(axis=2)
        total = np.exp(exponent - peak[:, :, None]).sum(axis=2)
        return ((peak + np.log(total)) * self.counts).sum(axis=1)

    def order_for(self, log_inverse: float, most: float) -> float:
        """The order of the best Chernoff bound (K(t) + ln(1/delta))/t on the delta-quantile, at most `most`."""
        return _narrowed(lambda orders: (self.log_moments(orders) + log_inverse) / orders, most, log_inverse)

    def quantiles(self, asked: list[tuple[float, float, float, float]]) -> list[tuple[float, float]]:
        """Chernoff quantiles of tilted laws, the order and the loss of each.

        Each question names the tilt, K there, the logarithm of the mass beyond the quantile, and the unit in which orders
        are tried: positive for the upper end, negative for the lower one (whose loss comes with its sign flipped).
        """
        orders = np.multiply.outer([unit for *_, unit in asked], _LADDER)
        tilts, values, log_mass, _ = (np.array(column)[:, None] for column in zip(*asked, strict=True))
        moments = self.log_moments((tilts + orders).ravel()).reshape(orders.shape)
        losses = (moments - values - log_mass) / np.abs(orders)
        best = np.argmin(losses, axis=1)
        return [(abs(float(orders[i, j])), float(losses[i, j])) for i, j in enumerate(best)]

    def order_at(self, epsilon: float, most: float) -> float:
        """The order of the best Chernoff bound exp(K(t) - t epsilon) on delta(epsilon)."""
        best = _narrowed(lambda orders: self.log_moments(orders) - orders * epsilon, most, 100.0)
        pair = np.array([0.0, best])
        return float(pair[np.argmin(self.log_moments(pair) - pair * epsilon)])

    def least_tilt(self, best: float, target: float, most: float) -> float:
        """The smallest tilt that keeps rounding noise within its allowance at the target (heavy tails stay quiet)."""
        tilts = best * np.linspace(0.0, 1.0, 13)
        quiet = np.flatnonzero(self.log_moments(tilts) - tilts * target <= most)
        return float(tilts[quiet[0]]) if len(quiet) else best


def _narrowed(objective: Callable[[Array], Array], most: float, log_inverse: float) -> float:
    """The order at most `most` that minimises the objective; the smaller the delta, the more closely it must be met."""
    best, orders = most, most * 2.0 ** np.arange(-16.0, 0.5)
    for reach in (0.75, 0.2) if log_inverse > 30.0 else (0.75,):
        best = float(orders[np.argmin(objective(orders))])
        orders = np.minimum(best * 2.0 ** np.linspace(-reach, reach, 7), most)
    return float(orders[np.argmin(objective(orders))])


def make_plan(
    parts: list[tuple[PrivacyLoss, int]],
    direction: Direction,
    *,
    delta: float,
    epsilon: float | None = None,
    untilted: bool = False,
) -> Plan:
    """Plan for the epsilon at `delta`; or, when `epsilon` is given, for the delta there (`delta` is then a guess)."""
    steps = sum(n for _, n in parts)
    total = _Sum([(summary_of(loss, direction, step_tail(delta, steps)), n) for loss, n in parts])
    spread0 = math.sqrt(max(total(0.0)[2], 1e-300))
    most = (4.0 * math.sqrt(2.0 * math.log(1.0 / delta)) + 2.0) / spread0
    if epsilon is None:
        best = total.order_for(math.log(1.0 / delta), most)
        target = (total(best)[0] + math.log(1.0 / delta)) / best
    else:
        best, target = total.order_at(epsilon, most), epsilon
    floor = (total(best)[0] if epsilon is not None else best * target + math.log(delta)) - best * target
    # the tilt may leave the noise exp(allowed) above its best
    allowed = min(7.0, max(0.5, 7.0 - math.log(steps / 1e3)))
    rung, tilt = min(0.5, math.sqrt(2.0 / max(-floor, 1.0))), 0.0
    if not untilted:  # a rung of the ladder, but not above the best
        tilt = min(best, 2.0**rung * _rounded(total.least_tilt(best, target, floor + allowed), rung))
    value, _, variance = total(tilt)
    spread = math.sqrt(max(variance, 1e-300))
    log_top = math.log(_TOP_TAIL) + (math.log(delta) if epsilon is None else floor - 3.0)
    unit, log_wrapped = _rounded(1.0 / spread), math.log(_WRAPPED)
    (top_order, top), (high_order, high), (low_order, low) = total.quantiles(
        [
            (0.0, 0.0, log_top, _rounded(1.0 / spread0)),
            (tilt, value, log_wrapped, unit),
            (tilt, value, log_wrapped, -unit),
        ]
    )
    return Plan(
        tilt=tilt,
        low=max(min(-low, target - spread), total.bottom),
        high=max(min(max(high, top, target + spread), total.top), total.bottom),
        top_order=top_order,
        low_order=low_order,
        high_order=high_order,
        step_scale=min(spread, spread0) / math.sqrt(steps),
        target=target,
        part_width=total.part_width,
        log_delta=floor,
        guess=target + math.log(best / (1.0 + best)) - math.log(1.0 + best) / best if best > 0.0 else target,
        order=_rounded(best, 0.5 if floor > -25.0 else rung),
    )


def _rounded(value: float, rung: float = 0.5) -> float:
    """Down to a power of sqrt(2), or to another ladder: neighbouring questions then share their laws and transforms.

    For tiny delta the order must be met closely: a mesh made for one that misses it by a share x is as if delta were
    larger by a factor exp(x^2 ln(1/delta)).
    """
    return 2.0 ** (math.floor(math.log2(value) / rung) * rung) if value > 0.0 else 0.0
