"""Measure every query of the workload."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import Dense
from privet.workloads.strategy import Strategy, register
from privet.workloads.workload import DENSE, Workload

# Of fractions that workloads have: halves, thirds, hours, degrees, powers; rows over another one are rounded.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 60, 64, 100, 360, 1000, 1024, 10_000)


@final
@register
@dataclass(frozen=True)
class EveryQuery(Strategy):
    """Each query directly (the lectures' strategy 1), then least squares over all answers. For small workloads.

    **Sensitivity:** over all ranges of k cells floor((k + 1)^2 / 4), since the middle cell is in so many.
    **Error:** with the answers as they come, sensitivity^2 times the noise of each; least squares makes it less.
    **Reference:** Li, Hay, Rastogi, Miklau & McGregor 2010.

    >>> from privet.workloads import AllRanges
    >>> float(EveryQuery().design(AllRanges(8), "l1").sensitivity("l1"))
    20.0
    """

    name = "every query"

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        return (cls(),) if workload.queries * workload.cells <= 100_000 else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        if workload.queries * workload.cells > DENSE:
            raise InvalidParameter(
                f"{workload.describe()} are too many to be measured one by one: take Hierarchical() instead"
            )
        rows = np.stack([workload.query(i).reshape(-1) for i in range(workload.queries)])
        whole = next((d for d in _DENOMINATORS if np.allclose(rows * d, np.rint(rows * d), rtol=0.0, atol=1e-9)), None)
        if whole is not None:
            return Dense(np.rint(rows * whole).astype(np.int64), Fraction(1, whole))
        if np.linalg.matrix_rank(rows) < rows.shape[1]:  # rounding would turn the space that the rows determine
            raise InvalidParameter("queries with such fractions cannot be measured exactly: take Cells() instead")
        return Dense.rounded(rows / np.abs(rows).max())

    def describe(self) -> str:
        return "every query by itself"
