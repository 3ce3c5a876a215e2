"""Planning a composition: tilt, window and grid step, from a coarse summary of each part.

Nothing here is certified and nothing needs to be: a bad plan gives a wide interval, never a wrong one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privet._cache import remember
from privet._numerics import TINY, Array
from privet.privacy import Direction, LossVariable

_POINTS, _MANY_POINTS = 80, 200  # of a summary, and of one with long tails
_MANY_ATOMS = 400  # of a summary: more are taken together
_LONG_TAILED = 80.0  # standard deviations from end to end
_ORDERS = 2.0 ** np.arange(-5.0, 9.5)  # tried for a Chernoff quantile, in units of 1/standard deviation
_OCTAVES = 2.0 ** np.arange(-16.0, 0.5)  # tried first for the best order, as shares of the largest one
_NEAR, _NEARER = (2.0 ** np.linspace(-reach, reach, 7) for reach in (0.75, 0.2))  # then, around the best so far
_SHARES = np.linspace(0.0, 1.0, 13)  # of the best tilt, to find the least that will do
_max, _sum = np.maximum.reduce, np.add.reduce  # quicker for small arrays than np.max and np.sum
_TOP_TAIL = 1e-8  # share of delta that may lie above the window
_WRAPPED = 1e-10  # tilted mass that may wrap around: it is charged, so it costs width only
_AT_ONCE = 2**21  # losses times orders: 16 MB; memory and speed only
_STEP_TAIL = 1e-8  # share of delta that all steps together may send to infinity


class Priced(Protocol):
    """A part as the engine needs it: the pair behind it."""

    @property
    def kind(self) -> str:
        """A name for messages."""

    def variable(self, direction: Direction) -> LossVariable:
        """The loss variable in one direction."""


Parts = Sequence[tuple[Priced, int]]


@dataclass(frozen=True, eq=False)
class Summary:
    """A few hundred losses with the logarithm of their mass: enough for moments."""

    losses: Array
    log_mass: Array
    points: Array  # outline of the continuous part: cells between these losses ...
    inside: Array  # ... and their P-masses


@remember(6_000_000)
def summary_of(loss: Priced, direction: Direction, tail: float) -> Summary:
    """The coarse law of one part, cut at the same tail as the grid laws (beyond it the mass sits at infinity)."""
    variable = loss.variable(direction)
    points, p, q = _outline(variable, _POINTS, tail)
    if _is_long_tailed(points, p[1:-1]):
        points, p, q = _outline(variable, _MANY_POINTS, tail)
    inside = p[1:-1].copy()
    p[-1] = 0.0  # what lies above the last point
    seen = (p > 0.0) & (q > 0.0)
    atoms, atom_mass = _few_atoms(*variable.atoms()[:2], tail)
    losses = np.concatenate((np.log(p[seen] / q[seen]), atoms))
    mass = np.concatenate((p[seen], atom_mass))
    if len(losses) == 0:
        losses, mass = np.zeros(1), np.ones(1)
    return Summary(losses, np.log(mass), points, inside)


def _few_atoms(losses: Array, mass: Array, tail: float) -> tuple[Array, Array]:
    """Atoms of some mass; where they are many, without those that the grid laws cut off, and in runs of neighbours."""
    heavy = mass > 0.0
    losses, mass = losses[heavy], mass[heavy]
    if len(losses) <= _MANY_ATOMS:
        return losses, mass
    kept = (np.cumsum(mass) > tail) & (np.cumsum(mass[::-1])[::-1] > tail)
    losses, mass = losses[kept], mass[kept]
    starts = np.arange(0, len(losses), -(-len(losses) // _MANY_ATOMS))
    total = np.add.reduceat(mass, starts)
    return np.add.reduceat(mass * losses, starts) / total, total


def _outline(variable: LossVariable, count: int, tail: float) -> tuple[Array, Array, Array]:
    points = variable.points(count, tail)
    return points, *variable.cells(points)


def _is_long_tailed(points: Array, inside: Array) -> bool:
    """Is the law much wider than its standard deviation? Then few points are too far apart where it decides."""
    middle = 0.5 * (points[1:] + points[:-1])
    total = max(float(inside.sum()), TINY)
    mean = float((inside * middle).sum()) / total
    variance = float((inside * (middle - mean) ** 2).sum()) / total
    return bool((points[-1] - points[0]) ** 2 > _LONG_TAILED**2 * variance)


def step_tail(delta: float, steps: int) -> float:
    """Mass of one step that may go to infinity; a power of a hundred, so that neighbouring questions share their grids."""
    # far enough above the smallest double for what is computed from it
    return 100.0 ** math.floor(0.5 * math.log10(max(delta * _STEP_TAIL / steps, 1e-290)))


@dataclass(frozen=True)
class Plan:
    """The place to look at and how finely: exponential tilt t, window [low, high], the scale of one step's loss."""

    tilt: float
    low: float
    high: float
    top_order: float  # orders of the Chernoff bounds on what lies outside the window: above it, without the tilt ...
    low_order: float  # ... below it, under the tilt ...
    high_order: float  # ... and above it, under the tilt
    step_scale: float  # standard deviation of the whole over the root of the number of steps
    target: float  # rough epsilon
    part_width: float  # width of the widest single law
    log_delta: float  # logarithm of the Chernoff bound on delta at the target
    guess: float  # a better guess of epsilon than the target
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
        ends = [(float(s.losses.min()), float(s.losses.max()), n) for s, n in parts]
        self.part_width = max(high - low for low, high, _ in ends)
        self.top = sum(n * high for _, high, n in ends)
        self.bottom = sum(n * low for low, _, n in ends)

    def __call__(self, t: float) -> tuple[float, float, float]:
        """ln E exp(t L) with its first and second derivative."""
        exponent = t * self.losses + self.log_mass
        peak = _max(exponent, axis=1)
        weight = np.exp(exponent - peak[:, None])
        total = _sum(weight, axis=1)
        mean = _sum(weight * self.losses, axis=1) / total
        variance = _sum(weight * (self.losses - mean[:, None]) ** 2, axis=1) / total
        value, slope, bend = (self.counts * np.array([peak + np.log(total), mean, variance])).sum(axis=1).tolist()
        return value, slope, bend

    def log_moments(self, orders: Array) -> Array:
        """ln E exp(t L) at many orders at once, or of very many parts at a few of them after the other."""
        several = max(1, _AT_ONCE // self.losses.size)
        if len(orders) > several:
            return np.concatenate([self.log_moments(orders[i : i + several]) for i in range(0, len(orders), several)])
        exponent = np.multiply.outer(orders, self.losses)
        exponent += self.log_mass
        peak = _max(exponent, axis=2)
        exponent -= peak[:, :, None]
        total = _sum(np.exp(exponent, out=exponent), axis=2)
        moments: Array = _sum((peak + np.log(total)) * self.counts, axis=1)
        return moments

    def order_for(self, log_inverse: float, most: float) -> float:
        """The order of the best Chernoff bound (K(t) + ln(1/delta))/t on the delta-quantile, at most `most`."""
        return _narrowed(
            lambda orders: (self.log_moments(orders) + log_inverse) / orders, most, closely=log_inverse > 30.0
        )

    def quantiles(self, asked: list[tuple[float, float, float, float]]) -> list[tuple[float, float]]:
        """Chernoff quantiles of tilted laws, the order and the loss of each.

        Each question names the tilt, K there, the logarithm of the mass beyond the quantile, and the unit in which orders
        are tried: positive for the upper end, negative for the lower one (whose loss comes with its sign flipped).
        """
        moments = self.log_moments(np.concatenate([tilt + unit * _ORDERS for tilt, _, _, unit in asked]))
        found = []
        for i, (_, value, log_mass, unit) in enumerate(asked):
            orders = abs(unit) * _ORDERS
            losses = (moments[i * len(orders) : (i + 1) * len(orders)] - (value + log_mass)) / orders
            best = int(np.argmin(losses))
            found.append((float(orders[best]), float(losses[best])))
        return found

    def order_at(self, epsilon: float, most: float) -> float:
        """The order of the best Chernoff bound exp(K(t) - t epsilon) on delta(epsilon)."""
        best = _narrowed(lambda orders: self.log_moments(orders) - orders * epsilon, most, closely=True)
        pair = np.array([0.0, best])  # order 0 is the best one where epsilon lies below the mean loss
        return float(pair[np.argmin(self.log_moments(pair) - pair * epsilon)])

    def least_tilt(self, best: float, target: float, most: float) -> float:
        """The smallest tilt under which rounding noise counts at the target with a factor of at most exp(most).

        No more tilt than needed: it makes heavy tails heavier.
        """
        tilts = best * _SHARES
        quiet = np.flatnonzero(self.log_moments(tilts) - tilts * target <= most)
        return float(tilts[quiet[0]]) if len(quiet) else best


def _narrowed(objective: Callable[[Array], Array], most: float, *, closely: bool) -> float:
    """About the order, at most `most`, that minimises the objective; a small delta asks for it more closely."""
    orders = most * _OCTAVES
    for factors in (_NEAR, _NEARER) if closely else (_NEAR,):
        best = float(orders[np.argmin(objective(orders))])
        orders = np.minimum(best * factors, most)
    return float(orders[np.argmin(objective(orders))])


def make_plan(
    parts: Parts,
    direction: Direction,
    *,
    delta: float,
    epsilon: float | None = None,
    untilted: bool = False,
) -> Plan:
    """Plan for the epsilon at `delta`; or, when `epsilon` is given, for the delta there (`delta` is then a guess)."""
    steps = sum(n for _, n in parts)
    total = _Sum([(summary_of(loss, direction, step_tail(delta, steps)), n) for loss, n in parts])
    spread0 = math.sqrt(max(total(0.0)[2], TINY))
    # a normal law of this spread has its best order at sqrt(2 ln(1/delta))/spread: others may need a few times that
    most = (4.0 * math.sqrt(2.0 * math.log(1.0 / delta)) + 2.0) / spread0
    if epsilon is None:
        best = total.order_for(math.log(1.0 / delta), most)
        value, _, variance = total(best)
        target = (value + math.log(1.0 / delta)) / best
    else:
        best, target = total.order_at(epsilon, most), epsilon
        value, _, variance = total(best)
    log_delta = value - best * target
    # by this factor a Chernoff bound exceeds the delta of a nearly normal sum (its saddle-point approximation)
    excess = best * (1.0 + best) * math.sqrt(2.0 * math.pi * max(variance, TINY))
    # the tilt may leave the noise exp(allowed) above its best: less for many steps, whose noise adds up
    allowed = min(7.0, max(0.5, 7.0 - math.log(steps / 1e3)))
    spacing, tilt = min(0.5, math.sqrt(2.0 / max(-log_delta, 1.0))), 0.0
    if not untilted:  # rounded up, so that the noise stays within what is allowed, but not above the best
        tilt = min(best, 2.0**spacing * _rounded(total.least_tilt(best, target, log_delta + allowed), spacing))
    value, _, variance = total(tilt)
    spread = math.sqrt(max(variance, TINY))
    # where delta is the question, it lies below its Chernoff bound: by a factor of e^3, say
    log_top = math.log(_TOP_TAIL) + (math.log(delta) if epsilon is None else log_delta - 3.0)
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
        log_delta=log_delta,
        guess=target - math.log(max(excess, 1.0)) / best if best > 0.0 else target,
        order=_rounded(best, 0.5 if log_delta > -25.0 else spacing),
    )


def _rounded(value: float, spacing: float = 0.5) -> float:
    """Down to a power of 2^spacing, sqrt(2) if not told: neighbouring questions then share their laws and transforms.

    For tiny delta the order must be met closely: a mesh made for one that misses it by a share x is as if delta were
    larger by a factor exp(x^2 ln(1/delta)).
    """
    return 2.0 ** (math.floor(math.log2(value) / spacing) * spacing) if value > 0.0 else 0.0
