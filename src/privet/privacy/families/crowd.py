"""E[(ζ_1 + ... + ζ_n)_+]/n for independent ζ with at most four values, from above: one report among n shuffled ones.

ζ is `up` with probability `plus`, -`down` with `minus`, -`dip` with `level`, else 0. Let C of the n be at one of the two
ends, A of these at the upper one, and D at the dip. Given C and D the mean of (A up - (C - A) down - D dip)_+ is one value
and one tail of a binomial law, at a threshold that rises by 0 or 1 with C: so values are carried along it by a product and
tails by a sum, and no special function is asked more than a dozen times. Proof: docs/proofs/privacy/shuffled.md, "How it is
computed".
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privet._numerics import TINY, Array, special

_ERROR = 1e-10  # relative, of a mass: thousands of products, and the incomplete beta function where they begin
# Counts C within so many standard deviations of the mean are summed one by one. Those below are lumped in blocks, each as
# if it were the least of its block, which raises the bound: so these numbers change speed, and the bound by little.
_REACH = 9.0
_SHORT_REACH = 5.0  # where one deviation is more than _MANY counts
_MANY = 150.0
_LUMPS = (1.0, 2.0, 3.0, 4.5, 7.0, 12.0, 30.0)  # edges of the blocks, in deviations below the first that is summed
_MOST_CELLS = 2_000_000  # of a table of masses (16 MB): beyond, neighbouring counts share a row, which raises the bound
_NOT_TABLED = 1e-18  # more than the mass of D beyond _REACH deviations: it counts as nobody at the dip
_PIECE = 50000  # numbers at a time: memory and speed only


class Laws(NamedTuple):
    """The laws of ζ at several gammas: arrays, but for what all share: the probability that another user is at an end
    (`ends`) and at the dip (`level`)."""

    up: Array
    down: Array
    plus: Array
    minus: Array
    ends: float
    dip: Array | None = None
    level: float = 0.0


class Crowd:
    """The law of how many of N others are at an end, and at the dip, and what these make of the user's own report.

    >>> two = np.array([2.0])
    >>> fair = Laws(up=two, down=two, plus=two / 8, minus=two / 8, ends=0.5)
    >>> Crowd(0, 0.5).mean_excess(fair).round(9).tolist()  # a single user: plus times up
    [0.5]
    """

    def __init__(self, others: int, ends: float, level: float = 0.0) -> None:
        deviation = math.sqrt(others * ends * (1.0 - ends))
        reach = (_REACH if deviation < _MANY else _SHORT_REACH) * deviation + 20.0
        first = max(0, math.floor(others * ends - reach))
        last = min(others, math.ceil(others * ends + reach))
        self.counts = np.arange(first, last + 1, dtype=float)
        self.mass = binomial_masses(first, last, others, ends)
        if last < others:  # more at the ends are no worse: they count as the last one
            self.mass[-1] += float(binomial(float(last), float(others), ends)[1]) * (1.0 + _ERROR)
        edges = sorted({max(0, math.floor(first - more * deviation)) for more in _LUMPS} | {0, first})
        below = [fewer(edge, others, ends) for edge in edges]
        self.lumps = np.array(edges[:-1], dtype=float)
        self.lump_mass = np.maximum(np.diff(below), 0.0) * (1.0 + _ERROR)
        self.dips = _Dips(others, self.counts, level / (1.0 - ends)) if level > 0.0 else None

    def mean_excess(self, laws: Laws) -> Array:
        """E[(sum)_+]/n for n = N + 1 and each law, rounded up."""
        pieces = max(1, min(len(laws.up), len(laws.up) * len(self.counts) // _PIECE))
        found = [self._piece(piece) for piece in _cut(laws, pieces)]
        return np.concatenate(found)

    def _piece(self, laws: Laws) -> Array:
        """The mean of `mean_excess` for some of the laws.

        With t the threshold, the own report at the upper end gains `up` where at least t others are there too, and at the
        lower end costs `down` where more than t others are: gain P(A = t) - cost P(A > t).
        """
        share, width = (laws.plus / (laws.plus + laws.minus))[:, None], laws.up + laws.down
        gain, cost = laws.plus * laws.up, laws.minus * laws.down - laws.plus * laws.up
        threshold = (self.counts + 1.0) * (laws.down / width)[:, None]
        if self.dips is None:
            value, tail = along(self.counts, np.floor(threshold), share)
            wins, losses = (value @ self.mass) * gain, (tail @ self.mass) * cost
        else:
            wins, losses = self._with_dips(laws, threshold, share, gain, cost)
        rest = self._lumped(laws, share, gain, cost) + (0.0 if self.dips is None else self.dips.uncounted * gain)
        return np.maximum(0.0, wins * (1.0 + _ERROR) - losses * (1.0 - _ERROR)) + rest + TINY

    def _with_dips(self, laws: Laws, threshold: Array, share: Array, gain: Array, cost: Array) -> tuple[Array, Array]:
        """The gains and costs of `_piece`, averaged over D, which moves the threshold over a few whole numbers b.

        At each b stand those D for which the threshold is b, with their probability and their part of the mean of D.
        """
        assert self.dips is not None
        assert laws.dip is not None
        c, dips, unit = self.counts, self.dips, (laws.dip / (laws.up + laws.down))[:, None]
        spread = dips.reach * unit
        b = np.floor(threshold + dips.mean * unit - spread)
        value, tail = along(c, b, share)
        odds, toll = share / (1.0 - share), laws.ends * laws.dip[:, None] / (c + 1.0)  # the toll of one at the dip
        wins, losses = np.zeros(len(cost)), np.zeros(len(cost))
        unit = np.maximum(unit, 1e-300)  # at gamma = 1 nothing is lost by a dip
        chance, part = dips.fewer((b - threshold) / unit)
        for _ in range(int(2.0 * spread.max()) + 3):
            since, part_since = chance, part
            chance, part = dips.fewer((b + 1.0 - threshold) / unit)
            weight, dipped = self.mass * (chance - since), self.mass * (part - part_since) * toll
            wins += (weight * value).sum(axis=1) * gain
            losses += (weight * tail).sum(axis=1) * cost + (dipped * (tail + share * value)).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):  # P(A = b + 1) from P(A = b)
                onward = value * np.maximum((c - b) / (b + 1.0) * odds, 0.0)
            if b[:, 0].min() < 0.0:  # no outcome before 0, and there the value begins
                onward = np.where(b < 0.0, (b == -1.0) * np.exp(c * np.log1p(-share)), onward)
            value, b = onward, b + 1.0
            tail = np.maximum(tail - value, 0.0)
        return wins, losses

    def _lumped(self, laws: Laws, share: Array, gain: Array, cost: Array) -> Array:
        """Fewer others at the ends, which is worse: in blocks, each as if it had its fewest, and nobody at the dip."""
        if not len(self.lumps):
            return np.zeros(len(gain))
        threshold = np.floor((self.lumps + 1.0) * (laws.down / (laws.up + laws.down))[:, None])
        value, tail = binomial(threshold, self.lumps, share)
        each = gain[:, None] * value * (1.0 + _ERROR) - cost[:, None] * tail * (1.0 - _ERROR)
        return (np.maximum(each, 0.0) @ self.lump_mass) * (1.0 + _ERROR)


def _cut(laws: Laws, pieces: int) -> "list[Laws]":
    """The laws in runs: what is computed for one run fits into a cache."""
    arrays = {
        name: np.array_split(value, pieces) for name, value in laws._asdict().items() if isinstance(value, np.ndarray)
    }
    return [Laws(**{**laws._asdict(), **{name: parts[i] for name, parts in arrays.items()}}) for i in range(pieces)]


@dataclass
class _Dips:
    """D given C, which is binomial: P(D < d) and E[D; D < d].

    Where C has many values, neighbouring ones share the law of the largest of them, which has the fewest at the dip: that
    raises the sum.
    """

    others: int
    counts: Array
    share: float

    def __post_init__(self) -> None:
        self.share = min(self.share, 1.0 - 1e-15)  # odds must be finite
        self.mean = (self.others - self.counts) * self.share
        deviation = math.sqrt(float(self.others - self.counts[0]) * self.share * (1.0 - self.share))
        self.reach = _REACH * deviation + 20.0
        width = int(2.0 * self.reach) + 3
        block = max(1, math.ceil(len(self.counts) * width / _MOST_CELLS))
        last = np.minimum(np.arange(0, len(self.counts), block) + block - 1, len(self.counts) - 1)
        left = self.others - self.counts[last]
        self.first = np.maximum(0.0, np.floor(left * self.share - self.reach))
        self.row = np.arange(len(self.counts)) // block
        self.reach += block  # neighbours differ from their block's law by less
        d = self.first[:, None] + np.arange(width)
        mass = rows_of_masses(self.first, left, self.share, width)
        none = np.zeros((len(left), 1))
        self.below = np.concatenate((none, np.cumsum(mass, axis=1)), axis=1)
        self.mean_below = np.concatenate((none, np.cumsum(mass * d, axis=1)), axis=1)
        self.uncounted = _NOT_TABLED

    def fewer(self, d: Array) -> tuple[Array, Array]:
        """P(D < d) and E[D; D < d] for each C."""
        at = np.clip(np.ceil(d) - self.first[self.row], 0, self.below.shape[1] - 1).astype(np.intp)
        return self.below[self.row, at], self.mean_below[self.row, at]


def along(c: Array, b: Array, share: Array) -> tuple[Array, Array]:
    """P(A = b) and P(A > b) for A ~ Bin(c, share), with c rising by 1 and b by 0 or 1 along each row.

    Values are products from the left; tails are sums from the right, where they are smallest.

    >>> value, tail = along(np.arange(4.0), np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([[0.5]]))
    >>> value.round(12).tolist(), tail.round(12).tolist()
    ([[1.0, 0.5, 0.5, 0.375]], [[0.0, 0.5, 0.25, 0.5]])
    """
    stepped = b[:, 1:] > b[:, :-1]
    over = np.where(stepped, b[:, 1:] / share, (c[1:] - b[:, 1:]) / (1.0 - share))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = c[1:] / over
    start = np.argmax((b >= 0.0) & (b <= c), axis=1)  # the first place where b is an outcome at all
    row = np.arange(len(b))
    first = np.exp(log_binomial(b[row, start][:, None], c[start][:, None], share))
    if start.any():
        ratio = np.where(np.arange(len(c) - 1) < start[:, None], 1.0, ratio)
    value = np.cumprod(np.concatenate((first, ratio), axis=1), axis=1)
    if start.any():
        value = np.where(np.arange(len(c)) < start[:, None], 0.0, value)
    moves = value[:, 1:] * (1.0 - b[:, 1:] / c[1:]) * np.where(stepped, 1.0, -share / (1.0 - share))
    last = binomial(b[:, -1:], c[-1:], share)[1]
    tail = np.cumsum(np.concatenate((last, moves[:, ::-1]), axis=1), axis=1)[:, ::-1]
    return value, np.maximum(tail, 0.0)


def binomial(b: Array | float, c: Array | float, share: Array | float) -> tuple[Array, Array]:
    """P(A = b) and P(A > b) for A ~ Bin(c, share), one by one.

    >>> [round(float(x), 12) for x in binomial(1.0, 2.0, 0.5)]
    [0.5, 0.25]
    """
    b, c = np.asarray(b, dtype=float), np.asarray(c, dtype=float)
    inside = (b >= 0.0) & (b < c)
    tail = special().betainc(np.where(inside, b + 1.0, 1.0), np.where(inside, c - b, 1.0), share)
    return np.exp(log_binomial(b, c, share)), np.where(inside, tail, np.where(b < 0.0, 1.0, 0.0))


def fewer(edge: int, size: int, share: float) -> float:
    """P(Bin(size, share) < edge)."""
    return float(special().betainc(size - edge + 1.0, float(edge), 1.0 - share)) if edge > 0 else 0.0


def binomial_masses(first: int, last: int, size: int, share: float) -> Array:
    """P(Bin(size, share) = i) for i from first to last.

    >>> binomial_masses(0, 2, 2, 0.5).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    low, left = np.array([float(first)]), np.array([float(size)])
    return rows_of_masses(low, left, share, last - first + 1)[0] if share < 1.0 else np.ones(1)


def rows_of_masses(first: Array, size: Array, share: float, width: int) -> Array:
    """Binomial masses from `first` on, a row for each size: multiplied outwards from the largest of a row."""
    d = first[:, None] + np.arange(width - 1)
    top = np.clip(np.floor((size + 1.0) * share) - first, 0, width - 1)[:, None]
    beyond = np.arange(width - 1) >= top
    with np.errstate(divide="ignore"):
        ratios = np.maximum(size[:, None] - d, 0.0) / (d + 1.0) * (share / (1.0 - share))
        right = np.cumprod(np.where(beyond, ratios, 1.0), axis=1)
        left = np.cumprod(np.where(beyond, 1.0, 1.0 / ratios)[:, ::-1], axis=1)[:, ::-1]
    one = np.ones((len(first), 1))
    middle = np.exp(log_binomial(first + top[:, 0], size, share))[:, None]
    return middle * np.concatenate((left, one), axis=1) * np.concatenate((one, right), axis=1)


def log_binomial(b: Array, c: Array, share: Array | float) -> Array:
    """ln P(Bin(c, share) = b) without large logarithms that cancel (Loader 2000); -inf where b is no outcome.

    >>> round(float(np.exp(log_binomial(np.array(1.0), np.array(2.0), 0.5))), 12)
    0.5
    """
    inner = (b > 0.0) & (b < c)
    x, n = np.where(inner, b, 1.0), np.where(inner, c, 2.0)
    y = n - x
    gap = _stirling(n) - _stirling(x) - _stirling(y) - _deviance(x, n * share) - _deviance(y, n * (1.0 - share))
    logs = gap + 0.5 * np.log(n / (2.0 * math.pi * x * y))
    edge = np.where(b == 0.0, c * np.log1p(-share), c * np.log(share))
    return np.where((b >= 0.0) & (b <= c), np.where(inner, logs, edge), -np.inf)


def _stirling(x: Array) -> Array:
    """ln x! minus Stirling's formula."""
    small = np.minimum(x, 16.0)
    exact = special().gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2.0 * math.pi)
    square = 1.0 / (x * x)
    series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x
    return np.where(x > 16.0, series, exact)


def _deviance(x: Array, mean: Array) -> Array:
    """x ln(x/mean) + mean - x."""
    y = (x - mean) / mean
    return mean * ((1.0 + y) * np.log1p(y) - y)
