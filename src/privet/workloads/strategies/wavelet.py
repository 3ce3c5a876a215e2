"""Haar wavelets with the best weights of their levels."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

import numpy as np

from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm, whole_weight
from privet.workloads.families.haar import Haar
from privet.workloads.families.spectral import energies
from privet.workloads.strategy import Lines, Strategy, register
from privet.workloads.workload import Workload


@final
@register
@dataclass(frozen=True, kw_only=True)
class Wavelet(Strategy):
    """Differences of the halves of nested blocks, and the total (Privelet).

    The best weights are known in closed form: with r_j what the queries put on level j, divided by its width, they grow
    like r_j^(1/3) for Laplace noise and like r_j^(1/4) for Gaussian noise.

    **Sensitivity:** the sum of the weights, or the root of the sum of their squares.
    **Error:** 2 (sum of r_j^(1/3))^3 / epsilon^2, or (sum of sqrt r_j)^2 sigma^2.
    **Reference:** Xiao, Wang & Gehrke 2010; proof note workloads/wavelet.

    >>> from privet.workloads import Prefix
    >>> Wavelet(weights="uniform").design(Prefix(4), "l2").trace(Prefix(4))
    2.75
    """

    name = "wavelet"
    lines: ClassVar[Lines] = "any"

    weights: Literal["best", "uniform"] = "best"

    def __post_init__(self) -> None:
        if self.weights not in ("best", "uniform"):
            raise InvalidParameter(f'weights must be "best" or "uniform", got {self.weights!r}')

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        return (cls(),) if len(workload.shape) == 1 else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        levels = (workload.cells - 1).bit_length()
        if self.weights == "uniform":
            return Haar(workload.cells, (Fraction(1),) * (levels + 1))
        widths = tuple(2**level for level in range(levels + 1))
        put = energies(workload, widths) / np.array([*widths[1:], widths[-1]], dtype=float)
        found = put ** (1.0 / 3.0 if norm == "l1" else 0.25)
        return Haar(workload.cells, tuple(whole_weight(weight) for weight in found / found.max()))

    def describe(self) -> str:
        return "Haar wavelet" + ("" if self.weights == "best" else ", weights 1")
