"""Two lists of outputs, one law? Kolmogorov-Smirnov where outputs are numbers, Pearson's test where they are few."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from privet._numerics import Array, special
from privet.testing.same import opened

_COLUMNS = 4  # numbers of an output that are looked at
_FEW = 24  # so many different values count as categories
_LEAST = 12.0  # expected number in a category; smaller ones are put together


def differ(left: Sequence[Any] | Array, right: Sequence[Any] | Array, level: float) -> bool:
    """True if the samples come from different laws; says so of equal laws with probability at most about `level`.

    Each number of an output is compared as it is and by its distance from the middle of the right sample: half the noise
    moves hardly anything else. Types, shapes and what is no number are categories.

    >>> rng = np.random.default_rng(1)
    >>> differ(rng.laplace(size=1000), rng.laplace(size=20_000), 1e-7)
    False
    >>> differ(rng.laplace(scale=0.5, size=1000), rng.laplace(size=20_000), 1e-7)
    True
    """
    (rows, forms), (others, kinds) = _features(left), _features(right)
    columns = min(rows.shape[1], others.shape[1], _COLUMNS)
    level /= 2 + 2 * columns
    if rows.shape[1] != others.shape[1] or _categories(forms, kinds) < level:
        return True
    if _categories(*(list(map(bytes, sample.round(9))) for sample in (rows, others))) < level:
        return True  # whole outputs, where they repeat: a pattern of answers, say
    for column in range(columns):
        a, b = rows[:, column], others[:, column]
        if _categories(np.isnan(a).tolist(), np.isnan(b).tolist()) < level:
            return True
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        if len(np.unique(b)) <= _FEW:
            if _categories(a.tolist(), b.tolist()) < level:
                return True
            continue
        middle = np.median(b)
        if _smirnov(a, b) < level or _smirnov(np.abs(a - middle), np.abs(b - middle)) < level:
            return True
    return False


def _features(outputs: Sequence[Any] | Array) -> tuple[Array, list[Any]]:
    """Each output as a row of numbers and a form."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
        rows = outputs.reshape(len(outputs), -1)[:, :_COLUMNS].astype(float)
        return rows, [outputs.shape[1:]] * len(outputs)
    seen = [_look(output) for output in outputs]
    if len({len(row) for row, _ in seen}) > 1:
        return np.empty((len(seen), 0)), [form for _, form in seen]
    return np.array([row for row, _ in seen], dtype=float).reshape(len(seen), -1), [form for _, form in seen]


def _look(output: object) -> tuple[list[float], Any]:
    """The numbers of an output in order, and everything else about it."""
    output = opened(output)
    if isinstance(output, np.ndarray) and output.dtype.kind in "biuf":
        return output.reshape(-1)[:_COLUMNS].astype(float).tolist(), output.shape
    if isinstance(output, bool | int | float | np.generic) and not isinstance(output, np.str_):
        return [float(output)], ()
    if isinstance(output, dict | tuple | list):
        parts = [_look(item) for item in (output.values() if isinstance(output, dict) else output)]
        numbers = [number for row, _ in parts for number in row][:_COLUMNS]
        return numbers, (tuple(output) if isinstance(output, dict) else (), tuple(form for _, form in parts))
    return [], repr(output)


def _categories(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Pearson's p-value, rare categories put together (by how often they occur in both)."""
    first, second = Counter(left), Counter(right)
    total, share = first + second, len(left) / (len(left) + len(right))
    cells, rest = [], [0, 0]
    for value, number in total.items():
        if number * min(share, 1.0 - share) >= _LEAST:
            cells.append((first[value], number))
        else:
            rest = [rest[0] + first[value], rest[1] + number]
    if rest[1]:
        cells.append((rest[0], rest[1]))
    if len(cells) < 2:
        return 1.0
    statistic = sum((one - both * share) ** 2 / (both * share * (1.0 - share)) for one, both in cells)
    return float(special().chdtrc(len(cells) - 1, statistic))


def _smirnov(left: Array, right: Array) -> float:
    """A bound on the p-value of the two-sample statistic; ties make it conservative."""
    if not len(left) or not len(right):
        return 1.0
    left, right, points = np.sort(left), np.sort(right), np.concatenate((left, right))
    gap = np.max(
        np.abs(
            np.searchsorted(left, points, side="right") / len(left)
            - np.searchsorted(right, points, side="right") / len(right)
        )
    )
    size = len(left) * len(right) / (len(left) + len(right))
    return min(1.0, 2.0 * math.exp(-2.0 * size * float(gap) ** 2))
