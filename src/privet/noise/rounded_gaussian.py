"""Gaussian noise rounded to the integers: the default Gaussian."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet._numerics import Array, ndtr, ndtri, special
from privet._validate import whole
from privet.errors import InvalidParameter
from privet.noise.draw import Draws
from privet.noise.entropy import Source, Stream, current
from privet.noise.families.coins import TO_UNIT, accept, fair_bits
from privet.noise.families.enclosure import Enclosure, complement, exp_neg, normal_above, rational
from privet.noise.families.refined import Refined, invert
from privet.noise.families.rounded import Rest, draw_rounded, exact_rest, float_rest, oriented, signed
from privet.noise.families.tails import Tails
from privet.noise.grid import Grid
from privet.noise.parameters import Center, Size, positive, shape_of
from privet.noise.strips import kept_strips, refuse_far
from privet.noise.table import InversionTable, TableCache, from_floats

TABLE_SIGMA = 1024  # up to here a table serves; changes speed only, either path is exact
PIECES_SIGMA = 2**38  # from here on 48 bits are too few for a draw
PIECES_EXPONENT = 900  # of a grid: a step, 2^48 of them and 2^-33 of it are doubles
CELL_SIGMA = 64  # standard deviations in cells, at most, when a draw is split into a cell and a place in it
FILTER_SIGMA = 2**20  # up to here one word through the quantile function decides nearly every draw
ONE_FILTER_SIGMA = 2**32  # for a single draw: there the exact path is cheap, compared to a second word
FIRST = 2**44  # words below it go to the exact path: their cells are wider than MARGIN
MARGIN = 2.0**-40  # of sigma: the cell, by Mills' ratio, and 2^-44 (1 + |x|) for the quantile function; |x| < 5

EDGE_MARGIN = 2.0**-50  # for the rounding of the place in a cell and of the edge that it is compared with

_HALF = Fraction(1, 2)


def rounded_gaussian(
    *,
    sigma: int | float | Fraction,
    center: Center = 0,
    size: Size = None,
    source: Source | None = None,
    out: NDArray[np.int64] | None = None,
) -> Draws:
    """floor(center + noise + 1/2) for noise from N(0, sigma^2) and any centre below 2^52.

    **Guarantee:** exact law: a post-processing of the continuous Gaussian mechanism at the exact centre. GDP, PLD and
    analytic calibration apply as they are, in every dimension, with the l2-sensitivity of the centres, not enlarged.
    Pass the value as `center`. `out` is an array of int64, without gaps, that the draws are written into and that comes
    back: they are the same, and no other memory of that size is needed where the centre is 0 and sigma is large.
    **Error:** variance sigma^2, plus 1/12 for the rounding, nearly.
    **Reference:** proof note noise/rounded_gaussian.

    >>> rounded_gaussian(sigma=10, center=0.5, size=3).dtype
    dtype('int64')
    >>> place = np.empty(3, dtype=np.int64)
    >>> rounded_gaussian(sigma=10, out=place) is place
    True
    """
    scale = positive("sigma", sigma)
    if out is not None:
        size = _written_into(out, size)
    if isinstance(center, int | Fraction) and center == 0 and scale > TABLE_SIGMA and size is not None:
        shape = shape_of(size) or ()
        strips = kept_strips.get(scale, math.prod(shape), current(source).insecure)
        if strips is not None:
            place = None if out is None else out.reshape(-1)
            drawn = strips.sample(current(source).stream(), math.prod(shape), place).reshape(shape)
            return drawn if out is None else out
    drawn = draw_rounded(_one, _sample, center, size, source, given=(scale,))
    if out is None:
        return drawn
    out[...] = drawn
    return out


def rounded_gaussian_pieces(
    *, sigma: int | float | Fraction, count: int, source: Source | None = None
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """The draws of `rounded_gaussian` around 0, some at a time: where they begin, an array of them, and one of that size
    that may be used; the next draws overwrite both. For noise on vectors that are longer than a cache: the whole noise
    lies nowhere.

    **Guarantee:** the exact law, as of `rounded_gaussian`, and from a seeded source the same numbers.

    >>> from privet.noise import Seeded
    >>> whole = rounded_gaussian(sigma=10**6, size=40_000, source=Seeded(1))
    >>> pieces = rounded_gaussian_pieces(sigma=10**6, count=40_000, source=Seeded(1))
    >>> all(bool((whole[start:][: len(part)] == part).all()) for start, part, _ in pieces)
    True
    """
    scale, many = positive("sigma", sigma), whole("count", count, 0)
    strips = kept_strips.get(scale, many, current(source).insecure) if scale > TABLE_SIGMA else None
    if strips is not None:
        return strips.pieces(current(source).stream(), many)
    drawn: NDArray[np.int64] = draw_rounded(_one, _sample, 0, many, source, given=(scale,))
    return iter([(0, drawn, np.empty_like(drawn))])


def gaussian_pieces(
    *, sigma: int | float | Fraction, count: int, grid: Grid, source: Source | None = None
) -> Iterator[tuple[int, Array, Array]]:
    """Normal noise of `sigma` steps of a grid for whoever rounds it there, some numbers at a time: where they begin, an
    array of doubles, and one of that size that may be used; the next ones overwrite both. It takes three quarters of the
    random bits of `rounded_gaussian_pieces`, and no pass that rounds. sigma is below 2^38.

    **Guarantee:** rounded to the nearest point of the grid, in steps, each number has the exact law of `rounded_gaussian`;
    none is half-way between two points, and none has 2^48 steps. **Reference:** proof note noise/strips.

    >>> (start, drawn, _), = gaussian_pieces(sigma=10**6, count=3, grid=Grid(-20))
    >>> start, drawn.shape, drawn.dtype
    (0, (3,), dtype('float64'))
    """
    scale, many = positive("sigma", sigma), whole("count", count, 0)
    if scale >= PIECES_SIGMA:
        raise InvalidParameter(
            f"sigma must be below 2^38 steps here, got {float(scale):g}: take rounded_gaussian_pieces"
        )
    if not -PIECES_EXPONENT <= grid.exponent <= PIECES_EXPONENT:
        raise InvalidParameter(f"the exponent of the grid must lie between -900 and 900 here, got {grid.exponent}")
    strips = kept_strips.get(scale, many, current(source).insecure) if scale > TABLE_SIGMA else None
    if strips is not None:
        return strips.placed(current(source).stream(), many, grid.width)
    steps: NDArray[np.int64] = draw_rounded(_one, _sample, 0, many, source, given=(scale,))
    refuse_far(steps)
    return iter([(0, steps * grid.width, np.empty(many))])


def _written_into(out: object, size: Size) -> tuple[int, ...]:
    """The shape of an array that draws can be written into; it must be the one that is asked for."""
    if (
        not isinstance(out, np.ndarray)
        or out.dtype != np.int64
        or not out.flags.c_contiguous
        or not out.flags.writeable
    ):
        raise InvalidParameter("out must be an array of int64 without gaps that can be written to")
    if size is not None and shape_of(size) != out.shape:
        raise InvalidParameter("size and the shape of out differ: leave size out")
    return out.shape


@final
@dataclass(frozen=True)
class NormalCells(Tails):
    """The cell in which N(0, sigma^2) falls: whole numbers by rounding, or `folded` for floor(|N|).

    >>> NormalCells(Fraction(1)).upper(1, 20)  # Pr[N > 1/2]
    (323525, 323526)
    """

    sigma: Fraction
    folded: bool = False

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return not self.folded

    def upper(self, m: int, bits: int) -> tuple[int, int]:
        x = (m if self.folded else m - _HALF) / self.sigma
        return normal_above(x.numerator, x.denominator, bits + 1 if self.folded else bits)  # twice the tail

    def column(self, bits: int) -> list[tuple[int, int]]:
        ends = [self.upper(1, bits)]
        while ends[-1][0]:
            ends.append(self.upper(len(ends) + 1, bits))
        return ends

    def floats(self) -> NDArray[np.float64]:
        """The tails in floats, until they are below 2^-45."""
        s = float(self.sigma)
        m = np.arange(1, int(8 * s) + 3)
        with np.errstate(over="ignore"):
            return 2.0 * ndtr(-m / s) if self.folded else ndtr((0.5 - m) / s)


def _build(law: NormalCells) -> InversionTable:
    return from_floats(law, law.floats())


_plain = TableCache(lambda sigma: _build(NormalCells(sigma)))
_folded = TableCache(lambda sigma: _build(NormalCells(sigma, folded=True)))


def _sample(stream: Stream, count: int, sigma: Fraction, rest: Rest) -> NDArray[Any]:
    if isinstance(rest, Fraction) and rest == 0 and sigma <= TABLE_SIGMA:
        table = _plain.get(sigma, count, stream.repeats)
        return table.sample(stream, count) if table is not None else _filtered(stream, count, sigma, rest)
    if sigma < CELL_SIGMA:
        return _filtered(stream, count, sigma, rest)
    shift = (int(sigma) // (CELL_SIGMA // 2)).bit_length() - 1
    leading = sigma / 2**shift
    table = _folded.get(leading, count, stream.repeats)
    if table is not None:
        cells, minus = table.sample(stream, count).astype(np.int64), fair_bits(stream, count)
    elif sigma < FILTER_SIGMA:
        return _filtered(stream, count, sigma, rest)
    else:
        cells = _filtered(stream, count, leading, -_HALF)  # floor(N): the sign, and the cell of |N|
        minus = cells < 0
        cells = np.where(minus, ~cells, cells)
    return _Places(stream, cells, leading, shift).round(minus, rest)


def _filtered(stream: Stream, count: int, sigma: Fraction, rest: Rest) -> NDArray[np.int64]:
    """floor(rest + N + 1/2) through the quantile function in floats, unless its margin reaches over a whole number."""
    words = stream.words(count)
    upper = words >= np.uint64(2**63)
    folded = words ^ -upper.astype(np.uint64)  # never 1 - p: the upper half is the mirror image
    y = np.where(upper, -1.0, 1.0) * _quantile(folded, float(sigma)) + (float_rest(rest) + 0.5)
    out = np.floor(y)
    # Below FIRST the cells are too wide for the margin, and that of word 0 holds a whole tail.
    unsure = (np.abs(y - out - 0.5) >= 0.5 - _margin(sigma)) | (folded < np.uint64(FIRST))
    result = out.astype(np.int64)
    for place in np.flatnonzero(unsure).tolist():
        u = Refined(stream, int(words[place]), 64)
        result[place] = _exact(u, sigma, exact_rest(rest, place), int(result[place]))
    return result


def _one(stream: Stream, sigma: Fraction, rest: Fraction) -> int:
    if sigma >= ONE_FILTER_SIGMA:
        return int(_sample(stream, 1, sigma, rest)[0])
    word = stream.word()
    upper = word >= 2**63
    folded = 2**64 - 1 - word if upper else word
    quantile = float(sigma) * ndtri((folded + 0.5) * TO_UNIT)
    y = (-quantile if upper else quantile) + (float(rest) + 0.5)
    out = math.floor(y)
    if abs(y - out - 0.5) >= 0.5 - _margin(sigma) or folded < FIRST:
        return _exact(Refined(stream, word, 64), sigma, rest, out)
    return out


def _quantile(folded: Any, sigma: float) -> Any:
    """sigma Phi^-1(p) for the middle p < 1/2 of the cell of a word."""
    return sigma * special().ndtri((folded + 0.5) * TO_UNIT)


def _margin(sigma: Fraction) -> float:
    return MARGIN * float(sigma) + 2.0**-50


def _exact(u: Refined, sigma: Fraction, rest: Fraction, guess: int) -> int:
    def cdf(k: int, bits: int) -> tuple[int, int]:
        x = (k + _HALF - rest) / sigma
        ends = normal_above(abs(x.numerator), x.denominator, bits)
        return ends if x < 0 else complement(ends, bits)

    return invert(u, cdf, guess)


@final
class _Places:
    """Where in its cell |N| lies: uniform V in [0, 1), kept with the density relative to the near end of the cell.

    |N| = 2^shift (cell + V), sigma = 2^shift * leading. V is a word, refined where 64 bits do not decide.
    """

    def __init__(self, stream: Stream, cells: NDArray[np.int64], leading: Fraction, shift: int) -> None:
        self._stream, self._cells, self._shift = stream, cells, shift
        self._twice = 2 * leading * leading
        self._inverse = 1.0 / float(self._twice)
        self._words = np.array(stream.words(len(cells)))
        self._refined: dict[int, Refined] = {}
        todo = np.flatnonzero(~self._kept(slice(None)))
        while len(todo):
            self._words[todo] = stream.words(len(todo))
            for place in self._refined.keys() & set(todo.tolist()):
                del self._refined[place]
            todo = todo[~self._kept(todo)]

    def _kept(self, todo: slice | NDArray[np.int64]) -> NDArray[np.bool_]:
        v = self._words[todo] * TO_UNIT
        x = v * (self._cells[todo] * (2.0 * self._inverse) + v * self._inverse)
        return accept(self._stream, x, lambda i: self._density(i if isinstance(todo, slice) else int(todo[i])))

    def _at(self, place: int) -> Refined:
        return self._refined.setdefault(place, Refined(self._stream, int(self._words[place]), 64))

    def _density(self, place: int) -> Enclosure:
        """exp(-((cell + V)^2 - cell^2) / (2 leading^2)), V known to more bits than are asked for."""
        cell, v = int(self._cells[place]), self._at(place)

        def at(value: int, bits: int) -> tuple[int, int]:
            exponent = value * ((cell << v.length + 1) + value) / self._twice
            return exp_neg(exponent.numerator, exponent.denominator << 2 * v.length, bits)

        def enclosure(bits: int) -> tuple[int, int]:
            while v.length < bits + 32:
                v.grow()
            return at(v.value + 1, bits)[0], at(v.value, bits)[1]

        return enclosure

    def round(self, minus: NDArray[np.bool_], rest: Rest) -> NDArray[np.int64]:
        """floor(rest + N + 1/2)."""
        rest_bits = 64 - self._shift
        whole = (self._cells << self._shift) + (self._words >> np.uint64(rest_bits)).view(np.int64)
        part = (self._words & np.uint64(2**rest_bits - 1)) * 2.0**-rest_bits
        edges = 0.5 + oriented(rest, minus)
        inside = part < edges
        for place in np.flatnonzero(np.abs(part - edges) <= 2.0**-rest_bits + EDGE_MARGIN).tolist():
            offset = exact_rest(rest, place) * (1 if minus[place] else -1)
            edge = (int(self._words[place]) >> rest_bits) + _HALF + offset
            inside[place] = self._at(place).below(_ratio(edge / 2**self._shift))
        return signed(whole, minus, inside)


def _ratio(value: Fraction) -> Enclosure:
    return lambda bits: rational(value.numerator, value.denominator, bits)
