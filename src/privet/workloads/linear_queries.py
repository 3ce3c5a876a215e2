"""The mechanism of this room: exact measurements of a histogram, noise of the strategy's weights, least squares."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, Unpack, final

import numpy as np

from privet._cache import kept_property, remember
from privet._numerics import Array
from privet._validate import above, count, instance, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms import (
    ErrorBar,
    Example,
    Form,
    Gaussian,
    Kept,
    Mechanism,
    Sensitivity,
    Source,
    pure_scale,
    register,
    scale_for,
)
from privet.mechanisms.target import ratio_down
from privet.noise import LARGEST_SCALE
from privet.privacy import GaussianLoss, Guarantee, PrivacyLoss, Promise, PureLoss, Unit
from privet.workloads.answers import Answers
from privet.workloads.design import Design, NoiseNorm, whole_noise
from privet.workloads.families.counts import admit_counts, admit_histogram, whole_counts
from privet.workloads.families.noise_law import Kind, NoiseLaw
from privet.workloads.families.radii import cell_radii
from privet.workloads.families.residuals import Residuals
from privet.workloads.marginals import Marginals
from privet.workloads.prefix import Prefix
from privet.workloads.strategies.hierarchical import Hierarchical
from privet.workloads.strategy import Strategy, as_strategy
from privet.workloads.workload import Workload, as_workload

_LARGEST = 2**61  # answers that are handed in are cut there: no measurement lies beyond, as in `design`
_LISTED = 2**32  # cells of a histogram, at most


class _Tables(NamedTuple):
    """The exact answers of marginals, where they stand for the histogram."""

    answers: Array


@final
@register
@dataclass(frozen=True, kw_only=True)
class LinearQueries(Mechanism[Any, Answers]):
    """Every answer of a workload from one set of noisy measurements of the histogram.

    `norm` "l1" adds discrete Laplace noise, "l2" Gaussian noise rounded to integers, of `scale` over the weight of each
    measurement. A cell that is missing or no number counts as 0, a fraction is rounded half up; one beyond
    `design.most` (2^61 over the sum of a row, at least 5 10^8 on up to 1,024 cells) is cut there.

    **Guarantee:** pure epsilon = sensitivity/scale, or that of the Gaussian with noise multiplier scale/sensitivity:
    rounding is post-processing, in every dimension.
    **Sensitivity:** that of the strategy's matrix, exactly, for `unit`, `max_rows` rows a person, and rows that may lie
    outside the domain.
    Of marginals by residual tables, the exact answers may be handed in place of the histogram, one below the other: the
    domain is then never built.
    **Error:** known before paying (`plan`), and with every answer.
    **Reference:** Li, Hay, Rastogi, Miklau & McGregor 2010; proof note workloads/linear_queries.

    >>> from privet.workloads import Cells
    >>> mechanism = LinearQueries.for_budget(epsilon=1.0, workload=Prefix(4), strategy=Cells())
    >>> mechanism.scale, mechanism.loss.pure()
    (1.0, 1.0)
    """

    name = "linear_queries"

    workload: Workload
    strategy: Strategy
    norm: NoiseNorm
    scale: float
    unit: Unit = field(default=Unit())
    max_rows: int = 1
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_workload(self.workload)
        as_strategy(self.strategy)
        set_frozen(self, scale=above("scale", self.scale, 0.0), max_rows=count("max_rows", self.max_rows, 1))
        instance("unit", self.unit, Unit)
        _known_norm(self.norm)
        finest = min(weight for _, weight in self.design.groups)
        if Fraction(self.scale) / finest > LARGEST_SCALE:
            raise InvalidParameter("the budget is too small for this strategy: its noise would not fit whole numbers")
        missing = self.design.uncovered(self.workload)
        if missing is not None:
            raise InvalidParameter(
                f"{self.strategy.describe()} does not determine query {missing} of the workload: measure its cells too"
            )

    @classmethod
    def for_budget(
        cls,
        *,
        workload: Workload,
        strategy: Strategy,
        unit: Unit | None = None,
        max_rows: int = 1,
        norm: NoiseNorm | None = None,
        **promise: Unpack[Promise],
    ) -> "LinearQueries":
        """The least noise within the budget; of both norms, where the strategy and the budget allow both, the better."""
        Guarantee(**promise)  # which says what is wrong
        facts: dict[str, Any] = {"workload": workload, "strategy": as_strategy(strategy), "max_rows": max_rows}
        facts |= {"unit": Unit() if unit is None else instance("unit", unit, Unit)}
        found = []
        for each in strategy.norms if norm is None else (norm,):
            try:
                found.append(_calibrated(cls, each, promise, facts))
            except NoGuarantee:  # this noise cannot keep such a promise
                continue
        if not found:
            if "l1" in strategy.norms:
                raise NoGuarantee(
                    f"{strategy.describe()} is for Laplace noise, which is not priced in mu: give epsilon or rho"
                )
            raise NoGuarantee(f"{strategy.describe()} needs Gaussian noise, which has no pure guarantee: give a delta")
        return min(found, key=lambda mechanism: mechanism.rmse)

    @property
    def form(self) -> Form:
        """Answers, which are stored with what was measured."""
        return Kept("workloads.answers")

    @kept_property
    def design(self) -> Design:
        """The measurements: worked out once, so that what is priced is what is drawn."""
        return self.strategy.design(self.workload, self.norm)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the weighted measurements."""
        return self.design.sensitivity(self.norm, self.unit, max_rows=self.max_rows)

    @property
    def loss(self) -> PrivacyLoss:
        reach = self.sensitivity.value
        if self.norm == "l1":
            return PureLoss(_up(reach / Fraction(self.scale)), unit=self.unit)
        return GaussianLoss(ratio_down(self.scale, reach), unit=self.unit)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error over all queries; at most that, where the noise is a few whole steps only and
        levels differ in weight."""
        return math.sqrt(self.spread * self.design.trace(self.workload) / self.workload.queries)

    @kept_property
    def spread(self) -> float:
        """The variance of the noise at weight 1, of the integer law that is drawn (the largest over the groups)."""
        weights = [float(weight) for _, weight in self.design.groups]
        laws = NoiseLaw(self._kind, tuple((1, Fraction(self.scale) / weight) for _, weight in self.design.groups))
        return max(v * w * w for v, w in zip(laws.variances().tolist(), weights, strict=True))

    @property
    def _kind(self) -> Kind:
        return "laplace" if self.norm == "l1" else "gaussian"

    @property
    def takes_answers(self) -> bool:
        """True if exact answers of the workload may be handed in place of the histogram."""
        return isinstance(self.design, Residuals) and isinstance(self.workload, Marginals)

    def _admit(self, value: object) -> None:
        if not (self.takes_answers and self._are_answers(value)):
            admit_histogram(value, self.workload.shape)

    def _are_answers(self, value: object) -> bool:
        """By the shape alone. Where it is that of the histogram too, a table of one attribute is asked for: the same."""
        return admit_counts(value) == (self.workload.queries,) != self.workload.shape

    def _prepare(self, value: object) -> Array | _Tables:
        if self.takes_answers and self._are_answers(value):
            return _Tables(whole_counts(value, _LARGEST))
        return whole_counts(value, self.design.most)

    def _exact(self, prepared: Array | _Tables) -> Array:
        if not isinstance(prepared, _Tables):
            return self.design.measure(prepared)
        assert isinstance(self.design, Residuals)
        assert isinstance(self.workload, Marginals)
        return self.design.measure_tables(self.workload, prepared.answers)

    def _measured_of(self, value: object) -> list[Fraction]:
        """The weighted measurements."""
        exact = iter(self._exact(self._prepare(value)).tolist())
        return [weight * next(exact) for size, weight in self.design.groups for _ in range(size)]

    def _draw(self, prepared: Array | _Tables, runs: int, source: Source) -> list[Answers]:
        exact = self._exact(prepared)
        noisy = np.empty((runs, len(exact)), dtype=np.int64)
        start = 0
        for size, weight in self.design.groups:
            drawn = whole_noise(self.norm, Fraction(self.scale) / weight, (runs, size), source)
            noisy[:, start : start + size] = exact[start : start + size] + drawn
            start += size
        return [self._answers(row) for row in noisy]

    def _answers(self, measured: Array) -> Answers:
        return Answers(self.design, self._kind, Fraction(self.scale), measured, self.workload.shape)

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """Of each cell by itself (`release.interval` is around `release.value.histogram`). Of the first query alone where
        cells are many or are not determined; each answer has its own interval (`release.value.answer`).
        """
        return None if self.design.biased else _bar(self, confidence)

    def _notes(self, drawn: Answers) -> tuple[str, ...]:
        if self.workload.cells > _LISTED:  # tables were handed in, and of these nothing is cut
            return ()
        return (f"cells beyond {self.design.most:,} are cut there",)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        tree = Hierarchical(weights="uniform")
        plain = cls.for_budget(epsilon=1.0, workload=Prefix(4), strategy=tree)
        yield Example(plain, [3, 0, 2, 1], [3, 1, 2, 1], Guarantee(1.0))
        moved = cls.for_budget(mu=1.0, workload=Prefix(2), strategy=tree, unit=Unit("replace"))
        yield Example(moved, [3, 0], [2, 1], Guarantee(mu=1.0))


@remember(2**20)
def _bar(mechanism: LinearQueries, confidence: float) -> ErrorBar:
    blank = mechanism._answers(np.zeros(mechanism.design.measurements, dtype=np.int64))
    if mechanism.takes_answers and isinstance(mechanism.workload, Marginals) and not mechanism.design.complete:
        radius = blank.table(mechanism.workload.attributes[0], confidence=confidence).radius
        return ErrorBar(float(np.max(radius)), confidence, "the first query", around=False)
    cells = cell_radii(mechanism.design, blank._law, confidence)
    if cells is not None:
        return ErrorBar(cells.reshape(mechanism.workload.shape), confidence, "histogram", joint=False)
    radius = blank.linear(mechanism.workload.query(0), confidence=confidence).radius
    return ErrorBar(radius, confidence, "the first query", around=False)


def _calibrated(cls: type[LinearQueries], norm: NoiseNorm, promise: Promise, facts: dict[str, Any]) -> LinearQueries:
    target = Guarantee(**promise)
    design = facts["strategy"].design(facts["workload"], norm)
    reach = design.sensitivity(norm, facts["unit"], max_rows=facts["max_rows"])
    if norm == "l2":
        made = Gaussian.for_budget(**promise, sensitivity=reach)
        return cls(norm=norm, scale=made.scale, at=made.at, **facts)
    if target.mu is not None:
        raise NoGuarantee("Laplace noise is not priced in mu")
    epsilon = target.epsilon if target.epsilon is not None else (2.0 * float(target.rho or 0.0)) ** 0.5 * (1.0 - 1e-15)
    scale = pure_scale(scale_for(1.0 / epsilon, reach.value), reach.value, Guarantee(epsilon))
    return cls(norm=norm, scale=scale, **facts)


def _known_norm(norm: object) -> None:
    if norm not in ("l1", "l2"):
        raise InvalidParameter(f'norm must be "l1" (Laplace noise) or "l2" (Gaussian noise), got {norm!r:.40}')


def _up(ratio: Fraction) -> float:
    nearest = float(ratio)
    return nearest if nearest >= ratio else float(np.nextafter(nearest, np.inf))
