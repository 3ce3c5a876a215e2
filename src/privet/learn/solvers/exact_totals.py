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
from privet.learn.losses import Loss
from privet.learn.problem import Chunk, Records, Task
from privet.learn.problem.person_sums import clipped_sums, sums_of_persons
from privet.noise import Grid

STEPS = 2**21  # of a unit row; finer ones would leave room for fewer rows in an exact sum of doubles
GRID = Grid(-42)  # the steps of sums of products
_TILE = 2**10  # rows whose products of at most 2^42 are added up in doubles: below 2^53
_TILES = 2**10  # tiles whose sums are added up in int64: below 2^63

_PRODUCTS = 2**20  # numbers in a block of products of single records
_BLOCK = 2**21  # numbers in a block of those: memory and speed only
_HELD = 2**26  # numbers that are kept between sums: a quarter of a gigabyte

Factors = Callable[[Array, Array], Array]
Tile = tuple[Array, Array]  # rows in whole steps, and targets


def tiles(task: Task, records: Records, *, targets: bool = False) -> Iterator[Tile]:
    """Rows in whole steps, as doubles, in the same memory each time, and their targets as a loss takes them; if asked, the
    steps of the targets (within [-1, 1]) are the last column of the rows. Not releasable."""
    for chunk in task.whole_tiles(records, rows=_TILE, steps=STEPS, targets=targets):
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


class WholeRows:
    """Unit rows of private records in whole steps, and their targets, for several exact sums over them.

    Where records are in memory and not too many, the first sum keeps their steps as floats of 32 bits, which hold each of
    them: later sums need not make them again.
    """

    __slots__ = ("_few", "_held", "_records", "_task")

    def __init__(self, task: Task, records: Records) -> None:
        self._task, self._records = task, records
        self._held: list[Tile] | None = None
        self._few = records.kept

    def _added(self, part: Callable[[Iterator[Tile]], Any]) -> Any:
        """A sum over the records, wherever they lie. What is sent there holds nothing private."""
        task = self._task
        if self._held is not None:
            return part(_widened(self._held))
        if self._few:
            return part(self._first())
        return self._records.exact_added(lambda piece: part(tiles(task, piece, targets=True)))

    def _first(self) -> Iterator[Tile]:
        held: list[Tile] = []
        size, block, free = 0, np.empty((0, 0)), 0
        for rows, goals in tiles(self._task, self._records, targets=True):
            size += rows.size
            if size > _HELD:
                held, block, free = [], np.empty((0, 0)), 0
            else:
                if len(rows) > free:  # large blocks: the system gives their memory in large pages
                    free = max(_TILE, _BLOCK // rows.shape[1])
                    block = np.empty((free, rows.shape[1]), dtype=np.float32)
                kept, free = block[len(block) - free :][: len(rows)], free - len(rows)
                np.copyto(kept, rows, casting="same_kind")
                held.append((kept, goals))
            yield rows, goals
        self._few = size <= _HELD
        self._held = held if self._few else None

    def exact_gram(self) -> Any:
        """The sum of z z^T in steps of `GRID`, z the unit row and the target (within [-1, 1]): not releasable."""
        size = self._task.dimension + 1
        return self._added(lambda pieces: _gram(pieces, size))

    def exact_cross(self, factors: Factors, clips: tuple[float, ...]) -> tuple[Callable[[int], Any], list[int]]:
        """In steps of `GRID`: what tells, for a place in `clips`, the sum of factor/clip (within [-1, 1]) times unit row;
        the sum of squared factors within [-1, 1], and the number of records. Not releasable.

        `factors(rows in steps, targets)` must come from each record alone, in floats too: see `exact_margins`. Sums over
        rows that are kept are made when they are asked for, others all at once.
        """
        size = self._task.dimension
        if self._held is None:
            products, (squares, many) = self._added(lambda pieces: _cross(pieces, size, factors, clips))
            return products.__getitem__, [int(squares), int(many) * STEPS**2]
        held = self._held
        made = np.concatenate([np.zeros(0), *(factors(rows[:, :-1], goals) for rows, goals in _widened(held))])
        squares = sum(int(each @ each) for each in _cut(whole(made), held))

        def product(place: int) -> Any:
            total = Total((size,))
            for steps, (rows, _) in zip(_cut(whole(made / clips[place]), held), _widened(held), strict=True):
                total.add((steps @ rows)[:-1])
            return total.exact_sum()

        return product, [squares, len(made) * STEPS**2]


def exact_gram(task: Task, records: Records, *, targets: bool = False) -> Any:
    """The sum of z z^T in steps of `GRID`, z the unit row, with the target (within [-1, 1]) as the last column if asked:
    not releasable.
    """
    size = task.dimension + targets
    return records.exact_added(lambda piece: _gram(tiles(task, piece, targets=targets), size))


def exact_person_gram(task: Task, records: Records, longest: int) -> Any:
    """As `exact_gram` with targets, of each person the sum over all their records, clipped to `longest` in Frobenius norm:
    one person moves it by no more than that, however many records they have. Not releasable.
    """
    size, most = task.dimension + 1, float(longest * STEPS**2)
    rows = max(1, _PRODUCTS // size**2)

    def part(piece: Records) -> Any:
        total = np.zeros(size * size, dtype=object)
        for sums in sums_of_persons(_products(task.whole_tiles(piece, rows=rows, steps=STEPS, targets=True))):
            total = total + clipped_sums(sums, most).sum(axis=0)
        return total.reshape(size, size)

    return records.exact_added(part)


def _products(chunks: Iterator[Chunk]) -> Iterator[tuple[Array, Array]]:
    """Whose each record is, and all products of its numbers: at most 2^42 each."""
    for rows, _, persons in chunks:
        whole_rows = rows.astype(np.int64)
        yield persons, (whole_rows[:, :, None] * whole_rows[:, None, :]).reshape(len(rows), -1)


def exact_bent_gram(task: Task, records: Records, loss: Loss, weights: Array) -> Any:
    """The sum of c x x^T in steps of `GRID`, x the unit row and c = psi''(x.weights) over the loss's `smoothness`, for a
    loss of one margin: the Gram of rows times sqrt(c) <= 1, each from its record alone. Not releasable.
    """
    size = task.dimension
    return records.exact_added(lambda piece: _gram(_bent(tiles(task, piece), loss, weights), size))


def _bent(pieces: Iterator[Tile], loss: Loss, weights: Array) -> Iterator[Tile]:
    margins = margins_by(weights)
    for rows, goals in pieces:
        curves = np.clip(loss.curvature(margins(rows), goals) / loss.smoothness, 0.0, 1.0)
        rows *= np.sqrt(curves)[:, None]
        yield np.trunc(rows, out=rows), goals


def _cut(values: Array, held: list[Tile]) -> Iterator[Array]:
    """One number for each record, tile by tile."""
    start = 0
    for _, goals in held:
        yield values[start : start + len(goals)]
        start += len(goals)


def _widened(held: list[Tile]) -> Iterator[Tile]:
    """Tiles as doubles, in the same memory each time: it stays in the cache of a processor."""
    room = np.empty((_TILE, held[0][0].shape[1])) if held else np.empty((0, 0))
    for rows, goals in held:
        np.copyto(room[: len(rows)], rows)
        yield room[: len(rows)], goals


def _gram(pieces: Iterator[Tile], size: int) -> Any:
    from scipy.linalg.blas import dsyrk

    total = Total((size, size))
    for rows, _ in pieces:
        total.add(dsyrk(1.0, rows.T))  # one half of the matrix, and zeros
    half = total.exact_sum()
    return half + np.triu(half, 1).T


def _cross(pieces: Iterator[Tile], size: int, factors: Factors, clips: tuple[float, ...]) -> tuple[Any, Any]:
    total, spread, narrow = Total((len(clips), size)), Total((2,)), np.array(clips)[:, None]
    for rows, goals in pieces:
        made = factors(rows[:, :-1], goals)
        steps = whole(made)
        total.add((whole(made / narrow) @ rows)[:, :-1])
        spread.add(np.array([steps @ steps, float(len(goals))]))
    return total.exact_sum(), spread.exact_sum()


def exact_margins(rows: Array, weights: Array) -> Array:
    """x.w for rows in whole steps: each from its row alone, without any rounding, for weights rounded to 31 bits of their
    length. A product of matrices in floats would round by what stands beside a row. Not releasable.

    >>> exact_margins(np.array([[STEPS, 0.0]]), np.array([0.5, 3.0])).tolist()
    [0.5]
    """
    return margins_by(weights)(rows)


def margins_by(weights: Array) -> Callable[[Array], Array]:
    """The function that makes `exact_margins` of rows.

    >>> margins_by(np.array([0.5, 3.0]))(np.array([[STEPS, 0.0]])).tolist()
    [0.5]
    """
    length = float(np.linalg.norm(weights))
    if length == 0.0:
        return lambda rows: np.zeros(len(rows))
    unit = math.frexp(length)[1] - 30  # the length is at most 2^30 units, with room for the rounding
    cut = np.rint(np.ldexp(weights, -unit))
    return lambda rows: np.ldexp(rows @ cut, unit - 21)
