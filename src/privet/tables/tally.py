"""Counts of codes: tables for several cliques of columns, in one pass over blocks of rows."""

from collections.abc import Sequence
from math import prod
from typing import final

import numpy as np

from privet._numerics import Array

_TOGETHER = 2**18  # rows that are counted at once: a table of many cells is not added up for every small block


@final
class Tally:
    """Tables of counts that rows are added to, a block of columns of codes at a time. `many` is how often each row counts.

    >>> tally = Tally((2, 3), [(0,), (1, 0), ()])
    >>> tally.add([np.array([0, 1, 1]), np.array([2, 2, 0])])
    >>> [table.tolist() for table in tally.tables()]
    [[1, 2], [[0, 1], [0, 0], [1, 1]], 3]
    """

    __slots__ = ("_cliques", "_counts", "_held", "_rows", "_sizes")

    def __init__(self, sizes: Sequence[int], cliques: Sequence[tuple[int, ...]]) -> None:
        self._sizes, self._cliques = tuple(sizes), [tuple(each) for each in cliques]
        self._counts: list[Array | None] = [None] * len(self._cliques)
        self._held: list[tuple[list[Array], Array | None]] = []
        self._rows = 0

    def add(self, columns: Sequence[Array], many: Array | None = None) -> None:
        """Count these rows: an array of codes for each column."""
        self._held.append((list(columns), many))
        self._rows += len(columns[0]) if len(columns) else 0 if many is None else len(many)
        if self._rows >= _TOGETHER:
            self._count()

    def tables(self) -> list[Array]:
        """A table for each clique, with an axis for each of its columns: not releasable where the rows are not."""
        self._count()
        shapes = [tuple(self._sizes[place] for place in clique) for clique in self._cliques]
        return [
            np.zeros(shape, dtype=np.int64) if held is None else held.reshape(shape)
            for shape, held in zip(shapes, self._counts, strict=True)
        ]

    def _count(self) -> None:
        if not self._rows:
            return
        columns = [
            np.concatenate([block[0][place] for block in self._held]).astype(np.int64)
            for place in range(len(self._sizes))
        ]
        weights = None
        if self._held[0][1] is not None:
            weights = np.concatenate([np.asarray(block[1]) for block in self._held]).astype(np.float64)
        for place, clique in enumerate(self._cliques):
            cells = prod(self._sizes[each] for each in clique)
            at = np.zeros(self._rows, dtype=np.int64)
            for each in clique:
                at = at * self._sizes[each] + columns[each]
            counted = np.bincount(at, weights=weights, minlength=cells).astype(np.int64)  # below 2^53: doubles hold it
            held = self._counts[place]
            if held is None:
                self._counts[place] = counted
            else:
                held += counted
        self._held, self._rows = [], 0
