"""Counts of the numbers that were sent."""

import numpy as np

from privet._numerics import Array

_PIECE = 1 << 16  # reports whose wide copies stay in the cache


def counted(reports: Array, size: int) -> Array:
    """The number of reports of each value below `size`: whole numbers below it, of any dtype.

    >>> counted(np.array([2, 0, 2], dtype=np.uint8), 4).tolist()
    [1, 0, 2, 0]
    """
    flat, piece = reports.reshape(-1), max(_PIECE, size)  # a table is added up no more often than it pays
    found = np.zeros(size, dtype=np.int64)
    for start in range(0, len(flat), piece):
        found += np.bincount(flat[start : start + piece].astype(np.int64, copy=False), minlength=size)
    return found
