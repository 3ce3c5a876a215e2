"""The curve of a large crowd at all epsilons at once: one table of outcomes, thrown into bins of their loss.

ζ has the values `up` = e0 - γ and -`down` = 1 - γ e0 with one probability, and -`dip` = 1 - γ. Let C of n people be at the
two ends, R the sum of C fair signs (who is at which), and D at the dip. Then ζ_1 + ... + ζ_n = X - γY with

    X = H + (e0 - 1) R/2,    Y = H - (e0 - 1) R/2,    H = (e0 + 1) C/2 + D:

the outcome has the masses X/n and Y/n, and the tangent of half its loss is (e0 - 1) R/(2H). Three moves raise the mean of
(X - γY)_+ for every γ >= 1, so they are allowed above: more signs in R, a smaller H, and an H that is spread around its
mean. Their opposites are allowed below. So C is cut into blocks and D into a few values.
"""

import math
from typing import NamedTuple

import numpy as np

from privet._numerics import TINY, Array, exp_capped
from privet.privacy.families.crowd import binomial, binomial_masses, fewer, log_binomial, rows_of_masses

_REACH = 5.0  # standard deviations of C that are cut into blocks; what lies beyond goes into wide ones
_WIDE = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 12.0, 30.0)  # edges of these, in deviations beyond: tightness only
_BLOCK = 5e-5  # of C, that a block has beyond its first: moves epsilon by a quarter of that
_TABLE = 700_000  # outcomes from which on blocks are made wider, as far as they may be
_SPACING = 1.5e-3  # of n, between the values that D is spread to: moves epsilon by the square of that, twice
_GROUP = 5e-7  # of n^2: counts C that share a law of D, which moves epsilon by less than 1e-5
_DIPS_REACH = 9.0  # standard deviations of D that are listed: what lies outside is counted as lost
_SIGNS_REACH = 8.7  # standard deviations of a sum of signs that are listed, likewise
_NOTHING = 1e-22  # masses below this are not thrown one by one
_ERROR = 4e-10  # relative, of a mass: some hundred thousand products
_FINE, _COARSE = 8192, 1500  # bins: tightness and time
_FAR = 9.5  # standard deviations of R, up to which bins go
_SMALL = 0.25  # of the loss of a single report: above, a crowd hides too little for this bound to be worth its time
_LEAST = 1e-16  # below this delta the curve goes straight to its end
_CELLS = 1 << 15  # outcomes at a time: memory and speed only


class Rows(NamedTuple):
    """Outcomes before the signs are drawn: how many signs (one for each row), H and its mass (rows x values of H), and the
    mass of rows whose H is not known, which is taken as 0."""

    signs: Array
    drift: Array
    mass: Array
    lost: Array


class Bins(NamedTuple):
    """Sums from each bin upwards, at the lower ends of the bins in tanh(loss/2): of X - Y, and of X + Y."""

    ends: Array
    apart: Array
    both: Array


def curve_above(n: int, e0: float, own: float, ends: float, level: float) -> tuple[Array, Array] | None:
    """Epsilons from 0 on, and bounds on delta there, rounded up, evenly in their logarithm; None for a crowd so small that
    its curve does not end far below that of a single report.

    >>> epsilons, deltas = curve_above(10**4, 3.0, 0.5, 0.5, 0.0)
    >>> bool(np.all(np.diff(deltas) < 0.0) and deltas[-1] < 1e-15)
    True
    """
    top = _top(n, e0, ends, level)
    if top is None:
        return None
    found = thrown(rows_above(n, e0, own, ends, level), n, e0, top, _FINE)
    gamma = (1.0 + found.ends) / (1.0 - found.ends)
    excess = found.apart * (1.0 + _ERROR) - found.ends * found.both * (1.0 - _ERROR)
    deltas = np.maximum(excess, 0.0) * (1.0 + gamma) / 2.0 + TINY
    if deltas[-1] > _LEAST:
        return None
    kept = _thinned(deltas)
    return 2.0 * np.arctanh(found.ends[kept]), deltas[kept]


def pair_below(k: int, epsilon: float, n: int) -> tuple[Array, Array, Array] | None:
    """Epsilons from 0 on, and the probabilities under both worlds of a loss that is no smaller, at most: the two counts of
    the values that are told apart, k >= 3, where everybody else holds a third. None for a small crowd."""
    e0 = exp_capped(epsilon)
    lie = 1.0 / (e0 + k - 1.0)
    top = _top(n, e0, 2.0 * lie, (k - 2.0) * lie)
    if top is None:
        return None
    rows = rows_below(n, e0, lie, max(0.0, 1.0 - (e0 + 1.0) * lie))
    found = thrown(rows, n, e0, top, _COARSE)
    return 2.0 * np.arctanh(found.ends), (found.both + found.apart) / 2.0, (found.both - found.apart) / 2.0


def _top(n: int, e0: float, ends: float, level: float) -> float | None:
    """The tangent of half the largest loss that is looked at; None where it is not far below that of a single report."""
    signs = n * ends
    top = (e0 - 1.0) * _FAR * math.sqrt(signs) / ((e0 + 1.0) * signs + 2.0 * n * level)
    return top if top < _SMALL * (e0 - 1.0) / (e0 + 1.0) else None


def _thinned(deltas: Array) -> Array:
    """The places of values that fall evenly in their logarithm, most of them between 0.1 and 1e-10."""
    falls = -np.minimum.accumulate(np.log(deltas))
    marks = [falls[0], *(max(falls[0], -math.log(mark)) for mark in (0.1, 1e-10, _LEAST))]
    wanted = np.concatenate([np.linspace(marks[i], marks[i + 1], many) for i, many in enumerate((40, 600, 100))])
    return np.unique(np.minimum(np.searchsorted(falls, wanted), len(deltas) - 1))


def rows_above(n: int, e0: float, own: float, ends: float, level: float) -> Rows:
    """Rows that bound the crowd from above: a person is at an end with probability `own`, each other one with `ends`."""
    low, high, mass, mean = _blocks(n, ends)
    place = (mean - low) / np.maximum(high - low, 1.0)
    alpha, share = (e0 + 1.0) / 2.0, min(level / (1.0 - ends), 1.0 - 1e-15) if level > 0.0 else 0.0
    many = len(low) if share == 0.0 else max(1, int(_GROUP * n * n))
    found = [
        _spread_blocks(n, alpha, share, *(part[i : i + many] for part in (low, high, n * own * mass, place)))
        for i in range(0, len(low), many)
    ]
    below, above, beyond = _wide_blocks(n, ends)
    if len(below):
        found.append(_unspread(n, alpha, share, below, above, n * own * beyond / below))
    most = max(part.drift.shape[1] for part in found)
    drift = [np.pad(part.drift, ((0, 0), (0, most - part.drift.shape[1])), mode="edge") for part in found]
    masses = [np.pad(part.mass, ((0, 0), (0, most - part.mass.shape[1]))) for part in found]
    signs, lost = (np.concatenate([part[i] for part in found]) for i in (0, 3))
    return Rows(signs, np.concatenate(drift), np.concatenate(masses), lost)


def rows_below(n: int, e0: float, lie: float, own_rest: float) -> Rows:
    """Rows that bound from below the two counts of values that are told apart, where everybody else holds a third one:
    fewer signs, and the mean H of a block. What is not in a block says nothing."""
    low, _, mass, mean = _blocks(n, 2.0 * lie)
    mass = n * 2.0 * lie * mass
    drift = (e0 + 1.0) / 2.0 * mean + own_rest / (1.0 - 2.0 * lie) * (n - mean)
    return Rows(low, drift[:, None], mass[:, None], np.zeros(len(low)))


def _blocks(n: int, ends: float) -> tuple[Array, Array, Array, Array]:
    """Neighbouring counts C: the least and the most of each block, sum of Bin(n - 1, ends)(C - 1)/C, and the mean of C
    by these weights."""
    others = n - 1
    reach = _REACH * math.sqrt(others * ends * (1.0 - ends)) + 20.0
    first, last = max(0, math.floor(others * ends - reach)), min(others, math.ceil(others * ends + reach))
    c = np.arange(first, last + 1) + 1.0
    mass = binomial_masses(first, last, others, ends) / c
    width = 1 + int(min(_BLOCK * others * ends, 2.0 * reach * _width(others * ends) / _TABLE))
    start = np.arange(0, len(c), width)
    total = np.add.reduceat(mass, start)
    mean = c[start] + np.add.reduceat(mass * (np.arange(len(c)) % width), start) / np.maximum(total, 1e-300)
    return c[start], c[start] + width - 1.0, total, mean


def _wide_blocks(n: int, ends: float) -> tuple[Array, Array, Array]:
    """Wide blocks on both sides of the others: the least and the most C of each, and the probability of C - 1."""
    others = n - 1
    deviation = math.sqrt(others * ends * (1.0 - ends))
    reach = _REACH * deviation + 20.0
    first, last = max(0, math.floor(others * ends - reach)), min(others, math.ceil(others * ends + reach))
    down = sorted({max(0, math.floor(first - more * deviation)) for more in _WIDE} | {0})
    up = sorted({min(others, math.ceil(last + more * deviation)) for more in _WIDE} | {others})
    lower = np.diff([fewer(edge, others, ends) for edge in down])
    upper = -np.diff([float(binomial(float(edge), float(others), ends)[1]) for edge in up])
    low = np.array([*down[:-1], *(edge + 1 for edge in up[:-1])], dtype=float)
    high = np.array([*(edge - 1 for edge in down[1:]), *up[1:]], dtype=float)
    return low + 1.0, high + 1.0, np.maximum(np.concatenate((lower, upper)), 0.0) * (1.0 + _ERROR)


def _spread_blocks(n: int, alpha: float, share: float, low: Array, high: Array, mass: Array, place: Array) -> Rows:
    """Blocks with one law of D, that of the least C: for larger ones it varies too much around the mean they have, which is
    above. C is spread to the ends of its block, and H to a grid."""
    few, width = float(low[0]), float(high[0] - low[0])
    moved = (alpha - share) * width
    if share == 0.0:
        grid, first, unseen = np.array([0.0, moved] if width else [0.0]), 0.0, 0.0
        kept = np.eye(len(grid))[[0, -1]]
    else:
        left = n - few
        reach = _DIPS_REACH * math.sqrt(left * share * (1.0 - share)) + 20.0
        first, last = max(0, math.floor(left * share - reach)), min(left, math.ceil(left * share + reach))
        chance = rows_of_masses(np.array([float(first)]), np.array([left]), share, int(last - first) + 1)[0]
        chance[-1] += float(binomial(float(last), left, share)[1])
        unseen, step = fewer(int(first), int(left), share), float(max(1, int(_SPACING * n)))
        at = np.arange(len(chance)) / step
        grid = first + step * np.arange(int((len(chance) - 1 + moved) / step) + 2)
        kept = np.stack([_hats(at + more / step, chance, len(grid)) for more in (0.0, moved)])
    drift = ((alpha - share) * low + share * few)[:, None] + grid
    return Rows(high, drift, mass[:, None] * (kept[0] + place[:, None] * (kept[1] - kept[0])), mass * unseen)


def _hats(at: Array, chance: Array, size: int) -> Array:
    """Masses at whole numbers instead of those at `at`, with the same mean: each goes to its two neighbours."""
    below = np.floor(at)
    part, place = chance * (at - below), below.astype(np.intp)
    return np.bincount(place, chance - part, size) + np.bincount(place + 1, part, size)


def _unspread(n: int, alpha: float, share: float, low: Array, high: Array, mass: Array) -> Rows:
    """Wide blocks, each with as few at the ends and at the dip as there may be."""
    left = np.maximum(n - high, 0.0)
    least = np.floor(left * share - _DIPS_REACH * np.sqrt(left * share * (1.0 - share)) - 20.0)
    least = np.maximum(least, 0.0)
    unseen = np.array([fewer(int(d), int(c), share) for d, c in zip(least, left, strict=True)])
    return Rows(high, (alpha * low + least)[:, None], mass[:, None], mass * unseen)


def thrown(rows: Rows, n: int, e0: float, top: float, bins: int) -> Bins:
    """All outcomes with R > 0 in bins of one width below `top`; the last bin has all that is above. What is not thrown
    counts as lost altogether, in the last one."""
    step = top / bins
    apart, both, lost = np.zeros(bins), np.zeros(bins), 0.0
    slope = (e0 - 1.0) / (2.0 * step) / rows.drift
    first = np.exp(log_binomial((rows.signs + 2.0 - rows.signs % 2.0) / 2.0, rows.signs, 0.5))
    start = 0
    while start < len(rows.signs):
        width = _width(rows.signs[start])
        part = slice(start, start + max(1, _CELLS // width))
        start = part.stop
        value, chance, whole, tail = _signs(rows.signs[part], first[part])
        lost += float(rows.lost[part] @ whole + rows.mass[part].sum(axis=1) @ tail)
        swing = chance * value
        for j in range(rows.mass.shape[1]):
            mass = rows.mass[part, j, None]
            if mass.max() < _NOTHING:
                lost += float(mass[:, 0] @ whole)
                continue
            place = np.minimum(value * slope[part, j, None], bins - 1.0).astype(np.intp).reshape(-1)
            apart += np.bincount(place, (swing * mass).reshape(-1), bins)
            both += np.bincount(place, (chance * (mass * rows.drift[part, j, None])).reshape(-1), bins)
    apart[-1] += lost
    sums = [side[::-1].cumsum()[::-1] for side in (apart, both)]
    return Bins(step * np.arange(bins), sums[0] * ((e0 - 1.0) / n), sums[1] * (2.0 / n))


def _width(signs: float) -> int:
    return int(_SIGNS_REACH * math.sqrt(signs) / 2.0) + 12


def _signs(signs: Array, first: Array) -> tuple[Array, Array, Array, Array]:
    """The positive values of a sum of so many fair signs and their chances, a row for each, from that of its least value;
    E[R; R > 0], and what of it is beyond the row: E[2A - C; A >= a] = a P(A = a)."""
    c = signs[:, None]
    a = (c + 2.0 - c % 2.0) / 2.0 + np.arange(_width(float(signs.max())))
    chance = np.empty((len(signs), a.shape[1] + 1))
    chance[:, :1] = first[:, None]
    ratio = np.subtract(c, a, out=chance[:, 1:])  # steps in place: new arrays would take as long as the numbers
    np.maximum(ratio, 0.0, out=ratio)
    ratio /= a + 1.0
    np.cumprod(chance, axis=1, out=chance)
    whole, tail = a[:, 0] * chance[:, 0], (a[:, -1] + 1.0) * chance[:, -1]
    a *= 2.0
    a -= c
    return a, chance[:, :-1], whole, tail
