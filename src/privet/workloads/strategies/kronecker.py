"""A strategy for each dimension; what is measured are the products of their rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.kronecker import Grid
from privet.workloads.product import Product
from privet.workloads.strategies.hierarchical import Hierarchical
from privet.workloads.strategies.wavelet import Wavelet
from privet.workloads.strategy import Strategy, as_strategy, register
from privet.workloads.workload import Workload


@final
@register
@dataclass(frozen=True)
class Kronecker(Strategy):
    """A strategy for workloads that are a `Product`: it measures every combination of one measurement of each side.

    `factors` is one strategy for each side; without them every side has its best tree (`Hierarchical`).

    **Sensitivity:** under add/remove the product of those of the factors; under replace exact for trees, else a bound.
    **Error:** the variance summed over all queries (`Design.trace`) is the product of those of the factors.
    **Reference:** McKenna et al. 2018; proof note workloads/kronecker.

    >>> from privet.workloads import AllRanges, Product
    >>> Kronecker().design(Product((AllRanges(4), AllRanges(4))), "l2").cells
    16
    """

    name = "kronecker"

    factors: tuple[Strategy, ...] = ()

    def __post_init__(self) -> None:
        set_frozen(self, factors=tuple(as_strategy(each) for each in self.factors))

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        # a product of one factor is a line, which trees and wavelets offer to measure themselves
        if not isinstance(workload, Product) or len(workload.shape) == 1:
            return ()
        return cls(), cls((Wavelet(),) * len(workload.factors))

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        if not isinstance(workload, Product):
            raise InvalidParameter("Kronecker() needs a Product of workloads, one for each dimension")
        factors = self.factors or (Hierarchical(),) * len(workload.factors)
        if len(factors) != len(workload.factors):
            raise InvalidParameter(f"give one strategy for each of {len(workload.factors)} dimensions")
        return Grid(tuple(s.design(w, norm) for s, w in zip(factors, workload.factors, strict=True)))

    def describe(self) -> str:
        if not self.factors:
            return "best tree of each side"
        return " x ".join(each.describe() for each in self.factors)
