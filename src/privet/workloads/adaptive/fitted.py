"""The output of multiplicative weights: a few noisy answers, and the cells that were fitted to them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import fraction, open_fraction
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.estimate import Estimate, RangeAnswers
from privet.workloads.inference.multiplicative_weights import weights_fit
from privet.workloads.workload import Workload

_RUNS = 400  # public simulations behind an interval


@final
@storable("workloads.fitted")
@dataclass(frozen=True, eq=False)
class Fitted(RangeAnswers):
    """Noisy answers to chosen queries and a noisy total, with the non-negative cells that multiplicative weights make
    of them. Everything here is computed from these releases: asking more costs nothing.

    Intervals cover the noise only: the fit is repeated on public simulations, with the fitted cells in the place of the
    true ones. How far the fit itself is off, no interval knows.

    >>> from privet.workloads import MWEM, Prefix, RangeQueries
    >>> asked = RangeQueries(workload=Prefix(4))
    >>> found = asked.release([10, 20, 30, 40], epsilon=100.0, strategy=MWEM(rounds=4)).value
    >>> round(found.histogram.sum()), found.answer(0, 1).noise_only
    (100, True)
    """

    rows: Array
    measured: Array
    scale: Fraction
    total: float
    total_scale: Fraction
    shape: tuple[int, ...]
    passes: int

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        names = ("rows", "measured", "scale", "total", "total_scale", "shape", "passes")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Fitted":
        """Back from `to_arrays`."""
        return cls(**arrays | {"shape": tuple(arrays["shape"])})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fitted) or not np.array_equal(self.rows, other.rows):
            return False
        same = np.array_equal(self.measured, other.measured)
        names = ("scale", "total", "total_scale", "shape", "passes")
        return same and all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash((self.measured.tobytes(), self.total))

    @kept_property
    def histogram(self) -> Array:
        """The fitted cells: not negative, biased."""
        cells = weights_fit(max(1.0, self.total), self.rows, self.measured, passes=self.passes).reshape(self.shape)
        cells.setflags(write=False)
        return cells

    @kept_property
    def _simulated(self) -> Array:
        """Fits to answers with fresh noise around those of the fitted cells: public, always the same."""
        source = noise.Seeded(0)
        exact = self.rows @ self.histogram.reshape(-1)
        drawn = noise.discrete_laplace(scale=self.scale, size=(_RUNS, len(exact)), source=source)
        totals = self.total + np.asarray(noise.discrete_laplace(scale=self.total_scale, size=_RUNS, source=source))
        return weights_fit(np.maximum(1.0, totals), self.rows, exact + drawn, passes=self.passes)

    def linear(self, query: Array, *, confidence: float = 0.95) -> Estimate:
        """Any combination of the cells."""
        weights = np.asarray(query, dtype=float)
        if weights.shape != self.shape or not np.all(np.isfinite(weights)):
            raise InvalidParameter(f"a query needs one finite number for each cell: shape {self.shape}")
        value = float(np.sum(weights * self.histogram))
        radius = float(self._radii(self._simulated @ weights.reshape(-1, 1), value, confidence)[0])
        return Estimate(value, radius, confidence, noise_only=True)

    def answers(self, workload: Workload, *, confidence: float = 0.95) -> Estimate:
        """All answers of a workload over these cells, with an interval each."""
        if workload.shape != self.shape:
            raise InvalidParameter(f"the workload is over {workload.shape}, the histogram over {self.shape}")
        found = np.asarray(workload.answers(self.histogram))
        runs = np.stack([workload.answers(cells.reshape(self.shape)) for cells in self._simulated])
        return Estimate(found, self._radii(runs, found, confidence), confidence, noise_only=True)

    def _radii(self, runs: Array, found: object, confidence: float) -> Array:
        rank = int(np.ceil((_RUNS + 1) * open_fraction("confidence", confidence)))
        if rank > _RUNS:
            raise InvalidParameter("confidence must be at most 0.99: intervals of a fit come from 400 simulations")
        return np.asarray(np.sort(np.abs(runs - found), axis=0)[rank - 1])

    def cdf(self) -> Array:
        """The share of the rows up to and with each cell."""
        sums = np.cumsum(self.histogram.reshape(-1))
        return np.asarray(sums / sums[-1])

    def quantile(self, q: float) -> int:
        """The first cell up to which at least the share q of the rows lies."""
        return int(np.searchsorted(self.cdf(), fraction("q", q) * (1.0 - 1e-12)))

    def __str__(self) -> str:
        return f"{self.rows.shape[1]:,} cells fitted to {len(self.measured):,} noisy answers"
