"""The p-Identity strategy: every cell and p combinations of cells, found by a search."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.families.dense import Dense
from privet.workloads.families.tree import Tree
from privet.workloads.strategies.hierarchical import Hierarchical
from privet.workloads.strategy import SEARCHED, Lines, Strategy, register
from privet.workloads.workload import Workload

_GOLDEN = 0.6180339887498949  # multiples of it lie evenly modulo 1: starts without coins
_TRIED = 20  # steps after which the better start goes on


@final
@register
@dataclass(frozen=True, kw_only=True)
class PIdentity(Strategy):
    """Every cell, and as many combinations of cells as the best tree has blocks; columns are divided by their l1 norm.

    The search starts beside the best weighted tree and is repeatable: it depends on the workload alone.

    **Sensitivity:** l1: 1 by construction, up to the rounding of the matrix, which is priced exactly.
    **Error:** by dense linear algebra.
    **Reference:** McKenna, Miklau, Hay & Machanavajjhala 2018; proof note workloads/dense.

    >>> from privet.workloads import Prefix
    >>> design = PIdentity(steps=20).design(Prefix(16), "l1")
    >>> round(float(design.sensitivity("l1")), 4)
    1.0
    """

    name = "p-identity"
    norms: ClassVar[tuple[NoiseNorm, ...]] = ("l1",)
    searched: ClassVar[bool] = True
    lines: ClassVar[Lines] = "small"

    steps: int = 80

    def __post_init__(self) -> None:
        set_frozen(self, steps=count("steps", self.steps, 1))

    @classmethod
    def worth_trying(cls, workload: Workload, norm: NoiseNorm) -> Iterable[Strategy]:
        return (cls(),) if len(workload.shape) == 1 and workload.cells <= SEARCHED else ()

    def _design(self, workload: Workload, norm: NoiseNorm) -> Design:
        gram = workload.gram()
        tried = [_searched(start, gram, min(self.steps, _TRIED)) for start in _starts(workload)]
        theta, _ = min(tried, key=lambda found: found[1])
        if self.steps > _TRIED:
            theta, _ = _searched(theta, gram, self.steps - _TRIED)
        return Dense.rounded(np.vstack((np.eye(workload.cells), theta)) / (1.0 + theta.sum(axis=0)))

    def describe(self) -> str:
        return "p-identity, searched"


def _searched(start: Array, gram: Array, steps: int) -> tuple[Array, float]:
    from scipy.optimize import minimize

    scale = float(np.trace(gram))

    def cost(flat: Array) -> tuple[float, Array]:
        value, slope = _cost(flat.reshape(start.shape), gram)
        return value / scale, slope.reshape(-1) / scale

    bounds = [(0.0, None)] * start.size
    found = minimize(cost, start.reshape(-1), jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": steps})
    return found.x.reshape(start.shape), float(found.fun)


def _starts(workload: Workload) -> list[Array]:
    """Beside the best tree, and beside blocks of about sqrt(k) cells with halves of the domain, which suit prefix sums."""
    cells = workload._small()
    tree = Hierarchical().design(workload, "l1")
    assert isinstance(tree, Tree)
    found = {tree.widths[1:] or (cells,)}
    near = 2 ** round(np.log2(cells) / 2.0)
    if near < cells / 2:
        found.add((near, -(-cells // (2 * near)) * near))
    return [_disturbed(cells, widths) for widths in sorted(found)]


def _disturbed(cells: int, widths: tuple[int, ...]) -> Array:
    """Blocks of these widths, a little disturbed: exact blocks are a saddle of the cost."""
    place = np.arange(cells)
    rows = [place // width == block for width in widths for block in range(-(-cells // width))]
    blocks = 0.8 * np.array(rows, dtype=float)
    even = np.modf((1.0 + np.arange(blocks.size)) * _GOLDEN)[0].reshape(blocks.shape)  # spread out, without coins
    return np.asarray(blocks * (0.5 + even) + 0.02 * even)


def _cost(theta: Array, gram: Array) -> tuple[float, Array]:
    """tr(V G^-1) for A = [I; theta] / (1 + column sums of theta), and its slope in theta."""
    s = 1.0 + theta.sum(axis=0)
    small = np.linalg.solve(np.eye(len(theta)) + theta @ theta.T, theta)  # theta B
    weighted = gram * s  # V S
    both = theta * s  # theta S
    crossed = (both @ gram) * s  # theta S V S
    value = float(np.sum(np.diag(gram) * s * s) - np.sum(crossed * small))
    moved = (small * s) @ gram * s  # theta B S V S
    slope = -2.0 * (moved - (moved @ theta.T) @ small)
    rows = np.diag(gram) * s - np.sum(theta * (small @ weighted.T), axis=0)
    return value, np.asarray(slope + 2.0 * rows)
