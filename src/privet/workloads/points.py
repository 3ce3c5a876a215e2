"""Every cell by itself: the histogram."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import set_frozen
from privet.workloads.partition import Partition
from privet.workloads.workload import Workload, public_shape


@final
@door
@dataclass(frozen=True)
class Points(Workload):
    """Each cell on its own, of a domain of one or several dimensions.

    >>> Points((2, 2)).answers(np.array([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4]
    """

    domain: int | tuple[int, ...]

    def __post_init__(self) -> None:
        shape = public_shape(self.domain)
        set_frozen(self, domain=shape[0] if len(shape) == 1 else shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return public_shape(self.domain)

    @property
    def queries(self) -> int:
        return self.cells

    def answers(self, histogram: Array) -> Array:
        return np.asarray(histogram).reshape(-1)

    def query(self, number: int) -> Array:
        return (np.arange(self.cells) == number).astype(float).reshape(self.shape)

    def gram(self) -> Array:
        return np.eye(self._small())

    def block_energy(self, width: int) -> float:
        return float(self.cells)

    def bucket_energy(self, partition: Partition, width: int) -> Fraction:
        """A cell takes 1/w of its bucket, and there are w of them; no query asks for two cells."""
        return partition.inverses

    def bucket_gram(self, partition: Partition) -> Array:
        return np.diag(1.0 / partition.widths)

    @property
    def has_bucket_gram(self) -> bool:
        return True

    def describe(self) -> str:
        return f"each of {self.cells:,} cells"
