"""Which values hashed reports support, added up: in numpy, or compiled where the extra `fast` (numba) is installed.

A report supports the value x iff at + a x modulo 2^64 is below its width. Both ways give the same whole numbers.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from privet._numerics import Array

WORTH_COMPILING = 1 << 26  # steps: a sixth of a second in numpy; numba takes about a second to start and to compile
_CHUNK = 1 << 12  # reports that are walked through together, in the cache
_COMPILED_CHUNK = 1 << 10  # reports at a time: speed only

Walk = Callable[[Array, Array, Array, Array], None]  # totals, a, at, width
WalkSome = Callable[[Array, Array, Array, Array, Array], None]  # and the candidates


def supported(k: int, a: Array, at: Array, width: Array, candidates: Array | None) -> Array:
    """The number of reports that support each of k values, or each candidate. All are words of 64 bits.

    >>> a, at, width = (np.array(each, dtype=np.uint64) for each in ([1, 2], [0, 0], [2, 2]))
    >>> supported(3, a, at, width, None).tolist()
    [2, 1, 0]
    """
    totals = np.zeros(k if candidates is None else len(candidates), dtype=np.int64)
    found = compiled() if len(totals) * len(a) >= WORTH_COMPILING else None
    every, some = (_every, _some) if found is None else found
    chunk = _CHUNK if found is None else _COMPILED_CHUNK
    for i in range(0, len(a), chunk):
        part = a[i : i + chunk].copy(), at[i : i + chunk].copy(), width[i : i + chunk].copy()
        if candidates is None:
            every(totals, *part)
        else:
            some(totals, *part, candidates)
    return totals


def _every(totals: Array, a: Array, at: Array, width: Array) -> None:
    """All values; neighbours differ by one addition of a. `at` is moved along."""
    for value in range(len(totals)):
        totals[value] += np.count_nonzero(at < width)
        at += a


def _some(totals: Array, a: Array, at: Array, width: Array, candidates: Array) -> None:
    for place, value in enumerate(candidates):
        totals[place] += np.count_nonzero(a * value + at < width)


@lru_cache(maxsize=1)
def compiled() -> tuple[Walk, WalkSome] | None:
    """Both walks as machine code; None without numba."""
    try:
        import numba
    except ImportError:
        return None
    words, make = "uint64[::1]", numba.njit
    every: Any = make(f"void(int64[::1], {words}, {words}, {words})", nogil=True)(every_by_one)
    some: Any = make(f"void(int64[::1], {words}, {words}, {words}, {words})", nogil=True)(some_by_one)
    return every, some


def every_by_one(totals: Array, a: Array, at: Array, width: Array) -> None:
    """All values, in loops that a compiler understands."""
    for value in range(len(totals)):
        support = 0
        for j in range(len(a)):
            support += at[j] < width[j]
            at[j] += a[j]
        totals[value] += support


def some_by_one(totals: Array, a: Array, at: Array, width: Array, candidates: Array) -> None:
    """Candidates, in loops that a compiler understands."""
    for place in range(len(totals)):
        value, support = candidates[place], 0
        for j in range(len(a)):
            support += at[j] + value * a[j] < width[j]
        totals[place] += support
