"""Designs whose rows are written out: at most ten million whole numbers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.workload import DENSE, Workload

_EXACT = 2.0**53  # doubles count exactly up to here


@final
@storable("workloads.dense")
@dataclass(frozen=True, eq=False)
class Dense(Design):
    """A matrix of whole numbers, one row a measurement, all of one weight.

    Rows that do not determine a query are seen: the fit is then that of least length, and `uncovered` names the query.

    >>> design = Dense(np.array([[1, 1], [0, 1]]))
    >>> design.reconstruct(np.array([3.0, 2.0])).round(12).tolist()
    [1.0, 2.0]
    """

    rows: Array
    weight: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        rows: Any = self.rows
        if rows.ndim != 2 or rows.size > DENSE or rows.dtype.kind != "i":
            raise InvalidParameter(f"rows must be a matrix of at most {DENSE:,} whole numbers")
        if float(np.max(np.sum(rows.astype(float) ** 2, axis=0))) * 4.0 >= _EXACT:
            raise InvalidParameter("rows must hold smaller numbers: squares of columns are summed exactly in doubles")
        rows.setflags(write=False)

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"rows": self.rows, "weight": self.weight}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Dense":
        """Back from `to_arrays`."""
        return cls(np.array(arrays["rows"]), arrays["weight"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dense) and self.weight == other.weight and np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.weight))

    @classmethod
    def rounded(cls, matrix: Array, bits: int = 22) -> "Dense":
        """A matrix of real numbers of size about 1 in steps of 2^-bits; its sensitivity is that of the rounded numbers."""
        return cls(np.rint(np.ldexp(matrix, bits)).astype(np.int64), Fraction(1, 2**bits))

    @property
    def cells(self) -> int:
        return int(self.rows.shape[1])

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        return ((int(self.rows.shape[0]), self.weight),)

    def measure(self, histogram: Array) -> Array:
        flat = np.asarray(histogram).reshape(-1)
        if flat.dtype.kind == "f":
            return np.asarray(self.rows @ flat)
        return np.asarray(self.rows @ flat.astype(np.int64))

    @kept_property
    def _inverse(self) -> Array:
        rows = self.rows.astype(float)
        if rows.shape[0] >= rows.shape[1]:
            q, r = np.linalg.qr(rows)
            size = np.abs(np.diag(r))
            if size.min() > 1e-10 * size.max():  # every cell is determined
                return np.linalg.solve(r, q.T)
        return np.linalg.pinv(rows)

    def reconstruct(self, measured: Array) -> Array:
        return np.asarray(self._inverse @ measured)

    def coefficients(self, query: Array) -> Array:
        return np.asarray(np.asarray(query).reshape(-1) @ self._inverse)

    @kept_property
    def _kept(self) -> Array:
        """The projection on what the rows determine."""
        return np.asarray(self._inverse @ self.rows)

    @kept_property
    def complete(self) -> bool:
        return bool(np.allclose(self._kept, np.eye(self.cells), atol=1e-7))

    def determines(self, query: Array) -> bool:
        flat = np.asarray(query, dtype=float).reshape(-1)
        return self.complete or bool(np.max(np.abs(flat @ self._kept - flat)) <= 1e-9 * max(1.0, np.max(np.abs(flat))))

    def trace(self, workload: Workload) -> float:
        spread = self._inverse / float(self.weight)
        return float(np.sum((workload.gram() @ spread) * spread))

    @kept_property
    def _columns(self) -> Array:
        return np.ascontiguousarray(self.rows.T.astype(float))

    def _longest(self, norm: NoiseNorm) -> Fraction:
        columns = self._columns
        most = np.max(np.sum(np.abs(columns) if norm == "l1" else columns * columns, axis=1))
        return Fraction(float(most)) * (self.weight if norm == "l1" else self.weight**2)

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """Over all pairs; sums of whole numbers below 2^53 are exact in doubles."""
        if self.cells == 1:
            return Fraction(0)
        columns, most = self._columns, 0.0
        if norm == "l2":
            square = np.sum(columns * columns, axis=1)
            most = float(np.max(square[:, None] + square - 2.0 * (columns @ columns.T)))
            return Fraction(most) * self.weight**2
        for place in range(self.cells - 1):
            most = max(most, float(np.max(np.abs(columns[place + 1 :] - columns[place]).sum(axis=1))))
        return Fraction(most) * self.weight

    @property
    def _widest(self) -> int:
        return int(np.max(np.sum(np.abs(self._columns), axis=0)))


def dense_trace(matrix: Array, workload: Workload) -> float:
    """tr(V G^-1) by dense linear algebra, for a matrix of full column rank.

    >>> from privet.workloads import Prefix
    >>> dense_trace(np.eye(4), Prefix(4))
    10.0
    """
    return float(np.trace(np.linalg.solve(matrix.T @ matrix, workload.gram())))
