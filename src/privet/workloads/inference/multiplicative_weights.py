"""The multiplicative-weights update: cells that a query says are too few grow by a factor, the others shrink."""

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter


def multiplicative_weights(histogram: Array, query: Array, measured: Array | float) -> Array:
    """Positive cells after one update towards `measured`, the (noisy) answer to a linear `query`; their sum is kept.

    Cell i is multiplied by exp(q_i (measured - q x) / (2 L^2 n)), where L is the largest |q_i| and n the sum of the
    cells, and all are scaled back to n. The relative entropy to cells with that answer falls, if noise and error allow.
    Several histograms at once: cells along the last axis, one measured answer for each.

    **Reference:** Hardt & Rothblum 2010; Hardt, Ligett & McSherry 2012; proof note workloads/mwem.

    >>> cells = np.array([2.0, 2.0])
    >>> for _ in range(100):
    ...     cells = multiplicative_weights(cells, np.array([1.0, 0.0]), 3.0)
    >>> cells.round(3).tolist()
    [3.0, 1.0]
    """
    cells, weights = np.asarray(histogram, dtype=float), np.asarray(query, dtype=float)
    if weights.shape != cells.shape[-1:] or not np.all(np.isfinite(weights)):
        raise InvalidParameter("query must hold one finite number for each cell")
    total, largest = cells.sum(axis=-1, keepdims=True), float(np.max(np.abs(weights)))
    if not np.all(total > 0.0) or np.min(cells) < 0.0:
        raise InvalidParameter("histogram must hold numbers that are not negative, and not all zero")
    if largest == 0.0:
        return cells
    missing = np.asarray(measured, dtype=float)[..., None] - (cells @ weights)[..., None]
    step = np.clip(missing / (2.0 * largest * total), -1.0, 1.0)  # a wild answer moves cells by at most a factor e
    moved = cells * np.exp(step * (weights / largest))
    return np.asarray(moved * (total / moved.sum(axis=-1, keepdims=True)))


def weights_fit(total: Array | float, rows: Array, measured: Array, *, passes: int = 40) -> Array:
    """Cells that begin even and are updated by all measured answers, in turn, `passes` times.

    >>> weights_fit(4.0, np.array([[1.0, 0.0]]), np.array([3.0]), passes=100).round(2).tolist()
    [3.0, 1.0]
    """
    whole = np.asarray(total, dtype=float)
    cells = np.multiply.outer(whole, np.full(rows.shape[1], 1.0 / rows.shape[1]))
    for _ in range(passes):
        for row, answer in zip(rows, np.moveaxis(np.asarray(measured, dtype=float), -1, 0), strict=True):
            cells = multiplicative_weights(cells, row, answer)
    return np.asarray(cells)
