"""Small private tables for tests of synthesizers."""

from typing import Any

import numpy as np

import privet as pv


def coded_table(rows: Any, sizes: tuple[int, ...], **facts: Any) -> pv.Table:
    """Rows of codes as a table with columns a, b, c, ..."""
    made = np.asarray(rows, dtype=np.int64).reshape(-1, len(sizes))
    names = [chr(ord("a") + i) for i in range(len(sizes))]
    columns = {name: pv.Int(0, size - 1) for name, size in zip(names, sizes, strict=True)}
    return pv.Table({name: made[:, i].copy() for i, name in enumerate(names)}, columns=columns, **facts)


def correlated(n: int = 2_000, seed: int = 0) -> np.ndarray[Any, Any]:
    """Rows in which b follows a, c follows b, and d is by itself with one rare value."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.85, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.85, b % 2, rng.integers(0, 2, n))
    d = np.where(rng.random(n) < 0.01, 3, rng.integers(0, 3, n))
    return np.stack([a, b, c, d], axis=1)


SIZES = (3, 3, 2, 4)
