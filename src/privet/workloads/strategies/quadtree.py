"""A tree of nested squares over a rectangle of cells."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet._validate import flag, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.squares import Squares
from privet.workloads.strategy import SEARCHED, Strategy, register
from privet.workloads.workload import Workload


@final
@register
@dataclass(frozen=True, kw_only=True)
class Quadtree(Strategy):
    """Squares of 1, 2 x 2, 4 x 4, ... cells, each level with the same weight.

    **Sensitivity:** the number of levels (l1), its root (l2); under replace twice the levels of several squares.
    **Error:** by dense linear algebra. **Reference:** Cormode et al. 2012; proof note workloads/hierarchical.

    >>> from privet.workloads import AllRanges, Product
    >>> Quadtree().design(Product((AllRanges(4), AllRanges(4))), "l1").measurements
    21
    """

    name = "quadtree"

    root: bool = True

    def __post_init__(self) -> None:
        set_frozen(self, root=flag("root", self.root))

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        # filled up to a square: 2 x 150 cells would be 65,536
        fits = len(workload.shape) == 2 and 4 ** (max(workload.shape) - 1).bit_length() <= SEARCHED
        return (cls(), cls(root=False)) if fits else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        if len(workload.shape) != 2:
            raise InvalidParameter("a quadtree is for two dimensions")
        levels = (max(workload.shape) - 1).bit_length() + (1 if self.root or max(workload.shape) == 1 else 0)
        rows, columns = workload.shape
        return Squares((rows, columns), (Fraction(1),) * max(levels, 1))

    def describe(self) -> str:
        return "quadtree" + ("" if self.root else ", without its root")
