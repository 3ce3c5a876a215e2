"""Queries over buckets of cells whose counts are spread evenly."""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.workloads.workload import DENSE, Workload, as_workload


@final
@dataclass(frozen=True)
class Bucketed(Workload):
    """What a workload asks of buckets of consecutive cells, if each bucket's count lies evenly on its cells.

    `ends` are the ends of the buckets, not included: the last is the number of cells.

    >>> from privet.workloads import Prefix
    >>> Bucketed(Prefix(4), (1, 4)).answers(np.array([6.0, 3.0])).tolist()
    [6.0, 7.0, 8.0, 9.0]
    """

    workload: Workload
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        ends = tuple(int(end) for end in self.ends)
        if len(as_workload(self.workload).shape) != 1:
            raise InvalidParameter("buckets are made of the cells of one dimension")
        if not ends or ends[-1] != self.workload.cells or any(a >= b for a, b in pairwise((0, *ends))):
            raise InvalidParameter("ends must grow, from at least 1 to the number of cells")
        set_frozen(self, ends=ends)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.ends),)

    @property
    def queries(self) -> int:
        return self.workload.queries

    @property
    def _widths(self) -> Array:
        return np.diff(self.ends, prepend=0)

    def answers(self, histogram: Array) -> Array:
        return self.workload.answers(spread(histogram, self.ends))

    def query(self, number: int) -> Array:
        return self._sums(self.workload.query(number)) / self._widths

    def _sums(self, rows: Array) -> Array:
        return np.asarray(np.add.reduceat(rows, np.concatenate(([0], self.ends[:-1])).astype(int), axis=0))

    @property
    def has_gram(self) -> bool:
        return self.workload.cells**2 <= DENSE

    @kept_property
    def _gram(self) -> Array:
        halfway = self._sums(self.workload.gram()) / self._widths[:, None]
        return np.asarray(self._sums(halfway.T) / self._widths[:, None])

    def gram(self) -> Array:
        return self._gram

    def block_energy(self, width: int) -> float:
        """Exactly, where the cells are few enough for a matrix over pairs or the buckets are even; else as if they were."""
        if self.has_gram:
            starts = np.arange(0, len(self.ends), width)
            blocks = np.add.reduceat(np.add.reduceat(self._gram, starts, axis=0), starts, axis=1)
            return float(np.trace(blocks))
        mean = self.workload.cells / len(self.ends)
        return float(self.workload.block_energy(max(1, round(width * mean)))) / mean**2

    def describe(self) -> str:
        return f"{self.workload.describe()}, over {len(self.ends):,} buckets"


def spread(counts: Array, ends: tuple[int, ...]) -> Array:
    """Cells that share the count of their bucket evenly.

    >>> spread(np.array([6.0, 3.0]), (1, 4)).tolist()
    [6.0, 1.0, 1.0, 1.0]
    """
    widths = np.diff(ends, prepend=0)
    return np.repeat(np.asarray(counts) / widths, widths)
