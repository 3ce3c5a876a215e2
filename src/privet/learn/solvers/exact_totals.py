"""Exact sums over unit rows, in integers: whatever the order of the records, and whatever the others are.

A unit row becomes whole steps of 2^-21 towards zero, which never lengthens it. Products of two such numbers are whole
steps of 2^-42, and so few of them are added up at a time that doubles hold every partial sum exactly, in whatever order a
library adds.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.learn.problem import Records, Task
from privet.noise import Grid

STEPS = 2**21
GRID = Grid(-42)  # the steps of sums of products
_TILE = 2**10  # rows whose products of at most 2^42 are added up in doubles: below 2^53
_TILES = 2**10  # tiles whose sums are added up in int64: below 2^63

Factors = Callable[[Array, Array], Array]


def tiles(task: Task, records: Records) -> Iterator[tuple[Array, Array]]:
    """Rows in whole steps, as doubles, in the same memory each time, and their targets as a loss takes them: not
    releasable."""
    for chunk in task.whole_tiles(records, rows=_TILE, steps=STEPS):
        yield chunk.rows, chunk.targets


def whole(values: Array) -> Array:
    """Numbers clipped to [-1, 1] in whole steps towards zero, as doubles.

    >>> whole(np.array([0.5, -3.0])).tolist()
    [1048576.0, -2097152.0]
    """
    made = np.minimum(values, 1.0)
    np.maximum(made, -1.0, out=made)
    made *= STEPS
    return np.trunc(made, out=made)


class Total:
    """A sum of arrays of whole numbers of at most 2^52 each: exact integers.

    >>> total = Total((2,))
    >>> for _ in range(3): total.add(np.array([2.0**52, -1.0]))
    >>> total.exact_sum().tolist() == [3 * 2**52, -3]
    True
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._large: Any = np.zeros(shape, dtype=object)
        self._small, self._many = np.zeros(shape, dtype=np.int64), 0

    def add(self, values: Array) -> None:
        self._small += values.astype(np.int64)
        self._many += 1
        if self._many == _TILES:
            self._flush()

    def _flush(self) -> None:
        self._large = self._large + self._small.astype(object)
        self._small[...], self._many = 0, 0

    def exact_sum(self) -> Any:
        """The sum as an array of Python's integers: not releasable."""
        self._flush()
        return self._large


def exact_gram(task: Task, records: Records, *, targets: bool = False) -> Any:
    """The sum of z z^T in steps of `GRID`, z the unit row, with the target (within [-1, 1]) as the last column if asked:
    not releasable.
    """
    return records.exact_added(lambda piece: _gram(task, piece, targets))


def _gram(task: Task, records: Records, targets: bool) -> Any:
    size = task.dimension
    total, sums = Total((size + targets, size + targets)), np.zeros((size + targets, size + targets))
    for rows, goals in tiles(task, records):
        sums[:size, :size] = rows.T @ rows
        if targets:
            steps = whole(goals)
            sums[size, :size] = sums[:size, size] = rows.T @ steps
            sums[size, size] = steps @ steps
        total.add(sums)
    return total.exact_sum()


def exact_cross(task: Task, records: Records, factors: Factors, clips: tuple[float, ...]) -> tuple[Any, list[int]]:
    """In steps of `GRID`: for each clip the sum of factor/clip (within [-1, 1]) times unit row, as the rows of an array;
    the sum of squared factors within [-1, 1], and the number of records. Not releasable.

    `factors(rows in steps, targets)` must come from each record alone, in floats too: see `exact_margins`.
    """
    products, (squares, many) = records.exact_added(lambda piece: _cross(task, piece, factors, clips))
    return products, [int(squares), int(many) * STEPS**2]


def _cross(task: Task, records: Records, factors: Factors, clips: tuple[float, ...]) -> tuple[Any, Any]:
    total, others, narrow = Total((len(clips), task.dimension)), Total((2,)), np.array(clips)[:, None]
    for rows, goals in tiles(task, records):
        made = factors(rows, goals)
        total.add(whole(made / narrow) @ rows)
        steps = whole(made)
        others.add(np.array([steps @ steps, float(len(goals))]))
    return total.exact_sum(), others.exact_sum()


def exact_margins(rows: Array, weights: Array) -> Array:
    """x.w for rows in whole steps: each from its row alone, without any rounding, for weights rounded to 31 bits of their
    length. A product of matrices in floats would round by what stands beside a row. Not releasable.

    >>> exact_margins(np.array([[STEPS, 0.0]]), np.array([0.5, 3.0])).tolist()
    [0.5]
    """
    length = float(np.linalg.norm(weights))
    if length == 0.0:
        return np.zeros(len(rows))
    unit = math.frexp(length)[1] - 30  # the length is at most 2^30 units, with room for the rounding
    return np.ldexp(rows @ np.rint(np.ldexp(weights, -unit)), unit - 21)
