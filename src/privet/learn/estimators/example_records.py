"""Records for examples of estimators: made up, the same each time, of any number and any width."""

from collections.abc import Callable
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array

Maker = Callable[[int, int], tuple[Any, ...]]  # of a number of records and of columns: X, and y where there is one


def _uniform(n: int, columns: int) -> Array:
    drawn = noise.uniform_int(bound=2**31, size=n * columns, source=noise.Seeded(n + columns))
    return np.asarray(drawn, dtype=float).reshape(n, columns) / 2.0**30 - 1.0


def plain(n: int, columns: int) -> tuple[Array]:
    """Rows within (-1, 1), without targets.

    >>> [each.shape for each in plain(5, 2)]
    [(5, 2)]
    """
    return (_uniform(n, columns),)


def numbered(n: int, columns: int) -> tuple[Array, Array]:
    """Rows, with their first column as target.

    >>> [each.shape for each in numbered(5, 2)]
    [(5, 2), (5,)]
    """
    rows = _uniform(n, columns)
    return rows, rows[:, 0]


def counted(n: int, columns: int) -> tuple[Array, Array]:
    """Rows, with counts from 0 to 4 as targets.

    >>> bool((counted(9, 1)[1] % 1.0 == 0.0).all())
    True
    """
    drawn = noise.uniform_int(bound=5, size=n, source=noise.Seeded(n))
    return _uniform(n, columns), np.asarray(drawn, dtype=float)


def labelled(classes: int) -> Maker:
    """A maker of rows with the labels 0, 1, ... in turn, so many of them.

    >>> labelled(2)(3, 1)[1].tolist()
    [0, 1, 0]
    """

    def made(n: int, columns: int) -> tuple[Array, Array]:
        return _uniform(n, columns), np.arange(n) % classes

    return made
