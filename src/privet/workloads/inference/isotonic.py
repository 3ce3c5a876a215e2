"""Answers that must not fall: isotonic regression."""

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter


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
