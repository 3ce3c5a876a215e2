"""Reading epsilon and delta off a composed law, on the safe side."""

import math
from typing import Literal

import numpy as np

from privet._numerics import Array
from privet.accounting.pld.compose import ComposedLaw

__all__ = ["delta_bound", "delta_curve", "epsilon_bound"]

Side = Literal["upper", "lower"]


def _suffix(law: ComposedLaw, side: Side) -> tuple[Array, Array, float]:
    """Suffix sums over nodes above each node: P-mass and Q-mass, relative to a reference loss."""
    reference = float(law.losses[len(law.losses) // 2])
    weight = np.maximum(law.weight, 0.0) if side == "upper" else law.weight
    offset = law.losses - reference
    mass = weight * np.exp(-law.tilt * offset)
    p = np.cumsum(mass[::-1])[::-1]
    q = np.cumsum((mass * np.exp(-offset))[::-1])[::-1]
    return p, q, reference


def _scale(law: ComposedLaw, reference: float) -> float:
    return math.exp(min(700.0, law.log_scale - law.tilt * reference))


def _constant(law: ComposedLaw, side: Side) -> tuple[float, float]:
    """What is added to delta, and the factor that covers relative errors of the masses."""
    if side == "upper":
        return law.infinite + law.above, 1.0 + law.mass_error + 1e-13 * math.log2(len(law.losses) + 2)
    return 0.0, 1.0 - min(1.0, law.mass_error + 1e-13 * math.log2(len(law.losses) + 2))


def delta_curve(law: ComposedLaw, side: Side) -> Array:
    """delta at every node of the window (bounded on the given side), before the shift of losses is applied."""
    p, q, reference = _suffix(law, side)
    constant, factor = _constant(law, side)
    raw = _scale(law, reference) * np.maximum(p - np.exp(law.losses - reference) * q, 0.0) * factor
    charge = law.charge(law.losses)
    return np.minimum(raw + constant + charge, 1.0) if side == "upper" else np.maximum(raw - charge, 0.0)


def epsilon_bound(law: ComposedLaw, delta: float, side: Side) -> float:
    """Largest epsilon with delta(epsilon) >= delta (lower) or smallest with delta(epsilon) <= delta (upper).

    Above each node the curve is p - exp(e) q with constants, so the crossing inside a cell is found in closed form.
    Returns -inf or +inf when the law cannot tell.
    """
    with np.errstate(all="ignore"):
        curve = delta_curve(law, side)
    if not np.all(np.isfinite(curve)) or (side == "upper" and law.infinite + law.above >= delta):
        return math.inf if side == "upper" else -math.inf  # a tilt that overflows can tell nothing
    crossing = np.flatnonzero(curve > delta)
    if len(crossing) == 0:
        return float(law.losses[0]) + law.shift if side == "upper" else -math.inf
    last = int(crossing[-1])
    if last == len(curve) - 1:
        return math.inf if side == "upper" else float(law.losses[last]) - law.shift
    p, q, reference = _suffix(law, side)
    constant, factor = _constant(law, side)
    charge = float(law.charge(law.losses[last : last + 1])[0])
    target = (delta - constant - charge if side == "upper" else delta + charge) / (factor * _scale(law, reference))
    gap = float(p[last + 1]) - target
    inside = reference + math.log(gap / float(q[last + 1])) if gap > 0.0 and q[last + 1] > 0.0 else -math.inf
    low, high = float(law.losses[last]), float(law.losses[last + 1])
    if side == "upper":
        return (inside if low <= inside <= high else high) + law.shift
    return (inside if low <= inside <= high else low) - law.shift


def delta_bound(law: ComposedLaw, epsilon: float, side: Side) -> float:
    """delta at one epsilon, from the node at or below it (upper) or above it (lower) and the exact shape in between."""
    moved = epsilon - law.shift if side == "upper" else epsilon + law.shift
    if moved < float(law.losses[0]):
        return min(1.0, max(0.0, -math.expm1(moved)) + 1.0) if side == "upper" else 0.0
    if moved >= float(law.losses[-1]):
        return min(1.0, law.infinite + law.above + float(law.charge(law.losses[-1:])[0])) if side == "upper" else 0.0
    p, q, reference = _suffix(law, side)
    constant, factor = _constant(law, side)
    index = int(np.searchsorted(law.losses, moved, side="right"))
    value = float(p[index]) - math.exp(moved - reference) * float(q[index])
    raw = _scale(law, reference) * max(value, 0.0) * factor
    charge = float(law.charge(np.array([moved]))[0])
    return min(1.0, raw + constant + charge) if side == "upper" else max(0.0, raw - charge)
