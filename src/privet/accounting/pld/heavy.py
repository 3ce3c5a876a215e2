"""Planning for heavy right tails: which steps count as jumps, and how to look at each group of paths.

A loss sampled with a small rate has a tail like a log-normal one. Then delta is decided by a few large steps, and a
Chernoff bound on the whole sum, which sees steps far beyond the loss in question, misses it by orders. So the paths are
told apart by their largest step (`levels.py`): those without a jump above a cut have light tails and bear a strong tilt;
the others are rare, which makes their rounding noise as small as they are. Nothing here is certified: a bad plan gives a
wide interval, never a wrong one.
"""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import TINY, Array, bisect
from privet.accounting.pld.plan import Parts, Plan, Summary, summary_of
from privet.privacy import Direction

_TAIL = 1e-6  # share of delta that all steps together may send to infinity
_SPENT = 1e-6  # share of delta that a window may lose
_NOISE = 4e-14  # rounding noise of one step, roughly: it steers the choice of a tilt, and width only
_QUIET = 1e-6  # noise below this share of delta needs no further tilt
_CUTS = 2.0 ** np.arange(-20.0, 0.1, 0.5)  # thresholds that are tried to find epsilon, as shares of the largest loss
_ORDERS = 2.0 ** np.arange(-4.0, 8.1, 0.5)  # orders, over a threshold
# Places at which a step may be cut, as multiples of the scale of one step: speed and width only.
_NEAR_CUTS = 2.0 ** np.arange(-5.0, 1.1, 0.5)
_RUNGS = 36  # tilts that are tried: tightness alone
_LEAST_TOP = 1e-9  # cuts and orders are measured by the largest loss, and some steps have none above 0
_NO_MASS = -1e300  # stands for the logarithm of nothing
_RARE = 0.1  # jumps that come together are rarer still
# Of a grid, and of one whose interval would be wide: speed and width only.
_MOST_NODES, _MOST_NODES_IF_POOR = 1 << 20, 3 << 20
_FINE = 1.0 / 64.0  # cells of the jumps are at most this share of their loss


@dataclass(frozen=True, eq=False)
class HeavyPlan:
    """Two plans, for the paths below the cut and for the others, on one grid."""

    cut: float
    bulk: Plan
    jump: Plan
    tail: float
    epsilon: float  # the loss that decides, as estimated
    slope: float  # -d ln delta / d epsilon there
    steps: int
    order: float  # where the mesh should be dense
    fine: float  # width of the widest cell, as a share of its loss

    @property
    def known(self) -> bool:
        """Is it made of numbers? The moments of very many very large losses lie beyond doubles."""
        ends = [(plan.low, plan.high, plan.tilt) for plan in (self.bulk, self.jump)]
        return all(map(math.isfinite, (self.cut, self.slope, *ends[0], *ends[1])))

    def step_for(self, width: float) -> float:
        """The grid step that moves epsilon by about `width`: rounding adds about h^2/6 to the variance of each step."""
        return math.sqrt(6.0 * max(width, TINY) / (self.slope * self.steps))

    def least_step(self, *, poor: bool) -> float:
        """The finest step that is affordable: dearer where coarser ones have left a poor interval."""
        nodes = _MOST_NODES_IF_POOR if poor else _MOST_NODES
        return max(plan.high - plan.low for plan in (self.bulk, self.jump)) / nodes


class Outline:
    """The coarse laws of all parts, sorted by loss, with moments of every truncation of them."""

    def __init__(self, parts: list[tuple[Summary, int]]) -> None:
        self.parts = []
        for summary, n in parts:
            order = np.argsort(summary.losses, kind="stable")
            self.parts.append((summary.losses[order], summary.log_mass[order], n))
        self.top = max(_LEAST_TOP, *(float(losses[-1]) for losses, _, _ in self.parts))
        self.reach = math.fsum(n * max(float(losses[-1]), 0.0) for losses, _, n in self.parts)
        self.steps = sum(n for _, _, n in self.parts)
        sizes = [math.sqrt(float((np.exp(log_mass) * losses**2).sum())) for losses, log_mass, _ in self.parts]
        self.narrowest = min((size for size in sizes if size > 0.0), default=math.inf)  # the usual size of a loss

    def moments(self, cuts: Array, orders: Array) -> tuple[Array, Array]:
        """ln of the moment of the whole sum with steps cut at each of `cuts` (one row each), at orders of that row; and ln
        of the expected number of steps above it in the law of the same order without the cut."""
        value = np.zeros(orders.shape)
        jumps = np.full(orders.shape, -np.inf)
        for losses, log_mass, n in self.parts:
            places = np.searchsorted(losses, cuts, side="right")
            for row, place in enumerate(places.tolist()):
                exponents = np.multiply.outer(orders[row], losses) + log_mass
                below, above = _log_sum(exponents[:, :place]), _log_sum(exponents[:, place:])
                value[row] += n * below
                jumps[row] = np.logaddexp(jumps[row], math.log(n) + above - np.logaddexp(below, above))
        return value, jumps

    def below(self, cuts: Array, orders: Array) -> Array:
        """ln of the moment of the whole sum at `orders` (rows), with steps cut at each of increasing `cuts` (columns)."""
        value = np.zeros((len(orders), len(cuts)))
        for losses, log_mass, n in self.parts:
            ends = np.searchsorted(losses, cuts, side="right")
            starts = np.append(0, ends[:-1])
            some = np.flatnonzero(ends > starts)  # cuts with losses between them and the cut before
            logs = np.full(value.shape, _NO_MASS)
            if len(some):
                exponents = np.multiply.outer(orders, losses[: ends[-1]]) + log_mass[: ends[-1]]
                peak = np.maximum.reduceat(exponents, starts[some], axis=1)
                exponents -= np.repeat(peak, ends[some] - starts[some], axis=1)
                logs[:, some] = peak + np.log(np.add.reduceat(np.exp(exponents), starts[some], axis=1))
            value += n * np.logaddexp.accumulate(logs, axis=1)
        return value

    def means(self, cuts: Array) -> tuple[Array, Array, Array]:
        """Mean and standard deviation of the sum of the steps up to each cut, and the expected number of steps above it."""
        mean, variance, jumps = np.zeros(len(cuts)), np.zeros(len(cuts)), np.zeros(len(cuts))
        for losses, log_mass, n in self.parts:
            mass = np.exp(log_mass)
            ends = np.searchsorted(losses, cuts, side="right")
            total, first, second = (np.append(0.0, np.cumsum(mass * losses**power))[ends] for power in (0, 1, 2))
            whole = float(mass.sum())
            jumps += n * np.maximum(1.0 - total / whole, 0.0)
            total = np.maximum(total, TINY)
            mean += n * first / total
            variance += n * np.maximum(second / total - (first / total) ** 2, 0.0)
        return mean, np.sqrt(np.maximum(variance, TINY)), jumps

    def one_jump(self, epsilon: float) -> float:
        """delta of a single large step."""
        found = 0.0
        for losses, log_mass, n in self.parts:
            far = losses > epsilon
            found += n * float((np.exp(log_mass[far]) * -np.expm1(epsilon - losses[far])).sum())
        return found


def _log_sum(exponents: Array) -> Array:
    """ln of the sum of exponentials along each row; -1e300 for an empty one."""
    if exponents.shape[1] == 0:
        return np.full(len(exponents), _NO_MASS)
    peak = np.max(exponents, axis=1)
    total: Array = peak + np.log(np.exp(exponents - peak[:, None]).sum(axis=1))
    return total


class Guess:
    """delta as the sum of one jump and of the best Chernoff bound on paths without one."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.cuts = outline.top * _CUTS
        shifts = np.subtract.outer(
            np.arange(len(_CUTS))[::-1], -np.arange(len(_ORDERS))
        )  # cuts and orders are one ladder
        ladder = _ORDERS[0] / _CUTS[-1] * 2.0 ** (0.5 * np.arange(len(_CUTS) + len(_ORDERS) - 1)) / outline.top
        self.orders = ladder[shifts]
        self.moments = outline.below(self.cuts, ladder)[shifts, np.arange(len(_CUTS))[:, None]]
        self.weights = np.log1p(self.orders) + self.orders * np.log1p(1.0 / self.orders)  # of the excess, in delta
        self.means, self.spreads, self.rates = outline.means(self.cuts)

    def log_delta(self, epsilon: float) -> float:
        near = min(int(np.searchsorted(self.cuts, epsilon)), len(self.cuts) - 1)
        if near >= 2 and self.rates[near - 2] < _RARE:  # half of epsilon: what lies above is a jump and a little more
            near -= 2
        mean, spread = float(self.means[near]), float(self.spreads[near])
        best = float((self.moments[near] - self.orders[near] * epsilon - self.weights[near]).min())
        jump = self.outline.one_jump(max(epsilon - max(mean, 0.0) - 2.0 * spread, 0.0))
        return math.log(max(0.2 * math.exp(min(best, 0.0)) + jump, TINY))

    def epsilon(self, log_delta: float) -> float:
        """The epsilon at which that estimate meets the target."""
        low, high = 1e-9 * self.outline.top, max(self.outline.reach, self.outline.top)
        return bisect(lambda e: self.log_delta(e) <= log_delta, low, high, within=0.01)

    def slope(self, epsilon: float) -> float:
        """-d ln delta / d epsilon."""
        rise = self.log_delta(0.93 * epsilon) - self.log_delta(1.07 * epsilon)
        return max(rise, 0.05) / (0.14 * epsilon)


def outline_of(parts: Parts, direction: Direction, delta: float) -> tuple[Outline, float]:
    """The outline for one direction, and the mass of a step that may go to infinity."""
    steps = sum(n for _, n in parts)
    tail = 10.0 ** math.floor(math.log10(max(delta * _TAIL / steps, 1e-290)))
    return Outline([(summary_of(loss, direction, tail), n) for loss, n in parts]), tail


def heavy_plan(outline: Outline, tail: float, log_delta: float, epsilon: float, slope: float) -> HeavyPlan:
    """Cut, tilts and windows for a question near epsilon, where delta is about exp(log_delta)."""
    spread = float(outline.means(np.array([max(epsilon, 1e-9 * outline.top)]))[1][0])
    scale = max(epsilon, spread)
    cuts = np.minimum(scale * _NEAR_CUTS, 0.999 * outline.top)
    ladder = np.geomspace(0.125 / max(outline.top, scale), 512.0 / scale, _RUNGS)
    orders = np.tile(ladder, (len(cuts), 1))
    bulk, log_jumps = outline.moments(cuts, orders)
    whole = outline.moments(np.array([outline.top]), orders[:1])[0]
    blunt = np.log(np.maximum(ladder * (1.0 + ladder) * spread, 1e-3))
    levels = bulk, whole + np.minimum(log_jumps, 0.0)
    loud = [values - ladder * epsilon - blunt for values in levels]
    row = int(np.argmin(np.logaddexp(loud[0].min(axis=1), loud[1].min(axis=1))))
    cut = float(cuts[row])
    enough = log_delta + math.log(_QUIET / (_NOISE * outline.steps))
    spent = log_delta + math.log(_SPENT)
    plans = []
    for jumps, noise in zip((False, True), loud, strict=True):
        quiet = np.flatnonzero(noise[row] <= enough)
        tilt = float(ladder[quiet[0] if len(quiet) else np.argmin(noise[row])])
        plans.append(_level(outline, cut, tilt, ladder, epsilon, scale, spent, jumps=jumps))
    return HeavyPlan(cut, plans[0], plans[1], tail, epsilon, slope, outline.steps, plans[1].tilt, _FINE)


def _level(
    outline: Outline, cut: float, tilt: float, ladder: Array, epsilon: float, scale: float, spent: float, *, jumps: bool
) -> Plan:
    """The window for the paths without jumps, or for the others, under a tilt; exp(spent) is what it may lose."""

    def moment(orders: Array) -> Array:
        if not jumps:
            return outline.moments(np.array([cut]), orders[None, :])[0][0]
        log_jumps = outline.moments(np.array([cut]), orders[None, :])[1][0]
        whole: Array = outline.moments(np.array([outline.top]), orders[None, :])[0][0]
        return whole + np.minimum(log_jumps, 0.0)

    value = float(moment(np.array([tilt]))[0])
    wrapped = min(spent - (value - tilt * epsilon), -1.0)
    found = []
    for start, base, log_mass, sign in (
        (0.0, 0.0, spent, 1.0),
        (tilt, value, wrapped, 1.0),
        (tilt, value, wrapped, -1.0),
    ):
        losses = (moment(start + sign * ladder) - base - log_mass) / ladder
        best = int(np.argmin(losses))
        found.append((float(ladder[best]), float(losses[best])))
    (top_order, top), (high_order, high), (low_order, low) = found
    return Plan(
        tilt=tilt,
        low=min(-low, epsilon - 0.4 * scale),
        high=max(high, top, epsilon + scale),
        top_order=top_order,
        low_order=low_order,
        high_order=high_order,
        step_scale=scale / math.sqrt(outline.steps),
        target=epsilon,
        part_width=outline.top,
        log_delta=value - tilt * epsilon,
        guess=epsilon,
        order=tilt,
    )
