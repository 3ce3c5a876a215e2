"""Cells that were estimated elsewhere, with their covariance: sums and ranges of them, with intervals."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array, ndtri
from privet._validate import flag, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.estimate import Estimate, RangeAnswers
from privet.workloads.workload import Workload, as_workload

_MOST = 2_000  # intervals at once: each takes a product with the covariance. Time only
_ROUNDING = 1e-9  # relative: of a covariance that was computed in doubles


@final
@dataclass(frozen=True, eq=False)
class MeasuredCells(RangeAnswers):
    """Unbiased estimates of the cells of one histogram of one dimension, and the covariance of their errors.

    **Error:** the normal law with this covariance: exact for normal errors, the limit for sums of many reports.

    >>> cells = MeasuredCells([0.5, 0.3, 0.2], [[0.02, -0.01, -0.01], [-0.01, 0.02, -0.01], [-0.01, -0.01, 0.02]])
    >>> print(cells.answer(0, 1))
    0.8 +-0.2772 (95%)
    >>> print(cells.answer(0, 2))
    1 +-0 (95%)
    """

    values: Any
    covariance: Any

    def __post_init__(self) -> None:
        values, matrix = (_numbers(each) for each in (self.values, self.covariance))
        if values.ndim != 1 or not values.size:
            raise InvalidParameter("values must be a list of finite numbers, one for each cell")
        if matrix.shape != (len(values), len(values)):
            raise InvalidParameter(
                "covariance must be a square of finite numbers, with a row and a column for each cell"
            )
        most = float(np.abs(matrix).max())
        if float(np.abs(matrix - matrix.T).max()) > _ROUNDING * most or float(matrix.diagonal().min()) < 0.0:
            raise InvalidParameter("covariance must be symmetric, with variances that are not negative on its diagonal")
        values.setflags(write=False)
        matrix.setflags(write=False)
        set_frozen(self, values=values, covariance=matrix, shape=values.shape)

    @property
    def histogram(self) -> Array:
        """The cells, as they were given: some may be negative."""
        found: Array = self.values
        return found

    def variance(self, query: Any) -> float:
        """The variance of a combination of the cells; what is below the rounding of its terms is 0."""
        w = self._weights(query)
        found, size = float(w @ self.covariance @ w), float(np.abs(w) @ np.abs(self.covariance) @ np.abs(w))
        return found if found > _ROUNDING * size else 0.0

    def linear(self, query: Any, *, confidence: float = 0.95) -> Estimate:
        """Any combination of the cells."""
        radius = -ndtri((1.0 - open_fraction("confidence", confidence)) / 2.0) * math.sqrt(self.variance(query))
        return Estimate(float(self._weights(query) @ self.values), radius, confidence)

    def answers(self, workload: Workload, *, confidence: float = 0.95, simultaneous: bool = False) -> Estimate:
        """All answers of a workload over these cells, with an interval each: at most 2,000 of them; all hold at once with
        `simultaneous=True` (Šidák's rule, for normal errors of any correlation)."""
        if as_workload(workload).shape != self.shape:
            raise InvalidParameter(f"the workload is over {workload.shape}, the histogram over {self.shape}")
        if workload.queries > _MOST:
            raise InvalidParameter(f"intervals for {workload.queries:,} answers would take long: ask for fewer")
        among = workload.queries if flag("simultaneous", simultaneous) else 1
        tail = -math.expm1(math.log(open_fraction("confidence", confidence)) / among)
        rows = np.stack([workload.query(i) for i in range(workload.queries)])
        spread = np.sqrt([self.variance(row) for row in rows])
        return Estimate(rows @ self.values, -ndtri(tail / 2.0) * spread, confidence)

    def _weights(self, query: Any) -> Array:
        weights = _numbers(query)
        if weights.shape != self.shape:
            raise InvalidParameter(f"a query needs one finite number for each cell: shape {self.shape}")
        return weights


def _numbers(given: Any) -> Array:
    """An array of finite numbers, of its own; empty where it is none."""
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        return np.zeros(0)
    return found if np.all(np.isfinite(found)) else np.zeros(0)
