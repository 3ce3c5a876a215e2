"""The discrete Laplace law."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import fair_bits
from privet.noise.families.enclosure import exp_neg
from privet.noise.families.tails import Tails, powers
from privet.noise.geometric import TABLE_SCALE, one_geometric, sample_geometric
from privet.noise.parameters import Size, positive
from privet.noise.table import TableCache, from_tails


def discrete_laplace(*, scale: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """Integer noise with Pr[X = k] = tanh(1 / (2 scale)) exp(-|k| / scale).

    **Guarantee:** exact law; a shift by D changes the logarithm of a probability by at most D / scale, and by exactly
    that in the tails. **Error:** E|X| = 1 / sinh(1 / scale).
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009; proof note noise/discrete_laplace.

    >>> discrete_laplace(scale=10, size=3).dtype
    dtype('int64')
    """
    return draw(one_laplace, sample_laplace, size, source, given=(positive("scale", scale),))


@final
@dataclass(frozen=True)
class LaplaceTails(Tails):
    """Pr[X >= m] = p^m / (1 + p) with p = exp(-1 / scale).

    >>> LaplaceTails(Fraction(1)).upper(1, 10)
    (275, 276)
    """

    scale: Fraction
    symmetric = True

    def upper(self, m: int, bits: int) -> tuple[int, int]:
        guard = bits + 16
        num, den = self.scale.numerator, self.scale.denominator
        return _over_one_plus(exp_neg(m * den, num, guard), exp_neg(den, num, guard), guard, bits)

    def column(self, bits: int) -> list[tuple[int, int]]:
        guard = bits + 64
        p = exp_neg(self.scale.denominator, self.scale.numerator, guard)
        return powers(*_over_one_plus(p, p, guard, guard), p, guard, bits)


def _over_one_plus(power: tuple[int, int], p: tuple[int, int], guard: int, bits: int) -> tuple[int, int]:
    one = 1 << guard
    return (power[0] << bits) // (one + p[1]), -(-(power[1] << bits) // (one + p[0]))


_tables = TableCache(lambda scale: from_tails(LaplaceTails(scale)))


def sample_laplace(stream: Stream, count: int, t: Fraction) -> NDArray[Any]:
    """`count` draws: a table of both signs for small scales, else a sign and a geometric magnitude.

    >>> from privet.noise import Seeded
    >>> sample_laplace(Seeded(1).stream(), 3, Fraction(2**40)).shape
    (3,)
    """
    if t < TABLE_SCALE:
        table = _tables.get(t, count, stream.repeats)
        if table is not None:
            return table.sample(stream, count)
    magnitude, minus = _signed(stream, count, t)
    bad = np.flatnonzero(minus & (magnitude == 0))  # minus zero: with it, zero would count twice
    while len(bad):
        magnitude[bad], minus[bad] = _signed(stream, len(bad), t)
        bad = bad[minus[bad] & (magnitude[bad] == 0)]
    flip = -minus.astype(np.int64)
    return (magnitude ^ flip) - flip


def one_laplace(stream: Stream, t: Fraction) -> int:
    """One draw, without tables.

    >>> from privet.noise import Seeded
    >>> isinstance(one_laplace(Seeded(1).stream(), Fraction(3)), int)
    True
    """
    while True:
        magnitude, minus = one_geometric(stream, t), stream.word() & 1
        if magnitude or not minus:
            return -magnitude if minus else magnitude


def _signed(stream: Stream, count: int, t: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    return sample_geometric(stream, count, t).astype(np.int64, copy=False), fair_bits(stream, count)
