"""Nested blocks: the error of every weighted tree in closed form, and the weights that make it least.

G of a complete tree has the block averages of its levels as eigenspaces. For widths 1 = b_0 | b_1 | ... | b_h and squared
weights s_0 .. s_h the eigenvalue on what level j adds to level j + 1 is lambda_j = sum over l <= j of s_l b_l. With
e_j = (1/b_j) sum over blocks of 1'V1, tr(V G^-1) = sum of t_j / lambda_j where t_j = e_j - e_{j+1}, t_h = e_h. Proof note
workloads/hierarchical.
"""

from fractions import Fraction

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.workloads.workload import Workload

_ROUNDS = 400  # where costs of the ranges of 64 to 1,024 cells no longer move; after 100, by 1e-9
_ROUNDING = 1e-9  # of what a level holds: energies in doubles are sums of up to ten million squares
LEAST_LEAF = 2.0**-20  # of the weight of the cells, where the queries put nothing on them
_GOLDEN = 0.6180339887498949  # multiples of it lie evenly modulo 1: starts without coins


def energies(workload: Workload, widths: tuple[int, ...]) -> Array:
    """t_0 .. t_h: what the queries put on each level of nested blocks.

    >>> from privet.workloads import Prefix
    >>> energies(Prefix(4), (1, 2, 4)).tolist()
    [1.0, 1.5, 7.5]
    """
    # Exact fractions: what a level adds may be a millionth of what it holds.
    held = [Fraction(workload.block_energy(width)) / width for width in widths]
    parts = np.array([float(a - b) for a, b in zip(held, [*held[1:], Fraction(0)], strict=True)])
    if parts.min() < -_ROUNDING * float(max(held)):  # 1'V1 of a block is at most what its parts say with equal weights
        raise InvalidParameter("the block energies of this workload rise with the width, which is no sum of squares")
    return np.maximum(parts, 0.0)


def tree_trace(parts: Array, widths: tuple[int, ...], squares: Array) -> float:
    """tr(V G^-1) of a complete tree with these squared weights.

    >>> round(tree_trace(np.array([1.0, 1.5, 7.5]), (1, 2, 4), np.ones(3)), 9)  # 18/7
    2.571428571
    """
    return float(np.sum(parts / np.cumsum(squares * np.array(widths, dtype=float))))


def best_weights(parts: Array, widths: tuple[int, ...], norm: str) -> Array:
    """The weights of the levels that minimise sensitivity^2 times the trace; they sum to 1 (l1) or their squares do (l2).

    l2 is convex and needs one start. l1 is not: most levels drop out, and which ones depends on the start, so that many
    starts run side by side (fixed ones, from public facts). The step keeps the sum and has the optimum as its fixed point.

    >>> from privet.workloads import AllRanges
    >>> widths = tuple(2**j for j in range(9))
    >>> found = best_weights(energies(AllRanges(256), widths), widths, "l1")
    >>> [(width, round(float(weight), 2)) for width, weight in zip(widths, found) if weight > 0]
    [(1, 0.52), (16, 0.48)]
    """
    if len(widths) == 1:
        return np.ones(1)
    wide = np.array(widths, dtype=float)
    weights = _starts(len(widths)) if norm == "l1" else np.full((1, len(widths)), 1.0)
    for _ in range(_ROUNDS):
        # At the optimum w (l1) or 1 (l2) times w times the slope is the same for every level that is measured.
        slopes = _slopes(parts, wide, weights)
        pull = weights * slopes if norm == "l1" else slopes
        weights = weights * (pull / pull.max(axis=1, keepdims=True)) ** (1.0 / 3.0 if norm == "l1" else 0.25)
        weights = np.maximum(
            weights / weights.sum(axis=1, keepdims=True), 1e-9
        )  # a level may drop out, not divide by 0
    best = weights[np.nanargmin(_costs(parts, wide, weights, norm))]
    leaf = best[0]
    best = np.where(best > 1e-4 * best.max(), best, 0.0)
    best[0] = leaf  # cells must stay known, with little noise if the queries put anything on them
    if leaf < LEAST_LEAF:
        if parts[0] > 0.0:
            raise InvalidParameter(
                "the queries put so little on single cells that their noise would be a million times that of blocks: "
                "ask for the blocks alone (Rows over them, or Buckets)"
            )
        best[0] = LEAST_LEAF
    return np.asarray(best / (best.sum() if norm == "l1" else np.sqrt(np.sum(best * best))))


def _slopes(parts: Array, wide: Array, weights: Array) -> Array:
    """The rate at which the trace falls with each squared weight: b_l times the sum over j >= l of t_j / lambda_j^2."""
    eigenvalues = np.cumsum(weights * weights * wide, axis=1)
    falls = parts / (eigenvalues * eigenvalues)
    return np.asarray(wide * np.cumsum(falls[:, ::-1], axis=1)[:, ::-1])


def _costs(parts: Array, wide: Array, weights: Array, norm: str) -> Array:
    traces = np.sum(parts / np.cumsum(weights * weights * wide, axis=1), axis=1)
    reach = weights.sum(axis=1) ** 2 if norm == "l1" else np.sum(weights * weights, axis=1)
    return np.asarray(reach * traces)


def _starts(levels: int) -> Array:
    """All supports of two and three levels with the leaves among them (spread out where there are many), and a few more."""
    rows = [np.ones(levels)]
    step = 1 + levels // 14
    for a in range(1, levels):
        rows.append(_peaks(levels, (0, a)))
        rows += [_peaks(levels, (0, a, b)) for b in range(a + 1, levels, step)]
    rows += [_peaks(levels, range(0, levels, gap)) for gap in range(2, min(levels, 8))]
    even = np.modf((1.0 + np.arange(24 * levels)) * _GOLDEN)[0].reshape(24, levels)  # spread out, without coins
    rows += list(np.log(even) ** 2)
    return np.array(rows) + 1e-3


def _peaks(levels: int, places: "tuple[int, ...] | range") -> Array:
    row = np.full(levels, 0.02)
    row[list(places)] = 1.0
    return row
