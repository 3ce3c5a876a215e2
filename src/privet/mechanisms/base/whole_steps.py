"""Exact numbers in whole steps of a public grid, as 64-bit integers."""

import math
from fractions import Fraction

import numpy as np

from privet._numerics import Array
from privet.mechanisms.base.values import Steps

__all__ = ["whole_steps"]


def whole_steps(values: Array, exponent: int, *, farthest: int = 2**62) -> Array:
    """Scores in whole steps of 2^exponent, half up: what lies d apart lies at most ceil(d) steps apart. They saturate.

    >>> whole_steps(np.array([0.5, 1.25, -0.25]), -1).tolist()
    [1, 3, 0]
    """
    if values.dtype == object:
        near = [math.floor(value / Fraction(2) ** exponent + Fraction(1, 2)) for value in values.flat]
        clipped = [min(max(step, -farthest), farthest) for step in near]
        return np.array(clipped, dtype=np.int64).reshape(values.shape)
    steps = Steps.of_array(values, exponent)
    low = np.zeros(values.shape) if steps.low is None else steps.low
    far = np.abs(steps.whole) >= float(farthest)
    whole = np.where(far, 0.0, steps.whole).astype(np.int64) + np.where(far, 0.0, low).astype(np.int64)
    whole = np.clip(whole + (steps.rest == 0.5), -farthest, farthest)
    return np.where(far, np.where(steps.whole > 0.0, farthest, -farthest), whole)
