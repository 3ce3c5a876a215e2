"""Means and variances of classes from noisy moments: each is drawn to that of all records by the share of noise in it."""

import math

import numpy as np

from privet._numerics import Array, log_ndtr
from privet.learn.problem import Task

_POINTS = 300  # of the grid of pooled variances: steps of some per cent
_KNOWN = 0.05  # a pooled variance that noise moves by less than this share is taken as it is
_LEAST_WITHIN = 0.1  # of the pooled variance: what is left within classes where means explain the rest
_MEANS = np.geomspace(0.003, 3.0, 11)  # squared distances of the means of classes, in variances of their column
_VARIANCES = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6])  # distances of the variances of classes, in variances
_ROUNDS = 12  # of expectation and maximisation: the weights of so few numbers are found long before


def class_moments(
    noisy: Array, task: Task, spread: float, count_spread: float, floor: float
) -> tuple[Array, Array, Array]:
    """Sizes, means and variances of classes from what `ColumnMoments` released; `spread` and `count_spread` are the
    standard deviations of the noise in each sum and in each count, `floor` the least variance as a share of the squared
    public range.

    Distances of classes from all records have a normal law whose width is one of a grid, the same grid for every column;
    how often which width occurs is found from all columns together. A mean, or a variance, then keeps the share of its
    distance that is expected not to be noise, and what is unknown of the means widens all classes alike. A variance
    is what is expected of one that is above 0: noise makes none narrow.

    **Reference:** Efron & Morris 1973; Dempster, Laird & Rubin 1977.
    """
    classes, columns = noisy.shape[0], task.features
    least = min(max(4.0 * floor, 1e-12), 1.0)
    sums, squares = noisy[:, 1 : 1 + columns], noisy[:, 1 + columns :]
    sizes = np.maximum(above_zero(noisy[:, :1], count_spread), 1.0)
    size = sizes.sum()
    shares = sizes / size
    middle = np.clip(sums.sum(axis=0) / size, -1.0, 1.0)
    seen = squares.sum(axis=0) / size + 1.0 - middle**2
    off = spread * math.sqrt(classes) / size
    pooled = _pooled(seen, off * np.sqrt(1.0 + 4.0 * middle**2), least)
    # noise, and room for distances, of a class less all records: a class that is nearly all of them has little of both
    noise = spread**2 * ((1.0 / sizes - 1.0 / size) ** 2 + (classes - 1) / size**2)
    room = (1.0 - shares) ** 2 + np.square(shares).sum() - shares**2
    apart = sums / sizes - middle
    widths = _MEANS[:, None, None] * pooled * room
    kept = (_weights(apart, widths, noise) * widths / (widths + noise)).sum(axis=0)
    means = np.clip(middle + kept * apart, -1.0, 1.0)
    between = (shares * (means - middle) ** 2).sum(axis=0)
    within = np.maximum(pooled - between, _LEAST_WITHIN * pooled)
    wider = squares / sizes + 1.0 - means * (2.0 * sums / sizes - means) - within + pooled - seen
    doubt = noise * (1.0 + 4.0 * means**2)
    widths = np.square(_VARIANCES[:, None, None] * within) * room
    trusted = widths / (widths + doubt)
    each = above_zero(within + trusted * wider, np.sqrt(trusted * doubt))
    variances = (_weights(wider, widths, doubt) * each).sum(axis=0)
    variances = np.clip(variances + (shares * kept * noise).sum(axis=0), least, 1.0)
    centers, scales = np.array(task.centers), np.array(task.scales)
    return sizes[:, 0], centers + scales * means, np.asarray(scales**2 * variances)


def above_zero(values: Array, spread: Array | float) -> Array:
    """The mean of a normal law around each value with this standard deviation, given that the number is above 0.

    >>> above_zero(np.array([5.0, 0.0, -5.0]), 1.0).round(3).tolist()
    [5.0, 0.798, 0.187]
    """
    spread = np.maximum(spread, 1e-150)  # of no noise: the value itself
    standard = np.clip(
        values / spread, -30.0, 30.0
    )  # beyond, the one is the value to the last digit, the other next to 0
    density = np.exp(-0.5 * standard**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(standard))
    return np.asarray(np.where(values > 30.0 * spread, values, spread * (standard + density)))


def _pooled(seen: Array, off: Array, least: float) -> Array:
    """Variances of all records as they are expected after one was seen with noise, before which every standard deviation up
    to 1 was as likely as another: were every order of magnitude, noise of some variances would make columns too narrow, and
    less noise a worse fit."""
    grid = np.geomspace(least, 1.0, _POINTS)[:, None]
    odds = 0.5 * np.log(grid) - 0.5 * np.square((seen - grid) / off)  # the grid is even in logarithms
    odds = np.exp(odds - odds.max(axis=0))
    expected = (odds * grid).sum(axis=0) / odds.sum(axis=0)
    return np.clip(np.where(off < _KNOWN * seen, seen, expected), least, 1.0)


def _weights(distances: Array, widths: Array, noise: Array) -> Array:
    """Chances of each width in every column, with the share of columns that have it found from all of them: `widths`
    and `noise` are variances of the distances (classes x columns); the first axis of widths is the grid."""
    total = widths + noise
    fit = -0.5 * (np.log(total) + distances**2 / total).sum(axis=1)
    fit *= (len(distances) - 1) / len(
        distances
    )  # distances from all records hold one number less than there are classes
    fit = np.exp(fit - fit.max(axis=0))
    shares = np.full((len(fit), 1), 1.0 / len(fit))
    for _ in range(_ROUNDS):
        found = shares * fit
        found /= found.sum(axis=0)
        shares = ((found.sum(axis=1) + 1.0 / len(fit)) / (fit.shape[1] + 1))[
            :, None
        ]  # with one column in no doubt of any
    return np.asarray(found[:, None, :])
