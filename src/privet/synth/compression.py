"""Columns whose rare values are one value: fewer cells to measure, and the way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.synth.graph import Clique, Coins


@final
@dataclass(frozen=True, eq=False)
class Compression:
    """For each column the group of every code; None where every code is by itself. Decided on released numbers alone.

    >>> import numpy as np
    >>> rare = Compression((4,), (np.array([0, 1, 2, 2]),))
    >>> rare.sizes, rare.shrunk(np.array([5, 4, 1, 2]), (0,)).tolist()
    ((3,), [5, 4, 3])
    >>> rare.spread(np.array([5.0, 4.0, 3.0]), (0,)).tolist()
    [5.0, 4.0, 1.5, 1.5]
    """

    wide: tuple[int, ...]
    groups: tuple[Array | None, ...]

    def __post_init__(self) -> None:
        made = tuple(None if each is None else np.asarray(each, dtype=np.int64) for each in self.groups)
        for size, each in zip(self.wide, made, strict=True):
            if each is not None and (each.shape != (size,) or set(each.tolist()) != set(range(int(each.max()) + 1))):
                raise InvalidParameter("groups are numbered from 0 on, one for each code of the column")
        set_frozen(self, groups=made)

    @classmethod
    def none(cls, sizes: Sequence[int]) -> "Compression":
        """Every code by itself."""
        return cls(tuple(sizes), (None,) * len(sizes))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of groups of each column."""
        return tuple(
            size if each is None else int(each.max()) + 1 for size, each in zip(self.wide, self.groups, strict=True)
        )

    def members(self, column: int) -> Array:
        """The number of codes in each group of a column."""
        groups = self.groups[column]
        return np.ones(self.wide[column]) if groups is None else np.bincount(groups).astype(float)

    def shrunk(self, table: Array, clique: Clique) -> Array:
        """Counts of codes as counts of groups."""
        for axis, column in enumerate(clique):
            groups = self.groups[column]
            if groups is not None:
                order = np.argsort(groups, kind="stable")
                starts = np.searchsorted(groups[order], np.arange(self.sizes[column]))
                table = np.add.reduceat(table.take(order, axis=axis), starts, axis=axis)
        return table

    def spread(self, table: Array, clique: Clique) -> Array:
        """Counts of groups as counts of codes, evenly."""
        for axis, column in enumerate(clique):
            groups = self.groups[column]
            if groups is not None:
                shape = [1] * table.ndim
                shape[axis] = self.wide[column]
                table = table.take(groups, axis=axis) / self.members(column)[groups].reshape(shape)
        return table

    def expanded(self, rows: Array, coins: Coins) -> Array:
        """Rows of groups as rows of codes, each code of a group equally likely."""
        made = rows.copy()
        for column, groups in enumerate(self.groups):
            if groups is not None:
                order = np.argsort(groups, kind="stable")
                starts = np.searchsorted(groups[order], np.arange(self.sizes[column]))
                many = self.members(column).astype(np.int64)[rows[:, column]]
                made[:, column] = order[starts[rows[:, column]] + (coins.uniform(len(rows)) * many).astype(np.int64)]
        return made


def without_rare(counts: Sequence[Array], threshold: float) -> Compression:
    """Codes whose noisy count is at least `threshold` stay by themselves, the others of a column become one group; where
    there is only one other, it stays as it is.

    >>> import numpy as np
    >>> without_rare([np.array([50.0, -3.0, 2.0])], 10.0).groups[0].tolist()
    [0, 1, 1]
    """
    groups: list[Array | None] = []
    for each in counts:
        rare = each < threshold
        if rare.sum() <= 1:
            groups.append(None)
            continue
        made = np.cumsum(~rare) - 1
        made[rare] = int((~rare).sum())
        groups.append(made)
    return Compression(tuple(len(each) for each in counts), tuple(groups))
