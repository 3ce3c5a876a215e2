"""Counts of given tiles of a rectangle of cells, instead of the cells."""

from dataclasses import dataclass
from typing import final

from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.rectangles import Rectangles
from privet.workloads.strategy import Strategy
from privet.workloads.workload import Workload


@final
@dataclass(frozen=True)
class Tiles(Strategy):
    """Only counts of rectangular tiles, for one or two dimensions: blocks that end (not included) at `ends` along each
    side, each cut into as many stripes along each side as its pair in `cuts` says; without `cuts`, the blocks themselves.

    What lies inside a tile is guessed to be even: biased, with less noise. Tiles are public, or were released.

    **Sensitivity:** 1, under replace 2 (l2: its root): a row lies in one tile.
    **Error:** of the noise exactly; the unevenness inside the tiles comes on top, and no interval knows it.

    >>> import numpy as np
    >>> from privet.workloads import AllRanges, Product, RangeQueries
    >>> asked = RangeQueries(workload=Product((AllRanges(4), AllRanges(4))))
    >>> found = asked.release(np.ones((4, 4)), epsilon=100.0, strategy=Tiles(((2, 4), (4,)))).value
    >>> found.histogram.shape, found.design.measurements
    ((4, 4), 2)
    """

    ends: tuple[tuple[int, ...], tuple[int, ...]]
    cuts: tuple[tuple[int, int], ...] | None = None

    name = "tiles"

    def __post_init__(self) -> None:
        down, across = (tuple(int(end) for end in side) for side in self.ends)
        set_frozen(self, ends=(down, across))
        if self.cuts is None:
            set_frozen(self, cuts=((1, 1),) * (len(down) * len(across)))

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        assert self.cuts is not None
        if flat_shape(workload) != (self.ends[0][-1], self.ends[1][-1]):
            raise InvalidParameter(
                "ends must reach the number of cells of each side: of one dimension ((1,), last ends)"
            )
        return Rectangles(self.ends, self.cuts)

    def describe(self) -> str:
        assert self.cuts is not None
        return f"{sum(down * across for down, across in self.cuts):,} tiles"


def flat_shape(workload: Workload) -> tuple[int, int]:
    """Rows and columns of a domain of one or two dimensions; one dimension is one row.

    >>> from privet.workloads import Prefix
    >>> flat_shape(Prefix(8))
    (1, 8)
    """
    if len(workload.shape) > 2:
        raise InvalidParameter("tiles are for one or two dimensions")
    rows, columns = workload.shape if len(workload.shape) == 2 else (1, *workload.shape)
    return rows, columns
