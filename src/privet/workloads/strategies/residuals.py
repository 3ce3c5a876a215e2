"""Residual tables with the best noise for marginals."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.residuals import Residuals, closure, subsets
from privet.workloads.marginals import Marginals
from privet.workloads.strategy import Strategy, register
from privet.workloads.workload import Workload


@final
@register
@dataclass(frozen=True)
class ResidualTables(Strategy):
    """Residual tables: what each set of attributes adds to its subsets, with the noise that makes the total error of
    the tables least.

    Exact optimum over all strategies for Gaussian noise, in closed form: the weight of a set grows with the fourth root
    of what the tables put on it. Never builds the full domain to plan.

    **Sensitivity:** l2; under replace exact for up to 12 attributes.
    **Error:** (sum over sets of sqrt(v_A p_A))^2 at mu = 1. **Reference:** Xiao, He, Zhang & Kifer 2023; proof note
    workloads/residuals.

    >>> tables = Marginals((2, 3, 4), ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)))
    >>> design = ResidualTables().design(tables, "l2")
    >>> round(design.trace(tables) * float(design.sensitivity("l2")) ** 2, 5)
    85.84233
    """

    name = "residual tables"
    norms: ClassVar[tuple[NoiseNorm, ...]] = ("l2",)

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        return (cls(),) if norm == "l2" and isinstance(workload, Marginals) else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        if not isinstance(workload, Marginals):
            raise InvalidParameter("residual tables are for Marginals: name the tables you want")
        sizes = workload.domain
        put = dict.fromkeys(closure(workload.attributes), 0.0)
        for table in workload.attributes:
            values = math.prod(sizes[i] for i in table)
            for part in subsets(table):
                put[part] += (
                    math.prod(sizes[i] for i in part) ** 2 / values
                )  # cells of the table over (n's of the rest)^2
        put = {part: value for part, value in put.items() if all(sizes[i] > 1 for i in part)}
        most = max(put.values())
        weights = (Fraction((value / most) ** 0.25 / math.prod(sizes[i] for i in part)) for part, value in put.items())
        return Residuals(sizes, tuple(put), tuple(weights))

    def describe(self) -> str:
        return "residual tables"
