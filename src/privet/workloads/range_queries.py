"""The front of the room: all ranges of a histogram, or any linear workload, asked at once."""

import math
from dataclasses import dataclass, replace
from typing import Any, Unpack, final

import numpy as np

from privet._calls import door
from privet._validate import above, count, instance, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Release, Source
from privet.privacy import Promise, Unit
from privet.workloads.adaptive.adaptive_queries import AdaptiveQueries
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy
from privet.workloads.all_ranges import AllRanges
from privet.workloads.answers import Answers
from privet.workloads.linear_queries import LinearQueries
from privet.workloads.plan import Plan, make_plan
from privet.workloads.strategy import Strategy, as_strategy
from privet.workloads.workload import Workload, as_workload, public_cells


@final
@door
@dataclass(frozen=True, kw_only=True)
class RangeQueries:
    """All range queries over `domain` cells (or another `workload` over them), with the strategy of least error.

    Everything up to the release is public: the domain, the workload, the unit of privacy. The histogram is an array of
    counts, one a cell, in the order of the cells. `strategy` replaces the choice; one that looks at the data (`DAWA()`,
    `MWEM()`, `Automatic()`) pays for its look from the same budget. `unit` is add/remove by default; a
    question (`of`) takes its ledger's.

    **Guarantee:** that of the mechanism chosen, `LinearQueries`.
    **Error:** `plan` says it before anything is paid; each answer carries its interval.

    >>> ages = RangeQueries(domain=100)
    >>> released = ages.release([5] * 100, epsilon=1.0)
    >>> 0.0 < released.value.answer(18, 64).radius < 100.0
    True
    """

    domain: int | None = None
    workload: Workload | None = None
    unit: Unit | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        if (self.domain is None) == (self.workload is None):
            raise InvalidParameter("give either domain=, the number of cells, or workload=, such as Prefix(100)")
        if self.workload is None:
            set_frozen(self, workload=AllRanges(public_cells(self.domain)))
        set_frozen(self, domain=as_workload(self.workload).cells)
        if self.unit is not None:
            instance("unit", self.unit, Unit)
        count("max_rows", self.max_rows, 1)

    @door
    def plan(self, *, strategy: Strategy | None = None, **promise: Unpack[Promise]) -> Plan:
        """Every candidate with its error; no data, no charge.

        >>> RangeQueries(domain=8).plan(epsilon=1.0).best.rmse < 3.0
        True
        """
        if isinstance(strategy, AdaptiveStrategy):
            raise InvalidParameter(f"the error of {strategy.describe()} depends on the data and cannot be planned")
        facts = {"unit": self.unit, "max_rows": self.max_rows}
        return make_plan(
            as_workload(self.workload), None if strategy is None else [as_strategy(strategy)], facts, promise
        )

    @door
    def for_budget(
        self, *, strategy: Strategy | AdaptiveStrategy | None = None, **promise: Unpack[Promise]
    ) -> LinearQueries | AdaptiveQueries:
        """The mechanism of the best candidate, or of the strategy that is given."""
        if isinstance(strategy, AdaptiveStrategy):
            facts: dict[str, Any] = {"unit": self.unit, "max_rows": self.max_rows}
            return AdaptiveQueries.for_budget(
                workload=as_workload(self.workload), strategy=strategy, **facts, **promise
            )
        return self.plan(strategy=strategy, **promise).mechanism

    @door
    def release(
        self,
        histogram: object,
        *,
        strategy: Strategy | AdaptiveStrategy | None = None,
        source: Source = None,
        **promise: Unpack[Promise],
    ) -> Release[Answers]:
        """Noisy answers to every query at once; paid by the ledger in force."""
        try:
            return self.for_budget(strategy=strategy, **promise).release(histogram, source=source)
        finally:
            del histogram  # frames outlive an error, and the data with them

    def of(self, histogram: object, *, strategy: Strategy | AdaptiveStrategy | None = None) -> "HistogramQuestion":
        """These queries about this histogram: what `ledger.release(question, epsilon=...)` takes."""
        return HistogramQuestion(self, histogram, strategy)

    @door
    def for_error(self, *, within: float, confidence: float = 0.95, strategy: Strategy | None = None) -> float:
        """The smallest epsilon (pure) at which the interval of a typical query is at most `within`.

        Typical is the root of the mean variance, with the exact law of the query in the middle of the workload.

        >>> 0.1 < RangeQueries(domain=16).for_error(within=20.0) < 1.0
        True
        """
        level = open_fraction("confidence", confidence)
        best = self.plan(epsilon=1.0, strategy=strategy).best
        middle = best.mechanism.workload.query(best.mechanism.workload.queries // 2)
        blank = best.mechanism._answers(np.zeros(best.mechanism.design.measurements, dtype=np.int64))
        deviation = math.sqrt(best.mechanism.spread * best.mechanism.design.variance(middle))
        at_one = best.rmse * blank.linear(middle, confidence=level).radius / deviation
        epsilon = at_one / above("within", within, 0.0)
        if not math.isfinite(epsilon) or epsilon > 1e6:
            raise InvalidParameter("within is too small for any useful epsilon")
        return epsilon


@final
@dataclass(frozen=True, eq=False, repr=False)
class HistogramQuestion:
    """Queries that know their data: a ledger makes them a mechanism and pays."""

    queries: RangeQueries
    data: Any
    strategy: Strategy | AdaptiveStrategy | None = None

    @property
    def unit(self) -> Unit | None:
        """The privacy unit of the queries; None leaves it to the ledger."""
        return self.queries.unit

    def for_budget(self, *, unit: Unit | None = None, **promise: Unpack[Promise]) -> LinearQueries | AdaptiveQueries:
        """The mechanism for this budget, about the given unit where the queries leave it open; no data is looked at."""
        queries = self.queries if unit is None else replace(self.queries, domain=None, unit=unit)
        return queries.for_budget(strategy=self.strategy, **promise)
