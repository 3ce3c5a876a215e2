"""Normal noise of a large scale by strips: one word for nearly every draw, without a comparison that could be close.

The law is cut into vertical strips. Most of the mass of a strip is a rectangle, in which the place is uniform; the first
bits of a word choose the rectangle and its last bits are the place. What is left of the law, about a hundredth, is drawn
strip by strip with a coin for the place.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from privet._compiled import Compiled
from privet._numerics import Array, ndtr
from privet.errors import InternalError
from privet.noise.entropy import Stream, Words, process
from privet.noise.families.coins import TO_UNIT, compare, fair_bits
from privet.noise.families.enclosure import Enclosure, normal_above, normal_density
from privet.noise.families.refined import Refined
from privet.noise.families.tails import Tails
from privet.noise.table import InversionTable, TableCache, from_floats

LEADING = 64  # standard deviations in strips: 64 to 128
BUCKETS = 16  # bits of a word that choose a rectangle
PLACE = 64 - BUCKETS  # bits that are the place in it
MARGIN = 2.0**-30  # of a coin, a quotient of differences of densities: 64 ulp of these, blown up by 2^15 at most
SURE = 2.0**-60  # densities below it, over that at 0, are left to exact coins
ALL_PREFIXES = 1 << BUCKETS  # of words
_PIECE = 1 << 14  # words worked on at a time: they stay in the cache
_TRIES = 3  # places at a time, of draws whose first place was not kept: about two in three are
_SHORT = 32  # bits of a place that is kept as a double, not as the last bits of a word
_FARTHEST = 2**48  # steps that a draw kept as a double may have
_FLOORS = 1.0 - 2.0**-30  # a rectangle that is that much lower than the curve lies below it, whatever floats say
_TAIL_MARGIN = 2.0**-34  # 2^-45 for a tail of the normal law, blown up by 2^8: the share of what is left


@final
@dataclass(frozen=True)
class LeftOver(Tails):
    """The strip of |N| in what rectangles leave of the law: strip c is [c, c + 1) in units of which sigma has `leading`.

    `buckets[c]` of all words' prefixes belong to the rectangle of strip c, on each of the two sides.
    """

    leading: Fraction
    buckets: tuple[int, ...]
    symmetric = False

    @property
    def left(self) -> int:
        """The number of prefixes that belong to no rectangle."""
        return ALL_PREFIXES - 2 * sum(self.buckets)

    def upper(self, m: int, bits: int) -> tuple[int, int]:
        x, inside = m / self.leading, 2 * sum(self.buckets[m:])
        guard = bits + BUCKETS + 2
        low, high = normal_above(x.numerator, x.denominator, guard)
        low, high = (2 * low << BUCKETS) - (inside << guard), (2 * high << BUCKETS) - (inside << guard)
        return max(low, 0) // (self.left << guard - bits), -(-high // (self.left << guard - bits))

    def column(self, bits: int) -> list[tuple[int, int]]:
        ends = [self.upper(1, bits)]
        while ends[-1][0]:
            ends.append(self.upper(len(ends) + 1, bits))
        return ends

    def floats(self) -> Array:
        """The tails in floats, until they are below the margin."""
        m = np.arange(1, int(9 * self.leading) + 3)
        inside = np.zeros(len(m))
        sums = np.cumsum(np.array(self.buckets[::-1], dtype=np.float64))[::-1]
        inside[: len(sums) - 1] = 2.0 * sums[1:]
        return np.maximum(2.0 * ALL_PREFIXES * ndtr(-m / float(self.leading)) - inside, 0.0) / self.left


class OwnWords(ABC):
    """Words that belong to single draws: each draw has its own, whatever others are drawn with it."""

    @abstractmethod
    def block(self, turn: int, draws: NDArray[np.int64]) -> Words:
        """Eight words of each of these draws, [draws, 8]; other ones in every turn."""

    @abstractmethod
    def finer(self, draw: int, purpose: int) -> Stream:
        """The bits of a draw that follow one of its words, for each purpose others."""


@final
class Strips:
    """floor(N + 1/2) for N from N(0, sigma^2).

    **Guarantee:** exact law. **Reference:** proof note noise/strips.

    >>> from privet.noise import Seeded
    >>> Strips(Fraction(10**6)).sample(Seeded(1).stream(), 3).dtype
    dtype('int64')
    """

    def __init__(self, sigma: Fraction) -> None:
        self.sigma = sigma
        self.shift = int(sigma).bit_length() - LEADING.bit_length()  # a strip is 2^shift steps wide
        leading = sigma / 2**self.shift
        edges = np.arange(1, int(5 * leading) + 1) / float(leading)
        heights = np.exp(-0.5 * edges * edges) / (np.sqrt(2.0 * np.pi) * float(leading))  # at the far end of each strip
        buckets = np.floor(heights * (_FLOORS * ALL_PREFIXES)).astype(np.int64)
        buckets = buckets[buckets > 0]
        self.law = LeftOver(leading, tuple(buckets.tolist()))
        self._rest: InversionTable = from_floats(self.law, self.law.floats(), _TAIL_MARGIN)
        # the heights of rectangles in units of the density at 0; a strip without one comes last
        self._taken = np.append(buckets, 0) * (float(leading) * math.sqrt(2.0 * math.pi) / ALL_PREFIXES)
        self._steep, self._base, self._margins = self._slopes()
        right = np.repeat(np.arange(len(buckets)), buckets)
        strips = np.concatenate([right, ~right, np.zeros(self.law.left, dtype=np.int64)])
        self.bounded = np.uint64((ALL_PREFIXES - self.law.left) << PLACE)  # words from here on belong to no rectangle
        # what is added to the first bits of a word, in half steps: the near end of its strip, less the prefix that chose
        # it, and half a step, so that what is cut off then is cut off half up
        self._offsets = ((strips - np.arange(ALL_PREFIXES)) << (self.shift + 1)) + 1
        self._kept_middles: tuple[float, Array] | None = None

    def sample(self, stream: Stream, count: int, out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """`count` independent draws, in `out` where it is given."""
        out = np.empty(count, dtype=np.int64) if out is None else out
        for _ in self.pieces(stream, count, out):
            pass
        return out

    def pieces(
        self, stream: Stream, count: int, out: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """The same draws some at a time: where they begin, memory that the next ones overwrite, or a part of `out`, and as
        much memory that may be used in between.
        """
        size = min(count, _PIECE)
        held, scratch = np.empty(size if out is None else 0, dtype=np.int64), np.empty((2, size), dtype=np.int64)
        others = _Others(self, stream)
        for start in range(0, count, _PIECE):
            stop = min(start + _PIECE, count)
            part = held[: stop - start] if out is None else out[start:stop]
            places = self.inside(stream.words(len(part)), part, scratch)
            part[places] = others.take(len(places), count - stop)
            yield start, part, scratch[0, : len(part)]

    def placed(self, stream: Stream, count: int, unit: float) -> Iterator[tuple[int, Array, Array]]:
        """`count` independent draws before they are rounded, for sigma below 2^38, some at a time: where they begin, an
        array of doubles and one of that size that may be used; the next ones overwrite both.

        They are in units, a power of two, of which a step is one. Rounded to whole steps they have the law of `sample`:
        each is the middle of a cell in which nothing rounds otherwise, so none is half-way between two steps. All are
        below 2^48 steps.
        """
        size, table = min(count, _PIECE), self._middles(unit)
        held, spare, found = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)
        fill, bound, scale = _fill.of(count), int(self.bounded) >> PLACE, math.ldexp(unit, self.shift - _SHORT)
        others = _Others(self, stream)
        for start in range(0, count, _PIECE):
            many = min(_PIECE, count - start)
            drawn, free, words = held[:many], spare[:many], stream.run(-(-6 * many // 8))
            # 48 bits a draw: first all places, then all prefixes
            places, prefixes = words.view("<i4")[:many], words.view("<u2")[2 * many : 3 * many]
            open_ = fill(prefixes, places, table, scale, bound, drawn, free, found)
            taken = others.take(open_, count - start - many)
            refuse_far(taken)
            drawn[found[:open_]] = taken * unit
            yield start, drawn, free

    def _middles(self, unit: float) -> Array:
        """The middle of the strip of every prefix, and half a unit in the last place of a short place: what has to be
        added to a place that is counted from the middle. Those of the last unit are kept: making them is a tenth of a step.
        """
        kept = self._kept_middles  # looked at once: another thread may keep those of another unit
        if kept is None or kept[0] != unit:
            half = math.ldexp(unit * (2**_SHORT + 1), self.shift - _SHORT - 1)
            kept = self._kept_middles = unit, self.of_prefixes() * math.ldexp(unit, self.shift) + half
        return kept[1]

    def inside(
        self, words: Words, out: NDArray[np.int64], scratch: NDArray[np.int64] | None = None
    ) -> NDArray[np.intp]:
        """Words in steps, where they belong to a rectangle: its strip by the first bits, the place by those after them.
        The places of all others come back. `scratch` is memory of two rows that may be used.
        """
        prefixes, added = np.empty((2, len(out)), dtype=np.int64) if scratch is None else scratch[:, : len(out)]
        np.right_shift(words, np.uint64(PLACE), out=prefixes.view(np.uint64))
        # every prefix has its place in the table: "clip" changes none, and is the quickest way to read it
        self._offsets.take(prefixes, out=added, mode="clip")
        np.right_shift(words, np.uint64(PLACE - self.shift - 1), out=out.view(np.uint64))
        out += added
        out >>= 1  # half a step went up: one more bit decides, and nothing is close
        return np.flatnonzero(words >= self.bounded)

    def outside(self, stream: Stream, count: int) -> NDArray[np.int64]:
        """`count` draws from what the rectangles leave: a strip, a side, and places until one is kept."""
        strips = self._rest.sample(stream, count).astype(np.int64)
        places = stream.words(count).copy()
        todo = np.flatnonzero(~self._kept(stream, strips, places))
        while len(todo):
            tries = stream.words(_TRIES * len(todo)).reshape(_TRIES, -1)
            repeated = np.broadcast_to(strips[todo], tries.shape).reshape(-1)
            kept = self._kept(stream, repeated, tries.reshape(-1)).reshape(tries.shape)
            found = tries[-1]
            for each, fits in zip(
                tries[-2::-1], kept[-2::-1], strict=True
            ):  # the first that is kept comes last, and stays
                found = np.where(fits, each, found)
            places[todo] = found
            todo = todo[~kept.any(axis=0)]
        return self._told(strips, places, fair_bits(stream, count).astype(np.uint64))

    def outside_each(self, own: OwnWords, count: int) -> NDArray[np.int64]:
        """The same law, where every draw has words of its own: a function of these alone, the same on every device.

        Of the first turn, word 0 is the strip, word 1 the side, and pairs of a place and its coin follow; later turns are
        four such pairs. The first place that is kept is taken.
        """
        first = own.block(0, np.arange(count))
        strips = self._rest.found(first[:, 0], lambda i: own.finer(i, 0))
        places, todo, pairs, tried = np.empty(count, dtype=np.uint64), np.arange(count), first[:, 2:], 0
        while len(todo):
            for column in range(0, pairs.shape[1], 2):
                tried += 1
                kept = self._kept_each(own, todo, strips[todo], pairs[:, column], pairs[:, column + 1], tried)
                places[todo[kept]] = pairs[kept, column]
                todo, pairs = todo[~kept], pairs[~kept]
            pairs = own.block(tried // 4 + 1, todo)
        return self._told(strips, places, first[:, 1])

    def _told(self, strips: NDArray[np.int64], places: Words, sides: Words) -> NDArray[np.int64]:
        """Steps of strips, places and sides: the last bit of a word is its side."""
        out = (strips << self.shift) + (((places >> np.uint64(63 - self.shift)).view(np.int64) + 1) >> 1)
        flip = -(sides & np.uint64(1)).view(np.int64)
        return (out ^ flip) - flip

    def _kept_each(
        self,
        own: OwnWords,
        draws: NDArray[np.int64],
        strips: NDArray[np.int64],
        places: Words,
        coins: Words,
        purpose: int,
    ) -> NDArray[np.bool_]:
        points, (chance, margin) = coins * TO_UNIT, self._chances(strips, places)
        heads = points < chance - margin
        for i in np.flatnonzero(~heads & ~(points > chance + margin)).tolist():
            finer = own.finer(int(draws[i]), purpose)
            heads[i] = Refined(finer, int(coins[i]), 64).below(self._coin(finer, int(strips[i]), int(places[i])))
        return heads

    def of_prefixes(self) -> NDArray[np.int64]:
        """The strip of every prefix of a word, for twins on other devices; of those that belong to no rectangle, any."""
        return (self._offsets >> (self.shift + 1)) + np.arange(ALL_PREFIXES)

    def _near(self, strips: NDArray[np.int64]) -> Array:
        near: Array = np.exp(strips * strips * (-0.5 / float(self.law.leading) ** 2))
        return near

    def _kept(self, stream: Stream, strips: NDArray[np.int64], places: Words) -> NDArray[np.bool_]:
        """Coins for places in strips: the density that is left there over the largest that is left in the strip."""
        chance, margin = self._chances(strips, places)
        return compare(stream, chance, margin, lambda i: self._coin(stream, int(strips[i]), int(places[i])))

    def _chances(self, strips: NDArray[np.int64], places: Words) -> tuple[Array, Array]:
        """The same chances in floats, and what they may be off by."""
        v, at = places * TO_UNIT, np.minimum(strips, len(self._steep) - 1)
        fallen = 1.0 - np.exp(v * (strips + 0.5 * v) * (-1.0 / float(self.law.leading) ** 2))
        return self._base[at] - self._steep[at] * fallen, self._margins[at]

    def _slopes(self) -> tuple[Array, Array, Array]:
        """For each strip that floats know: the density at its near end over the largest that is left in it, by which a
        chance falls with the density; the chance at that end, and the margin. Far out the exact coin decides.
        """
        near = self._near(np.arange(int(10 * self.law.leading)))
        sure = near > SURE
        taken = np.zeros(len(near))
        taken[: len(self._taken)] = self._taken
        steep = np.divide(near, near - taken, out=np.zeros(len(near)), where=sure)
        return steep, np.where(sure, 1.0, 0.5), np.where(sure, MARGIN, 1.0)

    def _coin(self, stream: Stream, strip: int, place: int) -> Enclosure:
        """The same chance, enclosed: the place is known to more bits than are asked for."""
        buckets = self.law.buckets[strip] if strip < len(self.law.buckets) else 0
        unit, v = self.law.leading, Refined(stream, place, 64)
        near = strip / unit

        def density(x: Fraction, bits: int) -> tuple[int, int]:
            """2^bits of density over `leading`, less the rectangle: positive, as the rectangle lies below the curve."""
            low, high = normal_density(x.numerator, x.denominator, bits)
            taken = (buckets << bits) * unit / ALL_PREFIXES
            return low - math.ceil(taken), high - math.floor(taken)

        def enclosure(bits: int) -> tuple[int, int]:
            # the densities fall like exp(-x^2/2), and a difference of them by 2^16 more: so many bits are lost
            guard = bits + 40 + int(near * near)
            while v.length < guard + 16:
                v.grow()
            low = density((strip + Fraction(v.value + 1, 1 << v.length)) / unit, guard)[0]
            high = density((strip + Fraction(v.value, 1 << v.length)) / unit, guard)[1]
            top = density(near, guard)
            return (max(low, 0) << bits) // top[1], min(-(-(high << bits) // max(top[0], 1)), 1 << bits)

        return enclosure


@final
class _Others:
    """Draws from what rectangles leave, made many at a time since they are quicker in company: each is handed out once, and
    in the process that made it.
    """

    def __init__(self, strips: Strips, stream: Stream) -> None:
        self._strips, self._stream = strips, stream
        self._kept: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._process = process()

    def take(self, count: int, left: int) -> NDArray[np.int64]:
        """So many of them. If more must be made, they are as many as will be asked for while `left` draws are to come."""
        if self._process != process():  # a child of a fork: what is kept here is handed out by the parent
            self._forget()
        if count > len(self._kept):
            share = left * self._strips.law.left / ALL_PREFIXES
            more = count - len(self._kept) + int(share + 2.0 * math.sqrt(share))
            self._kept = np.concatenate([self._kept, self._strips.outside(self._stream, more)])
            self._stream.drop()
        taken, self._kept = self._kept[:count], self._kept[count:]
        return taken

    def _forget(self) -> None:
        self._kept, self._process = np.empty(0, dtype=np.int64), process()


def _filled(
    prefixes: NDArray[np.uint16],
    places: NDArray[np.int32],
    table: Array,
    scale: float,
    bound: int,
    out: Array,
    spare: Array,
    found: NDArray[np.int64],
) -> int:
    """Places in their strips, in `out`, exactly; how many prefixes belong to no rectangle, and in `found` where."""
    wide = spare.view(np.int64)
    np.copyto(wide, prefixes)
    table.take(wide, out=out, mode="clip")
    np.copyto(spare, places)
    spare *= scale
    out += spare
    open_ = (prefixes >= np.uint16(bound)).nonzero()[0]
    found[: len(open_)] = open_
    return len(open_)


def _filled_by_one(
    prefixes: NDArray[np.uint16],
    places: NDArray[np.int32],
    table: Array,
    scale: float,
    bound: int,
    out: Array,
    spare: Array,
    found: NDArray[np.int64],
) -> int:
    """The same, in a loop that a compiler understands."""
    open_ = 0
    for i in range(len(out)):
        out[i] = table[prefixes[i]] + places[i] * scale
        if prefixes[i] >= bound:
            found[open_] = i
            open_ += 1
    return open_


_fill = Compiled(_filled, _filled_by_one)


def refuse_far(draws: NDArray[np.int64]) -> None:
    """An error where a draw that is to be a double has 2^48 steps, a thousand standard deviations: nobody meets it."""
    if len(draws) and int(np.abs(draws).max()) >= _FARTHEST:
        raise InternalError("a draw lies a thousand standard deviations away")


kept_strips = TableCache(Strips)  # for all who draw by strips
