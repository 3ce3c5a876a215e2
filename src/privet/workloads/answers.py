"""A release of many queries: noisy measurements, and every answer that follows from them, with its interval."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._markup import Shown
from privet._numerics import Array
from privet._validate import flag, fraction, open_fraction
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.design import Design
from privet.workloads.estimate import Estimate, RangeAnswers
from privet.workloads.families.noise_law import Kind, NoiseLaw
from privet.workloads.families.residuals import Residuals
from privet.workloads.inference.projections import isotonic, non_negative as project
from privet.workloads.marginals import Marginals
from privet.workloads.prefix import Prefix
from privet.workloads.workload import Workload, as_workload

_MOST_INTERVALS = 2_000  # each takes a pass over the cells


@final
@storable("workloads.answers")
@dataclass(frozen=True, eq=False)
class Answers(RangeAnswers, Shown):
    """Noisy measurements of one histogram. Everything here is computed from them: asking more costs nothing.

    Intervals come from the exact law of the noise. They are about one answer; `simultaneous=True` makes those of a
    workload hold all at once.

    >>> from privet.workloads import RangeQueries
    >>> found = RangeQueries(domain=4).release([10, 20, 30, 40], epsilon=100.0).value
    >>> round(found.answer(1, 2).value), found.answer(2, 1).value
    (50, 0.0)
    """

    design: Design
    kind: Kind
    scale: Fraction
    measured: Array
    shape: tuple[int, ...]

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store: what was measured, and how."""
        facts = {"design": self.design, "kind": self.kind, "measured": self.measured, "scale": self.scale}
        return facts | {"shape": self.shape}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Answers":
        """Back from `to_arrays`."""
        return cls(**arrays | {"shape": tuple(arrays["shape"])})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answers) or not np.array_equal(self.measured, other.measured):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in ("design", "kind", "scale", "shape"))

    def __hash__(self) -> int:
        return hash(self.measured.tobytes())

    @property
    def histogram(self) -> Array:
        """The cells that fit the measurements best: unbiased, so that some may be negative.

        Refused where the measurements leave cells open (marginals, a few ranges): ask `answers(workload)` then.
        """
        if not self.design.complete:
            raise InvalidParameter("this release does not determine every cell: ask answers(workload) for what it does")
        return self._cells

    @kept_property
    def _cells(self) -> Array:
        cells = self.design.reconstruct(self.measured).reshape(self.shape)
        cells.setflags(write=False)
        return cells

    @kept_property
    def _law(self) -> NoiseLaw:
        return NoiseLaw(self.kind, tuple((size, self.scale / weight) for size, weight in self.design.groups))

    def linear(self, query: Array, *, confidence: float = 0.95) -> Estimate:
        """Any combination of the cells."""
        try:
            weights = np.asarray(query, dtype=float)
        except (TypeError, ValueError):
            raise InvalidParameter(f"a query needs one number for each cell: shape {self.shape}") from None
        if weights.shape != self.shape or not np.all(np.isfinite(weights)):
            raise InvalidParameter(f"a query needs one finite number for each cell: shape {self.shape}")
        if not self.design.determines(weights):
            raise InvalidParameter("this release does not determine that query: ask what its workload asked for")
        radius = self._law.radius(self.design.coefficients(weights), confidence)
        return Estimate(float(np.sum(weights * self._cells)), radius, confidence, self.design.biased)

    def answers(
        self,
        workload: Workload,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        non_negative: bool | None = None,
    ) -> Estimate:
        """All answers of a workload over these cells, with an interval each: at most 2,000 of them, and any number of
        cells of marginal tables, which share one radius a table.

        `non_negative` moves the answers to the nearest ones that cells without negative counts can have, in the norm of
        the workload: their squared error never grows by it. It is the default for prefix sums (which then never fall),
        and not for others: sparse ranges would be pulled upwards.
        """
        if as_workload(workload).shape != self.shape:
            raise InvalidParameter(f"the workload is over {workload.shape}, the histogram over {self.shape}")
        tables = isinstance(workload, Marginals) and not non_negative
        if workload.queries > _MOST_INTERVALS and not tables:
            raise InvalidParameter(
                f"intervals for {workload.queries:,} answers would take long: ask for fewer, or take "
                "workload.answers(release.value.histogram) without intervals"
            )
        if (number := self.design.uncovered(workload)) is not None:
            raise InvalidParameter(f"this release does not determine query {number} of the workload")
        open_fraction("confidence", confidence)
        each = 1.0 - (1.0 - confidence) / workload.queries if simultaneous else confidence
        if isinstance(workload, Marginals) and tables:
            return self._tables(workload, each, confidence)
        rows = [workload.query(i) for i in range(workload.queries)]
        radii = [self._law.radius(self.design.coefficients(row), each) for row in rows]
        values, biased = workload.answers(self._cells), self.design.biased
        if isinstance(workload, Prefix) if non_negative is None else flag("non_negative", non_negative):
            moved = workload.answers(project(self.histogram, workload).reshape(self.shape))
            return Estimate(moved, np.array(radii), confidence, biased, around=values)
        return Estimate(values, np.array(radii), confidence, biased)

    def table(self, attributes: tuple[int, ...], *, confidence: float = 0.95) -> Estimate:
        """One marginal table of the domain with a radius that holds for each of its cells. From residual tables the domain
        is not built for it; other strategies treat the values of an attribute alike, so that three cells stand for all."""
        workload = Marginals(self.shape, (attributes,))
        (clique,) = workload.attributes
        if (number := self.design.uncovered(workload)) is not None:
            raise InvalidParameter(f"this release does not determine query {number} of the workload")
        sides = tuple(self.shape[i] for i in clique)
        if isinstance(self.design, Residuals):
            wide = self._table_radius(self.design, clique, confidence)
            return Estimate(self.design.table(self.measured, clique), np.full(sides, wide), confidence)
        some = {0, workload.queries // 2, workload.queries - 1}
        wide = max(self.linear(workload.query(i), confidence=confidence).radius for i in some)
        values = workload.answers(self._cells).reshape(sides)
        return Estimate(values, np.full(sides, wide), confidence, self.design.biased)

    def _tables(self, workload: Marginals, each: float, confidence: float) -> Estimate:
        """The tables below each other, with one radius a table: no query is written out."""
        found = [self.table(attributes, confidence=each) for attributes in workload.attributes]
        values, radii = (np.concatenate([np.ravel(part) for part in parts]) for parts in _both(found))
        return Estimate(values, radii, confidence, self.design.biased)

    def _table_radius(self, design: Residuals, clique: tuple[int, ...], confidence: float) -> float:
        """Of each cell. Tables whose sets have the same sizes and noises have the same law, which is inverted once."""
        places, weights = design.table_weights(clique)
        noises = tuple(self._law.groups[k] for k in places)
        sizes = [tuple(sorted(self.shape[i] for i in design.parts[k])) for k in places]
        alike = (confidence, tuple(sorted(self.shape[i] for i in clique)), *sorted(zip(sizes, noises, strict=True)))
        if alike not in self._radii:
            self._radii[alike] = NoiseLaw(self.kind, noises).radius(weights, confidence)
        return self._radii[alike]

    @kept_property
    def _radii(self) -> dict[Any, float]:
        return {}

    def cdf(self) -> Array:
        """The share of the rows up to and with each cell: between 0 and 1, never falling."""
        sums = np.maximum(isotonic(np.cumsum(self.histogram.reshape(-1))), 0.0)
        return np.asarray(sums / sums[-1] if sums[-1] > 0.0 else np.linspace(0.0, 1.0, len(sums) + 1)[1:])

    def quantile(self, q: float) -> int:
        """The first cell up to which at least the share q of the rows lies."""
        return int(np.searchsorted(self.cdf(), fraction("q", q) * (1.0 - 1e-12)))

    def __str__(self) -> str:
        return f"answers over {self.design.cells:,} cells from {len(self.measured):,} noisy measurements"


def _both(found: list[Estimate]) -> tuple[list[Array], list[Array]]:
    return [each.value for each in found], [each.radius for each in found]
