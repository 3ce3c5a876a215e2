"""An adaptive grid: coarse blocks are counted first, and what seems to hold many rows is cut finer."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import at_least, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Geometric, Source, row_sensitivity
from privet.noise import LARGEST_SCALE
from privet.privacy import PrivacyLoss
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy, Task
from privet.workloads.adaptive.foreseen_grid import grid_energy, hidden_error
from privet.workloads.adaptive.tiles import Tiles, flat_shape
from privet.workloads.answers import Answers
from privet.workloads.families.rectangles import Rectangles

Cuts = tuple[tuple[int, int], ...]
# Sizes of blocks and tiles were found by trials and differ from the rule of the paper (proof note, what is chosen without
# proof). They change the error, never the price.
_BLOCKS, _GROWTH = {1: 7.0, 2: 4.5}, 0.2  # along a side, where rows are 100 times the noise; they grow by this power
_LEAST = 0.1  # the least share of the price that each of the two levels gets
_MOST_BLOCKS = 64  # along a side, whatever the signal: time, and accuracy on very large data
_TILE = {1: 5.0, 2: 2.5}  # rows of a tile, in units of its noise, by the number of dimensions


@final
@dataclass(frozen=True, kw_only=True)
class AdaptiveGrid(AdaptiveStrategy):
    """Counts of a few even blocks (`first` of what is left of the budget), then of tiles inside them: the more rows a block
    seems to hold, the smaller its tiles. Least squares over both.

    How many blocks there are follows from the number of rows: `rows` is a public guess of it, or `share` of the budget
    measures it. For one or two dimensions. Wins over unbiased answers where epsilon times the rows is small against the
    number of cells, or where rows lie close together.

    **Guarantee:** a noisy total (without `rows`), noisy blocks, noisy tiles, composed.
    **Sensitivity:** a row lies in one block and in one tile, wherever these lie.
    **Error:** the noise with every answer; unevenness inside tiles comes on top.
    **Reference:** Qardaji, Yang & Li 2013 (differentially private grids); proof note workloads/adaptive_grid.

    >>> from privet.workloads import AllRanges, Product, RangeQueries
    >>> places = np.zeros((16, 16), dtype=int)
    >>> places[3:5, 7:9] = 50
    >>> asked = RangeQueries(workload=Product((AllRanges(16), AllRanges(16))))
    >>> found = asked.release(places, epsilon=50.0, strategy=AdaptiveGrid()).value
    >>> round(found.histogram[3:5, 7:9].sum() / 10)
    20
    """

    name = "adaptive_grid"

    rows: float | None = None
    share: float = 0.05
    first: float = 0.45

    def __post_init__(self) -> None:
        set_frozen(self, share=open_fraction("share", self.share), first=open_fraction("first", self.first))
        if not _LEAST <= self.first <= 1.0 - _LEAST:
            raise InvalidParameter(f"first must be between {_LEAST} and {1.0 - _LEAST}, got {self.first}")
        if self.rows is not None:
            set_frozen(self, rows=at_least("rows", self.rows, 0.0))

    def _check(self, task: Task) -> None:
        if len(task.workload.shape) > 2:
            raise InvalidParameter("a grid is for one or two dimensions")
        if not fits_grid(task, self._left(task)):
            raise InvalidParameter("the budget is too small for a grid: its noise would not fit whole numbers")

    def _prices(self, task: Task) -> tuple[PrivacyLoss, ...]:
        left = (self._left(task),)  # both levels together: parts of it add up in epsilon, or in the square of mu
        return left if self.rows is not None else (self._total(task).loss, *left)

    def _total(self, task: Task) -> Geometric:
        one = row_sensitivity(Fraction(1), norm="l1", unit=task.unit, max_rows=task.max_rows)
        return Geometric.for_budget(sensitivity=one, **task.share(self.share).keywords())

    def _left(self, task: Task) -> PrivacyLoss:
        """The price of both levels together."""
        return task.rest(1.0) if self.rows is not None else task.rest(1.0 - self.share, self._total(task).loss)

    def _halves(self, task: Task, price: PrivacyLoss) -> tuple[PrivacyLoss, PrivacyLoss]:
        """The prices of blocks and of tiles."""
        return task.part_of(price, self.first), task.part_of(price, 1.0 - self.first)

    def _run(self, task: Task, cells: Array, source: Source) -> Answers:
        rows = self.rows
        if rows is None:
            rows = max(0.0, float(self._total(task).release(int(cells.sum()), source=source).value))
        return two_levels(self, task, self._left(task), rows, cells, source)

    def _most(self, task: Task) -> int:
        return int(2**60 // task.workload.cells)

    def describe(self) -> str:
        return "adaptive grid" + ("" if self.rows is None else f" for about {self.rows:g} rows")


def two_levels(
    grid: AdaptiveGrid, task: Task, price: PrivacyLoss, rows: float, cells: Array, source: Source
) -> Answers:
    """Blocks for about this many rows, then tiles, at this price for both."""
    coarse, fine = grid._halves(task, price)
    lines, table = block_lines(task, price, rows), cells.reshape(task.workload.shape)
    blocks = task.measuring(coarse, Tiles(lines)).release(table, source=source).value
    cuts = tile_cuts(lines, blocks.measured, noise_of(task, fine))
    tiles = task.measuring(fine, Tiles(lines, cuts)).release(table, source=source).value
    both = Rectangles(lines, cuts, tiles.scale / blocks.scale)
    measured = np.concatenate((blocks.measured, tiles.measured))
    return Answers(both, tiles.kind, tiles.scale, measured, task.workload.shape)


def fits_grid(task: Task, price: PrivacyLoss) -> bool:
    """True if the noise of a tenth of this price, or of more, fits whole numbers."""
    return task.ratio(task.part_of(price, _LEAST)) * task.rows <= LARGEST_SCALE


def noise_of(task: Task, price: PrivacyLoss) -> float:
    """The noise of a count at this price, as the scale of a Laplace law of the same deviation."""
    if task.norm == "l1":
        return float(task.ratio(price)) * task.rows
    # A Laplace scale is sigma/sqrt 2. Under replace `task.rows` counts the row that goes and the row that comes, 2 of them,
    # and their distance is sqrt 2.
    return float(task.ratio(price)) * task.rows / (2.0 if task.unit.relation == "replace" else math.sqrt(2.0))


def block_lines(task: Task, price: PrivacyLoss, rows: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ends of blocks along each side, for about this many rows and this price of what is measured.

    >>> from privet.privacy import Guarantee
    >>> from privet.workloads import Prefix, Product
    >>> task = Task(Product((Prefix(12), Prefix(12))), Guarantee(1.0))
    >>> block_lines(task, task.rest(1.0), 50.0)
    ((3, 6, 9, 12), (3, 6, 9, 12))
    """
    signal = rows / noise_of(task, price)
    shape = flat_shape(task.workload)
    blocks = max(1, min(_MOST_BLOCKS, round(_BLOCKS[_dimensions(shape)] * (signal / 100.0) ** _GROWTH)))
    down, across = (tuple(side * (i + 1) // min(blocks, side) for i in range(min(blocks, side))) for side in shape)
    return down, across


def _dimensions(shape: tuple[int, ...]) -> int:
    """A rectangle with one row, or with one column, is a line."""
    return 2 if min(shape) > 1 else 1


def tile_cuts(lines: tuple[tuple[int, ...], tuple[int, ...]], counts: Array, scale: float) -> Cuts:
    """The stripes of each block along each side: about one tile for every 2.5 noise scales of rows (5 on a line).

    >>> tile_cuts(((8,), (8, 16)), np.array([90, 3]), 4.0)
    ((3, 3), (1, 1))
    """
    rows = _TILE[_dimensions((lines[0][-1], lines[1][-1]))] * scale
    down, across = (np.diff(each, prepend=0).tolist() for each in lines)
    sides = [(high, wide) for high in down for wide in across]
    return tuple(_stripes(max(0.0, float(n)) / rows, high, wide) for (high, wide), n in zip(sides, counts, strict=True))


def _stripes(tiles: float, high: int, wide: int) -> tuple[int, int]:
    """The pair whose product is the number of tiles or a little more: equal numbers unless a side has too few cells."""
    each = max(1, math.ceil(math.sqrt(min(tiles, high * wide))))
    down, across = min(each, high), min(each, wide)
    if down == high:
        across = min(wide, max(across, math.ceil(tiles / high)))
    elif across == wide:
        down = min(high, max(down, math.ceil(tiles / wide)))
    return down, across


def grid_error(task: Task, price: PrivacyLoss, rows: float) -> float:
    """A forecast of the root of the mean squared error of an adaptive grid for about this many rows, noise and bias.

    The noise is that of a grid whose blocks all hold the same number of rows. For the bias all rows lie in a tenth of the
    domain (a twentieth of a line), and a tile there is halved again and again into halves that differ by 0.9 of its count
    in root mean square.

    >>> from privet.privacy import Guarantee
    >>> from privet.workloads import AllRanges, Product
    >>> task = Task(Product((AllRanges(64), AllRanges(64))), Guarantee(0.1))
    >>> grid_error(task, task.rest(1.0), 1e3) < 100.0
    True
    """
    shape = flat_shape(task.workload)
    coarse, fine = (noise_of(task, each) for each in AdaptiveGrid()._halves(task, price))
    lines = block_lines(task, price, rows)
    blocks = len(lines[0]), len(lines[1])
    even = np.full(blocks[0] * blocks[1], rows / (blocks[0] * blocks[1]))
    cuts = np.max(tile_cuts(lines, even, fine), axis=0).tolist()
    narrow = [max(1, round(side / (n * cut))) for side, n, cut in zip(shape, blocks, cuts, strict=True)]
    wide = [width * cut for width, cut in zip(narrow, cuts, strict=True)]
    tiles = cuts[0] * cuts[1]
    own, below = 2.0 * coarse**2, 2.0 * tiles * fine**2  # of a block: what it says itself, and what its tiles say
    apart, together = (grid_energy(task.workload, (w[0], w[1])) / (w[0] * w[1]) ** 2 for w in (narrow, wide))
    noise = 2.0 * fine**2 * max(0.0, apart - tiles * together) + together / (1.0 / own + 1.0 / below)
    return math.sqrt(noise / task.workload.queries + hidden_error(task.workload, (narrow[0], narrow[1]), rows))
