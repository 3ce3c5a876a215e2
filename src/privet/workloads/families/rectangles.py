"""Tiles of a rectangle of cells, and blocks of tiles above them: two levels of counts and least squares over both."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.partition import Partition
from privet.workloads.workload import Workload

_LISTED = 2_000  # queries whose variances are added up one by one; more would take seconds


@final
@storable("workloads.rectangles")
@dataclass(frozen=True)
class Rectangles(Design):
    """Counts of tiles, each spread evenly over the cells of its tile; with `above`, counts of blocks of tiles as well.

    `lines` are the places where blocks end, (2, 4) for rows or columns 0 and 1, 2 and 3, along each side. `cuts` has a
    pair for each block, row by row: into how many stripes its rows and its columns are cut. Where stripes cross is a tile.
    `above` is the weight of the blocks, where tiles weigh 1 (`Design`). A line of cells is a rectangle with one row.

    >>> halves = Rectangles(((2,), (2, 4)), ((1, 1), (2, 2)))
    >>> halves.measure(np.array([[1, 2, 3, 4], [5, 6, 7, 8]])).tolist()
    [14, 3, 4, 7, 8]
    """

    lines: tuple[tuple[int, ...], tuple[int, ...]]
    cuts: tuple[tuple[int, int], ...]
    above: Fraction | None = None

    def __post_init__(self) -> None:
        if len(self.cuts) != len(self.lines[0]) * len(self.lines[1]):
            raise InvalidParameter("cuts must be pairs, one for each block")
        for side, lines in enumerate(self.lines):
            if not lines or any(low >= high for low, high in pairwise((0, *lines))):
                raise InvalidParameter("lines must grow, from at least 1 to the number of cells of a side")
            widths = np.diff(lines, prepend=0)
            stripes = np.array(self.cuts).reshape(len(self.lines[0]), -1, 2)[:, :, side]
            if np.any(stripes < 1) or np.any(stripes > (widths[:, None] if side == 0 else widths)):
                raise InvalidParameter("a block can be cut into as many stripes as it has rows or columns of cells")

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"above": self.above, "cuts": np.array(self.cuts), "down": self.lines[0], "across": self.lines[1]}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Rectangles":
        """Back from `to_arrays`."""
        down, across = (tuple(int(end) for end in arrays[name]) for name in ("down", "across"))
        return cls((down, across), tuple((int(a), int(b)) for a, b in arrays["cuts"]), arrays["above"])

    @property
    def biased(self) -> bool:
        return True

    @property
    def cells(self) -> int:
        return self.lines[0][-1] * self.lines[1][-1]

    @kept_property
    def _tiles(self) -> Array:
        """The number of tiles of each block."""
        return np.prod(np.array(self.cuts, dtype=np.int64), axis=1)

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        fine = (int(self._tiles.sum()), Fraction(1))
        return (fine,) if self.above is None else ((len(self.cuts), self.above), fine)

    @kept_property
    def _labels(self) -> Array:
        """The number of the tile of each cell, row by row."""
        labels = np.empty((self.lines[0][-1], self.lines[1][-1]), dtype=np.int64)
        first, cuts = 0, iter(self.cuts)
        for top, bottom in pairwise((0, *self.lines[0])):
            for left, right in pairwise((0, *self.lines[1])):
                down, across = next(cuts)
                rows = np.arange(bottom - top) * down // (bottom - top)
                columns = np.arange(right - left) * across // (right - left)
                labels[top:bottom, left:right] = first + rows[:, None] * across + columns
                first += down * across
        return labels.reshape(-1)

    @kept_property
    def _sorted(self) -> tuple[Array, Array, Array]:
        """Cells in the order of tiles, where each tile begins, and how many cells it has."""
        order = np.argsort(self._labels, kind="stable")
        sizes = np.bincount(self._labels)
        return order, np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes

    def _tile_sums(self, cells: Array) -> Array:
        """The sum over the cells of each tile."""
        order, starts, _ = self._sorted
        return np.asarray(np.add.reduceat(np.asarray(cells).reshape(-1)[order], starts))

    def _block_sums(self, tiles: Array) -> Array:
        """The sum over the tiles of each block."""
        return np.asarray(np.add.reduceat(tiles, np.concatenate(([0], np.cumsum(self._tiles)[:-1]))))

    def _trust(self) -> Array:
        """The share of (count of a block - sum of its t tiles) by which each tile is moved, in least squares.

        With noise of variance 1 the sum has variance t and the count 1/above^2; the count is believed by t against that,
        t/(t + 1/above^2), and the t tiles share the move.
        """
        assert self.above is not None
        own = float(self.above) ** 2 * self._tiles
        return np.asarray(own / (own + 1.0) / self._tiles)

    def measure(self, histogram: Array) -> Array:
        tiles = self._tile_sums(histogram)
        return tiles if self.above is None else np.concatenate((self._block_sums(tiles), tiles))

    def reconstruct(self, measured: Array) -> Array:
        """The cells by least squares: all tiles of a block move by the same amount, towards the count of the block."""
        tiles = np.asarray(measured, dtype=np.float64)[len(measured) - int(self._tiles.sum()) :]
        if self.above is not None:
            missing = np.asarray(measured[: len(self.cuts)]) - self._block_sums(tiles)
            tiles = tiles + np.repeat(missing * self._trust(), self._tiles)
        return np.asarray((tiles / self._sorted[2])[self._labels])

    def coefficients(self, query: Array) -> Array:
        tiles = self._tile_sums(np.asarray(query, dtype=np.float64)) / self._sorted[2]
        if self.above is None:
            return tiles
        blocks = self._block_sums(tiles) * self._trust()
        return np.concatenate((blocks, tiles - np.repeat(blocks, self._tiles)))

    def trace(self, workload: Workload) -> float:
        """The summed variance: of tiles on a line by a formula, else query by query where these are few, else by the Gram
        matrix where that is small; refused beyond."""
        if len(workload.shape) == 1 and self.above is None:
            return float(workload.bucket_energy(Partition(tuple(np.cumsum(self._sorted[2]).tolist())), 1))
        if workload.queries <= _LISTED:
            return sum(self.variance(workload.query(i)) for i in range(workload.queries))
        if not workload.has_gram:
            raise InvalidParameter(
                f"the error of tiles is summed up for at most {_LISTED:,} queries, or over domains of about 3,000 cells"
            )
        rows = np.stack([self.reconstruct(row) for row in np.eye(self.measurements)], axis=1) / self._row_weights()
        return float(np.sum(rows * (workload.gram() @ rows)))

    def _longest(self, norm: NoiseNorm) -> Fraction:
        """The same for every cell: it counts in one tile, and with `above` in one block."""
        weights = [weight for _, weight in self.groups]
        return sum((weight if norm == "l1" else weight**2 for weight in weights), Fraction(0))

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """That of two cells which share no count: of different blocks where there are several, else of different tiles."""
        apart = [weight for size, weight in self.groups if size > 1]
        return 2 * sum((weight if norm == "l1" else weight**2 for weight in apart), Fraction(0))

    @property
    def _widest(self) -> int:
        """The cells of the largest tile; with `above` those of a block as high and as wide as any, a bound."""
        if self.above is None:
            return int(np.max(self._sorted[2]))
        widths = [max(high - low for low, high in pairwise((0, *lines))) for lines in self.lines]
        return widths[0] * widths[1]
