"""Between Rényi curves and pairs of distributions."""

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privet._numerics import Array
from privet.privacy.binary import binary_variable
from privet.privacy.curve import variable_of_symmetric_curve
from privet.privacy.variable import LossVariable

if TYPE_CHECKING:
    from privet.privacy.loss import PrivacyLoss


def delta_of_rdp(alphas: Array, values: Array, epsilon: float) -> float:
    """Smallest delta that the Rényi bounds prove at epsilon.

    **Reference:** Canonne, Kamath & Steinke 2020, proposition 12.

    >>> 0.0 < delta_of_rdp(np.array([2.0, 8.0]), np.array([0.1, 0.4]), 2.0) < 1e-4
    True
    """
    return float(_deltas_of_rdp(alphas, values, np.array([epsilon]))[0])


def _deltas_of_rdp(alphas: Array, values: Array, epsilons: Array) -> Array:
    constant = (alphas - 1.0) * values + alphas * np.log1p(-1.0 / alphas) - np.log(alphas - 1.0)
    logs = constant[None, :] - np.multiply.outer(epsilons, alphas - 1.0)
    return np.exp(np.minimum(0.0, logs.min(axis=1)))


@lru_cache(maxsize=64)
def variable_of_rdp(loss: "PrivacyLoss") -> LossVariable:
    """A dominating pair of every mechanism with the loss's Rényi curve (loses some tightness).

    >>> from privet import privacy
    >>> variable_of_rdp(privacy.ZcdpLoss(0.1)).p_only < 1e-12
    True
    """
    alphas = 1.0 + np.geomspace(1e-3, 1e5, 400)
    values, delta0 = loss.rdp(alphas)
    known = np.isfinite(values)
    alphas, values = alphas[known], values[known]
    if len(values) == 0 or np.all(values == 0.0):
        return binary_variable(0.0, 1.0 if len(values) == 0 else delta0)
    top = float(np.min(values + math.log(1e40) / (alphas - 1.0)))
    pure = loss.pure()
    known_end = (pure,) if pure < math.inf else ()
    nodes = np.unique(np.concatenate((np.linspace(0.0, top, 1001), np.geomspace(1e-6 * top, top, 400), known_end)))
    deltas = delta0 + (1.0 - delta0) * _deltas_of_rdp(alphas, values, nodes)
    if pure < math.inf:  # two bounds on one curve: the lower hull of the smaller holds too
        deltas = np.minimum(deltas, binary_variable(pure).delta(nodes))
    return variable_of_symmetric_curve(nodes, deltas)


def renyi_of_variable(variable: LossVariable, alphas: Array, count: int = 4001) -> Array:
    """Upper bound on the Rényi divergence of a pair whose loss is bounded above, from its cells.

    exp((a-1) L) is a convex function of dQ/dP, so spreading a cell to its two ends (keeping its P- and Q-mass) can only
    raise the moment. Infinite where P has mass that Q does not reach.

    >>> from privet import privacy
    >>> float(renyi_of_variable(privacy.PureLoss(1.0).variable("remove"), np.array([2.0]))[0].round(6))
    0.735326
    """
    orders = np.asarray(alphas, dtype=float)
    if variable.p_only > 0.0:
        return np.full(orders.shape, math.inf)
    atoms, p_atoms, _ = variable.atoms()
    nodes = np.unique(variable.points(count, 1e-30))
    nodes = np.append(nodes, nodes[-1] + 1e-9 * (1.0 + nodes[-1] - nodes[0]))  # the end of the support, rounded up
    p, q = variable.cells(nodes)
    if p[-1] > 0.0:
        return np.full(orders.shape, math.inf)
    low, high, inner_p, inner_q = nodes[:-1], nodes[1:], p[1:-1], q[1:-1]
    up = np.clip((inner_p - np.exp(low) * inner_q) / -np.expm1(low - high), 0.0, inner_p)
    losses = np.concatenate((nodes[:1], low, high, atoms))
    masses = np.concatenate((p[:1], inner_p - up, up, p_atoms))
    seen = masses > 0.0
    losses, masses = losses[seen], masses[seen]
    exponents = np.multiply.outer(orders - 1.0, losses)
    # small divergences: E[exp((a-1) L)] - 1 keeps its digits, since the masses sum to 1; each mass is charged 4e-12
    growth = np.expm1(np.minimum(exponents, 30.0))
    near = np.log1p((masses * (growth + 4e-12 * np.abs(growth))).sum(axis=-1))
    peak = (exponents + np.log(masses)).max(axis=-1)
    far = peak + np.log(np.exp(exponents + np.log(masses) - peak[..., None]).sum(axis=-1)) + 4e-12
    moment = np.where(exponents.max(axis=-1) < 30.0, near, far)
    value = np.maximum(moment / (orders - 1.0), 0.0) * (1.0 + 1e-12)
    return np.where(np.isnan(moment), math.inf, value)
