"""Small numerical tools shared by the rooms. scipy loads when first needed: importing privet stays quick."""

import importlib
import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "UNIT_ROUNDOFF",
    "Array",
    "invert_decreasing",
    "log1mexp",
    "log_ndtr",
    "minimise",
    "ndtr",
    "ndtri",
    "normal_cells",
    "special",
]

Array = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53

_LEGENDRE = np.polynomial.legendre.leggauss(4)


@cache
def special() -> Any:  # scipy ships no types
    """The module scipy.special, loaded on first use.

    >>> round(float(special().ndtr(0.0)), 3)
    0.5
    """
    return importlib.import_module("scipy.special")


def ndtr(x: Array | float) -> Array:
    """Standard normal distribution function.

    >>> float(ndtr(0.0))
    0.5
    """
    return cast(Array, special().ndtr(x))


def log_ndtr(x: Array | float) -> Array:
    """Logarithm of the standard normal distribution function, accurate in the far tail.

    >>> round(float(log_ndtr(-40.0)), 3)
    -804.608
    """
    return cast(Array, special().log_ndtr(x))


def ndtri(p: float) -> float:
    """Quantile of the standard normal distribution.

    >>> float(ndtri(0.5))
    0.0
    """
    return float(special().ndtri(p))


def normal_cells(x: Array) -> Array:
    """Standard normal mass of (-inf, x0], (x0, x1], ..., (xn, inf) for increasing x.

    Narrow cells are integrated (four Gauss-Legendre points: relative error below 1e-14), wide ones are differences on the
    side of the smaller tail; so every cell keeps its leading digits, down to masses of 1e-300.

    >>> normal_cells(np.array([0.0])).tolist()
    [0.5, 0.5]
    """
    reach = np.maximum(np.maximum(np.abs(np.append(x, np.inf)), np.abs(np.concatenate(([-np.inf], x)))), 3.0)
    with np.errstate(invalid="ignore"):  # an empty cell between two infinite points counts as wide
        width = np.diff(x, prepend=-np.inf, append=np.inf)
        narrow = width * reach <= 0.2
    mass = np.zeros(len(x) + 1)
    index = np.flatnonzero(narrow)
    middle, half = 0.5 * (x[index - 1] + x[index]), 0.5 * width[index]
    for node, weight in zip(*_LEGENDRE, strict=True):
        mass[index] += weight * np.exp(-0.5 * (middle + half * node) ** 2)
    mass[index] *= half / math.sqrt(2.0 * math.pi)
    wide = np.flatnonzero(~narrow)
    low, high = np.concatenate(([-np.inf], x))[wide], np.append(x, np.inf)[wide]
    left = np.where(high <= 0.0, 1.0, -1.0)  # mirror cells of the upper half into the lower tail
    difference = ndtr(np.where(left > 0.0, high, -low)) - ndtr(np.where(left > 0.0, low, -high))
    mass[wide] = np.maximum(difference, 0.0)
    return mass


def log1mexp(x: float) -> float:
    """ln(1 - exp(x)) for x < 0 without cancellation.

    >>> round(log1mexp(-1e-20), 4)
    -46.0517
    """
    return math.log(-math.expm1(x)) if x > -math.log(2.0) else math.log1p(-math.exp(x))


def minimise(function: Callable[[float], float], low: float, high: float, iterations: int = 60) -> tuple[float, float]:
    """Golden-section search: the best point seen and its value. Any point seen is as valid as the minimum.

    >>> x, value = minimise(lambda x: (x - 1.0) ** 2, 0.0, 3.0)
    >>> round(x, 6)
    1.0
    """
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    a, b = low, high
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    fc, fd = function(c), function(d)
    for _ in range(iterations):
        if fc <= fd:
            b, d, fd = d, c, fc
            c = b - ratio * (b - a)
            fc = function(c)
        else:
            a, c, fc = c, d, fd
            d = a + ratio * (b - a)
            fd = function(d)
        if b - a <= 1e-9 * (abs(a) + abs(b)) + 1e-300:
            break
    return (c, fc) if fc <= fd else (d, fd)


def invert_decreasing(function: Callable[[float], float], target: float, low: float, high: float) -> float:
    """The smallest x seen in [low, high] with function(x) <= target, for a decreasing function, by bisection.

    The caller guarantees function(high) <= target; the returned end satisfies it too (the safe side).

    >>> round(invert_decreasing(lambda x: 1.0 / x, 0.5, 1.0, 10.0), 9)
    2.0
    """
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if function(middle) <= target:
            high = middle
        else:
            low = middle
    return high
