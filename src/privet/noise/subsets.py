"""Random subsets of 0, ..., n - 1: each index by its own coin, or so many of them."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet._validate import whole
from privet.errors import InvalidParameter
from privet.noise.draw import PIECE, pieces
from privet.noise.entropy import Source, Stream, current
from privet.noise.families.coins import TO_UNIT, flip
from privet.noise.families.enclosure import rational
from privet.noise.families.refined import Refined, least
from privet.noise.parameters import probability
from privet.noise.uniform_int import below

_MOST = 2**62  # of indices: sums of gaps stay inside int64
_RARE = Fraction(1, 16)  # below, the gaps between chosen indices are drawn instead of a coin for each index
_FIRST = 2**44  # words below it go to the exact path: their cells are wider than _MARGIN
_MARGIN = 2.0**-40  # of the largest gap of one word: the cell (2^-44), 64 ulp of both logarithms, two roundings


def poisson_subset(n: int, *, q: int | float | Fraction, source: Source | None = None) -> NDArray[np.int64]:
    """The indices below n that are chosen, in order, each by a coin of its own with probability q.

    How many there are is random, and says something about n: do not show it.

    **Guarantee:** every index is chosen with probability q exactly, independently of all others. Time and memory follow
    n q for small q, else n. **Reference:** proof note noise/subsets.

    >>> poisson_subset(5, q=1).tolist(), poisson_subset(5, q=0).tolist()
    ([0, 1, 2, 3, 4], [])
    """
    size, rate = _below_most("n", n), probability("q", q)
    stream = current(source).stream()
    if rate == 0 or size == 0:
        return np.empty(0, dtype=np.int64)
    if rate == 1:
        return np.arange(size, dtype=np.int64)
    if rate < _RARE:
        return _by_gaps(stream, size, rate)
    num, den = rate.as_integer_ratio()
    found = [
        part.start + np.flatnonzero(flip(stream, part.stop - part.start, lambda bits: rational(num, den, bits)))
        for part in pieces(size)
    ]
    return np.concatenate(found).astype(np.int64, copy=False)


def fixed_subset(n: int, *, m: int, source: Source | None = None) -> NDArray[np.int64]:
    """m different indices below n, in order; every set of m is equally likely.

    **Guarantee:** each of the C(n, m) sets has the same probability exactly. Time and memory follow m, or n - m where
    fewer are left out. **Reference:** proof note noise/subsets.

    >>> fixed_subset(3, m=3).tolist(), len(fixed_subset(10**12, m=4))
    ([0, 1, 2], 4)
    """
    size, many = _below_most("n", n), whole("m", m, 0)
    if many > size:
        raise InvalidParameter("m must be at most n: there are not so many different indices")
    stream = current(source).stream()
    if 2 * many <= size:
        return np.sort(_distinct(stream, size, many))
    left = np.ones(size, dtype=np.bool_)
    left[_distinct(stream, size, size - many)] = False
    return np.flatnonzero(left).astype(np.int64, copy=False)


def _below_most(name: str, value: object) -> int:
    number = whole(name, value, 0)
    if number > _MOST:
        raise InvalidParameter(f"{name} must be at most 2^62")
    return number


def _distinct(stream: Stream, n: int, m: int) -> NDArray[np.int64]:
    """m different numbers below n in order of arrival: one that was there already is drawn again."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < m:
        drawn = np.concatenate([found, below(stream, m - len(found), n).astype(np.int64, copy=False)])
        _, first = np.unique(drawn, return_index=True)
        found = drawn[np.sort(first)]
    return found


def _by_gaps(stream: Stream, n: int, q: Fraction) -> NDArray[np.int64]:
    """Positions of heads among n coins: the tails before each are geometric in number, Pr[gap >= k] = (1 - q)^k."""
    last, found = -1, [np.empty(0, dtype=np.int64)]
    while last < n:
        wanted = int((n - 1 - last) * float(q) * 1.1) + 16
        many = max(1, min(wanted, PIECE, _MOST // (n + 1)))  # so that no sum leaves 64 bits
        heads = last + np.cumsum(_gaps(stream, many, q, n) + 1)
        last = int(heads[-1])
        found.append(heads if last < n else heads[: int(np.searchsorted(heads, n))])
    return np.concatenate(found)


def _gaps(stream: Stream, count: int, q: Fraction, n: int) -> NDArray[np.int64]:
    """`count` gaps, those beyond n as n: floor(ln U / ln(1 - q)) in floats, unless a margin reaches over a whole number."""
    words = stream.words(count)
    scale = -1.0 / math.log1p(-max(float(q), 1e-300))
    y = np.minimum(-scale * np.log((words + 0.5) * TO_UNIT), 2.0 * n + 4.0)
    out = np.floor(y)
    # Below _FIRST the cells are too wide for the margin, and that of word 0 holds the whole tail.
    margin = _MARGIN * scale
    beyond = (y > n + 2.0 + 2.0 * margin) & (words >= np.uint64(_FIRST))
    unsure = ((np.abs(y - out - 0.5) >= 0.5 - margin) & ~beyond) | (words < np.uint64(_FIRST))
    result = np.minimum(out, float(min(n, 2**53))).astype(np.int64)
    result[beyond] = n
    for place in np.flatnonzero(unsure).tolist():
        u = Refined(stream, int(words[place]), 64)
        result[place] = _exact_gap(u, q, n, min(int(out[place]), n))
    return result


def _exact_gap(u: Refined, q: Fraction, n: int, guess: int) -> int:
    """The least k >= 0 with k = n or U >= (1 - q)^(k + 1)."""
    return least(
        lambda k: k >= 0 and (k >= n or not u.below(lambda bits: power(1 - q, k + 1, bits))),
        guess,
    )


def power(base: Fraction, exponent: int, bits: int) -> tuple[int, int]:
    """base^exponent for a base in [0, 1], between two integers: lo <= 2^bits base^exponent <= hi.

    >>> power(Fraction(1, 2), 3, 4)
    (2, 2)
    """
    guard = bits + 2 * exponent.bit_length() + 16  # a square doubles the error and adds one unit
    lo, hi = rational(base.numerator, base.denominator, guard)
    low, high = 1 << guard, 1 << guard
    while exponent:
        if exponent & 1:
            low, high = low * lo >> guard, -(-high * hi >> guard)
        lo, hi = lo * lo >> guard, -(-hi * hi >> guard)
        exponent >>= 1
    return low >> guard - bits, -(-high >> guard - bits)
