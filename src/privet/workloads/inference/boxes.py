"""Answers between public ends."""

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter


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
