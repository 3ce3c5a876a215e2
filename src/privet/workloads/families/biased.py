"""Designs that leave part of the histogram unmeasured and put a public guess in its place."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.bucketed import Bucketed, spread
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.workload import Workload


@final
@storable("workloads.biased")
@dataclass(frozen=True)
class Biased(Design):
    """A design that answers everything, and some of it wrongly even without noise: error bars cover the noise alone.

    With `ends`, `inner` measures buckets of cells that end there, and the count of a bucket is spread evenly over its
    cells. Without, `inner` measures the cells, and what it does not determine counts as 0.

    >>> from privet.workloads import Cells, Points
    >>> halves = Biased(Cells().design(Points(2), "l1"), (1, 4))
    >>> halves.reconstruct(halves.measure(np.array([5, 1, 2, 3]))).tolist()
    [5.0, 2.0, 2.0, 2.0]
    """

    inner: Design
    ends: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.ends is not None and len(self.ends) != self.inner.cells:
            raise InvalidParameter("the inner design must have one cell for each bucket")

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"ends": None if self.ends is None else np.array(self.ends), "inner": self.inner}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Biased":
        """Back from `to_arrays`."""
        ends = arrays["ends"]
        return cls(arrays["inner"], None if ends is None else tuple(int(end) for end in ends))

    @property
    def biased(self) -> bool:
        return True

    @property
    def cells(self) -> int:
        return self.inner.cells if self.ends is None else self.ends[-1]

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        return self.inner.groups

    def _sums(self, cells: Array) -> Array:
        """One number for each bucket."""
        flat = np.asarray(cells).reshape(-1)
        return flat if self.ends is None else np.add.reduceat(flat, np.concatenate(([0], self.ends[:-1])).astype(int))

    def measure(self, histogram: Array) -> Array:
        return self.inner.measure(self._sums(histogram))

    def reconstruct(self, measured: Array) -> Array:
        found = self.inner.reconstruct(measured)
        return found if self.ends is None else spread(found, self.ends)

    def coefficients(self, query: Array) -> Array:
        if self.ends is None:
            return self.inner.coefficients(query)
        return self.inner.coefficients(self._sums(query) / np.diff(self.ends, prepend=0))

    def trace(self, workload: Workload) -> float:
        return self.inner.trace(workload if self.ends is None else Bucketed(workload, self.ends))

    def _longest(self, norm: NoiseNorm) -> Fraction:
        return self.inner._longest(norm)

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """Two cells of one bucket have equal columns, two of different buckets those of their buckets."""
        return self.inner._farthest(norm)

    @property
    def _widest(self) -> int:
        widths = [1] if self.ends is None else np.diff(self.ends, prepend=0)
        return self.inner._widest * int(np.max(widths))
