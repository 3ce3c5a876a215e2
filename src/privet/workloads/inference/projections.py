"""The nearest answers that satisfy a constraint: projections on boxes, sums, sequences that never fall, cells that cannot
be negative, and on several constraints at once."""

from collections.abc import Callable, Sequence

import numpy as np

from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidParameter
from privet.workloads.prefix import Prefix
from privet.workloads.workload import Workload


def clipped(answers: Array, low: float = 0.0, high: float = np.inf) -> Array:
    """The nearest answers within the box, for noise of one variance: each is cut at its end.

    **Error:** never worse for these answers, if the true ones lie in the box; sums of them may be worse (see
    `non_negative`).

    >>> clipped(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if not low <= high:
        raise InvalidParameter("low must be at most high")
    return np.clip(np.asarray(answers, dtype=float), low, high)


def sum_to_parent(children: Array, total: float, variances: Array | None = None) -> Array:
    """The nearest parts whose sum is `total`: what is missing is shared out in proportion to the variances.

    >>> sum_to_parent(np.array([3.0, 5.0]), 10.0).tolist()
    [4.0, 6.0]
    """
    parts = np.asarray(children, dtype=float)
    weights = np.ones_like(parts) if variances is None else np.asarray(variances, dtype=float)
    if weights.shape != parts.shape or not np.all(weights >= 0.0) or not np.sum(weights) > 0.0:
        raise InvalidParameter("variances must be non-negative numbers, one for each part, and not all zero")
    return np.asarray(parts + weights / weights.sum() * (total - parts.sum()))


def isotonic(answers: Array, weights: Array | None = None) -> Array:
    """The nearest sequence that never falls, by pooling neighbours that do; `weights` are one over the variances.

    **Error:** never worse in the norm of the weights, if the true answers do not fall.
    **Reference:** Hay, Rastogi, Miklau & Suciu 2010; scipy's pool-adjacent-violators.

    >>> isotonic(np.array([14.0, 9.0, 10.0, 15.0, 11.0])).tolist()
    [11.0, 11.0, 11.0, 13.0, 13.0]
    """
    values = np.asarray(answers, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise InvalidParameter("answers must be a sequence of numbers, at least one")
    if weights is not None and np.shape(weights) != values.shape:
        raise InvalidParameter("weights must be positive numbers, one for each answer")
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, weights=weights).x)


def non_negative(histogram: Array, workload: Workload) -> Array:
    """The non-negative cells nearest to these in the workload's norm: the sum of squared changes of all its answers.

    Cutting cells at 0 instead makes sums of them worse: every cut only adds. In this norm the error over the workload
    never grows, if the true cells are non-negative. For prefix sums it is isotonic regression of the answers.

    **Reference:** proof note workloads/inference.

    >>> non_negative(np.array([2.0, -1.0, 3.0]), Prefix(3)).tolist()
    [1.5, 0.0, 2.5]
    """
    cells = np.asarray(histogram, dtype=float).reshape(-1)
    if isinstance(workload, Prefix):
        return np.diff(np.maximum(isotonic(np.cumsum(cells)), 0.0), prepend=0.0)
    from scipy.optimize import nnls

    values, vectors = np.linalg.eigh(workload.gram())
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return np.asarray(nnls(root, root @ cells)[0])


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
