"""The two-sided engine: plan, round, compose, answer; refine the grid until the interval is narrow enough."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array
from privet.accounting.pld.answer import delta_bound, delta_curve, epsilon_bound
from privet.accounting.pld.compose import ComposedLaw, compose
from privet.accounting.pld.plan import Plan, make_plan, step_tail
from privet.accounting.pld.rounding import lower_law, upper_law
from privet.privacy import Direction, PrivacyLoss

__all__ = ["Interval", "composed_laws", "delta_interval", "epsilon_interval", "profile_curves"]

_MOST_NODES = 1 << 22
_WIDTH_LAW = 0.14  # measured: relative width of the interval is about 0.14 (h / std of one loss)^2
_PASSES = 5
_CURVE_FLOOR = 1e-9  # the whole curve is computed without tilt, to about this absolute accuracy

Parts = list[tuple[PrivacyLoss, int]]


@dataclass(frozen=True)
class Interval:
    """A certified enclosure of the true value for the composed pair."""

    lower: float
    upper: float


def _directions(parts: Parts) -> tuple[Direction, ...]:
    """One direction is enough when every pair is its own mirror image."""
    variables = [loss.variable("remove") for loss, _ in parts]
    return ("remove",) if all(v.reversed() is v for v in variables) else ("remove", "add")


def _grid_step(parts: Parts, plan: Plan, tol: float) -> float:
    """A step for the wanted relative width: on the lattice of the atoms if there is one, else a power of 2^(1/4)."""
    spacing = {v for v in (loss.variable("remove").lattice for loss, _ in parts)}
    wanted = max(plan.step_scale * math.sqrt(tol / _WIDTH_LAW), (plan.high - plan.low) / _MOST_NODES, 1e-300)
    lattice = spacing.pop() if len(spacing) == 1 else None
    if lattice is not None and lattice >= wanted:
        return lattice / math.ceil(lattice / wanted - 1e-9)
    return 2.0 ** (math.floor(4.0 * math.log2(wanted)) / 4.0)


def composed_laws(
    parts: Parts, direction: Direction, plan: Plan, step: float, delta: float
) -> tuple[ComposedLaw, ComposedLaw]:
    """Upper and lower law of the composition in one direction."""
    tail = step_tail(delta, sum(n for _, n in parts))
    upper = compose([(upper_law(loss, direction, step, tail), n) for loss, n in parts], step, plan)
    lower = compose([(lower_law(loss, direction, step, tail), n) for loss, n in parts], step, plan)
    return upper, lower


def epsilon_interval(parts: Parts, delta: float, tol: float) -> Interval:
    """Enclose the smallest epsilon >= 0 for this delta; the width aimed at is tol * epsilon."""
    best = Interval(0.0, math.inf)
    plans = {d: make_plan(parts, d, delta=delta) for d in _directions(parts)}
    wanted, before = tol, math.inf
    for _ in range(_PASSES):
        lower, upper = 0.0, 0.0
        for direction, plan in plans.items():
            laws = composed_laws(parts, direction, plan, _grid_step(parts, plan, wanted), delta)
            upper = max(upper, epsilon_bound(laws[0], delta, "upper"))
            lower = max(lower, epsilon_bound(laws[1], delta, "lower"))
        best = Interval(max(best.lower, lower), min(best.upper, upper))
        width = best.upper - best.lower
        if width <= tol * max(best.upper, 0.05) or (math.isfinite(width) and width > 0.8 * before):
            break
        before = width
        wanted *= min(0.25, max(1e-3, 0.7 * tol * best.upper / width)) if math.isfinite(width) else 0.1
    return best


def delta_interval(parts: Parts, epsilon: float, tol: float) -> Interval:
    """Enclose delta(epsilon), the larger of both directions; the relative width aimed at is tol."""
    best = Interval(0.0, 1.0)
    wanted = tol / 10.0
    for _ in range(_PASSES):
        lower, upper = 0.0, 0.0
        for direction in _directions(parts):
            plan = make_plan(parts, direction, delta=1e-9, epsilon=epsilon)
            scale = max(1e-280, best.upper if best.upper < 1.0 else 1e-12)
            laws = composed_laws(parts, direction, plan, _grid_step(parts, plan, wanted), scale)
            upper = max(upper, delta_bound(laws[0], epsilon, "upper"))
            lower = max(lower, delta_bound(laws[1], epsilon, "lower"))
        best = Interval(max(best.lower, lower), min(best.upper, upper))
        if best.upper - best.lower <= tol * best.upper:
            break
        wanted *= 0.1
    return best


def profile_curves(parts: Parts, tol: float) -> list[tuple[Array, Array]]:
    """(epsilon nodes, certified upper deltas) of the whole curve, one entry per direction; for trade-off questions."""
    curves = []
    for direction in _directions(parts):
        plan = make_plan(parts, direction, delta=_CURVE_FLOOR, untilted=True)
        step = _grid_step(parts, plan, tol)
        tail = step_tail(_CURVE_FLOOR, sum(n for _, n in parts))
        law = compose([(upper_law(loss, direction, step, tail), n) for loss, n in parts], step, plan)
        deltas = delta_curve(law, "upper")
        curves.append((law.losses + law.shift, np.where(np.isfinite(deltas), deltas, 1.0)))
    return curves
