"""Terms and curves that the prices of objective perturbation share, for one margin and for several classes."""

from collections.abc import Callable

import numpy as np

from privet._numerics import Array
from privet._validate import above, at_least
from privet.errors import InvalidParameter
from privet.privacy.curve import variable_of_curve, variable_of_symmetric_curve
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction

FARTHEST = 39.0  # standard deviations: beyond, the normal law has less than 1e-330 of its mass
UP = 1.0 + 1e-9  # far above what rounding loses
_CURVE = 8_001  # nodes of a curve that is connected from above: more are slower and tighter


def perturbation_terms(noise_multiplier: float, curvature: float, unit: Unit) -> tuple[float, float]:
    """Noise and curvature within the range that has a price, for a unit that has one.

    >>> perturbation_terms(4.0, 0.25, Unit())
    (4.0, 0.25)
    """
    noise = above("noise_multiplier", noise_multiplier, 0.0)
    if noise < 1e-3:
        raise InvalidParameter("noise_multiplier must be at least 0.001: with less noise nothing is promised")
    bend = at_least("curvature", curvature, 0.0)
    if bend > 1e12:
        raise InvalidParameter("curvature must be at most 1e12: raise the regulariser")
    if unit.relation == "zero_out" or unit.group_size != 1:
        raise InvalidParameter("objective perturbation is priced for one record that is added, removed or replaced")
    return noise, bend


def curve_nodes(jacobian: float, length: float) -> Array:
    """Epsilons up to the largest loss that counts, for a gradient that moves by `length` standard deviations.

    >>> float(curve_nodes(1.0, 2.0)[-1])
    83.0
    """
    return np.linspace(0.0, jacobian + length * FARTHEST + length * length, _CURVE)


def perturbed_pair(
    delta: Callable[[Array, Direction], Array], epsilons: Array, direction: Direction, *, replaces: bool
) -> AtomicVariable:
    """Bounds on the curve at many epsilons, connected. Of each direction by itself: in a mirror image a delta stands beside
    1, which has no digits left for it where epsilon is large.

    >>> from privet.privacy.families.normal import gaussian_delta
    >>> pair = perturbed_pair(lambda e, _: gaussian_delta(1.0, e), curve_nodes(0.0, 1.0), "remove", replaces=True)
    >>> round(float(pair.delta(0.0)), 4)
    0.3829
    """
    towards = np.clip(delta(epsilons, direction) * UP, 0.0, 1.0)
    if replaces:
        return variable_of_symmetric_curve(epsilons, towards)
    back = np.clip(delta(epsilons, "add" if direction == "remove" else "remove") * UP, 0.0, 1.0)
    towards[0] = max(towards[0], back[0])  # at 0 both are the total variation
    below = -epsilons[:0:-1]
    mirrored = -np.expm1(below) + np.exp(below) * back[:0:-1]
    return variable_of_curve(np.concatenate((below, epsilons)), np.concatenate((mirrored, towards)))
