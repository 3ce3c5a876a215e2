"""Counts of given buckets of cells, instead of the cells."""

from dataclasses import dataclass, field
from typing import final

from privet._validate import set_frozen
from privet.workloads.bucketed import Bucketed
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.biased import Biased
from privet.workloads.strategies.hierarchical import Hierarchical
from privet.workloads.strategy import Strategy, as_strategy
from privet.workloads.workload import Workload


@final
@dataclass(frozen=True)
class Buckets(Strategy):
    """Only sums over buckets of cells that end (not included) at `ends`, by the strategy `inner` over the buckets.

    What lies inside a bucket is guessed to be even: biased, with less noise. The ends are public, or were released.

    **Sensitivity:** that of `inner` over the buckets: a row lies in one of them.
    **Error:** of the noise as `inner` says; the unevenness inside the buckets comes on top, and no interval knows it.

    >>> from privet.workloads import RangeQueries
    >>> found = RangeQueries(domain=6).release([9, 8, 8, 0, 0, 1], epsilon=100.0, strategy=Buckets((3, 6))).value
    >>> round(found.answer(0, 2).value), found.answer(3, 5).noise_only
    (25, True)
    """

    ends: tuple[int, ...]
    inner: Strategy = field(default=Hierarchical())

    name = "buckets"

    def __post_init__(self) -> None:
        set_frozen(self, ends=tuple(int(end) for end in self.ends), inner=as_strategy(self.inner))

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        over = Bucketed(workload, self.ends)
        return Biased(self.inner.design(over, norm), over.ends)

    def describe(self) -> str:
        return f"{len(self.ends):,} buckets by {self.inner.describe()}"
