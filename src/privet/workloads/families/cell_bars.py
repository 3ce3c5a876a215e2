"""Error bars of all cells at once, where the exact law of each can be had in little time."""

import numpy as np

from privet._numerics import Array
from privet.workloads.design import Design
from privet.workloads.families.noise_law import FINE, NoiseLaw

_LARGEST = 2**17  # cells times measurements: the coefficients of every cell are written out
_WORK = 2_000  # different coefficients, over all cells whose laws differ: about a ten thousandth of a second each


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
