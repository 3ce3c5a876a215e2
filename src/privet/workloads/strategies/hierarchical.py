"""Trees of nested blocks, uniform or with the best weights of their levels."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

from privet._validate import count, flag, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm, whole_weight
from privet.workloads.families.spectral import best_weights, energies
from privet.workloads.families.tree import Tree
from privet.workloads.strategy import Lines, Strategy, register
from privet.workloads.workload import Workload


@final
@register
@dataclass(frozen=True, kw_only=True)
class Hierarchical(Strategy):
    """Sums of nested blocks of cells; a range is then a few blocks instead of many cells.

    `weights="best"` chooses the widths (powers of two) and their weights for the workload; most widths drop out.
    `weights="uniform"` measures every level of a tree of the given `branching`, with or without its `root`, as the
    lectures do (strategy 3).

    **Sensitivity:** the sum of the weights (l1) or the root of the sum of their squares (l2); under replace twice the
    levels of more than one block.
    **Error:** in closed form by the spectrum of nested blocks; least squares in one pass up and one down.
    **Reference:** Hay, Rastogi, Miklau & Suciu 2010; Qardaji, Yang & Li 2013; proof note workloads/hierarchical.

    >>> from privet.workloads import AllRanges
    >>> Hierarchical().design(AllRanges(256), "l1").widths
    (1, 16)
    >>> Hierarchical(branching=4, weights="uniform").design(AllRanges(256), "l1").widths
    (1, 4, 16, 64, 256)
    """

    name = "hierarchical"
    lines: ClassVar[Lines] = "any"

    branching: int = 2
    weights: Literal["best", "uniform"] = "best"
    root: bool = True

    def __post_init__(self) -> None:
        set_frozen(self, branching=count("branching", self.branching, 2), root=flag("root", self.root))
        if self.weights not in ("best", "uniform"):
            raise InvalidParameter(f'weights must be "best" or "uniform", got {self.weights!r}')

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        return (cls(),) if len(workload.shape) == 1 else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        widths = self._widths(workload.cells)
        if self.weights == "uniform":
            return Tree(workload.cells, widths, (Fraction(1),) * len(widths))
        found = best_weights(energies(workload, widths), widths, norm)
        kept = [(width, whole_weight(weight)) for width, weight in zip(widths, found, strict=True) if weight > 0.0]
        return Tree(workload.cells, tuple(width for width, _ in kept), tuple(weight for _, weight in kept))

    def _widths(self, cells: int) -> tuple[int, ...]:
        """1, b, b^2, ... below the number of cells, and the root: all of them in one block."""
        widths = [1]
        while widths[-1] * self.branching < cells:
            widths.append(widths[-1] * self.branching)
        if self.root and cells > 1:
            widths.append(-(-cells // widths[-1]) * widths[-1])
        return tuple(widths)

    def describe(self) -> str:
        if self.weights == "best":
            return "tree, best weights" + ("" if self.branching == 2 else f" (branching {self.branching})")
        return f"tree of branching {self.branching}" + ("" if self.root else ", without its root")
