"""Intervals for what is computed from noisy sums, from the law of the noise.

Whole-number Laplace noise Z of scale s is less spread than Laplace noise L rounded to whole numbers: Pr[|Z| >= k] =
Pr[|L| >= k - 1/2] / cosh(1/(2s)). So |Z| is dominated by |L| + 1/2, and since these laws are symmetric with one peak, so
are weighted sums. The tail of a weighted sum of Laplace noise has a closed form for weights that differ; weights that do
not are moved apart, upwards.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from privet._numerics import Array, ndtri
from privet.mechanisms import Gaussian
from privet.workloads.families.noise_law import Kind, NoiseLaw

Law = tuple[Kind, float]  # of noise: its kind and its scale
_GRID = 257  # shares that are looked at: between two the wider radius serves, so more are only tighter
_STEPS = 60  # of Newton's method, which stops by itself long before; each stays on the safe side
_APART = 1.005, 1.02  # the least ratio of two scales in the closed form: of four at most, and of more
_CONTINUOUS = 64.0  # from this scale on a step is less than a hundredth of an interval


def spread(noise: Any) -> float:
    """The standard deviation of noise; that of Laplace noise is sqrt2 times its scale.

    >>> round(spread(Gaussian.for_budget(mu=0.5, sensitivity=1)), 9)
    2.0
    """
    return float(noise.scale) if isinstance(noise, Gaussian) else math.sqrt(2.0) * float(noise.scale)


@lru_cache(maxsize=4096)
def radius(kind: Kind, scale: float, coefficients: tuple[float, ...], confidence: float) -> float:
    """r with Pr[|a combination of independent noises| <= r] >= confidence.

    >>> radius("laplace", 1.0, (1.0,), 0.95), radius("laplace", 10.0, (2.0,), 0.95)
    (3.0, 60.0)
    """
    some = tuple(
        abs(float(each)) for each in coefficients if each
    )  # what is kept must not be of the first asker's type
    if not some:
        return 0.0
    if kind == "laplace" and len(some) == 1:  # the quantile of the integers themselves
        a = math.exp(-1.0 / scale)
        enough = -scale * (math.log((1.0 - confidence) / 2.0) + math.log1p(a)) - 1.0
        return some[0] * max(0.0, math.ceil(enough - 1e-12))
    if kind == "laplace" and scale < _CONTINUOUS:
        return NoiseLaw(kind, ((len(some), Fraction(scale)),)).radius(np.array(some), confidence)
    return float(radii(kind, scale, np.array([some]), confidence)[0])


def radii(kind: Kind, scale: float, coefficients: Array, confidence: float) -> Array:
    """As `radius`, for many combinations at once, one a row; at most half a step wider for each noise.

    >>> radii("gaussian", 100.0, np.array([[1.0, 0.0], [0.6, 0.8]]), 0.95).round().tolist()
    [196.0, 197.0]
    """
    weights = np.abs(np.asarray(coefficients, dtype=np.float64))
    if kind == "gaussian":
        return own_radii(kind, scale, weights, confidence)
    return scale * _of_scale_1(weights.tobytes(), weights.shape[1], 1.0 - confidence) + weights.sum(axis=1) / 2.0


def own_radii(kind: Kind, scale: float, coefficients: Array, confidence: float) -> Array:
    """As `radii`, for combinations that are asked for once and not kept.

    >>> own_radii("laplace", 100.0, np.array([[1.0, 0.0]]), 0.95).round().tolist()
    [300.0]
    """
    weights = np.abs(np.asarray(coefficients, dtype=np.float64))
    half = weights.sum(axis=1) / 2.0
    if kind == "gaussian":
        return np.asarray(-ndtri((1.0 - confidence) / 2.0) * scale * np.sqrt((weights**2).sum(axis=1)) + half)
    return np.asarray(scale * _laplace_radii(weights, 1.0 - confidence) + half)


@lru_cache(maxsize=256)
def _of_scale_1(weights: bytes, many: int, tail: float) -> Array:
    """The radii of Laplace noise of scale 1, row by row: all means have the same weights, and they are asked for often."""
    return _laplace_radii(np.frombuffer(weights).reshape(-1, many), tail)


def _laplace_radii(weights: Array, tail: float) -> Array:
    many = weights.shape[1]
    largest = weights.max(axis=1, keepdims=True)
    scales = np.sort(np.maximum(weights, 1e-9 * np.where(largest > 0.0, largest, 1.0)), axis=1)
    for i in range(1, many):  # upwards only: more noise is a wider interval
        scales[:, i] = np.maximum(scales[:, i], scales[:, i - 1] * _APART[many > 4])
    return _quantiles(scales, tail)


def _quantiles(scales: Array, tail: float) -> Array:
    """The radius that a sum of Laplace noises of these scales, all different, leaves with probability `tail`."""
    squares = scales**2
    factors = np.ones_like(squares)
    for i in range(scales.shape[1]):
        for j in range(scales.shape[1]):
            if i != j:
                factors[:, i] *= squares[:, i] / (squares[:, i] - squares[:, j])
    # the logarithm of the tail is concave, since the densities of such sums are log-concave: Newton stays above the root
    high = scales.sum(axis=1) * -math.log(tail / scales.shape[1])
    for _ in range(_STEPS):
        parts = factors * np.exp(-high[:, None] / scales)
        beyond = parts.sum(axis=1)
        step = np.log(beyond / tail) * beyond / np.sum(parts / scales, axis=1)
        high = high + np.minimum(step, 0.0)
        if np.all(step > -1e-13 * high):
            break
    return high


def ratio_interval(
    top: Array, bottom: Array, weights: tuple[Array, Array], law: Law, confidence: float
) -> tuple[Array, Array, Array]:
    """The ends of all shares t in [0, 1] that are compatible with noisy `top` and `bottom`, and where the bottom is so
    small that nothing can be said: below five of its standard deviations, or below its own interval.

    `weights` are the coefficients of the noise in top and bottom. The noise of top - t bottom is known for every t, so
    the true share is among those with |top - t bottom| <= its radius as often as `confidence` says (Fieller's set).

    >>> weights = (np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    >>> low, high, weak = ratio_interval(np.array([3e4]), np.array([1e5]), weights, ("laplace", 100.0), 0.95)
    >>> bool(0.29 < low[0] < 0.3 < high[0] < 0.31), bool(weak[0])
    (True, False)
    """
    kind, scale = law
    grid = np.linspace(0.0, 1.0, _GRID)
    wide = radii(kind, scale, weights[0][None, :] - grid[:, None] * weights[1][None, :], confidence)
    either = np.maximum(wide[:-1], wide[1:])  # it has no peak between two points
    spread = (math.sqrt(2.0) if kind == "laplace" else 1.0) * scale
    # no radius grows faster with t than this
    steep = radii(kind, scale, weights[1][None, :], confidence)[0] - weights[1].sum() / 2.0
    weak = bottom < max(5.0 * spread * math.sqrt(float(np.sum(weights[1] ** 2))), steep)
    safe = np.where(weak, 1.0, bottom)
    middle = np.clip(np.where(weak, 0.5, top / safe), 0.0, 1.0)
    high = _last_inside(top, safe, middle, either)
    low = 1.0 - _last_inside(safe - top, safe, 1.0 - middle, either[::-1])
    return np.where(weak, 0.0, low), np.where(weak, 1.0, high), weak


def _last_inside(top: Array, bottom: Array, middle: Array, wide: Array) -> Array:
    """The largest t in [0, 1] with t bottom - top <= the width of the cell that t is in, from the middle on: the last cell
    that begins inside, by halving, and the place in it where a line crosses a constant."""
    cells = len(wide)
    inside = np.minimum((middle * cells).astype(np.int64), cells - 1)
    outside = np.full_like(inside, cells)
    while np.any(outside - inside > 1):
        between = (inside + outside) // 2
        out = between / cells * bottom - top > wide[between]
        outside, inside = np.where(out, between, outside), np.where(out, inside, between)
    return np.clip((top + wide[inside]) / bottom, np.maximum(middle, inside / cells), (inside + 1) / cells)
