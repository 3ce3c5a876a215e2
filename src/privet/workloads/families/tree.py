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

_DENSE = 1_024  # cells up to which `trace` is exact even if last blocks are short; beyond, a bound: the work is cubic


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
        """The cells by weighted least squares, exactly, in one pass up the tree and one down.

        Up: a block is estimated from its own subtree, that is from its measurement and the sum of its children's estimates.
        Down: what a block's final estimate has more than that sum is shared among its children by their variances.
        All blocks of a level have the same variance but the last one, which may be short: variances come in pairs.
        """
        own = np.split(np.asarray(measured, dtype=np.float64), np.cumsum([size for size, _ in self.groups])[:-1])
        own_variance = [1.0 / float(weight) ** 2 for weight in self.weights]
        estimates, variances = [own[0].copy()], [(own_variance[0], own_variance[0])]
        sums: list[Array] = []  # of the children's estimates, in the blocks of each level above the cells
        sum_variances: list[tuple[float, float]] = []
        for level in range(1, len(self.widths)):
            children = self.widths[level] // self.widths[level - 1]
            whole, last = variances[-1]
            total = _block_sums(estimates[-1], children)
            in_last = len(estimates[-1]) - (len(total) - 1) * children
            of_whole, of_last = children * whole, (in_last - 1) * whole + last
            sums.append(total)
            sum_variances.append((of_whole, of_last))
            noise = own_variance[level]
            whole, last = 1.0 / (1.0 / noise + 1.0 / of_whole), 1.0 / (1.0 / noise + 1.0 / of_last)
            best = own[level] * (whole / noise) + total * (whole / of_whole)
            best[-1] = own[level][-1] * (last / noise) + total[-1] * (last / of_last)
            estimates.append(best)
            variances.append((whole, last))
        for level in range(len(self.widths) - 1, 0, -1):
            children = self.widths[level] // self.widths[level - 1]
            (whole, last), (of_whole, of_last) = variances[level - 1], sum_variances[level - 1]
            missing = estimates[level] - sums[level - 1]
            share = missing * (whole / of_whole)
            share[-1] = missing[-1] * (whole / of_last)
            _add_to_children(estimates[level - 1], share, children, float(missing[-1]) * (last / of_last))
        return estimates[0]

    def _solved(self, query: Array) -> Array:
        """G^-1 q: the fit x solves G x = sum of w^2 m' y over measurements y, and that sum is q where the cells measure
        q / w_0^2 and all blocks above them 0."""
        cells = np.asarray(query, dtype=np.float64).reshape(-1) / float(self.weights[0]) ** 2
        return self.reconstruct(np.concatenate((cells, np.zeros(self.measurements - self.domain))))

    def coefficients(self, query: Array) -> Array:
        return self.measure(self._solved(query)) * self._row_weights() ** 2

    def trace(self, workload: Workload) -> float:
        """tr(V G^-1), exactly for complete trees, and for ragged ones of at most 1,024 cells.

        For larger ragged trees a bound: the trace of the same tree filled up with empty cells. To know that cells are empty
        makes the fit better, never worse.
        """
        if self.domain % self.widths[-1] and self.domain <= _DENSE and workload.has_gram:
            return dense_trace(self._matrix(), workload)
        squares = np.array([float(weight) ** 2 for weight in self.weights])
        return tree_trace(energies(workload, self.widths), self.widths, squares)

    def _matrix(self) -> Array:
        rows = np.stack([self.measure(cell) for cell in np.eye(self.domain)], axis=1)
        return np.asarray(rows * self._row_weights()[:, None])

    def _longest(self, norm: NoiseNorm) -> Fraction:  # a cell lies in one block of each level
        return sum((weight if norm == "l1" else weight**2 for weight in self.weights), Fraction(0))

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """The distance of two cells that share no block, but where a level has a single one: such levels cancel."""
        apart = [w for w, (size, _) in zip(self.weights, self.groups, strict=True) if size > 1]
        return 2 * sum((weight if norm == "l1" else weight**2 for weight in apart), Fraction(0))

    @property
    def _widest(self) -> int:
        return min(self.widths[-1], self.domain)


def _block_sums(cells: Array, children: int) -> Array:
    """The sums of so many consecutive cells each; the last may be of fewer."""
    whole = len(cells) // children * children
    sums = cells[:whole].reshape(-1, children).sum(axis=1)
    return sums if whole == len(cells) else np.append(sums, cells[whole:].sum())


def _add_to_children(cells: Array, share: Array, children: int, last_share: float) -> None:
    """The cells, in place, with the share of their block added; the very last cell has a share of its own."""
    whole = len(cells) // children * children
    last = cells[-1] + last_share
    cells[:whole].reshape(-1, children)[:] += share[: whole // children, None]
    cells[whole:] += share[-1]
    cells[-1] = last
