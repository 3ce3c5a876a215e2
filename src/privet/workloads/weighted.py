"""A workload whose errors count more, or less."""

from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet._numerics import Array
from privet._validate import above, set_frozen
from privet.workloads.partition import Partition
from privet.workloads.workload import Workload, as_workload


@final
@door
@dataclass(frozen=True)
class Weighted(Workload):
    """A workload whose errors count `weight` times as much (squared errors its square); answers stay as they are.

    >>> from privet.workloads import AllRanges
    >>> Weighted(AllRanges(4), 2.0).queries
    10
    """

    workload: Workload
    weight: float

    def __post_init__(self) -> None:
        as_workload(self.workload)
        set_frozen(self, weight=above("weight", self.weight, 0.0))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.workload.shape

    @property
    def queries(self) -> int:
        return self.workload.queries

    def answers(self, histogram: Array) -> Array:
        return self.workload.answers(histogram)

    def query(self, number: int) -> Array:
        return self.workload.query(number)

    def gram(self) -> Array:
        return self.weight**2 * self.workload.gram()

    def block_energy(self, width: int) -> float:
        return self.weight**2 * self.workload.block_energy(width)

    def bucket_energy(self, partition: Partition, width: int) -> float:
        return self.weight**2 * float(self.workload.bucket_energy(partition, width))

    def bucket_gram(self, partition: Partition) -> Array:
        return self.weight**2 * self.workload.bucket_gram(partition)

    @property
    def has_bucket_gram(self) -> bool:
        return self.workload.has_bucket_gram

    def describe(self) -> str:
        return f"{self.workload.describe()} (weight {self.weight:g})"
