"""Measure every query of the workload."""

from dataclasses import dataclass
from typing import final

import numpy as np

from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import Dense
from privet.workloads.strategy import Strategy, register
from privet.workloads.workload import DENSE, Workload


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

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        if workload.queries * workload.cells > DENSE:
            raise InvalidParameter(
                f"{workload.describe()} are too many to be measured one by one: take Hierarchical() instead"
            )
        rows = np.stack([workload.query(i).reshape(-1) for i in range(workload.queries)])
        if np.array_equal(rows, np.rint(rows)):
            return Dense(rows.astype(np.int64))
        return Dense.rounded(rows / np.abs(rows).max())

    def describe(self) -> str:
        return "every query by itself"
