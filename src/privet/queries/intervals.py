"""Intervals for what is computed from noisy sums, from the law of the noise.

Laplace noise Z on the whole numbers, of scale s, is less spread than continuous Laplace noise L of that scale, rounded:
Pr[|Z| >= k] = Pr[|L| >= k - 1/2] / cosh(1/(2s)). So |Z| is dominated by |L| + 1/2. These laws are symmetric with one peak;
therefore the same holds for weighted sums: half a step is added for each noise. The tail of a weighted sum of continuous
Laplace noise has a closed form where the weights differ; weights that are too close are moved apart, upwards.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from privet._numerics import Array, ndtri
from privet.mechanisms import Gaussian
from privet.workloads.families.noise_law import Kind, NoiseLaw

Law = tuple[Kind, float]  # the kind and the scale of noise
_GRID = 257  # shares whose radius is computed; between two of them the wider one serves, so more are only tighter
_STEPS = 60  # of Newton's method, which ends long before; wherever it ends, the interval is wide enough
_APART = 1.005, 1.02  # the closed form cancels for closer scales: their least ratio for up to four noises, and for more
_CONTINUOUS = 64.0  # from this scale on, half a step is less than a hundredth of an interval


def spread(noise: Any) -> float:
    """The standard deviation of noise; that of Laplace noise is sqrt2 times its scale.

    >>> round(spread(Gaussian.for_budget(mu=0.5, sensitivity=1)), 9)
    2.0
    """
    return float(noise.scale) if isinstance(noise, Gaussian) else math.sqrt(2.0) * float(noise.scale)


@lru_cache(maxsize=4096)
def radius(kind: Kind, scale: float, coefficients: tuple[float, ...], confidence: float) -> float:
    """The radius r with Pr[|sum of coefficient times noise| <= r] >= confidence, for independent noises of one law.

    >>> radius("laplace", 1.0, (1.0,), 0.95), radius("laplace", 10.0, (2.0,), 0.95)
    (3.0, 60.0)
    """
    # floats: the cache takes 1 and 1.0 for one question, so its answer must not have the type of whoever asked first
    weights = tuple(abs(float(each)) for each in coefficients if each)
    if not weights:
        return 0.0
    if kind == "laplace" and len(weights) == 1:  # exactly: Pr[|Z| > k] = 2 a^(k+1)/(1 + a)
        a = math.exp(-1.0 / scale)
        quantile = -scale * (math.log((1.0 - confidence) / 2.0) + math.log1p(a)) - 1.0
        return weights[0] * max(0.0, math.ceil(quantile - 1e-12))  # a whole number but for rounding is that number
    if kind == "laplace" and scale < _CONTINUOUS:
        return NoiseLaw(kind, ((len(weights), Fraction(scale)),)).radius(np.array(weights), confidence)
    return float(radii(kind, scale, np.array([weights]), confidence)[0])


def radii(kind: Kind, scale: float, coefficients: Array, confidence: float) -> Array:
    """The radii of many combinations at once, one in each row: as `radius`, and at most half a step wider for each noise.

    Those of Laplace noise are remembered for a later question with the same coefficients.

    >>> radii("gaussian", 100.0, np.array([[1.0, 0.0], [0.6, 0.8]]), 0.95).round().tolist()
    [196.0, 197.0]
    """
    weights = np.abs(np.asarray(coefficients, dtype=np.float64))
    if kind == "gaussian":
        return own_radii(kind, scale, weights, confidence)
    of_scale_1 = _remembered_radii(weights.tobytes(), weights.shape[1], 1.0 - confidence)
    return scale * of_scale_1 + weights.sum(axis=1) / 2.0


def own_radii(kind: Kind, scale: float, coefficients: Array, confidence: float) -> Array:
    """The radii as `radii` has them, for combinations that nobody asks for again: nothing is remembered.

    >>> own_radii("laplace", 100.0, np.array([[1.0, 0.0]]), 0.95).round().tolist()
    [300.0]
    """
    weights = np.abs(np.asarray(coefficients, dtype=np.float64))
    half = weights.sum(axis=1) / 2.0
    if kind == "gaussian":
        return np.asarray(-ndtri((1.0 - confidence) / 2.0) * scale * np.sqrt((weights**2).sum(axis=1)) + half)
    return np.asarray(scale * _laplace_radii(weights, 1.0 - confidence) + half)


@lru_cache(maxsize=256)
def _remembered_radii(weights: bytes, noises: int, tail: float) -> Array:
    """The radii of Laplace noise of scale 1, row by row; remembered, since all means ask for the same weights."""
    return _laplace_radii(np.frombuffer(weights).reshape(-1, noises), tail)


def _laplace_radii(weights: Array, tail: float) -> Array:
    """The radii of weighted sums of continuous Laplace noise of scale 1, row by row: a weight is a scale."""
    noises = weights.shape[1]
    largest = weights.max(axis=1, keepdims=True)
    # scales are only ever raised, to be positive and apart: more noise is a wider interval
    scales = np.sort(np.maximum(weights, 1e-9 * np.where(largest > 0.0, largest, 1.0)), axis=1)
    for i in range(1, noises):
        scales[:, i] = np.maximum(scales[:, i], scales[:, i - 1] * _APART[noises > 4])
    return _quantiles(scales, tail)


def _quantiles(scales: Array, tail: float) -> Array:
    """The radius r with Pr[|sum| > r] = tail, row by row, of sums of Laplace noises whose scales s_i all differ.

    Closed form: Pr[|sum| > r] = sum of f_i exp(-r/s_i), where f_i is the product of s_i^2 / (s_i^2 - s_j^2) over j != i.
    """
    squares = scales**2
    factors = np.ones_like(squares)
    for i in range(scales.shape[1]):
        for j in range(scales.shape[1]):
            if i != j:
                factors[:, i] *= squares[:, i] / (squares[:, i] - squares[:, j])
    # ln Pr[|sum| > r] is concave in r, since densities of such sums are log-concave: Newton's method that starts above the
    # root stays above it
    r = scales.sum(axis=1) * -math.log(tail / scales.shape[1])
    for _ in range(_STEPS):
        terms = factors * np.exp(-r[:, None] / scales)
        beyond = terms.sum(axis=1)
        step = np.log(beyond / tail) * beyond / np.sum(terms / scales, axis=1)
        r = r + np.minimum(step, 0.0)
        if np.all(step > -1e-13 * r):
            break
    return r


def ratio_interval(
    top: Array, bottom: Array, weights: tuple[Array, Array], law: Law, confidence: float
) -> tuple[Array, Array, Array]:
    """The interval of top / bottom from their noisy values: its lower ends, its upper ends, and which of them are `weak`.

    `weights` are the coefficients of the noise in top and in bottom. Since the true top - t bottom is 0 for the true share
    t in [0, 1], and the law of its noise is known for every t, the interval holds all t with |top - t bottom| <= the radius
    of that noise (Fieller's set). Weak is a bottom so small that nothing can be said, and the interval all of [0, 1]: below
    five of its standard deviations, or below its own radius.

    >>> weights = (np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    >>> low, high, weak = ratio_interval(np.array([3e4]), np.array([1e5]), weights, ("laplace", 100.0), 0.95)
    >>> bool(0.29 < low[0] < 0.3 < high[0] < 0.31), bool(weak[0])
    (True, False)
    """
    kind, scale = law
    grid = np.linspace(0.0, 1.0, _GRID)
    at_grid = radii(kind, scale, weights[0][None, :] - grid[:, None] * weights[1][None, :], confidence)
    in_cell = np.maximum(at_grid[:-1], at_grid[1:])  # the radius has no peak between two points of the grid
    deviation = (math.sqrt(2.0) if kind == "laplace" else 1.0) * scale
    # the radius of the bottom alone; no radius grows faster with t than this
    steepest = radii(kind, scale, weights[1][None, :], confidence)[0] - weights[1].sum() / 2.0
    weak = bottom < max(5.0 * deviation * math.sqrt(float(np.sum(weights[1] ** 2))), steepest)
    safe = np.where(weak, 1.0, bottom)
    middle = np.clip(np.where(weak, 0.5, top / safe), 0.0, 1.0)
    high = _last_inside(top, safe, middle, in_cell)
    low = 1.0 - _last_inside(safe - top, safe, 1.0 - middle, in_cell[::-1])
    return np.where(weak, 0.0, low), np.where(weak, 1.0, high), weak


def _last_inside(top: Array, bottom: Array, middle: Array, wide: Array) -> Array:
    """The largest t in [middle, 1] with t bottom - top <= the entry of `wide` for the cell of the grid that t is in.

    First, by halving, the last cell whose beginning is inside; then, where the line t bottom - top reaches its entry.
    """
    cells = len(wide)
    inside = np.minimum((middle * cells).astype(np.int64), cells - 1)
    outside = np.full_like(inside, cells)
    while np.any(outside - inside > 1):
        between = (inside + outside) // 2
        out = between / cells * bottom - top > wide[between]
        outside, inside = np.where(out, between, outside), np.where(out, inside, between)
    return np.clip((top + wide[inside]) / bottom, np.maximum(middle, inside / cells), (inside + 1) / cells)
