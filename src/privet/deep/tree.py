"""Batches in fixed order, with noise on the nodes of a binary tree over the steps of an epoch: DP-FTRL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.deep.mixing import Mixing
from privet.deep.sampling import FixedOrder, Sampling, reach, sampler
from privet.mechanisms import Source
from privet.privacy import PrivacyLoss, TreeAggregationLoss, Unit


@sampler
@final
@dataclass(frozen=True, kw_only=True)
class TreeOrder(Sampling):
    """`batch` records after the other in the order in which they come, each of the `n` once an epoch, with noise on sums of
    2^k steps: the sum of all gradients so far is made of a few of these, and no secret of sampling is needed.

    An epoch is one tree; the next epoch begins another one.

    **Guarantee:** `TreeAggregationLoss` for each epoch. **Sensitivity:** a step lies below at most floor(log2 steps) + 1
    nodes. **Reference:** Kairouz et al. 2021. **Proof:** docs/proofs/deep/correlated_noise.md.

    >>> TreeOrder(batch=2, n=9).round_price(2.0, Unit("zero_out")).levels
    3
    """

    name = "tree_order"
    relations = ("zero_out", "replace")
    _instead = "without one record all later ones move to other batches; take Poisson or BandedPoisson"
    batch: int
    n: int

    def __post_init__(self) -> None:
        set_frozen(self, batch=count("batch", self.batch, 1), n=count("n", self.n, 1))

    @property
    def _order(self) -> FixedOrder:
        return FixedOrder(batch=self.batch, n=self.n)

    @property
    def round_steps(self) -> int:
        return self._order.round_steps

    @property
    def largest(self) -> int:
        return self.batch

    def expected(self, size: int | None) -> float:
        return self._order.expected(size)

    def unfit(self, size: int) -> str | None:
        return self._order.unfit(size)

    def draw(self, size: int, *, source: Source) -> Sequence[Array]:
        return self._order.draw(size, source=source)

    def mixing(self) -> Mixing:
        return _Nodes(self.round_steps)

    def _priced(self, noise_multiplier: float, unit: Unit) -> PrivacyLoss:
        one = Unit(unit.relation)
        return TreeAggregationLoss(noise_multiplier / reach(one), self.round_steps, unit=one)

    @classmethod
    def examples(cls) -> Iterable[Sampling]:
        yield cls(batch=1, n=3)


@final
class _Nodes(Mixing):
    """The node that is complete after step t holds the last 2^k steps, 2^k the largest power of two that divides t. It is
    the step itself and the newest nodes of the k sizes below.
    """

    def __init__(self, steps: int) -> None:
        self._steps, self._mixed, self._read = steps, 0, 0
        self._sums: dict[int, Array] = {}  # secret: the newest node of each size
        self._told: dict[int, Array] = {}

    def exact_mixed(self, total: Array) -> Array:
        self._mixed = self._mixed % self._steps + 1
        size = _size(self._mixed)
        node: Array = total.astype(np.float64) + sum((self._sums[k] for k in range(size)), 0.0)
        self._sums[size] = node
        return node

    def read(self, noisy: Array) -> Array:
        self._read = self._read % self._steps + 1
        size = _size(self._read)
        told: Array = noisy - sum((self._told[k] for k in range(size)), 0.0)
        self._told[size] = noisy
        return told


def _size(step: int) -> int:
    """The exponent of two in a number.

    >>> [_size(step) for step in (1, 2, 3, 4, 12)]
    [0, 1, 0, 2, 2]
    """
    return (step & -step).bit_length() - 1
