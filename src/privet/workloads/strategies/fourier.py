"""Fourier coefficients with the best weights of their frequencies."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from privet._numerics import Array
from privet.workloads.all_ranges import AllRanges
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import Dense
from privet.workloads.prefix import Prefix
from privet.workloads.strategy import MATRICES, Lines, Strategy, register
from privet.workloads.workload import Workload


@final
@register
@dataclass(frozen=True)
class Fourier(Strategy):
    """All coefficients of the real Fourier basis, each frequency weighted by what the queries put on it.

    Nothing is left out, so answers are unbiased. The cosine and the sine of a frequency share a weight: every cell then
    has the same l2 norm. For domains small enough for a matrix over pairs of cells.

    **Sensitivity:** that of the rounded matrix, exactly.
    **Error:** by dense linear algebra. **Reference:** Barak et al. 2007; proof note workloads/dense.

    >>> from privet.workloads import Prefix
    >>> Fourier().design(Prefix(4), "l2").measurements
    4
    """

    name = "fourier"
    lines: ClassVar[Lines] = "small"

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        behind = isinstance(
            workload, Prefix | AllRanges
        )  # the tapered square root is ahead on these, whatever the size
        fits = norm == "l2" and len(workload.shape) == 1 and workload.cells <= MATRICES
        return (cls(),) if fits and not behind else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        basis, frequency = fourier_basis(workload._small())
        put = np.sum((basis @ workload.gram()) * basis, axis=1)
        mean = np.bincount(frequency, put) / np.bincount(frequency)
        weights = np.maximum(mean, 1e-12 * mean.max())[frequency] ** (1.0 / 3.0 if norm == "l1" else 0.25)
        matrix = weights[:, None] * basis
        return Dense.rounded(matrix / np.abs(matrix).max() / 4.0)

    def describe(self) -> str:
        return "Fourier, best weights"


def fourier_basis(cells: int) -> tuple[Array, Array]:
    """Orthonormal rows: constant, cosine and sine of each frequency; and the frequency of each row.

    >>> fourier_basis(2)[0].round(6).tolist()
    [[0.707107, 0.707107], [0.707107, -0.707107]]
    """
    place = np.arange(cells)
    rows, frequency = [np.full(cells, cells**-0.5)], [0]
    for f in range(1, cells // 2 + 1):
        angle = 2.0 * np.pi * f * place / cells
        if 2 * f == cells:
            rows.append(np.cos(angle) / cells**0.5)
            frequency.append(f)
        else:
            rows += [np.cos(angle) * (2.0 / cells) ** 0.5, np.sin(angle) * (2.0 / cells) ** 0.5]
            frequency += [f, f]
    return np.array(rows), np.array(frequency)
