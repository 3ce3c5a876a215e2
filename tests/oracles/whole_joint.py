"""The oracle of graphical models: every combination of values is written out, and nothing is factorised."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import minimize

from privet._numerics import Array
from privet.synth.graph import Measurement


def summed(joint: Array, clique: Sequence[int]) -> Array:
    """The table of a clique, by its definition."""
    return joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in clique))


def joint_of(sizes: Sequence[int], potentials: Mapping[tuple[int, ...], Array], total: float) -> Array:
    """The joint that is proportional to the product of exponentials of potentials."""
    logs = np.zeros(tuple(sizes))
    for cell in np.ndindex(*sizes):
        logs[cell] = sum(theta[tuple(cell[i] for i in clique)] for clique, theta in potentials.items())
    weights = np.exp(logs - logs.max())
    return total * weights / weights.sum()


def distance(joint: Array, measurements: Sequence[Measurement]) -> float:
    """Half the sum of squared distances, each in its standard deviation."""
    return sum(
        0.5 * float(np.sum(m.weights * (summed(joint, m.clique) - m.values) ** 2)) for m in measurements
    )  # measurement by measurement: nothing is merged


def least_distance(
    sizes: Sequence[int], measurements: Sequence[Measurement], total: float, allowed: Array | None = None
) -> float:
    """The least distance of any joint without negative cells and with this total, by a general solver."""
    cells = int(np.prod(sizes))
    closed = np.zeros(cells, dtype=bool) if allowed is None else ~allowed.reshape(-1)
    start = np.where(closed, 0.0, total / max(1, int((~closed).sum())))

    def value(x: Array) -> tuple[float, Array]:
        joint = x.reshape(tuple(sizes))
        slope = np.zeros(tuple(sizes))
        for m in measurements:
            off = m.weights * (summed(joint, m.clique) - m.values)
            shape = [sizes[i] if i in m.clique else 1 for i in range(len(sizes))]
            slope += off.reshape(shape)
        return distance(joint, measurements), slope.reshape(-1)

    found = minimize(
        value,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 0.0 if shut else None) for shut in closed],
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - total, "jac": lambda x: np.ones(cells)}],
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    return float(found.fun)
