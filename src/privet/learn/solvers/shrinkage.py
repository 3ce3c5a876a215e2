"""Coefficients from noisy normal equations: post-processing of what was released."""

from typing import NamedTuple

import numpy as np

from privet._numerics import Array

_LENGTHS = (
    0.0,
    *np.logspace(-4.0, 4.0, 17).tolist(),
)  # squared lengths of coefficients on unit rows that are weighed up
_CONSTANTS = (0.0, *np.logspace(-4.0, 1.0, 6).tolist())  # squares of a constant that are weighed up, in the same way
_DOUBT = (
    5.0  # by how much the log likelihood must speak for slopes, or for a constant, before they count: e^5 to 1 against
)


class Noise(NamedTuple):
    """Standard deviations: of the Gram (diagonal; off it 1/sqrt2 of that), of its product with the targets; the variance
    of residuals."""

    gram: float
    cross: float
    residual: float = 0.0


def shrunk(gram: Array, cross: Array, noise: Noise, *, constant: bool, about: float = 0.0) -> Array:
    """The mean of w given cross = gram w + noise, for normal priors of w that the released numbers themselves weigh up.

    The Gram need not be positive: a direction counts as far as its eigenvalue stands out of the noise, so that with too
    little data the answer tends to 0 instead of running away. Slopes of 0 and a constant of 0 are favoured: what stands
    out of the noise by chance, in one of a hundred fits, would predict worse than the middle of y does. The last
    coefficient has a prior of its own if it belongs to a constant column; `about` is its variance where something is known
    already, such as a noisy mean of y from which targets are counted, and larger ones are not favoured.

    >>> shrunk(np.diag([100.0, 100.0]), np.array([50.0, 0.0]), Noise(1e-3, 1e-3), constant=False).round(3).tolist()
    [0.5, 0.0]
    >>> shrunk(np.diag([9.0, 9.0]), np.array([0.0, 1.0]), Noise(0.0, 1.0), constant=True, about=1e-2).round(3).tolist()
    [0.0, 0.05]
    >>> bool(np.abs(shrunk(np.diag([1.0, -1.0]), np.array([0.5, 0.2]), Noise(50.0, 50.0), constant=False)).max() < 1e-3)
    True
    """
    slopes = len(cross) - constant
    squared, turn = np.linalg.eigh(gram[:, :slopes] @ gram[:, :slopes].T)
    squared = np.maximum(squared, 0.0)
    beta, alpha = turn.T @ cross, turn.T @ gram[:, -1] if constant else np.zeros(len(cross))
    sampled = noise.residual * np.sqrt(squared)
    lengths = _LENGTHS if slopes else (0.0,)
    constants = (about, *(each for each in _CONSTANTS if each > about)) if constant else (0.0,)
    length, own = (each.ravel()[:, None] for each in np.meshgrid(lengths, constants, indexing="ij"))
    spread = length / max(slopes, 1) * squared + noise.cross**2 + 0.5 * noise.gram**2 * (length + own) + sampled
    ab, aa = (alpha * beta / spread).sum(axis=1), (alpha * alpha / spread).sum(axis=1)
    length, own = length[:, 0], own[:, 0]
    pull = own * ab / (1.0 + own * aa)
    solved = (beta - pull[:, None] * alpha) / spread
    fit = (beta * beta / spread).sum(axis=1) - pull * ab
    doubt = _DOUBT * ((length > 0.0).astype(float) + (own > constants[0]))
    scores = -0.5 * (fit + np.log(spread).sum(axis=1) + np.log1p(own * aa)) - doubt
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    slope = gram[:, :slopes].T @ (turn @ (weights * length / max(slopes, 1) @ solved))
    return np.append(slope, weights * own @ solved @ alpha) if constant else np.asarray(slope)


def plain(gram: Array, cross: Array, edge: float) -> Array | None:
    """The solution as it is, or None where an eigenvalue of the Gram does not stand out of the noise.

    >>> plain(np.diag([2.0, 4.0]), np.array([2.0, 2.0]), 1.0).tolist()
    [1.0, 0.5]
    >>> plain(np.diag([0.5, 4.0]), np.array([2.0, 2.0]), 1.0) is None
    True
    """
    try:
        np.linalg.cholesky(gram - edge * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.linalg.solve(gram, cross))


def covariance(gram: Array, moved: Array, noise: Noise, ridge: Array) -> Array:
    """Of gram^-1 cross: S^-1 [ s^2 X + sigma_b^2 I + (sigma_A^2/2)(|w|^2 I + w w^T) ] S^-1 with S = X + ridge, and w the
    part of the coefficients that this equation found.

    >>> float(covariance(np.eye(1) * 2.0, np.zeros(1), Noise(1.0, 3.0, 1.0), np.zeros(1))[0, 0])  # (2 + 9)/4
    2.75
    """
    size = len(moved)
    inverse = np.linalg.inv(gram)
    middle = noise.residual * (gram - np.diag(ridge)) + noise.cross**2 * np.eye(size)
    middle += 0.5 * noise.gram**2 * (float(moved @ moved) * np.eye(size) + np.outer(moved, moved))
    return np.asarray(inverse @ middle @ inverse)
