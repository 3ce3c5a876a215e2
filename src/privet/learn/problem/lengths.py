"""Squared lengths of rows, each a function of its own row alone, down to the last bit."""

import numpy as np

from privet._numerics import Array

_COLUMNS = 4096  # one sum of products goes through at most 8,192 numbers in one way, wherever its row stands


def squared_lengths(rows: Array) -> Array:
    """The sum of the squares of every row of an array in C order.

    numpy cuts longer sums into pieces that depend on the number of rows: then a record would round other records, and
    sensitivities count on none doing so.

    >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [25.0, 4.0]
    """
    first, *others = (rows[:, start : start + _COLUMNS] for start in range(0, max(1, rows.shape[1]), _COLUMNS))
    total = np.einsum("ij,ij->i", first, first)
    for part in others:
        total += np.einsum("ij,ij->i", part, part)
    return np.asarray(total)
