"""Several workloads over one domain."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.workloads.partition import Partition
from privet.workloads.workload import Workload, as_workload


@final
@door
@dataclass(frozen=True)
class Stacked(Workload):
    """Workloads over the same cells, asked together: the queries of the first, then of the second, and so on.

    >>> from privet.workloads import Points, Prefix
    >>> Stacked((Prefix(4), Points(4))).queries
    8
    """

    workloads: tuple[Workload, ...]

    def __post_init__(self) -> None:
        try:
            set_frozen(self, workloads=tuple(self.workloads))
        except TypeError:
            raise InvalidParameter("workloads must be a list of workloads") from None
        if not self.workloads:
            raise InvalidParameter("workloads must hold at least one workload")
        for each in self.workloads:
            as_workload(each)
        if len({each.shape for each in self.workloads}) > 1:
            raise InvalidParameter("workloads that are asked together must be over the same domain")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.workloads[0].shape

    @property
    def queries(self) -> int:
        return sum(each.queries for each in self.workloads)

    def answers(self, histogram: Array) -> Array:
        return np.concatenate([each.answers(histogram) for each in self.workloads])

    def query(self, number: int) -> Array:
        for each in self.workloads:
            if number < each.queries:
                return each.query(number)
            number -= each.queries
        raise InvalidParameter("there is no query of this number")

    def gram(self) -> Array:
        self._small()
        return np.asarray(sum(each.gram() for each in self.workloads))

    def block_energy(self, width: int) -> Fraction:
        return sum((Fraction(each.block_energy(width)) for each in self.workloads), Fraction(0))

    def bucket_energy(self, partition: Partition, width: int) -> Fraction:
        return sum((Fraction(each.bucket_energy(partition, width)) for each in self.workloads), Fraction(0))

    def bucket_gram(self, partition: Partition) -> Array:
        return np.asarray(sum(each.bucket_gram(partition) for each in self.workloads))

    @property
    def has_bucket_gram(self) -> bool:
        return all(each.has_bucket_gram for each in self.workloads)

    def describe(self) -> str:
        return "; ".join(each.describe() for each in self.workloads)
