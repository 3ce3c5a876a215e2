"""All range queries over a domain of one dimension."""

from dataclasses import dataclass
from typing import final

import numpy as np

from privet._calls import made_by_name
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.workloads.workload import DENSE, LineWorkload


@final
@made_by_name
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
