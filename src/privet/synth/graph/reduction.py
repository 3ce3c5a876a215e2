"""Sums of a table over some of its columns, and the way back: axes that lie side by side are taken together."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import final

import numpy as np

from privet._numerics import Array

_LONG = 16  # from so many numbers in a row on, a product of matrices is faster than a sum of products


@final
class Reduction:
    """From a table over `host` to the one over `part`, both with their columns in increasing order.

    >>> import numpy as np
    >>> onto = Reduction((0, 1, 2), (1,), (2, 3, 4))
    >>> onto.sum(np.ones((2, 3, 4))).tolist(), onto.spread(np.zeros(3)).shape, onto.shape
    ([8.0, 8.0, 8.0], (1, 3, 1), (2, 3, 4))
    """

    __slots__ = ("_axes", "_ones", "part_shape", "shape", "wide")

    def __init__(self, host: Sequence[int], part: Sequence[int], sizes: Sequence[int]) -> None:
        kept = set(part)
        runs = [(keep, math.prod(sizes[i] for i in run)) for keep, run in groupby(host, key=lambda i: i in kept)]
        self.shape = tuple(size for _, size in runs) or (1,)  # axes side by side that are kept, or summed, are one
        self.wide = tuple(size if keep else 1 for keep, size in runs) or (1,)
        self.part_shape = tuple(sizes[i] for i in part)
        self._axes = [i for i, (keep, _) in enumerate(runs) if not keep]
        self._ones = {axis: np.ones(self.shape[axis]) for axis in self._axes}

    def sum(self, table: Array) -> Array:
        """The table summed onto the part, as products with ones: several times as fast as numpy's sums over axes."""
        made = table.reshape(self.shape)
        for axis in reversed(self._axes):  # from the last one, so that the others keep their numbers
            size, ones = made.shape[axis], self._ones[axis]
            if axis == made.ndim - 1:
                made = (made.reshape(-1, size) @ ones).reshape(made.shape[:-1])
            elif axis == 0:
                made = (ones @ made.reshape(size, -1)).reshape(made.shape[1:])
            else:
                before, after = made.shape[:axis], made.shape[axis + 1 :]
                cube = made.reshape(-1, size, math.prod(after))
                flat = ones @ cube if cube.shape[2] >= _LONG else np.einsum("ijk->ik", cube)
                made = flat.reshape(*before, *after)
        return np.asarray(made).reshape(self.part_shape)

    def spread(self, table: Array) -> Array:
        """The part, shaped so that it broadcasts against a host of `shape`."""
        return table.reshape(self.wide)
