"""Nested blocks of cells, each level with a weight of its own, and least squares over them in one pass up and one down."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import dense_trace
from privet.workloads.families.spectral import energies, tree_trace
from privet.workloads.workload import Workload

_DENSE = 1_024  # domains whose last blocks are short are priced exactly up to this size, by a bound beyond


@final
@storable("workloads.tree")
@dataclass(frozen=True)
class Tree(Design):
    """The sums of consecutive cells in blocks of each width; a width divides the next one, the last block may be short.

    The cells themselves are the first level. Widths that are not listed are not measured.

    >>> Tree(5, (1, 2, 4), (Fraction(1),) * 3).measure(np.array([1, 2, 3, 4, 5])).tolist()
    [1, 2, 3, 4, 5, 3, 7, 5, 10, 5]
    """

    domain: int
    widths: tuple[int, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        pairs = zip(self.widths, self.widths[1:], strict=False)
        if self.widths[0] != 1 or any(high % low or high <= low for low, high in pairs):
            raise InvalidParameter("widths must begin with 1, and each must be a multiple of the one before")
        if len(self.weights) != len(self.widths) or min(self.weights) <= 0:
            raise InvalidParameter(
                "weights must be positive numbers, one for each width; leave a width out instead of 0"
            )

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"domain": self.domain, "weights": self.weights, "widths": self.widths}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Tree":
        """Back from `to_arrays`."""
        return cls(arrays["domain"], tuple(arrays["widths"]), tuple(arrays["weights"]))

    @property
    def cells(self) -> int:
        return self.domain

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        return tuple((self._blocks(width), weight) for width, weight in zip(self.widths, self.weights, strict=True))

    def _blocks(self, width: int) -> int:
        return -(-self.domain // width)

    def measure(self, histogram: Array) -> Array:
        levels = [np.asarray(histogram).reshape(-1)]
        for narrow, wide in zip(self.widths, self.widths[1:], strict=False):
            levels.append(_block_sums(levels[-1], wide // narrow))
        return np.concatenate(levels)

    def reconstruct(self, measured: Array) -> Array:
        """Exact weighted least squares: each block's sum from what lies below it, then from above what is still open."""
        own = np.split(np.asarray(measured, dtype=np.float64), np.cumsum([size for size, _ in self.groups])[:-1])
        spread = [1.0 / float(weight) ** 2 for weight in self.weights]
        below = [own[0].copy()]  # the best estimate of each block from its own subtree
        full, last = [spread[0]], [spread[0]]  # their variances: of whole blocks, and of the last one
        sums: list[Array] = []  # what the children of each block say together, and how sure they are
        sure: list[tuple[float, float]] = []
        for level in range(1, len(self.widths)):
            children = self.widths[level] // self.widths[level - 1]
            total = _block_sums(below[-1], children)
            some = len(below[-1]) - (len(total) - 1) * children
            apart = children * full[-1], (some - 1) * full[-1] + last[-1]
            apart = apart if len(total) > 1 or some < children else (apart[1], apart[1])
            full.append(1.0 / (1.0 / spread[level] + 1.0 / apart[0]))
            last.append(1.0 / (1.0 / spread[level] + 1.0 / apart[1]))
            best = own[level] * (full[-1] / spread[level]) + total * (full[-1] / apart[0])
            best[-1] = own[level][-1] * (last[-1] / spread[level]) + total[-1] * (last[-1] / apart[1])
            below.append(best)
            sums.append(total)
            sure.append(apart)
        for level in range(len(self.widths) - 1, 0, -1):
            children = self.widths[level] // self.widths[level - 1]
            open_ = below[level] - sums[level - 1]
            share = open_ * (full[level - 1] / sure[level - 1][0])
            share[-1] = open_[-1] * (full[level - 1] / sure[level - 1][1])
            end = float(open_[-1]) * (last[level - 1] / sure[level - 1][1])
            _spread_over(below[level - 1], share, children, end)
        return below[0]

    def _solved(self, query: Array) -> Array:
        """G^-1 q: what least squares makes of cells q / w_0^2 and zeros above them."""
        cells = np.asarray(query, dtype=np.float64).reshape(-1) / float(self.weights[0]) ** 2
        return self.reconstruct(np.concatenate((cells, np.zeros(self.measurements - self.domain))))

    def coefficients(self, query: Array) -> Array:
        return self.measure(self._solved(query)) * self._row_weights() ** 2

    def trace(self, workload: Workload) -> float:
        """Exact for complete trees, and for ragged ones of at most 1,024 cells; beyond, that of the next complete tree,
        which is a bound: cells that are known to be empty make the fit better, never worse."""
        if self.domain % self.widths[-1] and self.domain <= _DENSE and workload.has_gram:
            return dense_trace(self._matrix(), workload)
        squares = np.array([float(weight) ** 2 for weight in self.weights])
        return tree_trace(energies(workload, self.widths), self.widths, squares)

    def _matrix(self) -> Array:
        rows = np.stack([self.measure(cell) for cell in np.eye(self.domain)], axis=1)
        return np.asarray(rows * self._row_weights()[:, None])

    def _longest(self, norm: NoiseNorm) -> Fraction:
        return sum((weight if norm == "l1" else weight**2 for weight in self.weights), Fraction(0))

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """Two cells that share no block where there is more than one: levels of a single block cancel."""
        apart = [w for w, (size, _) in zip(self.weights, self.groups, strict=True) if size > 1]
        return 2 * sum((weight if norm == "l1" else weight**2 for weight in apart), Fraction(0))

    @property
    def _widest(self) -> int:
        return min(self.widths[-1], self.domain)


def _block_sums(cells: Array, children: int) -> Array:
    whole = len(cells) // children * children
    sums = cells[:whole].reshape(-1, children).sum(axis=1)
    return sums if whole == len(cells) else np.append(sums, cells[whole:].sum())


def _spread_over(cells: Array, share: Array, children: int, end: float) -> None:
    """Give every child its share in place; the last child of all has a variance of its own."""
    whole = len(cells) // children * children
    last = cells[-1] + end
    cells[:whole].reshape(-1, children)[:] += share[: whole // children, None]
    cells[whole:] += share[-1]
    cells[-1] = last
