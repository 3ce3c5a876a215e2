"""Parts that must add up to a known whole."""

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter


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
