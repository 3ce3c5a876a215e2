"""Intervals for shares: the score interval in closed form, and the exact law of two binomials where counts are small."""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from privet._numerics import Array, ndtri, special
from privet._validate import open_fraction

ENOUGH = 50.0  # expected reports on each side from which the score interval is used: below, steps of a count show
_SKEW = 7.0  # and z^6 over this many: farther out in a tail the skewness of a count does
_REACH = 12.0  # standard deviations: what lies beyond is far below any tail that is asked for


def tail_of(confidence: float, *, among: int = 1, exact: bool = False) -> float:
    """The probability that one interval may miss on both sides together, so that `among` of them hold at once.

    Šidák's rule for normal limits (valid for any correlation), Bonferroni's for the exact law.

    >>> round(tail_of(0.95), 12), round(tail_of(0.95, among=10), 6), round(tail_of(0.95, among=10, exact=True), 6)
    (0.05, 0.005116, 0.005)
    """
    level = open_fraction("confidence", confidence)
    if exact:
        return (1.0 - level) / among
    return -math.expm1(math.log(level) / among)


def needs_exact_law(n: int, p: float, q: float, tail: float = 0.05) -> bool:
    """True if too few reports are expected on some side for a normal approximation of so small a tail.

    >>> needs_exact_law(200, 0.5, 0.1), needs_exact_law(2_000, 0.5, 0.1), needs_exact_law(2_000, 0.5, 0.1, 5e-5)
    (True, False, True)
    """
    return n * min(q, 1.0 - q, p, 1.0 - p) < max(ENOUGH, ndtri(tail / 2.0) ** 6 / _SKEW)


def score_interval(raw: Array, a: float, b: float, tail: float) -> tuple[Array, Array]:
    """All f with (raw - f)^2 <= z^2 (a + b f), the variance at f: both ends, not clipped.

    >>> low, high = score_interval(np.array([0.3]), 0.001, 0.0, 0.05)
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.23802, 0.36198)
    """
    z = -ndtri(tail / 2.0)
    shift = 0.5 * z * z * b
    width = z * np.sqrt(np.maximum(a + b * raw + 0.25 * z * z * b * b, 0.0))
    return raw + shift - width, raw + shift + width


def exact_interval(counts: Array, n: int, p: float, q: float, tail: float) -> tuple[Array, Array]:
    """All f = m/n under which neither tail of Bin(m, p) + Bin(n - m, q) at the count has probability tail/2 or less.

    **Guarantee:** each interval covers with probability at least 1 - tail, for every m (Neyman's inversion; the law
    grows with m, since p > q).

    >>> low, high = exact_interval(np.array([0, 60]), 100, 0.75, 0.25, 0.05)
    >>> low.tolist(), high.tolist()
    ([0.0, 0.53], [0.0, 0.88])
    """
    ends = {int(c): _inverted(int(c), n, p, q, tail / 2.0) for c in np.unique(counts)}
    found = np.array([ends[int(c)] for c in np.ravel(counts)], dtype=float).reshape(*np.shape(counts), 2) / n
    return found[..., 0], found[..., 1]


@lru_cache(maxsize=1 << 14)
def _inverted(count: int, n: int, p: float, q: float, tail: float) -> tuple[int, int]:
    """The least m with Pr[C >= count | m] > tail, and the largest m with Pr[C <= count | m] > tail."""
    low = _least(lambda m: at_least(count, m, n, p, q) > tail, n)
    high = n - _least(lambda j: 1.0 - at_least(count + 1, n - j, n, p, q) > tail, n)
    return min(low, n), max(high, 0)


def _least(holds: Any, n: int) -> int:
    """The least m in 0, ..., n + 1 from which a monotone condition holds."""
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def at_least(count: int, m: int, n: int, p: float, q: float) -> float:
    """Pr[Bin(m, p) + Bin(n - m, q) >= count].

    >>> round(at_least(2, 1, 2, 0.75, 0.25), 6)
    0.1875
    """
    centre, spread = m * p, math.sqrt(m * p * (1.0 - p)) + 1.0
    i = np.arange(max(0, math.floor(centre - _REACH * spread)), min(m, math.ceil(centre + _REACH * spread)) + 1)
    return min(1.0, float((_mass(i, m, p) * _above(count - i, n - m, q)).sum()))


def _mass(i: Array, n: int, p: float) -> Array:
    """Pr[Bin(n, p) = i]."""
    tools = special()
    logs = tools.gammaln(n + 1.0) - tools.gammaln(i + 1.0) - tools.gammaln(n - i + 1.0)
    return np.exp(logs + tools.xlogy(i, p) + tools.xlog1py(n - i, -p))


def _above(least: Array, n: int, q: float) -> Array:
    """Pr[Bin(n, q) >= least]."""
    inside = np.clip(least, 1, max(n, 1))
    tails = special().betainc(inside, n - inside + 1.0, q) if n else np.zeros(len(inside))
    return np.where(least <= 0, 1.0, np.where(least > n, 0.0, tails))
