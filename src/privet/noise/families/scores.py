"""Scores as the exact numbers they are, and how far each lies below the best: the only thing a choice depends on."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._numerics import BEYOND, exact_ratio
from privet.errors import InvalidData

Scores = NDArray[Any]  # float64, int64, uint64, or objects: Fractions, and -inf for what is never chosen


def scores_of(name: str, values: object) -> Scores:
    """A non-empty list of exact numbers without NaN; the message never shows one, since scores may be private.

    An array of integers or doubles stays what it is; in anything else every number is read by itself.

    >>> scores_of("scores", [1, 0.5]).tolist()
    [Fraction(1, 1), Fraction(1, 2)]
    """
    refused = InvalidData(f"{name} must be a non-empty one-dimensional array of numbers, none of them NaN or +inf")
    if not isinstance(values, np.ndarray):
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise refused
        values = _objects(list(values))
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "biufO":
        raise refused
    if values.dtype.kind == "O" or values.dtype.itemsize > 8:
        values = _objects([_exact(item) for item in values])
        if any(item is None for item in values):
            raise refused
        return values
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
        if not np.all(values < np.inf):  # NaN included
            raise refused
        return values
    return values.astype(np.uint64 if values.dtype == np.uint64 else np.int64, copy=False)


def _objects(items: list[Any]) -> Scores:
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def _exact(item: object) -> Fraction | float | None:
    if isinstance(item, Fraction) or (type(item) is float and item == -math.inf):
        return item
    ratio = exact_ratio(item)
    return None if ratio is None or ratio[0] == BEYOND else Fraction(*ratio)


def gaps_of(
    scores: Scores, possible: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.float64], Callable[[int], Fraction]]:
    """best - score for each candidate, rounded once to a double (inf for those that are not possible), and exactly.

    The best is subtracted before anything is rounded: large scores that lie close to each other keep their difference.

    >>> gaps, exact = gaps_of(np.array([2**62 + 1, 2**62 + 3]))
    >>> gaps.tolist(), exact(0)
    ([2.0, 0.0], Fraction(2, 1))
    """
    if scores.dtype.kind == "O":
        return _object_gaps(scores, possible)
    allowed = scores if possible is None else scores[possible]
    best = allowed.max()
    with np.errstate(over="ignore"):
        # unsigned 64-bit integers hold every difference of two 64-bit ones, whatever wraps on the way
        away = best - scores if scores.dtype.kind == "f" else (best - scores).view(np.uint64).astype(np.float64)
    if possible is not None:
        away[~possible] = np.inf
    return away, lambda place: Fraction(best.item()) - Fraction(scores[place].item())


def _object_gaps(
    scores: Scores, possible: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], Callable[[int], Fraction]]:
    if possible is None:
        possible = np.array([item != -math.inf for item in scores])
    best = max(item for item, may in zip(scores, possible, strict=True) if may)
    ratios = ((best - item if may else None) for item, may in zip(scores, possible, strict=True))
    away = np.fromiter((math.inf if gap is None else _double(gap) for gap in ratios), np.float64, len(scores))
    return away, lambda place: best - scores[place]


def _double(gap: Fraction) -> float:
    try:
        return gap.numerator / gap.denominator
    except OverflowError:
        return math.inf
