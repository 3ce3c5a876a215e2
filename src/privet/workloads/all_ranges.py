"""All range queries over a domain of one dimension."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.workloads.partition import Partition
from privet.workloads.workload import DENSE, LineWorkload


@final
@door
@dataclass(frozen=True)
class AllRanges(LineWorkload):
    """Every sum of consecutive cells: k(k + 1)/2 queries, ordered by their first and then by their last cell.

    **Reference:** Hay, Rastogi, Miklau & Suciu 2010.

    >>> AllRanges(3).answers(np.array([1, 2, 4])).tolist()
    [1, 3, 7, 2, 6, 4]
    """

    @property
    def queries(self) -> int:
        return self.domain * (self.domain + 1) // 2

    def answers(self, histogram: Array) -> Array:
        if self.queries > DENSE:
            raise InvalidParameter(f"{self.queries:,} answers are too many for one array: ask for the ranges you need")
        sums = np.concatenate(([0], np.cumsum(histogram)))
        first, last = np.triu_indices(self.domain)
        return np.asarray(sums[last + 1] - sums[first])

    def query(self, number: int) -> Array:
        first, before = 0, 0
        while number - before >= self.domain - first:
            before += self.domain - first
            first += 1
        row = np.zeros(self.domain)
        row[first : first + number - before + 1] = 1.0
        return row

    def gram(self) -> Array:
        cell = np.arange(self._small(), dtype=np.float64)
        return np.asarray(np.minimum.outer(cell + 1.0, cell + 1.0) * np.minimum.outer(*[self.domain - cell] * 2))

    def block_energy(self, width: int) -> int:
        """In closed form: w^2 (a + 1)(c + 1) ranges' squares for a block of w cells with a before and c after it, those
        that end inside it, and those that lie inside; summed over equal blocks, and the last one if it is shorter.
        """
        blocks, rest = divmod(self.domain, width)
        most = self.domain - width + 1
        pairs = blocks * most + width * (most - 1) * _sum1(blocks) - width**2 * _sum2(blocks)
        total = width**2 * pairs + blocks * ((most + 1) * _sum2(width) + _inside(width))
        if rest:
            before = self.domain - rest + 1
            total += rest**2 * before + (before + 1) * _sum2(rest) + _inside(rest)
        return total

    def bucket_energy(self, partition: Partition, width: int) -> Fraction:
        """As `block_energy`, with p of the buckets of a block in the place of its cells: a range takes the difference of
        two p, of which the first is 0 for a + 1 beginnings, and the second n for c + 1 ends.
        """
        before, cells, n, sums, squares = partition.blocks(width)
        after = self.domain - before - cells
        sums, squares = sums - 2 * n, squares - 6 * n * n  # 2 and 6 times, over the cells but the last
        whole = 6 * ((before + 1) * (after + 1) + (after + 1) * (cells - 1)) * n * n - 6 * (after + 1) * n * sums
        # the squares of p count once with each other end, which are k + 1 for every block
        twelfths = (2 * whole + 2 * (self.domain + 1) * squares - 3 * sums * sums).sum()
        return Fraction(twelfths, 12) + Fraction(self.domain + 1, 6) * partition.inverses

    def bucket_gram(self, partition: Partition) -> Array:
        """Of two buckets: the mean number of ranges' beginnings before a cell of the first, times that of the ends behind
        one of the second."""
        widths, first = partition.widths.astype(float), partition.starts.astype(float)
        last = self.domain - first - widths
        place = np.arange(len(widths))
        low, high = np.minimum.outer(place, place), np.maximum.outer(place, place)
        gram = (first + (widths + 1.0) / 2.0)[low] * (last + (widths + 1.0) / 2.0)[high]
        # inside one bucket: p = j/w for j = 1 .. w - 1, as in `bucket_energy`
        sums, squares = (widths - 1.0) / 2.0, (widths - 1.0) * (2.0 * widths - 1.0) / (6.0 * widths)
        whole = (first + 1.0) * (last + 1.0) + (last + 1.0) * (widths - 1.0 - 2.0 * sums)
        np.fill_diagonal(gram, whole + (self.domain + 1.0) * squares - sums * sums)
        return np.asarray(gram)

    @property
    def has_bucket_gram(self) -> bool:
        return True

    def describe(self) -> str:
        return f"all {self.queries:,} ranges of {self.domain:,} cells"


def _sum1(n: int) -> int:
    """0 + 1 + ... + (n - 1)."""
    return n * (n - 1) // 2


def _sum2(n: int) -> int:
    """The squares of 0 .. n - 1."""
    return n * (n - 1) * (2 * n - 1) // 6


def _inside(width: int) -> int:
    """The sum of i^2 (width - 1 - i): ranges of i cells that touch neither end of the block."""
    return (width - 1) * _sum2(width - 1) - _sum1(width - 1) ** 2
