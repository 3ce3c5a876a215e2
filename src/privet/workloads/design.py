"""The abstract design: what a strategy measures on one domain, exactly, and how cells are rebuilt from it."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, root_up
from privet._validate import instance
from privet.mechanisms import Sensitivity, Source, row_sensitivity
from privet.privacy import Unit
from privet.workloads.workload import Workload

NoiseNorm = Literal["l1", "l2"]
_LARGEST = 2**61  # no measurement lies beyond: cells are cut first, which moves no two of them apart


class Design(ABC):
    """Whole-number combinations of the cells, in groups of one weight each.

    Measurement i of a histogram x is m_i x for a row m_i of whole numbers: exact. A group of weight w gets noise of
    1/w times the common scale, so that the strategy matrix A of the papers has the rows w m_i. G = A'A.

    **Sensitivity:** of A, for the neighbouring relation at hand (`sensitivity`), from exact numbers.
    **Error:** an answer q x has variance q' G^-1 q at noise of variance 1 (`variance`), before anything is paid.

    >>> from privet.workloads import Hierarchical, Prefix
    >>> design = Hierarchical(branching=2, weights="uniform", root=True).design(Prefix(4), "l1")
    >>> design.measure(np.array([1, 2, 5, 1])).tolist()
    [1, 2, 5, 1, 3, 6, 9]
    """

    @property
    @abstractmethod
    def cells(self) -> int:
        """The cells of the domain."""

    @property
    @abstractmethod
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        """The number of measurements in each group, and its weight."""

    @abstractmethod
    def measure(self, histogram: Array) -> Array:
        """The measurements of whole numbers, group after group, exactly; of real numbers, in doubles."""

    @abstractmethod
    def reconstruct(self, measured: Array) -> Array:
        """The cells that fit the measurements best: unbiased, and without noise the cells themselves."""

    @abstractmethod
    def coefficients(self, query: Array) -> Array:
        """The weights of measurements in an answer that is rebuilt from the cells: answer = coefficients .
        measurements."""

    @abstractmethod
    def trace(self, workload: Workload) -> float:
        """tr(V G^-1): the sum of the variances of all queries at noise of variance 1, or a bound on it."""

    @abstractmethod
    def _longest(self, norm: NoiseNorm) -> Fraction:
        """The largest l1 norm of a column of A, or the largest square of its l2 norm."""

    @abstractmethod
    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """The same for the difference of two columns; 0 where there is one cell."""

    @property
    @abstractmethod
    def _widest(self) -> int:
        """The largest sum of |m_i| over a row, or a bound on it."""

    @final
    def sensitivity(self, norm: NoiseNorm, unit: Unit | None = None, *, max_rows: int = 1) -> Sensitivity:
        """The distance by which the weighted measurements move between neighbours, exactly (an l2 norm rounded up).

        Add/remove: the longest column. Replace: the farthest pair of columns, or the longest column where that is more,
        since a row may lie outside the domain, or in a cell that is cut or missing. Several rows of a person may all lie
        in one cell: `max_rows` times that.

        >>> from privet.workloads import Cells, Prefix
        >>> design = Cells().design(Prefix(4), "l1")
        >>> float(design.sensitivity("l1")), float(design.sensitivity("l1", Unit("replace")))
        (1.0, 2.0)
        """
        neighbours = Unit() if unit is None else instance("unit", unit, Unit)
        reach = self._longest(norm)
        if neighbours.relation == "replace":
            reach = max(self._farthest(norm), reach)
        return row_sensitivity(
            reach if norm == "l1" else Fraction(root_up(reach)), norm=norm, unit=neighbours, max_rows=max_rows
        )

    @property
    @final
    def measurements(self) -> int:
        """The number of measurements."""
        return sum(size for size, _ in self.groups)

    @kept_property
    def most(self) -> int:
        """Cells are cut at this size before they are measured, so that no measurement overflows."""
        return _LARGEST // max(1, self._widest)

    @final
    def variance(self, query: Array) -> float:
        """q' G^-1 q: the variance of one answer at noise of variance 1."""
        return float(np.sum((self.coefficients(query) / self._row_weights()) ** 2))

    @final
    def _row_weights(self) -> Array:
        return np.repeat([float(weight) for _, weight in self.groups], [size for size, _ in self.groups])

    @property
    def biased(self) -> bool:
        """True if answers are off even without noise, as where cells are guessed: intervals then cover the
        noise only."""
        return False

    @property
    def complete(self) -> bool:
        """True if the measurements determine every cell, and with them every query."""
        return True

    def determines(self, query: Array) -> bool:
        """True if the measurements determine this query."""
        return self.complete

    def uncovered(self, workload: Workload) -> int | None:
        """The number of the first query that the measurements do not determine; None where they determine all."""
        if self.complete:
            return None
        return next((i for i in range(workload.queries) if not self.determines(workload.query(i))), None)


def whole_noise(norm: NoiseNorm, scale: Fraction, size: int | tuple[int, int], source: Source) -> Array:
    """Noise in whole numbers: discrete Laplace for "l1", a rounded Gaussian for "l2".

    >>> whole_noise("l2", Fraction(3), (2, 5), None).shape
    (2, 5)
    """
    if norm == "l1":
        return np.asarray(noise.discrete_laplace(scale=scale, size=size, source=source))
    return np.asarray(noise.rounded_gaussian(sigma=scale, size=size, source=source))


def whole_weight(weight: Any) -> Fraction:
    """A weight as a multiple of 2^-20, at least one of them: what is measured is what was priced.

    >>> whole_weight(0.5)
    Fraction(1, 2)
    """
    return Fraction(max(1, round(float(weight) * 2**20)), 2**20)
