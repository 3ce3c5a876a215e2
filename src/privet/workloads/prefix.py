"""All prefix sums over a domain of one dimension: the cumulative distribution."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet.workloads.partition import Partition
from privet.workloads.workload import LineWorkload


@final
@door
@dataclass(frozen=True)
class Prefix(LineWorkload):
    """The sums of the first 1, 2, ..., k cells.

    >>> Prefix(3).answers(np.array([1, 2, 4])).tolist()
    [1, 3, 7]
    """

    @property
    def queries(self) -> int:
        return self.domain

    def answers(self, histogram: Array) -> Array:
        return np.cumsum(histogram)

    def query(self, number: int) -> Array:
        return (np.arange(self.domain) <= number).astype(float)

    def gram(self) -> Array:
        cell = np.arange(self._small(), dtype=np.float64)
        return np.asarray(np.minimum.outer(*[self.domain - cell] * 2))

    def block_energy(self, width: int) -> int:
        """Prefix sums that end inside a block, and those that hold all of it."""
        blocks, rest = divmod(self.domain, width)
        whole = blocks * (self.domain - width) - width * (blocks * (blocks - 1) // 2)
        return blocks * _squares(width) + whole * width**2 + _squares(rest)

    def bucket_energy(self, partition: Partition, width: int) -> Fraction:
        """As `block_energy`: a prefix sum that ends inside a block takes p of it, one that holds the block takes all."""
        blocks = partition.blocks(width)
        inside = blocks.squares.sum() + partition.inverses  # 6 times
        whole = ((self.domain - blocks.before - blocks.cells) * blocks.buckets**2).sum()
        return Fraction(inside) / 6 + whole

    def bucket_gram(self, partition: Partition) -> Array:
        """Of two buckets the later one decides: the mean number of prefix sums that hold one of its cells."""
        widths = partition.widths.astype(float)
        last = self.domain - partition.starts - widths  # prefix sums that hold all of a bucket
        gram = np.minimum.outer(*[last + (widths + 1.0) / 2.0] * 2)
        np.fill_diagonal(gram, last + (widths + 1.0) * (2.0 * widths + 1.0) / (6.0 * widths))
        return np.asarray(gram)

    @property
    def has_bucket_gram(self) -> bool:
        return True

    def describe(self) -> str:
        return f"all {self.domain:,} prefix sums"


def _squares(n: int) -> int:
    """1 + 4 + ... + n^2."""
    return n * (n + 1) * (2 * n + 1) // 6
