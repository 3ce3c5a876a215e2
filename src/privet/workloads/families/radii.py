"""Intervals of many numbers at once: of sums of the same few laws, from transforms that are computed once, and of all cells
where the exact law of each can be had in little time."""

import math

import numpy as np

from privet._numerics import Array, ndtr
from privet._validate import open_fraction
from privet.errors import InvalidParameter
from privet.workloads.design import Design
from privet.workloads.families.noise_law import ASIDE, FINE, FREQUENCIES, SMOOTH, SPAN, NoiseLaw

_GRID = 2**15  # points of the half-line on which tails are looked at
_ALIKE = 1.15  # sums whose standard deviations differ by less share their frequencies
_ROWS = 64  # at a time: memory and speed only
_LARGEST = 2**17  # cells times measurements: the coefficients of every cell are written out
_WORK = 2_000  # different coefficients, over all cells whose laws differ: about a ten thousandth of a second each


def sum_radii(law: NoiseLaw, parts: list[list[tuple[float, float]]], counts: Array, confidence: float) -> Array:
    """r with Pr[|S| <= r] >= confidence for each row of `counts`, nearly with equality.

    S is the sum of counts[l] independent copies of part l; a part is a sum of noises, for each group of the law a
    coefficient and how many noises have it. As `NoiseLaw.radius`, with the tail looked up on a grid.

    >>> from fractions import Fraction
    >>> law = NoiseLaw("laplace", ((1, Fraction(10)),))
    >>> sum_radii(law, [[(1.0, 1.0)]], np.array([[1], [0]]), 0.95).round().tolist()
    [30.0, 0.0]
    """
    aim = (1.0 - open_fraction("confidence", confidence)) * float(ndtr(ASIDE))
    each = np.array([[how_many * size * size for size, how_many in part] for part in parts]) @ law.variances()
    largest = np.array([max(size for size, _ in part) for part in parts])
    units = np.maximum(np.sqrt(counts @ each), np.max((counts > 0) * largest, axis=1))
    frequencies = (np.arange(math.ceil(FREQUENCIES / SMOOTH * SPAN / (2.0 * math.pi))) + 0.5) * (2.0 * math.pi / SPAN)
    found = np.zeros(len(counts))
    some = np.flatnonzero(units > 0.0)
    kind = np.floor(np.log(units[some]) / math.log(_ALIKE))
    for which in np.unique(kind):
        rows = some[kind == which]
        unit = float(units[rows].max())
        logs = np.stack([law.log_transform(part, frequencies / unit) for part in parts])
        for start in range(0, len(rows), _ROWS):
            here = rows[start : start + _ROWS]
            found[here] = unit * _look_up(counts[here] @ logs, frequencies, aim)
    return found


def _look_up(logs: Array, frequencies: Array, aim: float) -> Array:
    """The first point of the grid beyond which at most `aim` of the smoothed law lies, and the margin of the smoothing."""
    masses = np.exp(logs - 0.5 * (SMOOTH * frequencies) ** 2) / frequencies * (4.0 / SPAN)
    turned = np.conj(np.fft.rfft(masses, _GRID, axis=1)) * np.exp(1j * np.pi * np.arange(_GRID // 2 + 1) / _GRID)
    tails = 1.0 - turned.imag[:, : _GRID // 3]
    place = np.argmax(tails <= aim, axis=1)
    if np.any(tails[np.arange(len(tails)), place] > aim):
        raise InvalidParameter("confidence lies so near 1 that no interval can be certified: ask for less")
    return np.asarray(place * (SPAN / _GRID) + ASIDE * SMOOTH)


def cell_radii(design: Design, law: NoiseLaw, confidence: float) -> Array | None:
    """The radius of every cell by itself; None where cells are not determined, or are too many or too different.

    >>> from fractions import Fraction
    >>> from privet.workloads import Cells, Prefix
    >>> law = NoiseLaw("laplace", ((3, Fraction(10)),))
    >>> cell_radii(Cells().design(Prefix(3), "l1"), law, 0.95).round().tolist()
    [30.0, 30.0, 30.0]
    """
    if design.cells * design.measurements > _LARGEST or not design.complete:
        return None
    rows = np.abs([design.coefficients(cell) for cell in np.eye(design.cells)])
    if law.kind == "gaussian" and all(scale >= FINE for _, scale in law.groups):
        sizes = [size for size, _ in law.groups]
        lengths = np.sqrt(rows**2 @ np.repeat(law.variances(), sizes))  # a normal law: its length says it all
        return np.asarray(lengths * law.radius(rows[0], confidence) / lengths[0])
    ends = np.cumsum([size for size, _ in law.groups])[:-1]
    ordered = np.concatenate([np.sort(part, axis=1) for part in np.split(rows, ends, axis=1)], axis=1)
    kinds, which = np.unique(np.round(ordered, 9), axis=0, return_inverse=True)
    if sum(len(np.unique(kind)) for kind in kinds) > _WORK:
        return None
    first = [int(np.argmax(which.reshape(-1) == kind)) for kind in range(len(kinds))]
    return np.array([law.radius(rows[place], confidence) for place in first])[which.reshape(-1)]
