"""The lower law, one node after another: for laws hardly wider than a step, where neighbours have nothing to give."""

import math

import numpy as np

from privet._numerics import LARGEST_EXPONENT, Array

_NEAR = 256  # cells that are looked at first, where the answer mostly lies: speed only


def contract_in_turn(p: Array, q: Array, nodes: Array, margin: float) -> tuple[Array, float]:
    """Masses on the nodes by merging cells only, from the lowest on; with them, how far a loss was lifted.

    No loss is lifted by more than `margin`.

    Each node takes as many of the cells left, the last one in part, as it needs for the ratio of P and Q to be its own.
    What is left at the end is merged and rounded down to a node, or lifted to one by a little.

    >>> p, q = np.array([0.3, 0.4, 0.3]), np.array([0.31, 0.4, 0.29])
    >>> contract_in_turn(p, q, np.array([-1.0, 0.0, 1.0]), 1e-11)[0].round(6).tolist()
    [0.0, 1.0, 0.0]
    """
    seen = (p > 0.0) | (q > 0.0)
    p, q, mass = p[seen], q[seen], np.zeros(len(nodes))
    start = 0
    for place, node in enumerate(nodes.tolist()):
        growth = math.exp(min(node, LARGEST_EXPONENT))
        end = _balance(p, q, start, growth)
        if end is None:
            return mass, _leave(p[start:], q[start:], nodes, place, mass, margin)
        if end == start:
            continue
        excess = p[start : end + 1] - growth * q[start : end + 1]
        part = min(1.0, max(0.0, -float(excess[:-1].sum()) / float(excess[-1])))
        mass[place] = float(p[start:end].sum()) + part * float(p[end])
        p[end] *= 1.0 - part
        q[end] *= 1.0 - part
        start = end if part < 1.0 else end + 1
    return mass, _leave(p[start:], q[start:], nodes, len(nodes), mass, margin)


def _balance(p: Array, q: Array, start: int, growth: float) -> int | None:
    """The first cell with which the sum of p - growth q from `start` on is no longer negative; None if it stays so."""
    if start == len(p):
        return None
    for reach in (_NEAR, len(p)):
        total = np.cumsum(p[start : start + reach] - growth * q[start : start + reach])
        enough = np.flatnonzero(total >= 0.0)
        if len(enough):
            return start + int(enough[0])
    return None


def _leave(p: Array, q: Array, nodes: Array, place: int, mass: Array, margin: float) -> float:
    """The remaining masses, merged and put on the highest node that its loss reaches; returns by how much it misses
    that."""
    total_p, total_q = float(p.sum()), float(q.sum())
    if total_p <= 0.0:
        return 0.0
    loss = math.log(total_p / total_q) if total_q > 0.0 else math.inf
    if place < len(nodes) and nodes[place] - loss <= margin:
        mass[place] += total_p
        return max(0.0, float(nodes[place]) - loss)
    lower = int(np.searchsorted(nodes[:place], loss - 1e-12 * (1.0 + abs(loss)), side="right")) - 1
    if lower >= 0:
        mass[lower] += total_p
    return 0.0
