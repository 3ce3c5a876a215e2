"""The abstract workload: a set of linear queries over one histogram, never written out as a matrix."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.partition import Partition

DENSE = 10_000_000  # entries of the largest matrix that is built, 80 MB


class Workload(ABC):
    """Linear queries over the cells of a public domain: frozen, public, without data.

    As a matrix it is W, with a row for each query and a column for each cell; V = W'W is its Gram matrix. The class and its
    fields say all about it, so that a cache or a ledger can compare workloads by them.

    >>> from privet.workloads import Prefix
    >>> workload = Prefix(4)
    >>> workload.queries, workload.answers(np.array([1, 0, 2, 5])).tolist()
    (4, [1, 1, 3, 8])
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The cells along each dimension of the histogram."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """The number of queries."""

    @abstractmethod
    def answers(self, histogram: Array) -> Array:
        """W x: the answers, query by query, in their public order."""

    @abstractmethod
    def query(self, number: int) -> Array:
        """One row of W, in the shape of the histogram."""

    @abstractmethod
    def gram(self) -> Array:
        """V, over the cells in their order; only for domains whose V is small enough to be built."""

    @kept_property
    def singular_sum(self) -> float:
        """The sum of the singular values of W; only for domains whose V is small enough to be built."""
        return float(np.sqrt(np.maximum(np.linalg.eigvalsh(self.gram()), 0.0)).sum())

    @abstractmethod
    def block_energy(self, width: int) -> float | Fraction:
        """The sum of 1_B' V 1_B over consecutive blocks B of `width` cells, the last of which may be shorter. It is a whole
        number or a fraction where a workload knows it exactly."""

    def bucket_energy(self, partition: Partition, width: int) -> float | Fraction:
        """The sum of 1_B' G 1_B over consecutive blocks B of `width` buckets, for G the `bucket_gram`. It is a
        fraction where a workload knows it exactly."""
        gram = self.bucket_gram(partition)
        starts = np.arange(0, len(gram), width)
        return float(np.trace(np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1)))

    def bucket_gram(self, partition: Partition) -> Array:
        """The Gram matrix over buckets, each of whose counts is spread evenly over its cells: the mean of V over the cells
        of each pair of buckets."""
        halfway = partition.sums(self.gram()) / partition.widths[:, None]
        return np.asarray(partition.sums(halfway.T) / partition.widths[:, None])

    @property
    def has_bucket_gram(self) -> bool:
        """True if `bucket_gram` can be built for a few buckets; a subclass that does so without `gram` says so here."""
        return self.has_gram

    @abstractmethod
    def describe(self) -> str:
        """The questions in words."""

    @property
    @final
    def cells(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def has_gram(self) -> bool:
        """True if `gram` can be built."""
        return self.cells**2 <= DENSE

    @final
    def _small(self) -> int:
        """The number of cells; refused where V would be too large to be built."""
        if self.cells**2 > DENSE:
            raise InvalidParameter(
                f"{self.cells:,} cells are too many for this strategy, which needs a matrix over pairs of cells (at most "
                f"{int(DENSE**0.5):,} cells): take Hierarchical(), which needs none"
            )
        return self.cells

    def __str__(self) -> str:
        return self.describe()


@dataclass(frozen=True)
class LineWorkload(Workload):
    """Base of the workloads over the cells of one dimension. Still abstract."""

    domain: int

    def __post_init__(self) -> None:
        set_frozen(self, domain=public_cells(self.domain))

    @property
    @final
    def shape(self) -> tuple[int, ...]:
        return (self.domain,)


def public_cells(value: object, name: str = "domain") -> int:
    """The number of cells of a domain of one dimension, as a whole number from 1 to 2^30; `name` is for the error.

    >>> public_cells(1024)
    1024
    """
    cells = count(name, value, 1)
    if cells > 2**30:  # a vector of so many doubles has 8 GiB
        raise InvalidParameter(f"{name} must be at most 2^30 cells, got {cells:,}")
    return cells


def public_shape(value: object) -> tuple[int, ...]:
    """The cells along each dimension, from one whole number or several.

    >>> public_shape(4), public_shape((2, 3))
    ((4,), (2, 3))
    """
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if not value:
            raise InvalidParameter("shape must name at least one dimension")
        return tuple(public_cells(side, "shape") for side in value)
    return (public_cells(value),)


def refuse_empty(workload: Workload) -> None:
    """Refuse a workload all of whose queries are empty, with 0 in every cell: the trace of V is 0, and nothing is asked.

    >>> from privet.workloads import Prefix
    >>> refuse_empty(Prefix(4))
    """
    if not workload.block_energy(1) > 0:
        raise InvalidParameter("this workload asks nothing: every one of its queries is empty")


def as_workload(value: object) -> Workload:
    """The workload itself; anything else is refused.

    >>> from privet.workloads import Prefix
    >>> as_workload(Prefix(4))
    Prefix(domain=4)
    """
    if not isinstance(value, Workload):
        raise InvalidParameter(
            f"a workload is needed, got {type(value).__name__}: AllRanges(k), Prefix(k), Rows(matrix) are some"
        )
    return value
