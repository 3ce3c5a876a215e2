"""The nearest point of several constraints at once."""

from collections.abc import Callable, Sequence

import numpy as np

from privet._numerics import Array
from privet._validate import count


def intersection(
    point: Array, projections: Sequence[Callable[[Array], Array]], *, rounds: int = 10_000, tolerance: float = 1e-12
) -> Array:
    """The projection on the intersection of convex sets, each given by its own projection (Dykstra's algorithm).

    Alternating the projections alone ends inside all sets, but not at their nearest point.

    **Reference:** Boyle & Dykstra 1986.

    >>> half = lambda x: np.minimum(x, 1.0)
    >>> sums = lambda x: x + (2.0 - x.sum()) / len(x)
    >>> intersection(np.array([3.0, 0.0, 0.0]), [half, sums]).round(6).tolist()
    [1.0, 0.5, 0.5]
    """
    here = np.asarray(point, dtype=float).copy()
    left = [np.zeros_like(here) for _ in projections]
    for _ in range(count("rounds", rounds, 1)):
        before = here.copy()
        for i, project in enumerate(projections):
            moved = project(here + left[i])
            left[i] = here + left[i] - moved
            here = np.asarray(moved, dtype=float)
        if np.max(np.abs(here - before)) <= tolerance * max(1.0, float(np.max(np.abs(here)))):
            break
    return here
