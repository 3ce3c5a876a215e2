"""The square root of the prefix sums as a power series: measured, inverted and priced without a matrix."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.all_ranges import AllRanges
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.convolution import exact_product, inverse_series, real_product
from privet.workloads.prefix import Prefix
from privet.workloads.workload import Workload

_FINE, _ROW = 9, 20  # bits of the least weight of a column, and of the largest of a row
_NEAR = 1e-11  # columns this near the longest are compared in exact numbers
_PIECE = 2**14  # columns that are looked at together: as many as a processor keeps at hand
_PAIRS = 64  # cells up to which the farthest pair of columns is looked for


@final
@storable("workloads.root_series")
@dataclass(frozen=True)
class RootSeries(Design):
    """Measurement i is the sum over j <= i of C_(i-j) D_j x_j: C in whole numbers as the coefficients of (1 - z)^(-1/2), D
    weights of the columns, the same within each block of cells; so are the weights of the measurements.

    `ends` are the ends of the blocks, `columns` their D, `rows` the weights of their measurements.

    >>> RootSeries(3, (3,), (1,), (Fraction(1),)).measure(np.array([1, 0, 0])).tolist()
    [8, 4, 3]
    """

    domain: int
    ends: tuple[int, ...]
    columns: tuple[int, ...]
    rows: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        grow = all(low < high for low, high in zip((0, *self.ends), self.ends, strict=False))
        if not grow or self.ends[-1] != self.domain or not len(self.ends) == len(self.columns) == len(self.rows):
            raise InvalidParameter("ends must grow up to the number of cells, with a column and a row weight each")
        if min(self.columns) < 1 or min(self.rows) <= 0:
            raise InvalidParameter("columns and rows must be positive")

    @classmethod
    def plain(cls, cells: int, taper: tuple[float, float]) -> "RootSeries":
        """Rows weighted by t^p (1 - t)^q, t their place between 0 and 1."""
        ends = blocks(cells)
        starts = np.array((0, *ends[:-1]))
        middle = (starts + np.array(ends) + 1.0) / (2.0 * cells + 2.0)
        weights = middle ** taper[0] * (1.0 - middle) ** taper[1]
        scale = Fraction(1, 2 ** (_bits(cells) + _FINE))
        rows = tuple(Fraction(max(1, round(2**_ROW * w / weights.max())), 2**_ROW) * scale for w in weights.tolist())
        return cls(cells, ends, (2**_FINE,) * len(ends), rows)

    @classmethod
    def normalised(cls, cells: int, taper: tuple[float, float]) -> "RootSeries":
        """The same with columns divided by their lengths, up to the largest of each block."""
        made = cls.plain(cells, taper)
        longest = np.sqrt([float(np.max(part)) for part in made._squares()])
        whole = np.floor(2**_FINE * longest.max() / longest * (1.0 + 1e-12)).astype(int)
        return cls(cells, made.ends, tuple(whole.tolist()), made.rows)

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"columns": self.columns, "domain": self.domain, "ends": self.ends, "rows": self.rows}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "RootSeries":
        """Back from `to_arrays`."""
        return cls(arrays["domain"], tuple(arrays["ends"]), tuple(arrays["columns"]), tuple(arrays["rows"]))

    @property
    def cells(self) -> int:
        return self.domain

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        return tuple(zip(self._widths.tolist(), self.rows, strict=True))

    @kept_property
    def _widths(self) -> Array:
        return np.diff(np.array((0, *self.ends)))

    @kept_property
    def _series(self) -> Array:
        """C: never rises, and its last entry is about 2."""
        j = np.arange(1.0, self.domain)
        real = np.concatenate(([1.0], np.cumprod((2.0 * j - 1.0) / (2.0 * j))))
        return np.rint(np.ldexp(real, _bits(self.domain))).astype(np.int64)

    @kept_property
    def _inverse(self) -> Array:
        return inverse_series(self._series.astype(float), self.domain)

    def _spread(self) -> Array:
        return np.repeat(np.array(self.columns), self._widths)

    def measure(self, histogram: Array) -> Array:
        flat = np.asarray(histogram).reshape(-1)
        if flat.dtype.kind == "f":
            return real_product(self._series.astype(float), self._spread() * flat, self.domain)
        return exact_product(self._series, self._spread() * flat.astype(np.int64), max(self.columns) * self.most)

    def reconstruct(self, measured: Array) -> Array:
        found = real_product(self._inverse, np.asarray(measured, dtype=float), self.domain)
        return np.asarray(found / self._spread())

    def coefficients(self, query: Array) -> Array:
        back = (np.asarray(query, dtype=float).reshape(-1) / self._spread())[::-1]
        return real_product(self._inverse, back, self.domain)[::-1]

    def trace(self, workload: Workload) -> float:
        """Of prefix sums block by block; of all ranges from it, since the squares of all differences of n + 1 numbers
        that begin with a 0 are n + 1 times the sum of their squares, less the square of their sum; else by a matrix."""
        if isinstance(workload, Prefix):
            return self._prefix_trace
        if isinstance(workload, AllRanges):
            of_sum = self.variance(np.arange(self.domain, 0, -1.0))
            return (self.domain + 1.0) * self._prefix_trace - of_sum
        cells = workload._small()
        spread = np.stack([self.reconstruct(row) for row in np.eye(cells)]).T / self._row_weights()
        return float(np.sum((workload.gram() @ spread) * spread))

    @kept_property
    def _prefix_trace(self) -> float:
        """Prefix sum t holds h(t - i) / D + (what the blocks before t's own add, which depends on i alone) of the noise i,
        h the sums of the inverse series."""
        sums = np.cumsum(self._inverse)
        once, twice = (np.append(0.0, np.cumsum(part)) for part in (sums, sums * sums))
        share = 1.0 / np.array(self.columns)
        total = 0.0
        for own, (end, width) in enumerate(zip(self.ends, self._widths.tolist(), strict=True)):
            for first in range(end - width, end, _PIECE):
                last = min(first + _PIECE, end)
                held, before = np.zeros(last - first), first
                steps: Any = end - np.arange(first, last)  # prefix sums of the block that hold some of this noise
                found = np.zeros(last - first)
                for block in range(own, len(self.ends)):
                    stop = self.ends[block]
                    of_sums = _from(once, stop, first, last) - _from(once, before, first, last)
                    of_squares = _from(twice, stop, first, last) - _from(twice, before, first, last)
                    found += share[block] ** 2 * of_squares + held * (2.0 * share[block] * of_sums + held * steps)
                    if stop < self.domain:
                        held += (share[block] - share[block + 1]) * _from(sums, stop - 1, first, last)
                        steps = self.ends[block + 1] - stop
                    before = stop
                total += float(np.sum(found)) / float(self.rows[own]) ** 2
        return total

    def _squares(self) -> list[Array]:
        """The squares of the lengths of all columns, block by block, up to the rounding of doubles."""
        size = np.append(0.0, np.cumsum(self._series.astype(float) ** 2))
        squares, place = [float(row) ** 2 for row in self.rows], 0
        found = []
        for own, end in enumerate(self.ends):
            part = np.zeros(end - place)
            for block in range(own, len(self.ends)):
                before = self.ends[block] - self._widths[block]
                part += squares[block] * (_from(size, self.ends[block], place, end) - _from(size, before, place, end))
            found.append(part * self.columns[own] ** 2)
            place = end
        return found

    def _longest(self, norm: NoiseNorm) -> Fraction:
        """Candidates in doubles, the longest of them in exact numbers: sums of squares of C are whole, below 2^53."""
        if norm == "l1":
            raise InvalidParameter("the square root as a series is for Gaussian noise")
        guess = np.concatenate(self._squares())
        near = np.flatnonzero(guess >= (1.0 - _NEAR) * guess.max()).tolist()
        size = np.append(0, np.cumsum(self._series**2))
        place = np.searchsorted(np.array(self.ends), near, side="right")
        found = []
        for column, own in zip(near, place.tolist(), strict=True):
            until = [max(end - column, 0) for end in (0, *self.ends)]
            parts = [int(size[b]) - int(size[a]) for a, b in pairwise(until)]
            square = sum((row**2 * part for row, part in zip(self.rows, parts, strict=True)), Fraction(0))
            found.append(square * self.columns[own] ** 2)
        return max(found)

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """Over all pairs on few cells. Beyond, no entry is negative, so that no pair is farther apart than two columns
        that share nothing: more than the truth by less than 1%."""
        if self.domain == 1:
            return Fraction(0)
        if self.domain > _PAIRS:
            return 2 * self._longest(norm)
        weights = [int(row * 2 ** (_bits(self.domain) + _FINE + _ROW)) for row in self.rows]
        below = np.arange(self.domain)[:, None] - np.arange(self.domain)
        matrix = np.where(below >= 0, self._series[np.maximum(below, 0)], 0) * self._spread()
        matrix = (matrix * np.repeat(weights, self._widths)[:, None]).astype(object)
        gram = matrix.T @ matrix
        most = np.max(np.diag(gram)[:, None] + np.diag(gram) - 2 * gram)
        return Fraction(int(most), 4 ** (_bits(self.domain) + _FINE + _ROW))

    @property
    def _widest(self) -> int:
        sums = real_product(self._series.astype(float), self._spread().astype(float), self.domain)
        return math.ceil(float(sums.max()) * (1.0 + 1e-6))


def blocks(cells: int) -> tuple[int, ...]:
    """The ends of blocks that get narrower towards both ends of the domain: single cells there, where cells are few.

    >>> blocks(5)
    (1, 2, 3, 4, 5)
    """
    most, ratio = (128, 0.125) if cells <= 2**16 else (64, 0.25) if cells <= 2**20 else (32, 0.5)
    least, ends, end = max(1, cells // 2**12), list[int](), 0
    while end < cells:
        near = min(end, cells - end)  # the nearer end of the domain
        end = min(cells, end + max(least, min(math.floor(ratio * near), cells // most)))
        ends.append(end)
    return tuple(ends)


def _bits(cells: int) -> int:
    """Of the series: its rounding then adds less than a ten-thousandth to the error."""
    return math.ceil(math.log2(cells) / 2.0) + 2


def _from(sums: Array, place: int, first: int, last: int) -> Array:
    """sums[place - i] for i from `first` to `last`; sums[0] where that lies before it."""
    low, high = place - last + 1, place - first + 1
    found = sums[max(low, 0) : max(high, 0)][::-1]
    return found if low >= 0 else np.append(found, np.full(min(-low, last - first), sums[0]))
