"""The binomial law: how many of n coins show heads, without tossing them one by one."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet.errors import InvalidParameter
from privet.noise.draw import Draws, pieces
from privet.noise.entropy import Source, Stream, current
from privet.noise.families.refined import Refined, invert
from privet.noise.families.tails import Ends, Tails
from privet.noise.parameters import probability

_GUARD = 64  # bits beyond those that are asked for, so that what the sums of a window lose is below one unit of them
_LARGEST = 20  # tables are kept for 2^0 to 2^20 coins; more coins are several draws
_MOST = 2**50  # coins: a sum of draws stays far inside int64
_TOSSED = 2**13 - 1  # fair coins up to here are tossed, where that takes no more than so many words
_WORDS = 2**16  # of coins to toss at a time (half a mebibyte): changes speed and memory only, either path is exact
_HALF = Fraction(1, 2)


def binomial(*, n: object, p: int | float | Fraction, source: Source | None = None) -> Draws:
    """The number of heads among n coins that show heads with probability p; for an array, one number for each n.

    The sum of n coins is a sum of independent sums over 2^i coins, one for each binary digit of n, and each of those is
    drawn by inversion.

    **Guarantee:** exact law, tails included. **Error:** mean np, variance np(1 - p).
    **Reference:** proof note noise/binomial.

    >>> binomial(n=10, p=1), binomial(n=[0, 5], p=0).tolist()
    (10, [0, 0])
    """
    coins, chance = np.asarray(n), probability("p", p)
    if coins.dtype.kind not in "iu" or (coins.size and (coins.min() < 0 or coins.max() > _MOST)):
        raise InvalidParameter("n must be whole numbers of coins, at least 0 and at most 2^50")
    flat = coins.astype(np.int64).reshape(-1)
    if chance in (0, 1):
        heads = flat * int(chance)
    elif 2 * chance > 1:  # tails are rarer, and their tables shorter
        heads = flat - _heads(current(source).stream(), flat, 1 - chance)
    else:
        heads = _heads(current(source).stream(), flat, chance)
    return int(heads[0]) if coins.ndim == 0 else heads.reshape(coins.shape)


def _heads(stream: Stream, coins: NDArray[np.int64], p: Fraction) -> NDArray[np.int64]:
    heads = np.zeros(len(coins), dtype=np.int64)
    most, first = int(coins.max()) if len(coins) else 0, 0
    if p == _HALF and (coins & _TOSSED).sum() <= 64 * _WORDS:
        heads, first = _tossed(stream, coins & _TOSSED), _TOSSED.bit_length()
    for power in range(first, min(_LARGEST, most.bit_length())):
        place = np.flatnonzero(coins >> power & 1)
        if len(place):
            heads[place] += _draw(stream, len(place), BinomialTails(1 << power, p))
    if most < 1 << _LARGEST:
        return heads
    times = coins >> _LARGEST
    for part in pieces(len(coins)):
        whole = np.repeat(np.arange(part.start, part.stop), times[part])
        if len(whole):
            np.add.at(heads, whole, _draw(stream, len(whole), BinomialTails(1 << _LARGEST, p)))
    return heads


def _tossed(stream: Stream, coins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fair coins, tossed: the ones in so many random bits."""
    need = -(-coins // 64)
    words, ends, live = stream.words(int(need.sum())).copy(), np.cumsum(need), np.flatnonzero(need)
    short = live[coins[live] % 64 > 0]
    words[ends[short] - 1] &= (np.uint64(1) << (coins[short] % 64).astype(np.uint64)) - np.uint64(1)
    heads = np.zeros(len(coins), dtype=np.int64)
    if len(live):
        heads[live] = np.add.reduceat(np.bitwise_count(words).astype(np.int64), (ends - need)[live])
    return heads


def _draw(stream: Stream, count: int, law: "BinomialTails") -> NDArray[np.int64]:
    """Inversion: a word decides, unless it lies in the cell that F(k) cuts."""
    first, low, high = _table(law)
    words = stream.words(count)
    index = np.searchsorted(high, words, side="right")
    inside = np.minimum(index, len(low) - 1)
    out = first + inside
    for place in np.flatnonzero((index == len(low)) | (words >= low[inside])).tolist():
        out[place] = invert(Refined(stream, int(words[place]), 64), law.cdf, int(out[place]))
    return out


@lru_cache(maxsize=256)
def _table(law: "BinomialTails") -> tuple[int, NDArray[np.uint64], NDArray[np.uint64]]:
    first, column = law.window(64)
    ends = np.array(
        [[min(end, 2**64 - 1) for end in both] for both in column], dtype=np.uint64
    )  # the last word is refined
    return first, np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])


@final
@dataclass(frozen=True)
class BinomialTails(Tails):
    """Weights from the mode outwards: no normaliser and no factorial is needed.

    >>> BinomialTails(2, Fraction(1, 2)).cdf(0, 10)
    (256, 256)
    """

    n: int
    p: Fraction
    symmetric = False

    def cdf(self, k: int, bits: int) -> Ends:
        """Encloses 2^bits Pr[X <= k]."""
        first, column = self.window(bits)
        if k < first:
            return (0, 0) if k < 0 else (0, 1)
        if k >= first + len(column):
            return ((1 << bits) - (k < self.n), 1 << bits)
        return column[k - first]

    def upper(self, m: int, bits: int) -> Ends:
        low, high = self.cdf(m - 1, bits)
        return (1 << bits) - high, (1 << bits) - low

    def column(self, bits: int) -> list[Ends]:
        return [self.upper(m, bits) for m in range(1, self.n + 2)]

    def window(self, bits: int) -> tuple[int, list[Ends]]:
        """The first k, and enclosures of 2^bits Pr[X <= k] from there on: what lies outside is below one unit."""
        return _window(self, bits)


@lru_cache(maxsize=256)
def _window(law: BinomialTails, bits: int) -> tuple[int, list[Ends]]:
    guard, n = bits + _GUARD, law.n
    a, b = (law.p / (1 - law.p)).as_integer_ratio()
    mode = min(n, int((n + 1) * law.p))
    right, beyond = _side(guard, ((a * (n - k), b * (k + 1)) for k in range(mode, n)), bits)
    left, before = _side(guard, ((b * k, a * (n - k + 1)) for k in range(mode, 0, -1)), bits)
    beyond, before = beyond * (mode + len(right) < n), before * (len(left) < mode)
    weights = [*reversed(left), (1 << guard, 1 << guard), *right]
    over_low, over_high = (sum(each[i] for each in weights) for i in (0, 1))
    under_low, under_high, over_high, column = 0, before, over_high + beyond, []
    for small, large in weights:  # F = S/(S + R) grows with S and falls with R
        under_low, under_high, over_low, over_high = (
            under_low + small,
            under_high + large,
            over_low - small,
            over_high - large,
        )
        column.append(
            ((under_low << bits) // (under_low + over_high), -(-(under_high << bits) // (under_high + over_low)))
        )
    if not beyond:
        column[-1] = (1 << bits, 1 << bits)
    return mode - len(left), column


def _side(guard: int, ratios: Any, bits: int) -> tuple[list[Ends], int]:
    """Weights beside the mode, from below and from above, until the rest is below a unit; and a bound on that rest."""
    found: list[Ends] = []
    small = large = 1 << guard
    for top, bottom in ratios:
        small, large = small * top // bottom, -(-large * top // bottom)
        found.append((small, large))
        if top < bottom:
            rest = -(-large * top // (bottom - top))  # ratios fall: a geometric series
            if rest << bits + 16 <= 1 << guard:
                return found, rest
    return found, 0
