"""DAWA: a private partition into even buckets, then a strategy over the buckets."""

from dataclasses import dataclass, field
from typing import Any, final

from privet._cache import remember
from privet._numerics import Array
from privet._validate import open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Source
from privet.noise import LARGEST_SCALE
from privet.privacy import PrivacyLoss
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy, Task
from privet.workloads.adaptive.buckets import Buckets
from privet.workloads.adaptive.noisy_partition import NoisyPartition, most_count
from privet.workloads.answers import Answers
from privet.workloads.strategies.hierarchical import Hierarchical
from privet.workloads.strategy import Strategy, as_strategy
from privet.workloads.workload import Workload

_FINEST = 2**24  # no design over buckets has a weight of less than 1 in so many


@final
@dataclass(frozen=True, kw_only=True)
class DAWA(AdaptiveStrategy):
    """Neighbouring cells with nearly equal counts are merged (`share` of the budget), and the buckets measured.

    Wins where data are few, or flat in large parts, and single cells are asked for; prefix sums and ranges of any length
    are answered better by a tree unless epsilon times the number of rows is tiny.

    **Guarantee:** `NoisyPartition` with its share, then `LinearQueries` over the buckets with the rest.
    **Error:** the noise with every answer; unevenness inside buckets comes on top.
    **Reference:** Li, Hay & Miklau 2014; proof note workloads/dawa.

    >>> from privet.workloads import RangeQueries
    >>> found = RangeQueries(domain=8).release([9, 9, 9, 9, 0, 0, 0, 0], epsilon=50.0, strategy=DAWA()).value
    >>> print(found.answer(0, 3).noise_only)
    True
    """

    name = "dawa"

    share: float = 0.25
    penalty: float = 2.5
    inner: Strategy = field(default=Hierarchical())

    def __post_init__(self) -> None:
        set_frozen(self, share=open_fraction("share", self.share), inner=as_strategy(self.inner))

    def _check(self, task: Task) -> None:
        if len(task.workload.shape) != 1:
            raise InvalidParameter("DAWA merges neighbouring cells of one dimension")
        if task.norm not in self.inner.norms:
            raise InvalidParameter(f"{self.inner.describe()} has no noise for {task.target.describe()}")
        if not fits_buckets(self.inner, task.workload):  # how many buckets there are is known when half is paid
            raise InvalidParameter(
                f"DAWA measures any number of buckets, which {self.inner.describe()} cannot: take Hierarchical(), Cells() "
                "or Wavelet()"
            )
        self._partition(task)
        if task.ratio(self._prices(task)[1]) * task.rows * _FINEST > LARGEST_SCALE:
            raise InvalidParameter("the budget is too small for DAWA: its noise would not fit whole numbers")

    def _partition(self, task: Task) -> NoisyPartition:
        made: NoisyPartition = _partition(self.share, self.penalty, task)
        return made

    def _prices(self, task: Task) -> tuple[PrivacyLoss, ...]:
        first = self._partition(task).loss
        return first, task.rest(1.0 - self.share, first)

    def _run(self, task: Task, cells: Array, source: Source) -> Answers:
        ends = self._partition(task).release(cells, source=source).value
        strategy = Buckets(tuple(ends.tolist()), self.inner)
        return task.measuring(self._prices(task)[1], strategy).release(cells, source=source).value

    def _most(self, task: Task) -> int:
        return most_count(task.workload.cells)

    def describe(self) -> str:
        return f"DAWA, {self.inner.describe()} over the buckets"


def fits_buckets(strategy: Strategy, workload: Workload) -> bool:
    """True if a strategy works over every partition of the cells into buckets.

    >>> from privet.workloads import Cells, EveryQuery, Prefix
    >>> fits_buckets(Cells(), Prefix(8)), fits_buckets(EveryQuery(), Prefix(8))
    (True, False)
    """
    return strategy.lines == "any" or (strategy.lines == "small" and workload.has_gram)


@remember(2**18)
def _partition(share: float, penalty: float, task: Task) -> NoisyPartition:
    facts: dict[str, Any] = {"unit": task.unit, "max_rows": task.max_rows, "penalty": penalty}
    return NoisyPartition.for_budget(cells=task.workload.cells, **facts, **task.share(share).keywords())
