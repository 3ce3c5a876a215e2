"""Measure every cell: the histogram itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.tree import Tree
from privet.workloads.strategy import Lines, Strategy, register
from privet.workloads.workload import Workload

_MOST = 2**40  # cells that a plan would measure one by one


@final
@register
@dataclass(frozen=True)
class Cells(Strategy):
    """Each cell once (the lectures' strategy 2). A range of r cells has r times the variance of a cell.

    **Sensitivity:** 1 under add/remove; 2 (l1) and sqrt 2 (l2) under replace.
    **Error:** over all ranges k(k + 1)(k + 2)/6 times the variance of the noise.
    **Reference:** Dwork, McSherry, Nissim & Smith 2006.

    >>> from privet.workloads import AllRanges
    >>> Cells().design(AllRanges(8), "l1").trace(AllRanges(8))
    120.0
    """

    name = "cells"
    lines: ClassVar[Lines] = "any"

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        return (cls(),) if workload.cells <= _MOST else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        return Tree(workload.cells, (1,), (Fraction(1),))

    def describe(self) -> str:
        return "every cell"
