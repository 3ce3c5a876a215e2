"""The number of rows that noisy tables agree on, with the least variance."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from privet.synth.graph.measurement import Measurement


class Total(NamedTuple):
    """An estimate of the number of rows, and the standard deviation of its noise.

    >>> Total(100.0, 3.0).value
    100.0
    """

    value: float
    deviation: float


def least_variance_total(measurements: Iterable[Measurement]) -> Total:
    """Every table sums to the number of rows; sums are weighted by 1 over the variance of their noise. Never below 1.

    >>> import numpy as np
    >>> tables = [(2, 104.0, 3.0), (4, 96.0, 3.0), (8, 101.0, 2.0)]
    >>> made = [Measurement((0,), np.full(n, total / n), sigma) for n, total, sigma in tables]
    >>> [round(each, 6) for each in least_variance_total(made)]
    [101.242424, 2.954196]
    """
    whole = weighted = 0.0
    for each in measurements:
        weight = 1.0 / float(np.sum(1.0 / each.weights))
        whole += weight
        weighted += weight * float(each.values.sum())
    if whole == 0.0:
        return Total(1.0, math.inf)
    return Total(max(1.0, weighted / whole), whole**-0.5)
