"""The geometric law on {0, 1, ...} with Pr[X >= m] = exp(-m / scale)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import TO_UNIT, accept, accept_one, short_words
from privet.noise.families.enclosure import Enclosure, exp_neg
from privet.noise.families.refined import Refined, least
from privet.noise.families.tails import Tails, powers
from privet.noise.parameters import Size, positive
from privet.noise.table import TableCache, from_tails

TABLE_SCALE = 64  # tables serve scales below it, and the leading part of a number of a larger scale; changes speed only
# Below this scale one word through a logarithm decides all but 2 MARGIN 2^20 of the draws, one in 2^19; changes speed only.
FILTER_SCALE = 2**20
# The same for a single draw, where one in 128 at most takes the exact path: a split takes a second word in every draw.
ONE_FILTER_SCALE = 2**32
# Words below it go to the exact path. A word stands for a cell of 2^-64: -ln U differs in it by at most 2^-44 from here on.
FIRST = 2**44
# The most by which -t ln U may be wrong in floats, as a share of t: half a cell (2^-45), 64 units in the last place of the
# logarithm and the rounding of t and of the product are together below 2^-42. A larger one costs time only.
MARGIN = 2.0**-40


def geometric(*, scale: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """A whole number X >= 0 with Pr[X >= m] = exp(-m / scale).

    **Guarantee:** exact law, tails included. **Error:** mean 1 / (exp(1/scale) - 1).
    **Reference:** proof note noise/geometric.

    >>> bool(geometric(scale=3.0, size=1000).min() >= 0)
    True
    """
    return draw(one_geometric, sample_geometric, size, source, given=(positive("scale", scale),))


@final
@dataclass(frozen=True)
class GeometricTails(Tails):
    """Pr[X >= m] = exp(-m / scale).

    >>> GeometricTails(Fraction(1)).upper(1, 10)
    (376, 377)
    """

    scale: Fraction
    symmetric = False

    def upper(self, m: int, bits: int) -> tuple[int, int]:
        return exp_neg(m * self.scale.denominator, self.scale.numerator, bits)

    def column(self, bits: int) -> list[tuple[int, int]]:
        guard = bits + 64  # more bits, for the rounding of each product
        lo, hi = exp_neg(self.scale.denominator, self.scale.numerator, guard)
        return powers(lo, hi, (lo, hi), guard, bits)


_tables = TableCache(lambda scale: from_tails(GeometricTails(scale)))


def sample_geometric(stream: Stream, count: int, t: Fraction) -> NDArray[Any]:
    """`count` draws by the quickest path that keeps the exact law: a table, one word through a logarithm, or, for large
    scales, one of these for the high bits and a draw of their own for the low bits.

    >>> from privet.noise import Seeded
    >>> sample_geometric(Seeded(1).stream(), 3, Fraction(2**40)).shape
    (3,)
    """
    shift = _shift(t)
    leading = t / 2**shift
    table = _tables.get(leading, count, stream.repeats)
    if table is None and t < FILTER_SCALE:
        return _filtered(stream, count, t)
    high = table.sample(stream, count) if table is not None else _filtered(stream, count, leading)
    return (high.astype(np.int64) << shift) + _trailing(stream, count, t, shift) if shift else high


def one_geometric(stream: Stream, t: Fraction) -> int:
    """One draw, without tables.

    >>> from privet.noise import Seeded
    >>> one_geometric(Seeded(1).stream(), Fraction(2**40)) >= 0
    True
    """
    if t >= ONE_FILTER_SCALE:
        shift = _shift(t)
        return (one_geometric(stream, t / 2**shift) << shift) + _one_trailing(stream, t, shift)
    word, scale = stream.word(), t.numerator / t.denominator  # float(t), without the way through numbers.Rational
    y = _position(word, scale, math.log)
    out = math.floor(y)
    if abs(y - out - 0.5) >= 0.5 - MARGIN * scale or word < FIRST:
        return _exact(Refined(stream, word, 64), t, out)
    return out


def _shift(t: Fraction) -> int:
    """The number of low bits to draw separately, so that the rest has a scale in [32, 64); none for small scales."""
    return max((int(t) // (TABLE_SCALE // 2)).bit_length() - 1, 0)


def _filtered(stream: Stream, count: int, t: Fraction) -> NDArray[np.int64]:
    """Draws of floor(-t ln U): in floats, and exactly where a whole number lies within the margin of -t ln U."""
    words = stream.words(count)
    y = _position(words, float(t), np.log)
    out = np.floor(y)
    # y is unsure near a whole number, and for small words: below FIRST cells are too wide, and word 0 holds the whole tail.
    unsure = np.flatnonzero((np.abs(y - out - 0.5) >= 0.5 - MARGIN * float(t)) | (words < np.uint64(FIRST)))
    result = out.astype(np.int64)
    for place in unsure.tolist():
        result[place] = _exact(Refined(stream, int(words[place]), 64), t, int(result[place]))
    return result


def _position(word: Any, t: float, log: Callable[[Any], Any]) -> Any:
    """-t ln U for the middle of the word's cell, U = (word + 1/2)/2^64. The division comes before the logarithm, as the
    difference ln(word + 1/2) - 64 ln 2 would lose its digits for U near 1."""
    return -t * log((word + 0.5) * TO_UNIT)


def _exact(u: Refined, t: Fraction, guess: int) -> int:
    """The least k >= 0 with U >= exp(-(k + 1) / t), which is floor(-t ln U); the search begins at `guess`."""
    return least(
        lambda k: k >= 0 and not u.below(lambda bits: exp_neg((k + 1) * t.denominator, t.numerator, bits)), guess
    )


def _trailing(stream: Stream, count: int, t: Fraction, shift: int) -> NDArray[np.int64]:
    """The low `shift` bits L of geometric numbers, which are independent of the high ones: drawn uniformly, kept with
    probability exp(-L/t), and drawn again otherwise."""
    out = _low_bits(stream, count, shift)
    todo = np.flatnonzero(~_kept(stream, out, t))
    while len(todo):
        out[todo] = again = _low_bits(stream, len(todo), shift)
        todo = todo[~_kept(stream, again, t)]
    return out


def _low_bits(stream: Stream, count: int, shift: int) -> NDArray[np.int64]:
    """Uniform whole numbers of `shift` bits."""
    width = 32 if shift <= 32 else 64
    words = short_words(stream, count, width)
    return (words >> words.dtype.type(width - shift)).astype(np.int64)


def _kept(stream: Stream, value: NDArray[np.int64], t: Fraction) -> NDArray[np.bool_]:
    """A coin for each value, True with probability exp(-value/t)."""
    return accept(stream, np.asarray(value * (1.0 / float(t))), lambda place: _density(int(value[place]), t))


def _one_trailing(stream: Stream, t: Fraction, shift: int) -> int:
    """The low bits of one number, as `_trailing` draws them."""
    while True:
        value = stream.bits(shift)
        if accept_one(stream, value / float(t), _density(value, t)):
            return value


def _density(value: int, t: Fraction) -> Enclosure:
    """The probability exp(-value/t), enclosed by whole numbers of as many bits as are asked for."""
    return lambda bits: exp_neg(value * t.denominator, t.numerator, bits)
