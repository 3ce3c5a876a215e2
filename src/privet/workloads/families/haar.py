"""Haar wavelets of whole numbers: differences of the halves of nested blocks, and the total."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.spectral import energies
from privet.workloads.workload import Workload


@final
@storable("workloads.haar")
@dataclass(frozen=True)
class Haar(Design):
    """For widths 2, 4, ..., K: first half minus second half of every block; then the total. K is the next power of two.

    A domain that is no power of two is filled up with empty cells, which nobody's rows can reach. The rows of the strategy
    are orthogonal, with entries 1 and -1 on their block and 0 elsewhere: the square of a row's length is its width.

    >>> Haar(4, (Fraction(1),) * 3).measure(np.array([1, 2, 5, 1])).tolist()
    [-1, 4, -3, 9]
    """

    domain: int
    weights: tuple[Fraction, ...]  # of the widths 2, 4, ..., K, and of the total

    def __post_init__(self) -> None:
        if len(self.weights) != self._levels + 1 or min(self.weights) <= 0:
            raise InvalidParameter("weights must be positive numbers, one for each width and one for the total")

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"domain": self.domain, "weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Haar":
        """Back from `to_arrays`."""
        return cls(arrays["domain"], tuple(arrays["weights"]))

    @property
    def _levels(self) -> int:
        """The number of widths: K = 2^levels."""
        return (self.domain - 1).bit_length()

    @property
    def cells(self) -> int:
        return self.domain

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        blocks = [2 ** (self._levels - level) for level in range(1, self._levels + 1)]  # K/2, K/4, ..., 1
        return tuple(zip([*blocks, 1], self.weights, strict=True))

    def measure(self, histogram: Array) -> Array:
        flat = np.asarray(histogram).reshape(-1)
        sums = np.zeros(2**self._levels, dtype=flat.dtype)
        sums[: self.domain] = flat
        found = []
        for _ in range(self._levels):  # `sums` are those of the blocks of half the width
            halves = sums.reshape(-1, 2)
            found.append(halves[:, 0] - halves[:, 1])
            sums = halves.sum(axis=1)
        return np.concatenate([*found, sums])

    def reconstruct(self, measured: Array) -> Array:
        parts = np.split(np.asarray(measured, dtype=np.float64), np.cumsum([size for size, _ in self.groups])[:-1])
        sums = parts[-1]
        for difference in reversed(parts[:-1]):  # from the total down: sum and difference of two halves give the halves
            sums = np.stack(((sums + difference) / 2.0, (sums - difference) / 2.0), axis=1).reshape(-1)
        return np.asarray(sums[: self.domain])

    def coefficients(self, query: Array) -> Array:
        # Rows are orthogonal, so that the part of a row in a query is (row . query)/(row . row); row . row is the width.
        widths = np.array([2.0**level for level in range(1, self._levels + 1)] + [2.0**self._levels])
        return self.measure(np.asarray(query, dtype=float)) / np.repeat(widths, [size for size, _ in self.groups])

    def trace(self, workload: Workload) -> float:
        """Exact: rows are orthogonal, so that every eigenvalue of G is the squared weight of a level times its width."""
        widths = tuple(2**level for level in range(self._levels + 1))
        # What blocks of width b show of the queries and blocks of width 2b do not is in the differences of width 2b.
        of_rows = (*widths[1:], widths[-1])
        eigenvalues = [float(weight) ** 2 * width for weight, width in zip(self.weights, of_rows, strict=True)]
        return float(np.sum(energies(workload, widths) / np.array(eigenvalues)))

    def _longest(self, norm: NoiseNorm) -> Fraction:
        """Every cell lies in one block of each width and in the total: all columns are equally long."""
        return sum((weight if norm == "l1" else weight**2 for weight in self.weights), Fraction(0))

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """The largest over the width of the smallest block that holds both cells. They lie in different halves of it, so
        that its measurement differs by 2; smaller blocks hold one of the two each, and larger ones do not tell them apart.
        """
        found = [Fraction(0)]
        below = Fraction(0)
        for weight in self.weights[:-1]:
            found.append((2 * weight if norm == "l1" else 4 * weight**2) + 2 * below)
            below += weight if norm == "l1" else weight**2
        return max(found)

    @property
    def _widest(self) -> int:
        return self.domain
