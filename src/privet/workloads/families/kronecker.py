"""One design for each dimension, measured together: every combination of one row of each."""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from math import prod
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.mechanisms import storable
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import dense_trace
from privet.workloads.families.tree import Tree
from privet.workloads.product import Product
from privet.workloads.workload import Workload


@final
@storable("workloads.kronecker")
@dataclass(frozen=True)
class Grid(Design):
    """The product of designs over the sides of a rectangle; traces and add/remove sensitivities multiply.

    Replace sensitivities do not: of total and cells the factors are 0 and 2, the truth is 2.

    >>> ones = (Fraction(1), Fraction(1))
    >>> Grid((Tree(2, (1, 2), ones), Tree(2, (1, 2), ones))).measurements
    9
    """

    factors: tuple[Design, ...]

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"factors": self.factors}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Grid":
        """Back from `to_arrays`."""
        return cls(tuple(arrays["factors"]))

    @property
    def cells(self) -> int:
        return prod(each.cells for each in self.factors)

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        return tuple(
            (prod(size for size, _ in each), prod((weight for _, weight in each), start=Fraction(1)))
            for each in product(*(factor.groups for factor in self.factors))
        )

    def _slices(self) -> list[tuple[slice, ...]]:
        """Where the measurements of each group lie in the box of all combinations."""
        sides = []
        for factor in self.factors:
            ends = np.cumsum([0, *(size for size, _ in factor.groups)]).tolist()
            sides.append([slice(a, b) for a, b in pairwise(ends)])
        return list(product(*sides))

    def _flat(self, box: Array) -> Array:
        return np.concatenate([box[place].reshape(-1) for place in self._slices()])

    def _box(self, flat: Array) -> Array:
        box = np.empty([factor.measurements for factor in self.factors], dtype=np.asarray(flat).dtype)
        start = 0
        for place, (size, _) in zip(self._slices(), self.groups, strict=True):
            box[place] = flat[start : start + size].reshape(box[place].shape)
            start += size
        return box

    def measure(self, histogram: Array) -> Array:
        box = np.asarray(histogram).reshape([factor.cells for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            box = np.apply_along_axis(factor.measure, axis, box)
        return self._flat(box)

    def reconstruct(self, measured: Array) -> Array:
        box = self._box(np.asarray(measured, dtype=float))
        for axis, factor in enumerate(self.factors):
            box = np.apply_along_axis(factor.reconstruct, axis, box)
        return box.reshape(-1)

    def coefficients(self, query: Array) -> Array:
        box = np.asarray(query, dtype=float).reshape([factor.cells for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            box = np.apply_along_axis(factor.coefficients, axis, box)
        return self._flat(box)

    @property
    def complete(self) -> bool:
        return all(factor.complete for factor in self.factors)

    def determines(self, query: Array) -> bool:
        flat = np.asarray(query, dtype=float).reshape(-1)
        if self.complete:
            return True
        back = np.stack([self.coefficients(query) @ self.measure(cell) for cell in np.eye(self.cells)])
        return bool(np.max(np.abs(back - flat)) <= 1e-9 * max(1.0, float(np.max(np.abs(flat)))))

    def trace(self, workload: Workload) -> float:
        if isinstance(workload, Product) and len(workload.factors) == len(self.factors):
            return prod(f.trace(w) for f, w in zip(self.factors, workload.factors, strict=True))
        rows = np.stack([self.measure(cell) for cell in np.eye(self.cells)], axis=1)
        return dense_trace(rows * self._row_weights()[:, None], workload)

    def _longest(self, norm: NoiseNorm) -> Fraction:
        return reduce(lambda a, b: a * b, (factor._longest(norm) for factor in self.factors))

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """Exact for trees: all columns have one length c and share, pair by pair, at least m = c - (farthest)/2 of it, with
        equal entries; two columns of the product then share at least the product of the m. For other designs a bound:
        twice the longest column (four times its square).
        """
        longest = self._longest(norm)
        if self.cells == 1:
            return Fraction(0)
        if not all(isinstance(factor, Tree) for factor in self.factors):
            return longest * (2 if norm == "l1" else 4)
        shared = [factor._longest(norm) - factor._farthest(norm) / 2 for factor in self.factors]
        return 2 * (longest - reduce(lambda a, b: a * b, shared))

    @property
    def _widest(self) -> int:
        return prod(factor._widest for factor in self.factors)
