"""The nearest table without negative counts that has a given total."""

import numpy as np

from privet._numerics import Array


def onto_simplex(values: Array, total: float) -> Array:
    """The Euclidean projection onto {v >= 0, sum v = total}, by sorting.

    >>> import numpy as np
    >>> onto_simplex(np.array([3.0, -1.0, 2.0]), 3.0).tolist()
    [2.0, 0.0, 1.0]
    """
    falling = np.sort(values.reshape(-1))[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > over)[-1]) if np.any(falling > over) else 0
    return np.maximum(values - over[last], 0.0)
