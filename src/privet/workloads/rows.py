"""Linear queries given as the rows of a matrix."""

import hashlib
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.workloads.partition import Partition
from privet.workloads.workload import DENSE, Workload, public_cells


@final
@door
@dataclass(frozen=True, eq=False)
class Rows(Workload):
    """Any queries: one row of coefficients each, one column a cell; at most 10^7 numbers.

    Kept as bytes of doubles, so that a workload stays a frozen value that can be compared and hashed.

    >>> males = Rows([[1, 1, 0, 0], [1, 0, 0, 0]])
    >>> males.answers(np.array([30, 20, 25, 25])).tolist()
    [50.0, 30.0]
    """

    matrix: Any

    def __post_init__(self) -> None:
        try:
            matrix = np.array(self.matrix, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter("matrix must hold numbers: one row a query, one column a cell") from None
        if matrix.ndim != 2 or matrix.size == 0 or matrix.size > DENSE:
            raise InvalidParameter(f"matrix must have rows and columns, and at most {DENSE:,} numbers")
        if not np.all(np.isfinite(matrix)):
            raise InvalidParameter("matrix must hold finite numbers")
        if np.abs(matrix).max() > 1e50:
            raise InvalidParameter("matrix must hold numbers of at most 1e50")
        public_cells(matrix.shape[1])
        matrix.setflags(write=False)
        set_frozen(self, matrix=matrix)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.matrix.shape[1],)

    @property
    def queries(self) -> int:
        return int(self.matrix.shape[0])

    def answers(self, histogram: Array) -> Array:
        return np.asarray(self.matrix @ histogram)

    def query(self, number: int) -> Array:
        return np.array(self.matrix[number])

    def gram(self) -> Array:
        self._small()
        return np.asarray(self.matrix.T @ self.matrix)

    def block_energy(self, width: int) -> float:
        sums = np.add.reduceat(self.matrix, np.arange(0, self.cells, width), axis=1)
        return float(np.sum(sums * sums))

    def bucket_energy(self, partition: Partition, width: int) -> float:
        taken = partition.sums(self.matrix.T) / partition.widths[:, None]
        sums = np.add.reduceat(taken, np.arange(0, len(taken), width), axis=0)
        return float(np.sum(sums * sums))

    def bucket_gram(self, partition: Partition) -> Array:
        taken = partition.sums(self.matrix.T) / partition.widths[:, None]
        return np.asarray(taken @ taken.T)

    @property
    def has_bucket_gram(self) -> bool:
        return True

    def describe(self) -> str:
        return f"{self.queries:,} linear queries over {self.cells:,} cells"

    def __repr__(self) -> str:
        """With a digest of all numbers: a large matrix prints some of them only."""
        digest = hashlib.sha256(self.matrix.tobytes()).hexdigest()
        return f"Rows({self.queries} x {self.cells}, sha256 {digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.matrix.shape, self.matrix.tobytes()))
