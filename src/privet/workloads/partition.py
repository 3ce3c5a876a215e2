"""Consecutive cells in buckets, and what blocks of consecutive buckets hold: whole numbers, exactly."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter


class Blocks(NamedTuple):
    """Blocks of consecutive buckets, one entry a block; numbers of any size.

    With p running over the cells of a block, up to and with each cell, where every bucket counts 1 that lies evenly on its
    cells: `sums` are 2 times the sum of p, `squares` 6 times the sum of p^2 without the inverses of the widths.
    """

    before: Array
    cells: Array
    buckets: Array
    sums: Array
    squares: Array


@final
@dataclass(frozen=True)
class Partition:
    """Buckets of consecutive cells; `ends` are their ends, not included: the last is the number of cells.

    >>> Partition((1, 4)).widths.tolist()
    [1, 3]
    """

    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        ends = tuple(int(end) for end in self.ends)
        if not ends or any(a >= b for a, b in pairwise((0, *ends))):
            raise InvalidParameter("ends must grow, from at least 1 to the number of cells")
        set_frozen(self, ends=ends)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.ends[-1]

    @property
    def starts(self) -> Array:
        """The first cell of each bucket."""
        return np.concatenate(([0], self.ends[:-1])).astype(np.int64)

    @property
    def widths(self) -> Array:
        """The cells of each bucket."""
        return np.diff(self.ends, prepend=0)

    @kept_property
    def inverses(self) -> Fraction:
        """The sum of 1/width over the buckets."""
        widths, many = np.unique(self.widths, return_counts=True)
        return sum((Fraction(int(n), int(w)) for w, n in zip(widths, many, strict=True)), Fraction(0))

    @kept_property
    def _moments(self) -> tuple[Array, Array, Array]:
        """Running sums of w, i w and i^2 w over the buckets before the i-th, in whole numbers of any size."""
        widths, place = self.widths.astype(object), np.arange(len(self.ends)).astype(object)
        first, second = place * widths, place * place * widths
        zero = np.zeros(1, dtype=object)
        return (
            np.concatenate((zero, np.cumsum(widths))),
            np.concatenate((zero, np.cumsum(first))),
            np.concatenate((zero, np.cumsum(second))),
        )

    def blocks(self, width: int) -> Blocks:
        """Blocks of `width` buckets (the last may have fewer).

        >>> Partition((1, 4)).blocks(2).sums.tolist()  # 2 (1 + 4/3 + 5/3 + 2)
        [12]
        """
        first = np.arange(0, len(self.ends), width)
        last = np.minimum(first + width, len(self.ends))
        zeroth, linear, square = (sums[last] - sums[first] for sums in self._moments)
        start, buckets = first.astype(object), (last - first).astype(object)
        reach = linear - start * zeroth  # the sum of r w, r the number of a bucket inside its block
        squares = square - 2 * start * linear + start * start * zeroth
        ranks = buckets * (buckets - 1)  # twice the sum of r
        return Blocks(
            before=self._moments[0][first],
            cells=zeroth,
            buckets=buckets,
            sums=2 * reach + zeroth + buckets,
            squares=6 * (squares + reach) + 3 * ranks + 2 * zeroth + 3 * buckets,
        )

    def sums(self, rows: Array) -> Array:
        """Sums over the cells of each bucket, along the first axis."""
        return np.asarray(np.add.reduceat(rows, self.starts, axis=0))
