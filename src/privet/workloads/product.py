"""Workloads over several dimensions, made of one for each: all rectangles are made of all ranges of both sides."""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import prod
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
class Product(Workload):
    """Every combination of one query of each factor, the last factor's changing fastest: its row is their outer product.

    >>> from privet.workloads import AllRanges
    >>> rectangles = Product((AllRanges(2), AllRanges(2)))
    >>> rectangles.answers(np.array([[1, 2], [3, 4]])).tolist()  # of each side 0..0, 0..1, 1..1
    [1, 3, 2, 4, 10, 6, 3, 7, 4]
    """

    factors: tuple[Workload, ...]

    def __post_init__(self) -> None:
        try:
            set_frozen(self, factors=tuple(as_workload(each) for each in self.factors))
        except TypeError:
            raise InvalidParameter("factors must be a list of workloads, one for each dimension") from None
        if not self.factors or any(len(each.shape) != 1 for each in self.factors):
            raise InvalidParameter("factors must be workloads of one dimension each, at least one")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(each.cells for each in self.factors)

    @property
    def queries(self) -> int:
        return int(np.prod([each.queries for each in self.factors], dtype=object))

    def answers(self, histogram: Array) -> Array:
        found = np.asarray(histogram)
        for axis, factor in enumerate(self.factors):
            found = np.apply_along_axis(factor.answers, axis, found)
        return found.reshape(-1)

    def query(self, number: int) -> Array:
        places = np.unravel_index(number, [each.queries for each in self.factors])
        rows = [factor.query(int(place)) for factor, place in zip(self.factors, places, strict=True)]
        return np.asarray(reduce(np.multiply.outer, rows))

    def gram(self) -> Array:
        self._small()
        return np.asarray(reduce(np.kron, [each.gram() for each in self.factors]))

    def block_energy(self, width: int) -> float | Fraction:
        if width == 1:  # the trace of a Kronecker product is the product of the traces, here without rounding
            return prod((Fraction(each.block_energy(1)) for each in self.factors), start=Fraction(1))
        if len(self.factors) > 1:
            raise InvalidParameter("blocks of consecutive cells are for one dimension: take Kronecker() or Quadtree()")
        return self.factors[0].block_energy(width)

    def bucket_energy(self, partition: Partition, width: int) -> float | Fraction:
        return self._line().bucket_energy(partition, width)

    def bucket_gram(self, partition: Partition) -> Array:
        return self._line().bucket_gram(partition)

    @property
    def has_bucket_gram(self) -> bool:
        return len(self.factors) == 1 and self.factors[0].has_bucket_gram

    def _line(self) -> Workload:
        """The only factor; refused where there are several."""
        if len(self.factors) > 1:
            raise InvalidParameter("buckets are made of the cells of one dimension")
        return self.factors[0]

    def describe(self) -> str:
        return " x ".join(each.describe() for each in self.factors)
