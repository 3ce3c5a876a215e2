"""Queries over buckets of cells whose counts are spread evenly."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.workloads.partition import Partition
from privet.workloads.workload import DENSE, Workload, as_workload


@final
@dataclass(frozen=True)
class Bucketed(Workload):
    """A workload as it asks of buckets of consecutive cells, if each bucket's count lies evenly on its cells.

    `ends` are the ends of the buckets, not included: the last is the number of cells.

    >>> from privet.workloads import Prefix
    >>> Bucketed(Prefix(4), (1, 4)).answers(np.array([6.0, 3.0])).tolist()
    [6.0, 7.0, 8.0, 9.0]
    """

    workload: Workload
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(as_workload(self.workload).shape) != 1:
            raise InvalidParameter("buckets are made of the cells of one dimension")
        found = Partition(self.ends)
        if found.cells != self.workload.cells:
            raise InvalidParameter("ends must grow, from at least 1 to the number of cells")
        set_frozen(self, ends=found.ends)

    @kept_property
    def _partition(self) -> Partition:
        return Partition(self.ends)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.ends),)

    @property
    def queries(self) -> int:
        return self.workload.queries

    def answers(self, histogram: Array) -> Array:
        return self.workload.answers(spread(histogram, self.ends))

    def query(self, number: int) -> Array:
        return self._partition.sums(self.workload.query(number)) / self._partition.widths

    @property
    def has_gram(self) -> bool:
        return len(self.ends) ** 2 <= DENSE and self.workload.has_bucket_gram

    @kept_property
    def _gram(self) -> Array:
        return self.workload.bucket_gram(self._partition)

    def gram(self) -> Array:
        self._small()
        return self._gram

    def block_energy(self, width: int) -> float | Fraction:
        return self.workload.bucket_energy(self._partition, width)

    def describe(self) -> str:
        return f"{self.workload.describe()}, over {len(self.ends):,} buckets"


def spread(counts: Array, ends: tuple[int, ...]) -> Array:
    """Cells that share the count of their bucket evenly.

    >>> spread(np.array([6.0, 3.0]), (1, 4)).tolist()
    [6.0, 1.0, 1.0, 1.0]
    """
    widths = np.diff(ends, prepend=0)
    return np.repeat(np.asarray(counts) / widths, widths)
