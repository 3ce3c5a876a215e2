"""Equality of outputs, bit for bit."""

from typing import Any

import numpy as np


def same_value(left: Any, right: Any) -> bool:
    """Equality of outputs bit for bit, arrays, dictionaries and nested tuples included.

    >>> same_value(np.array([1.0, 0.0]), np.array([1.0, -0.0]))
    False
    """
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        a, b = np.asarray(left), np.asarray(right)
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_value(item, right[key]) for key, item in left.items())
    if isinstance(left, float) and isinstance(right, float):
        return left.hex() == right.hex()
    return bool(left == right)
