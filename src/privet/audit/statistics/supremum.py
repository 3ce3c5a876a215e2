"""The p-value of two counts against a curve: the largest tail probability over all error rates that the curve allows."""

import math
from collections.abc import Callable

import numpy as np

from privet._numerics import Array, special
from privet.audit.counts import Counts
from privet.audit.statistics.clopper_pearson import rate_above, rate_below

Rates = Callable[[Array], Array]

LEAST = 1e-12  # what is spent on confining the unknown rates; no p-value of this test lies below
_STEP = 0.1  # of a standard deviation: how finely counts and rates are cut
_REFERENCE = 0.3  # the same for the points of the curve that distances are measured to
_SLACK = 1.12  # cells of rates are cut further while they could hide a larger probability than this times the largest
# How finely the null hypothesis is covered: more cells are slower and lose less power.
_FIRST_CELLS, _CUTS, _MOST_CELLS = 16, (4, 4, 2, 2, 2), 700
_ROUNDING = 1e-8  # relative error granted to sums of binomial tails


def supremum_p_value(counts: Counts, curve: Rates) -> float:
    """P[the counts lie at least as far below the curve], at the worst pair of error rates that the curve allows.

    `curve` is a falling lower bound on the false-negative rate, of the false-positive rate. The distance is measured to
    points of the curve, on a scale on which counts have variance 1; it is a fixed function of the counts that falls in
    both. **Guarantee:** P[p_value <= alpha] <= alpha, if the curve holds. **Error:** about a tenth too large.
    **Reference:** Barnard 1947; Berger & Boos 1994 for confining the rates.

    >>> supremum_p_value(Counts(tp=8, fp=2, n=10), lambda x: 1.0 - x) < 0.01
    True
    """
    x, y = counts.fp / counts.n_out, counts.fn / counts.n
    if y >= float(curve(np.array([x]))[0]):
        return 1.0
    least, most = _confined(counts.fp, counts.n_out)
    low, high = _confined(counts.fn, counts.n)
    region = _Region.beyond(counts, curve, (least, most), (low, high))
    worst = _worst(region, curve, (least, most), (low, high))
    return min(1.0, worst * (1.0 + _ROUNDING) + LEAST)


def distance(tp: Array, fp: Array, n: int, n_out: int, points: tuple[Array, Array]) -> Array:
    """The distance by which counts lie below the points of a curve, in standard deviations; 0 on the other side.

    >>> distance(np.array([9, 5]), np.array([1, 5]), 10, 10, (np.array([0.5]), np.array([0.5]))).round(2).tolist()
    [3.75, 0.0]
    """
    fn = np.asarray(n) - np.asarray(tp)
    a = np.maximum(_angle(points[0]) - _count_angle(np.asarray(fp), n_out)[..., None], 0.0) * (2.0 * math.sqrt(n_out))
    b = np.maximum(_angle(points[1]) - _count_angle(fn, n)[..., None], 0.0) * (2.0 * math.sqrt(n))
    return np.sqrt(np.min(a * a + b * b, axis=-1))


def reference(curve: Rates, n: int, n_out: int, x: tuple[float, float], y: tuple[float, float]) -> tuple[Array, Array]:
    """Points of the curve at a fixed spacing along either axis, those between the given rates.

    >>> len(reference(lambda x: 1.0 - x, 100, 100, (0.0, 1.0), (0.0, 1.0))[0]) > 100
    True
    """
    across, down = _lattice(n_out, *x), _lattice(n, *y)
    values = np.asarray(curve(np.concatenate((across, down))))
    return np.concatenate((across, values[len(across) :])), np.concatenate((values[: len(across)], down))


def _lattice(n: int, low: float, high: float) -> Array:
    """Rates at fixed angles, `_REFERENCE` standard deviations of a count of n apart; those between low and high."""
    steps = max(4, math.ceil(math.pi * math.sqrt(n) / _REFERENCE))
    first, last = (math.asin(math.sqrt(min(max(end, 0.0), 1.0))) * 2.0 * steps / math.pi for end in (low, high))
    places = np.arange(max(0, math.floor(first)), min(steps, math.ceil(last)) + 1)
    return np.sin(places * (math.pi / (2 * steps))) ** 2


def _angle(rate: Array) -> Array:
    return np.arcsin(np.sqrt(np.clip(rate, 0.0, 1.0)))


def _count_angle(k: Array, n: int) -> Array:
    """Anscombe's transform: nearly normal with variance 1/(4n) for counts that are not tiny."""
    return np.arcsin(np.sqrt((k + 0.375) / (n + 0.75)))


def _confined(k: int, n: int) -> tuple[float, float]:
    """A confidence interval for one of the two rates: a quarter of LEAST at each end."""
    return float(rate_below(k, n, LEAST / 4.0)), float(rate_above(k, n, LEAST / 4.0))


class _Region:
    """Counts that lie at least as far below the curve as the observed ones, enlarged to steps: fp up to an edge of
    each step together with fn up to its height."""

    def __init__(self, counts: Counts, edges: Array, heights: Array) -> None:
        self._counts, self._edges, self._heights = counts, edges, heights

    @classmethod
    def beyond(cls, counts: Counts, curve: Rates, x: tuple[float, float], y: tuple[float, float]) -> "_Region":
        n, n_out = counts.n, counts.n_out
        # Leaving points out can only enlarge the region.
        points = reference(curve, n, n_out, (0.5 * x[0], min(1.0, 1.5 * x[1])), (0.5 * y[0], min(1.0, 1.5 * y[1])))
        far = float(distance(np.array(counts.tp), np.array(counts.fp), n, n_out, points)) * (1.0 - 1e-9)
        spread = math.sqrt(max(counts.fp, 1.0) * max(1.0 - counts.fp / n_out, 1.0 / n_out))
        step = max(1, int(_STEP * spread))
        first = max(0, int(n_out * x[0] - 8.0 * spread))
        starts = np.unique(np.append(np.arange(first, min(n_out, int(n_out * x[1]) + 1) + 1, step), 0))
        across = np.maximum(_angle(points[0]) - _count_angle(starts, n_out)[:, None], 0.0) * (2.0 * math.sqrt(n_out))
        left = np.sqrt(np.maximum(far * far - across * across, 0.0)) / (2.0 * math.sqrt(n))
        angle = _angle(points[1]) - left
        most = (n + 0.75) * np.sin(np.maximum(angle, 0.0)) ** 2 - 0.375 + 1e-6
        heights = np.where(left > 0.0, np.where(angle < 0.0, -1.0, np.floor(most)), float(n)).min(axis=1)
        heights = np.clip(heights, -1.0, n)
        ends = np.append(starts[1:] - 1, n_out)
        reached = heights >= 0.0
        return cls(counts, ends[reached], heights[reached])

    def across(self, x: Array) -> Array:
        """P[fp in each step], one row a rate."""
        return np.diff(_binomial_cdf(self._edges, self._counts.n_out, x), axis=1, prepend=0.0)

    def down(self, y: Array) -> Array:
        """P[fn up to the height of each step], one row a rate."""
        sorted_heights = self._heights[::-1]  # they fall from step to step
        return _binomial_cdf(sorted_heights, self._counts.n, y)[:, ::-1]

    @property
    def empty(self) -> bool:
        return not len(self._edges)


def _binomial_cdf(k: Array, n: int, p: Array) -> Array:
    """P[Bin(n, p) <= k] for rising k, one row a p: the first from the library, then sums of single probabilities."""
    last = int(k[-1]) if k[-1] < n else int(k[-2] if len(k) > 1 else k[-1])  # at n the answer is 1
    values = np.arange(int(k[0]) + 1, max(last, int(k[0])) + 1)
    log = special().gammaln
    ways = log(n + 1.0) - log(values + 1.0) - log(n - values + 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways + values * np.log(p)[:, None] + (n - values) * np.log1p(-p)[:, None]
    logs[np.isnan(logs)] = -np.inf
    first = special().bdtr(float(k[0]), n, p)[:, None]
    sums = np.concatenate((first, first + np.cumsum(np.exp(logs), axis=1)), axis=1)
    picked = np.minimum(sums[:, np.minimum(k.astype(np.int64) - int(k[0]), sums.shape[1] - 1)], 1.0)
    picked[:, k >= n] = 1.0
    return np.asarray(picked)


def _worst(region: _Region, curve: Rates, x: tuple[float, float], y: tuple[float, float]) -> float:
    """An upper bound on the probability of the region over the pairs of rates that the curve and the intervals allow.

    The region holds with a pair of counts every smaller pair, so its probability falls in both rates: over a cell of x
    it is at most that at the left end of x and at the smallest y allowed anywhere in the cell, the one at its right end.
    """
    if region.empty:
        return 0.0
    angles = math.asin(math.sqrt(x[0])), math.asin(math.sqrt(x[1]))
    ends = np.sin(np.linspace(angles[0], angles[1], _FIRST_CELLS + 1)) ** 2
    nodes = np.unique(np.concatenate((np.clip(ends, *x), x)))
    values = np.maximum(curve(nodes), y[0])
    across, down = region.across(nodes), region.down(values)
    for more in (*_CUTS, 0):
        allowed = values[1:] <= y[1]  # a cell whose every allowed y lies above the interval holds no pair at all
        bounds = np.where(allowed, np.einsum("ij,ij->i", across[:-1], down[1:]), 0.0)
        sure = float(np.max(np.where(values <= y[1], np.einsum("ij,ij->i", across, down), 0.0)))
        loose = bounds > max(_SLACK * sure, LEAST)
        if more == 0 or not loose.any() or len(nodes) > _MOST_CELLS:
            break
        new = np.unique(np.linspace(nodes[:-1][loose], nodes[1:][loose], more + 1)[1:-1])
        new = np.setdiff1d(new, nodes)
        places = np.searchsorted(nodes, new)
        heights = np.maximum(curve(new), y[0])
        across, down = (
            np.insert(known, places, rows, axis=0)
            for known, rows in ((across, region.across(new)), (down, region.down(heights)))
        )
        nodes, values = np.insert(nodes, places, new), np.insert(values, places, heights)
    return float(bounds.max())
