"""Vectors whose density falls with their Euclidean length, rounded to the integers: Gamma radius, uniform direction."""

import math
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet._numerics import Array, special
from privet._validate import whole
from privet.errors import InvalidParameter
from privet.noise.draw import PIECE
from privet.noise.entropy import Source, Stream, current
from privet.noise.families.coins import TO_UNIT
from privet.noise.families.enclosure import complement, neg_log, normal_above
from privet.noise.families.refined import Refined, invert
from privet.noise.families.rounded import SATURATION, Rest, exact_rest, float_rest
from privet.noise.parameters import Center, Size, matching_shape, positive, shape_of, split
from privet.noise.rounded_gaussian import FIRST, MARGIN

_WIDEST = 2**40  # of scale sqrt(dimension): beyond, no float decides anything
_LOOSE = 2.0**-20  # a spread known no better than this (a tiny one, of few words) is left to the exact path
_TOGETHER = 32  # words whose product is one logarithm
_HALF = Fraction(1, 2)
_Number = tuple[int, int]  # n/2^p as (n, p)


def ball(
    *,
    scale: int | float | Fraction,
    dimension: int,
    center: Center = 0,
    size: Size = None,
    source: Source | None = None,
) -> NDArray[np.int64]:
    """floor(center + noise + 1/2) in every coordinate, for a noise vector of density proportional to
    exp(-length/scale): its length has the law Gamma(dimension, scale), its direction is uniform.

    One vector, or `size` of them, the coordinates last; a centre that is an array has one vector in each last row.

    **Guarantee:** exact joint law: a post-processing of the continuous vector at the exact centre, so two centres whose
    Euclidean distance is D are told apart with a pure epsilon of D/scale. In one dimension this is `rounded_laplace`.
    **Error:** every coordinate has the variance (dimension + 1) scale^2, plus 1/12 for the rounding, nearly.
    **Reference:** Hardt & Talwar 2010 (K-norm mechanism); proof note noise/ball.

    >>> ball(scale=10, dimension=3).shape, ball(scale=10.5, dimension=2, center=0.25, size=4).shape
    ((3,), (4, 2))
    """
    t, d = positive("scale", scale), whole("dimension", dimension, 1)
    if t * t * (d + 1) > _WIDEST**2:
        raise InvalidParameter("scale times the root of dimension must be at most 2^40; choose a coarser grid")
    wholes, rest, shape = split(center)
    if shape is None:
        shape = (*(shape_of(size) or ()), d)
    elif not shape or shape[-1] != d:
        raise InvalidParameter("the last axis of center must have `dimension` coordinates")
    elif size is not None:
        matching_shape("center", shape[:-1], size)
    stream = current(source).stream()
    out = np.empty(math.prod(shape), dtype=np.int64)
    vectors, rows = len(out) // d, max(1, PIECE // d)
    for first in range(0, vectors, rows):
        part = slice(first * d, min(first + rows, vectors) * d)
        rests = rest if isinstance(rest, Fraction) else rest.reshape(-1)[part]
        values = _rounded(stream, (part.stop - part.start) // d, d, t, rests)
        shift = wholes.reshape(-1)[part] if isinstance(wholes, np.ndarray) else np.int64(wholes)
        out[part] = np.clip(values + shift, -SATURATION, SATURATION)
    return out.reshape(shape)


def _rounded(stream: Stream, rows: int, d: int, t: Fraction, rest: Rest) -> NDArray[np.int64]:
    """floor(rest + noise + 1/2): normal coordinates, given the spread that all coordinates of a vector share."""
    spreads = _Spreads(stream, rows, d)
    sigma = float(t) * np.sqrt(2.0 * spreads.floats)
    tight = spreads.loose <= _LOOSE
    out = np.empty(rows * d, dtype=np.int64)
    grid = out.reshape(rows, d)
    for start in range(0, d, PIECE):
        block = slice(start, min(start + PIECE, d))
        wide = block.stop - block.start
        words = stream.words(rows * wide).reshape(rows, wide)
        upper = words >= np.uint64(2**63)
        folded = words ^ -upper.astype(np.uint64)  # never 1 - p: the upper half is the mirror image
        noise = np.where(upper, -1.0, 1.0) * (sigma[:, None] * special().ndtri((folded + 0.5) * TO_UNIT))
        y = noise + (_block_rest(rest, rows, d, block) + 0.5)
        low = np.floor(y)
        margin = (MARGIN * sigma)[:, None] + np.abs(noise) * spreads.loose[:, None] + 2.0**-50
        unsure = (np.abs(y - low - 0.5) >= 0.5 - margin) | (folded < np.uint64(FIRST)) | ~tight[:, None]
        grid[:, block] = low
        for row, column in zip(*(each.tolist() for each in np.nonzero(unsure)), strict=True):
            u = Refined(stream, int(words[row, column]), 64)
            place = row * d + start + column
            out[place] = _exact(u, spreads, row, t, exact_rest(rest, place), int(low[row, column]))
    return out


def _block_rest(rest: Rest, rows: int, d: int, block: slice) -> Any:
    floats = float_rest(rest)
    return floats if isinstance(rest, Fraction) else floats.reshape(rows, d)[:, block]


def _exact(u: Refined, spreads: "_Spreads", row: int, t: Fraction, rest: Fraction, guess: int) -> int:
    """The least k with U < Pr[noise < k + 1/2 - rest | spread]."""

    def cdf(k: int, bits: int) -> tuple[int, int]:
        x = (k + _HALF - rest) / t
        near, far = spreads.multiplier(row, bits)
        size = abs(x)
        low = normal_above(size.numerator << near[1], size.denominator * near[0], bits)[0]
        high = normal_above(size.numerator << far[1], size.denominator * far[0], bits)[1]
        return (low, high) if x < 0 else complement((low, high), bits)

    return int(min(max(invert(u, cdf, guess), -SATURATION), SATURATION))


@final
class _Spreads:
    """W with law Gamma((d + 1)/2), one a vector: given W, the coordinates are independent N(0, 2 W scale^2).

    W = -ln(product of (d + 1) // 2 uniform numbers), and for even d the square of a normal number besides, halved, by
    the polar method: -ln(S) A^2/S for A, B uniform with S = A^2 + B^2 < 1. Doubles first; `loose` bounds what they may
    be wrong by, relatively. Every uniform number is refined where they do not decide.
    """

    def __init__(self, stream: Stream, rows: int, d: int) -> None:
        self._stream, self._count = stream, (d + 1) // 2
        self._words = np.array(stream.words(rows * self._count)).reshape(rows, self._count)
        self._grown: dict[tuple[int, int], Refined] = {}
        terms = -np.log((self._words + 0.5) * TO_UNIT)
        for row, column in zip(*(each.tolist() for each in np.nonzero(self._words < np.uint64(FIRST))), strict=True):
            terms[row, column] = _neg_log(self._at(row, column))
        self.floats: Array = terms.sum(axis=1)
        self._pairs = _Pairs(stream, rows) if d % 2 == 0 else None
        self.floats += 0.0 if self._pairs is None else self._pairs.floats
        self._known: dict[int, tuple[int, _Number, _Number]] = {}
        # Per word 2^-44 for its cell; 64 units in the last place of every logarithm, and the rounding of the sum.
        wrong = (self._count + 4.0) * 2.0**-43 + self.floats * 2.0**-41
        self.loose: Array = wrong / np.maximum(self.floats, 1e-300)

    def _at(self, row: int, column: int) -> Refined:
        """One of the uniform numbers, positive and known to 44 leading bits at least."""
        found = self._grown.get((row, column))
        if found is None:
            found = self._grown[row, column] = Refined(self._stream, int(self._words[row, column]), 64)
            _lead(found, 45)
        return found

    def _enclosed(self, row: int, bits: int) -> tuple[int, int]:
        """W between two integers, in units of 2^-bits."""
        low = high = 0
        lead = bits + 24 + self._count.bit_length()
        for first in range(0, self._count, _TOGETHER):
            below = above = 1
            length = 0
            for column in range(first, min(first + _TOGETHER, self._count)):
                u = self._at(row, column)
                _lead(u, lead)
                below, above, length = below * u.value, above * (u.value + 1), length + u.length
            low += neg_log(above, length, bits)[0]
            high += neg_log(below, length, bits)[1]
        if self._pairs is not None:
            least, most = self._pairs.enclosed(row, bits)
            low, high = low + least, high + most
        return low, high

    def multiplier(self, row: int, bits: int) -> tuple[_Number, _Number]:
        """sqrt(2 W) from below and from above, each as (number, p) for number/2^p, relatively closer than 2^-bits."""
        known = self._known.get(row)
        if known is None or known[0] < bits:  # all coordinates of a vector ask for the same one
            known = self._known[row] = (bits, *self._root(row, bits))
        return known[1:]

    def _root(self, row: int, bits: int) -> tuple[_Number, _Number]:
        more = bits + 32
        while True:
            low, high = self._enclosed(row, more)
            if low > 0 and (high - low) << bits + 8 <= low:
                root = math.isqrt(low << more + 1), math.isqrt(high << more + 1) + 1
                return (root[0], more), (root[1], more)
            more += 64


@final
class _Pairs:
    """-ln(S) A^2/S for A, B uniform in (0, 1) and S = A^2 + B^2 < 1: half the square of a normal number, one a row."""

    def __init__(self, stream: Stream, rows: int) -> None:
        self._stream = stream
        self._words = np.array(stream.words(2 * rows)).reshape(rows, 2)
        self._grown: dict[int, tuple[Refined, Refined]] = {}
        todo = np.flatnonzero(~self._inside(np.arange(rows)))
        while len(todo):
            self._words[todo] = stream.words(2 * len(todo)).reshape(-1, 2)
            for row in self._grown.keys() & set(todo.tolist()):
                del self._grown[row]
            todo = todo[~self._inside(todo)]
        self.floats: Array = self._values((self._words + 0.5) * TO_UNIT)
        for row in np.flatnonzero((self._words < np.uint64(FIRST)).any(axis=1)).tolist():
            units = [math.ldexp(u.value + 0.5, -u.length) for u in self._at(row)]
            self.floats[row] = self._values(np.array([units]))[0]

    def _inside(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """True if S < 1: in doubles, unless S is too near to 1."""
        s = np.sum(((self._words[rows] + 0.5) * TO_UNIT) ** 2, axis=1)
        inside: NDArray[np.bool_] = s < 1.0
        for place in np.flatnonzero(np.abs(s - 1.0) <= 2.0**-48).tolist():
            inside[place] = self._truly_inside(int(rows[place]))
        return inside

    @staticmethod
    def _values(units: Array) -> Array:
        squares = units * units
        s = np.minimum(squares.sum(axis=1), 1.0)
        return -np.log(s) * (squares[:, 0] / s)

    def _at(self, row: int) -> tuple[Refined, Refined]:
        """A and B, positive and known to 44 leading bits at least."""
        if row not in self._grown:
            a, b = (Refined(self._stream, word, 64) for word in self._words[row].tolist())
            self._grown[row] = a, b
            _lead(a, 45)
            _lead(b, 45)
        return self._grown[row]

    def _truly_inside(self, row: int) -> bool:
        while True:
            low, high, length = self._square(row)
            if high <= 1 << length:
                return True
            if low >= 1 << length:
                return False
            for u in self._at(row):
                u.grow()

    def _square(self, row: int) -> tuple[int, int, int]:
        """S between two integers, in units of 2^-length."""
        a, b = self._at(row)
        while a.length != b.length:
            (a if a.length < b.length else b).grow()
        return a.value**2 + b.value**2, (a.value + 1) ** 2 + (b.value + 1) ** 2, 2 * a.length

    def enclosed(self, row: int, bits: int) -> tuple[int, int]:
        """Between two integers, in units of 2^-bits."""
        for u in self._at(row):
            _lead(u, bits + 24)
        low, high, length = self._square(row)
        a, b = (u.value for u in self._at(row))
        logs = neg_log(min(high, 1 << length), length, bits)[0], neg_log(low, length, bits)[1]
        least = logs[0] * a * a // (a * a + (b + 1) ** 2)
        most = -(-logs[1] * (a + 1) ** 2 // ((a + 1) ** 2 + b * b))
        return least, most


def _lead(u: Refined, bits: int) -> None:
    """Grow until the number is known to a relative 2^(1 - bits)."""
    while u.value.bit_length() < bits:
        u.grow()


def _neg_log(u: Refined) -> float:
    return u.length * math.log(2.0) - math.log(u.value + 0.5)
