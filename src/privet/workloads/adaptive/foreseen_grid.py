"""The bias of tiles, foreseen from public facts and a number of rows, and the energies that errors are made of."""

import math
from fractions import Fraction
from functools import reduce
from operator import mul

import numpy as np

from privet._cache import remember
from privet.workloads.adaptive.tiles import flat_shape
from privet.workloads.marginals import Marginals
from privet.workloads.points import Points
from privet.workloads.product import Product
from privet.workloads.stacked import Stacked
from privet.workloads.weighted import Weighted
from privet.workloads.workload import Workload

_SPREAD = 0.8  # the square of the imbalance of two halves of a tile
_OCCUPIED = {1: 0.05, 2: 0.1}  # the share of the domain that holds the rows, where tiles are so much smaller
_SOME = 256  # queries that stand for all where there is no closed form


def hidden_error(workload: Workload, widths: tuple[int, int], rows: float) -> float:
    """The mean squared error of tiles without noise, foreseen; `widths` are those of tiles if rows lay everywhere."""
    occupied = _OCCUPIED[len(workload.shape)]
    narrow = [max(1, round(width * occupied ** (1.0 / len(workload.shape)))) for width in widths]
    density = (rows / workload.cells) ** 2 / occupied
    now, hidden, energy = [1, 1], 0.0, grid_energy(workload, (1, 1))
    while now != narrow:
        side = 0 if now[1] >= narrow[1] or (now[0] < narrow[0] and now[0] <= now[1]) else 1
        now[side] = min(2 * now[side], narrow[side])
        wider = grid_energy(workload, (now[0], now[1]))
        above = (1.0 + _SPREAD) ** math.log2(narrow[0] * narrow[1] / (now[0] * now[1]))
        hidden += _SPREAD * density * above * max(0.0, 2.0 * energy - wider)
        energy = wider
    return hidden / workload.queries


@remember(2**18)
def grid_energy(workload: Workload, widths: tuple[int, int]) -> float:
    """The sum over rectangles B of these sides (the last may be smaller) of 1_B' V 1_B: exactly for products and tables,
    and from some of the queries otherwise.

    >>> from privet.workloads import Prefix
    >>> grid_energy(Product((Prefix(2), Points(3))), (1, 1)), grid_energy(Product((Prefix(2), Points(3))), (2, 3))
    (9.0, 15.0)
    """
    shape = flat_shape(workload)
    if isinstance(workload, Stacked):
        return sum(grid_energy(each, widths) for each in workload.workloads)
    if isinstance(workload, Weighted):
        return workload.weight**2 * float(grid_energy(workload.workload, widths))
    if len(workload.shape) == 1:
        return float(workload.block_energy(widths[1]))
    if isinstance(workload, Product):
        return float(reduce(mul, (Fraction(f.block_energy(w)) for f, w in zip(workload.factors, widths, strict=True))))
    if isinstance(workload, Marginals):
        apart = [float(Points(side).block_energy(w)) for side, w in zip(shape, widths, strict=True)]
        whole = [_squares(side, w) for side, w in zip(shape, widths, strict=True)]
        tables = workload.attributes
        return sum(math.prod(apart[i] if i in each else whole[i] for i in (0, 1)) for each in tables)
    some = min(_SOME, workload.queries)
    found = 0.0
    for number in range(some):
        row = np.asarray(workload.query(number * workload.queries // some), dtype=float).reshape(shape)
        for axis, width in enumerate(widths):
            row = np.add.reduceat(row, np.arange(0, shape[axis], width), axis=axis)
        found += float(np.sum(row**2))
    return found * workload.queries / some


def _squares(side: int, width: int) -> float:
    """The sum of the squares of the widths of blocks: every cell of them is in the one query."""
    return float(side // width * width**2 + (side % width) ** 2)
