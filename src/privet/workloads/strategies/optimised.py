"""The best matrix for Gaussian noise, by convex optimisation."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from privet._numerics import Array
from privet._progress import track
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import Dense
from privet.workloads.product import Product
from privet.workloads.strategy import SEARCHED, Strategy, register
from privet.workloads.workload import Workload


@final
@register
@dataclass(frozen=True, kw_only=True)
class Optimised(Strategy):
    """The matrix of least total error under Gaussian noise, up to the gap that its dual value certifies.

    Minimise tr(V X^-1) over positive X with diagonal at most 1: a fixed point in the multipliers of the diagonal. Its
    dual value is a lower bound for every strategy (`lower_bound`).

    **Sensitivity:** l2, of the rounded root of X. **Error:** by dense linear algebra.
    **Reference:** Yuan, Yang, Zhang & Hao 2016; Denisov et al. 2022; proof note workloads/optimised.

    >>> from privet.workloads import Prefix
    >>> design = Optimised().design(Prefix(8), "l2")
    >>> design.trace(Prefix(8)) * float(design.sensitivity("l2")) ** 2 < 1.001 * lower_bound(Prefix(8))
    True
    """

    name = "optimised"
    norms: ClassVar[tuple[NoiseNorm, ...]] = ("l2",)
    searched: ClassVar[bool] = True

    rounds: int = 100

    def __post_init__(self) -> None:
        set_frozen(self, rounds=count("rounds", self.rounds, 1))

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        fits = len(workload.shape) == 1 or isinstance(workload, Product)
        return (cls(),) if fits and workload.cells <= SEARCHED else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        sizes = np.linalg.eigvalsh(workload.gram())
        if sizes[0] < 1e-9 * sizes[-1]:
            raise InvalidParameter(
                "the optimum needs a workload that asks about every cell: take EveryQuery() or Cells()"
            )
        multipliers, _ = _fixed_point(workload.gram(), self.rounds)
        inside = np.sqrt(multipliers)
        root = _root(inside[:, None] * workload.gram() * inside)
        best = root / inside[:, None] / inside
        values, vectors = np.linalg.eigh(best / np.max(np.diag(best)))
        matrix = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return Dense.rounded(matrix)

    def describe(self) -> str:
        return "optimised for Gaussian noise"


def lower_bound(workload: Workload, rounds: int = 100) -> float:
    """A lower bound on sensitivity^2 times tr(V G^-1) of every strategy under Gaussian noise, add/remove.

    >>> from privet.workloads import Points
    >>> round(lower_bound(Points(8)), 6)
    8.0
    """
    return _fixed_point(workload.gram(), rounds)[1]


def _fixed_point(gram: Array, rounds: int) -> tuple[Array, float]:
    """The multipliers of the diagonal, and the largest dual value seen; done when the primal value is within 0.1% of it.

    With R the root of D^1/2 V D^1/2 the matrix X = D^-1/2 R D^-1/2 has tr(V X^-1) = tr R, before its diagonal is scaled.
    """
    multipliers = np.diag(_root(gram)).copy()
    best, work = -np.inf, track("optimising the strategy", rounds)
    for _ in range(rounds):
        work.advance()
        inside = np.sqrt(multipliers)
        root = _root(inside[:, None] * gram * inside)
        diagonal = np.maximum(np.diag(root), 1e-300)
        dual = 2.0 * float(np.sum(diagonal)) - float(np.sum(multipliers))
        best = max(best, dual)
        if float(np.sum(diagonal)) * float(np.max(diagonal / multipliers)) <= 1.001 * best:
            break
        multipliers = diagonal
    return multipliers, best


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
