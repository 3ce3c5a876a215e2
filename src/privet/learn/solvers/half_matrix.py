"""Pure noise on a symmetric matrix: the upper half as a vector that is as long as the matrix in Frobenius norm."""

from fractions import Fraction
from typing import Any

import numpy as np

from privet._numerics import Array, root_up
from privet.learn.solvers.exact_totals import GRID
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian
from privet.mechanisms import Ball, Sensitivity
from privet.privacy import Guarantee

_ROOT2 = Fraction(root_up(2))  # sqrt2, rounded up to a double


def symmetric_noise(size: int, bound: Sensitivity, target: Guarantee) -> SymmetricGaussian | Ball:
    """The least noise for a matrix that moves by at most `bound` in Frobenius norm: normal, and for a pure epsilon that of
    `Ball` on the half of the matrix.

    >>> type(symmetric_noise(2, Sensitivity(1, norm="l2"), Guarantee(1.0))).__name__
    'Ball'
    """
    if target.epsilon is not None and target.delta == 0.0:
        return Ball.for_budget(epsilon=target.epsilon, sensitivity=needed_for_half(bound))
    return SymmetricGaussian.for_budget(
        size=size, sensitivity=bound, epsilon=target.epsilon, delta=target.delta, rho=target.rho, mu=target.mu
    )


def needed_for_half(bound: Sensitivity) -> Sensitivity:
    """The sensitivity of `half` where the matrix has this one: `half` multiplies by a double r above sqrt2, and r^2/2 is
    at least r/sqrt2.

    >>> 1 < needed_for_half(Sensitivity(1, norm="l2")).value < 1 + 2**-50
    True
    """
    return bound.times(_ROOT2 * _ROOT2 / 2)


def half(gram: Any) -> list[Fraction]:
    """The upper half of a matrix in steps of `GRID` as a vector whose length is the Frobenius norm: entries off the
    diagonal times sqrt2 (rounded up).

    >>> [float(each) for each in half(np.array([[2**42, 0], [0, 2**41]]))]
    [1.0, 0.0, 0.5]
    """
    step = Fraction(2) ** GRID.exponent
    size = len(gram)
    return [int(gram[i, j]) * step * (1 if i == j else _ROOT2) for i in range(size) for j in range(i, size)]


def from_half(vector: Any, size: int) -> Array:
    """The symmetric matrix back from `half`.

    >>> from_half([1.0, 2.0**0.5, 3.0], 2).round(9).tolist()
    [[1.0, 1.0], [1.0, 3.0]]
    """
    made, root = np.zeros((size, size)), float(_ROOT2)
    upper = np.triu_indices(size)
    made[upper] = np.where(upper[0] == upper[1], vector, np.asarray(vector) / root)
    return np.asarray(np.triu(made) + np.triu(made, 1).T)


def sigma_of(noise: SymmetricGaussian | Ball, size: int) -> float:
    """The standard deviation of the noise on the diagonal; off it, it is 1/sqrt2 of that. On each of the
    K = size (size + 1)/2 coordinates of a half, that of `Ball` is scale sqrt(K + 1).

    >>> round(sigma_of(Ball.for_budget(epsilon=1.0, sensitivity=1.0), 2), 9)
    2.0
    """
    if isinstance(noise, SymmetricGaussian):
        return noise.sigma
    return float(noise.scale * (size * (size + 1) / 2.0 + 1.0) ** 0.5)
