"""Nested squares: a tree of four children over the cells in the order of a Z-curve."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet.mechanisms import storable
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.tree import Tree
from privet.workloads.workload import Workload


@final
@storable("workloads.squares")
@dataclass(frozen=True)
class Squares(Design):
    """Squares of 1, 2 x 2, 4 x 4, ... cells. A rectangle is filled up with empty cells to a square of a power of two.

    >>> Squares((2, 2), (Fraction(1), Fraction(1))).measure(np.array([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4, 10]
    """

    shape: tuple[int, int]
    weights: tuple[Fraction, ...]  # of the sides 1, 2, 4, ...

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"shape": self.shape, "weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Squares":
        """Back from `to_arrays`."""
        return cls(tuple(arrays["shape"]), tuple(arrays["weights"]))

    @property
    def _side(self) -> int:
        return 2 ** (max(self.shape) - 1).bit_length()

    @kept_property
    def _tree(self) -> Tree:
        return Tree(self._side**2, tuple(4**j for j in range(len(self.weights))), self.weights)

    @kept_property
    def _curve(self) -> Array:
        """The place of each cell along the curve: the bits of row and column, in turn."""
        row, column = np.indices(self.shape)
        place = np.zeros(self.shape, dtype=np.int64)
        for bit in range(self._side.bit_length()):
            place |= ((row >> bit) & 1) << (2 * bit + 1) | ((column >> bit) & 1) << (2 * bit)
        return place.reshape(-1)

    @property
    def cells(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        return self._tree.groups

    def _along(self, cells: Array) -> Array:
        flat = np.asarray(cells).reshape(-1)
        line = np.zeros(self._side**2, dtype=flat.dtype)
        line[self._curve] = flat
        return line

    def measure(self, histogram: Array) -> Array:
        return self._tree.measure(self._along(histogram))

    def reconstruct(self, measured: Array) -> Array:
        return np.asarray(self._tree.reconstruct(measured)[self._curve])

    def coefficients(self, query: Array) -> Array:
        return self._tree.coefficients(self._along(query))

    def trace(self, workload: Workload) -> float:
        """By dense linear algebra over the filled square: domains of at most about 3,000 cells."""
        gram = workload.gram()
        rows = self._tree._matrix()
        inverse = np.linalg.inv(rows.T @ rows)
        return float(np.sum(gram * inverse[np.ix_(self._curve, self._curve)]))

    def _longest(self, norm: NoiseNorm) -> Fraction:
        return self._tree._longest(norm)

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        return Fraction(0) if self.cells == 1 else self._tree._farthest(norm)

    @property
    def _widest(self) -> int:
        return self.cells
