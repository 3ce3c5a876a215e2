"""The square root of the prefix sums, with columns of one length."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from privet._validate import flag, set_frozen
from privet.workloads.all_ranges import AllRanges
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import Dense
from privet.workloads.families.root_series import RootSeries
from privet.workloads.prefix import Prefix
from privet.workloads.strategy import MATRICES, SEARCHED, Lines, Strategy, register
from privet.workloads.workload import Workload

_LARGEST = 2**24  # cells of a series: its transforms then take a gigabyte


@final
@register
@dataclass(frozen=True, kw_only=True)
class SquareRoot(Strategy):
    """The lower triangular Toeplitz matrix whose square is the matrix of prefix sums: 1, 1/2, 3/8, 5/16, ...

    `normalised` divides each column by its length, which is better on prefix sums and on ranges. `tapered` weights row i
    of k by t^0.1 (1 - t)^0.3, t = i / (k + 1), before that (by t^-0.45 (1 - t)^0.4 for all ranges): the first and the last
    measurements matter to fewer queries. For Gaussian noise: within 7% of the best that any matrix can do, without a
    search; tapered within 0.5% on 1,024 prefix sums, 1% on their ranges. Beyond 1,024 cells prefix sums and all ranges
    are measured as a series, up to 2^24 cells: no matrix is built, and columns are normalised block by block.

    **Sensitivity:** l2, of the rounded matrix: 1, up to the rounding, where columns are normalised.
    **Error:** by dense linear algebra; of a series in closed form.
    **Reference:** Fichtenberger, Henzinger & Upadhyay 2023; proof notes workloads/dense and workloads/root_series.

    >>> from privet.workloads import Prefix
    >>> design = SquareRoot().design(Prefix(256), "l2")
    >>> round(float(design.sensitivity("l2")), 5)
    1.0
    """

    name = "square root"
    norms: ClassVar[tuple[NoiseNorm, ...]] = ("l2",)
    lines: ClassVar[Lines] = "small"

    normalised: bool = True
    tapered: bool = False

    def __post_init__(self) -> None:
        set_frozen(self, normalised=flag("normalised", self.normalised), tapered=flag("tapered", self.tapered))

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        fits = _as_series(workload) or (len(workload.shape) == 1 and workload.cells <= MATRICES)
        return (cls(tapered=True),) if fits else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        taper = (-0.45, 0.4) if isinstance(workload, AllRanges) else (0.1, 0.3)
        taper = taper if self.tapered else (0.0, 0.0)
        if _as_series(workload):
            make = RootSeries.normalised if self.normalised else RootSeries.plain
            return make(workload.cells, taper)
        cells = workload._small()
        steps = np.arange(1.0, cells)
        first = np.concatenate(([1.0], np.cumprod((2.0 * steps - 1.0) / (2.0 * steps))))
        place = np.arange(cells)
        below = place[:, None] - place
        matrix = np.where(below >= 0, first[np.maximum(below, 0)], 0.0)
        if self.tapered:
            part = (place + 1.0) / (cells + 1.0)
            rows = part ** taper[0] * (1.0 - part) ** taper[1]
            matrix = (rows / rows.max())[:, None] * matrix
        if self.normalised:
            matrix = matrix / np.sqrt(np.sum(matrix * matrix, axis=0))
        return Dense.rounded(matrix)

    def describe(self) -> str:
        words = ", tapered" * self.tapered + ", normalised" * self.normalised
        return "square root of prefix sums" + words


def _as_series(workload: Workload) -> bool:
    return isinstance(workload, Prefix | AllRanges) and SEARCHED < workload.cells <= _LARGEST
