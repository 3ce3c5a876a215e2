"""Inversion by table: one look-up for most draws, a binary search for some, exact refinement for the cut cells."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from privet.errors import InternalError
from privet.noise.entropy import Stream, Words
from privet.noise.families.coins import short_words
from privet.noise.families.refined import Refined, invert
from privet.noise.families.tails import Tails

Key = tuple[int, int]
Kept = TypeVar("Kept")

_CUT = np.iinfo(np.int32).min  # in the guide: a threshold cuts this bucket
_STEPS = 3  # thresholds of a bucket that are looked at for all words together; changes speed only
_FLOAT_MARGIN = 2.0**-44  # what a tail in floats may be off by, rounded up generously: words this near are refined


@final
class InversionTable:
    """An integer law by thresholds of a uniform word u: X <= k for u < low[k], X > k for u > high[k]. In between, F(k)
    cuts the cell of u, and the word is refined until F(k) lies outside of its cell.

    The tails are not cut off: the highest word belongs to everything on the far right (the lowest, to everything on the
    far left), and is always refined. Words have `word_bits` bits, 64 outside of tests.

    **Guarantee:** the law is that of `law`, exactly. **Reference:** proof note noise/table.

    >>> from fractions import Fraction
    >>> from privet.noise import Seeded
    >>> from privet.noise.geometric import GeometricTails
    >>> table = from_tails(GeometricTails(Fraction(3)))
    >>> table.sample(Seeded(1).stream(), 8)
    array([0, 0, 1, 0, 7, 2, 0, 3], dtype=int32)
    """

    def __init__(
        self, law: Tails, lo: NDArray[np.uint64], hi: NDArray[np.uint64], *, word_bits: int = 64, guide_bits: int = 16
    ) -> None:
        """`lo` and `hi` enclose 2^word_bits Pr[X >= m] for m = 1, 2, ...; the last tail may be smaller than a unit."""
        if lo[-1] != 0:
            raise InternalError("a table must reach so far out that the remaining tail is below one unit")
        most, one = np.uint64(2**word_bits - 1), np.uint64(1)
        low, high, self._first = most - hi + one, most - lo, 0  # F(m - 1) = 1 - Pr[X >= m]
        if law.symmetric:  # F(-m) = Pr[X >= m]
            low, high = np.concatenate([lo[::-1], low]), np.concatenate([hi[::-1] - one, high])
            self._first = -len(lo)
        # F increases, so a threshold may borrow from its neighbours; enclosures alone need not be in order.
        self._low, self._high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1].copy()
        self._law, self._word_bits, self._guide_bits = law, word_bits, min(guide_bits, word_bits)
        self._starts, self._guide = self._make_guide()

    def _make_guide(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For every bucket of words with the same first bits: its first threshold, and its outcome or _CUT."""
        rest = self._word_bits - self._guide_bits
        begin = np.arange(2**self._guide_bits, dtype=np.uint64) << np.uint64(rest)
        # "left": a threshold that equals the first word of a bucket cuts that bucket.
        index = np.searchsorted(self._high, begin, side="left")
        decided = begin + np.uint64(2**rest - 1) < self._low[index]
        return index.astype(np.int32), np.where(decided, index + self._first, _CUT).astype(np.int32)

    def sample(self, stream: Stream, count: int) -> NDArray[Any]:
        """`count` independent draws."""
        prefix = short_words(stream, count, 16)
        if self._guide_bits < 16:
            prefix = prefix >> np.uint16(16 - self._guide_bits)
        out = self._guide.take(prefix, mode="clip")
        cut = np.flatnonzero(out == _CUT)
        if len(cut):
            out[cut] = self._search(stream, prefix[cut])
        return out

    def _search(self, stream: Stream, prefix: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Outcomes for words of which the first bits are known."""
        rest = self._word_bits - self._guide_bits
        words = prefix.astype(np.uint64) << np.uint64(rest)
        if rest:
            words |= stream.words(len(words)) >> np.uint64(64 - rest)
        index = self._starts[prefix].astype(np.int64)
        for _ in range(_STEPS):  # few buckets have more thresholds than this
            index += self._high[index] < words
        late = np.flatnonzero(self._high[index] < words)
        index[late] = np.searchsorted(self._high, words[late], side="left")
        out = index + self._first
        for place in np.flatnonzero(words >= self._low[index]).tolist():
            out[place] = self._refine(Refined(stream, int(words[place]), self._word_bits), int(out[place]))
        return out

    def found(self, words: Words, finer: Callable[[int], Stream]) -> NDArray[np.int64]:
        """The outcomes of given words; `finer(i)` has the bits that follow word i, where they are needed.

        >>> from fractions import Fraction
        >>> from privet.noise.geometric import GeometricTails
        >>> table = from_tails(GeometricTails(Fraction(3)))
        >>> table.found(np.array([0, 2**63], dtype=np.uint64), lambda i: None).tolist()
        [0, 2]
        """
        index = np.searchsorted(self._high, words, side="left").astype(np.int64)
        out = index + self._first
        for place in np.flatnonzero(words >= self._low[index]).tolist():
            out[place] = self._refine(Refined(finer(place), int(words[place]), self._word_bits), int(out[place]))
        return out

    def thresholds(self) -> tuple[Words, Words]:
        """The thresholds in order, low and high: a word above high[k] lies beyond outcome k (counted from the first), one
        below low[k] does not, and one in between is refined. For twins on other devices.
        """
        return self._low, self._high

    def _refine(self, u: Refined, guess: int) -> int:
        return invert(u, self._law.cdf, guess)


def from_tails(law: Tails, *, word_bits: int = 64, guide_bits: int = 16) -> InversionTable:
    """The table of a law from integer enclosures: a word is refined only when it equals a threshold.

    >>> from fractions import Fraction
    >>> from privet.noise.geometric import GeometricTails
    >>> type(from_tails(GeometricTails(Fraction(3)), word_bits=8)).__name__
    'InversionTable'
    """
    lo, hi = np.array(law.column(word_bits), dtype=np.uint64).T
    return InversionTable(law, lo, hi, word_bits=word_bits, guide_bits=guide_bits)


def from_floats(law: Tails, tails: NDArray[np.float64], margin: float = _FLOAT_MARGIN) -> InversionTable:
    """The table of a law from its upper tails in floats, each within the margin (2^-44) of the truth.

    Words within the margin of a threshold are refined; the last tail must be below the margin.

    >>> from fractions import Fraction
    >>> from privet.noise.rounded_gaussian import NormalCells
    >>> law = NormalCells(Fraction(2))
    >>> type(from_floats(law, law.floats())).__name__
    'InversionTable'
    """
    lo = np.maximum(tails - margin, 0.0) * 2.0**64
    hi = np.minimum(tails + margin, 1.0 - 2.0**-50) * 2.0**64
    return InversionTable(law, lo.astype(np.uint64), hi.astype(np.uint64))


@final
class TableCache(Generic[Kept]):
    """Tables of one family of laws, kept for reuse; one is built when its parameter has been asked for often enough.

    A single draw with a new parameter must not pay for a table. Parameters are public, so which of the two exact paths
    runs says nothing. Dictionaries change in single steps, so threads need no lock (which a fork could leave shut).
    Draws that `repeat` a seed must not depend on what was asked before: for them the count of a single call decides.

    >>> from fractions import Fraction
    >>> from privet.noise.geometric import GeometricTails
    >>> cache = TableCache(lambda scale: from_tails(GeometricTails(scale)))
    >>> cache.get(Fraction(3), 10) is None, cache.get(Fraction(3), 100_000) is None
    (True, False)
    >>> cache.get(Fraction(3), 10, repeat=True) is None
    True
    """

    MOST = 5  # tables; each takes about half a mebibyte (strips, up to one and a half), and six families have a cache
    WORTH = 1 << 14  # draws after which a table has paid for itself, about

    def __init__(self, build: Callable[[Fraction], Kept]) -> None:
        self._build = build
        self._tables: dict[Key, Kept] = {}
        self._asked: dict[Key, int] = {}

    def get(self, parameter: Fraction, count: int, repeat: bool = False) -> Kept | None:
        """The table, or None while it is not worth building; `count` draws are wanted now."""
        if repeat and count < self.WORTH:
            return None
        key = parameter.as_integer_ratio()
        table = self._tables.pop(key, None)
        if table is None:
            asked = self._asked.pop(key, 0) + count
            if asked < self.WORTH:
                self._asked[key] = asked
                _trim(self._asked, 1000)
                return None
            table = self._build(parameter)
        self._tables[key] = table  # the most recent comes last
        _trim(self._tables, self.MOST)
        return table


def _trim(entries: dict[Key, Any], most: int) -> None:
    if len(entries) > most:
        for key in list(entries)[:-most]:
            entries.pop(key, None)
