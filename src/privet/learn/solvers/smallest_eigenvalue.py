"""The smallest eigenvalue of a symmetric matrix, with a bound on its error that rests on no promise of a library."""

import math

import numpy as np

from privet._numerics import Array

_UNIT = 2.0**-53
_ABOVE = 1.0 + 2.0**-24  # what a norm in doubles misses, of up to 2,000 rows, is far less


def smallest_eigenvalue(matrix: Array) -> tuple[float, float]:
    """About the smallest eigenvalue, and how far from the exact one it can be at most, for a matrix whose entries were
    rounded once. However the library found it, the bound is computed from what it gave: eigenvectors and eigenvalues.

    **Proof:** docs/proofs/learn/adassp.md.

    >>> value, miss = smallest_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> bool(abs(value - 1.0) <= miss < 1e-13)
    True
    """
    values, turn = np.linalg.eigh(matrix)
    many = len(matrix)
    gamma = (many + 4) * 2.0 * _UNIT  # of sums of so many products, in any order
    size, length, largest = _norm(matrix), _norm(turn), float(np.abs(values).max()) * _ABOVE
    residual = _norm(matrix @ turn - turn * values) + gamma * length * (size + largest)
    apart = _norm(turn.T @ turn - np.eye(many)) + gamma * (length**2 + math.sqrt(many))
    bound = residual + (size + largest) * apart + 2.0 * _UNIT * size
    certain = math.isfinite(bound) and apart < 1.0
    return float(values[0]), bound * _ABOVE if certain else math.inf


def _norm(matrix: Array) -> float:
    return float(np.linalg.norm(matrix)) * _ABOVE + 2.0**-500  # a square may leave the doubles
