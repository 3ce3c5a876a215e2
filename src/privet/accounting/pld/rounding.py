"""From a loss variable to two laws on a grid: one that dominates it and one that it dominates.

Upper (connect the dots): the mass of a cell goes to its two ends so that its P-mass and its Q-mass are both kept.
Lower (contraction): the masses around a node are merged, a garbling that can only hide information; what the merged
atom lacks to lie exactly on its node it borrows from the next cell above or below, again by merging.
Both keep the P- and Q-mass, so the error of both is of second order in the grid step.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np

from privet._numerics import Array
from privet.privacy import Direction, PrivacyLoss

__all__ = ["GridLaw", "lower_law", "upper_law"]

_MOST_BORROWED = 0.45  # shares lent to both sides stay below 1, so retained shares stay positive
_ALIGNED = 1e-9  # relative distance at which an atom counts as lying on its node
_CONTINUOUS_ERROR = 5e-13  # relative error of a cell mass (normal_cells, measured against 40 digits in the tests)
_ATOM_ERROR = 4e-15


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Mass at (start + i) * step, a mass at +infinity, and how far rounding may have moved masses and losses."""

    start: int
    mass: Array
    infinite: float
    error: float  # relative error of each mass
    shift: float  # losses may be understated by this much (aligned atoms)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Half-step masses of the continuous part and the atoms, on the nodes start .. start + n - 1."""

    start: int
    n: int
    p: Array
    q: Array
    atoms: tuple[Array, Array, Array]
    p_only: float
    error: float


@lru_cache(maxsize=256)
def _cells(loss: PrivacyLoss, direction: Direction, step: float, tail: float) -> _Cells:
    variable = loss.variable(direction)
    losses, p_atoms, q_atoms = variable.atoms()
    lost_above, kept = _trim(p_atoms, tail)
    low, high = variable.span(tail)
    continuous = high > low
    if len(losses[kept]):
        low = min(low, float(losses[kept][0])) if continuous else float(losses[kept][0])
        high = max(high, float(losses[kept][-1])) if continuous else float(losses[kept][-1])
    start, stop = math.floor(low / step) - 1, math.ceil(high / step) + 1
    n = stop - start + 1
    halves = (2.0 * start - 1.0 + np.arange(2 * n + 1)) * (step / 2.0)
    p, q = variable.cells(halves) if continuous else (np.zeros(2 * n + 2), np.zeros(2 * n + 2))
    error = _CONTINUOUS_ERROR if continuous else _ATOM_ERROR
    atoms = (losses[kept], p_atoms[kept], q_atoms[kept])
    return _Cells(start, n, p, q, atoms, variable.p_only + lost_above, error)


def _trim(p_atoms: Array, tail: float) -> tuple[float, slice]:
    """Cut atoms whose mass on either side stays below `tail`; the mass above goes to infinity."""
    if len(p_atoms) < 64:
        return 0.0, slice(None)
    from_top = np.cumsum(p_atoms[::-1])
    above = int(np.searchsorted(from_top, tail))
    below = int(np.searchsorted(np.cumsum(p_atoms), tail))
    lost = float(from_top[above - 1]) if above else 0.0
    return lost, slice(max(0, below - 1), len(p_atoms) - above)


def upper_law(loss: PrivacyLoss, direction: Direction, step: float, tail: float) -> GridLaw:
    """A law on the grid that dominates the variable."""
    cells = _cells(loss, direction, step, tail)
    n = cells.n
    node = (cells.start + np.arange(n)) * step
    p = cells.p[2 : 2 * n : 2] + cells.p[3 : 2 * n : 2]
    q = cells.q[2 : 2 * n : 2] + cells.q[3 : 2 * n : 2]
    below = cells.p[0] + cells.p[1]
    above = cells.p[2 * n] + cells.p[2 * n + 1]
    losses, p_atoms, q_atoms = cells.atoms
    if len(losses):
        place = np.floor(losses / step).astype(np.int64) - cells.start
        p = p + np.bincount(place, weights=p_atoms, minlength=n - 1)[: n - 1]
        q = q + np.bincount(place, weights=q_atoms, minlength=n - 1)[: n - 1]
    up = np.clip((p - np.exp(node[:-1]) * q) / -math.expm1(-step), 0.0, p)
    mass = np.zeros(n)
    mass[:-1] = p - up
    mass[1:] += up
    mass[0] += below
    return GridLaw(cells.start, mass, float(above + cells.p_only), cells.error, 0.0)


def lower_law(loss: PrivacyLoss, direction: Direction, step: float, tail: float) -> GridLaw:
    """A law on the grid that the variable dominates."""
    cells = _cells(loss, direction, step, tail)
    n = cells.n
    p = cells.p[1 : 2 * n : 2] + cells.p[2 : 2 * n + 1 : 2]
    q = cells.q[1 : 2 * n : 2] + cells.q[2 : 2 * n + 1 : 2]
    node = (cells.start + np.arange(n)) * step
    losses, p_atoms, q_atoms = cells.atoms
    exact = np.zeros(n)
    shift = 0.0
    if len(losses):
        place = np.rint(losses / step).astype(np.int64) - cells.start
        off = losses / step - (cells.start + place)
        aligned = np.abs(off) <= _ALIGNED
        exact = np.bincount(place[aligned], weights=p_atoms[aligned], minlength=n)
        shift = float(max(0.0, -off[aligned].min(initial=0.0)) * step)
        p = p + np.bincount(place[~aligned], weights=p_atoms[~aligned], minlength=n)
        q = q + np.bincount(place[~aligned], weights=q_atoms[~aligned], minlength=n)
    return GridLaw(cells.start, exact + _contract(p, q, node, step), 0.0, cells.error, shift)


def _contract(p: Array, q: Array, node: Array, step: float) -> Array:
    """Merge the cells around each node into a law on the nodes, by garbling only."""
    if not np.any(p):
        return np.zeros(len(p))
    growth = np.exp(node)
    share, up, down = _shares(p, q, growth)
    stuck = share > _MOST_BORROWED
    if stuck.any():  # e.g. the last half cell of a bounded law: let the neighbour that can be served take it in
        p, q = p.copy(), q.copy()
        for mask, shift in ((stuck & up, -1), (stuck & down, 1)):
            index = np.flatnonzero(mask)
            index = index[(index + shift >= 0) & (index + shift < len(p))]
            index = index[(p[index + shift] > 0.0) & ~stuck[index + shift]]
            np.add.at(p, index + shift, p[index])
            np.add.at(q, index + shift, q[index])
            p[index] = q[index] = 0.0
        share, up, down = _shares(p, q, growth)
        stuck = share > _MOST_BORROWED
        share = np.where(stuck, 0.0, share)
    return _lend(p, q, share, up, down, stuck, node, step)


def _shares(p: Array, q: Array, growth: Array) -> tuple[Array, Array, Array]:
    """For each cell: the share of the neighbour it needs; does it borrow from above (`up`) or from below (`down`)."""
    excess = p - growth * q
    supply_above, supply_below = np.zeros(len(p)), np.zeros(len(p))
    supply_above[:-1] = np.maximum(p[1:] - growth[:-1] * q[1:], 0.0)
    supply_below[1:] = np.maximum(growth[1:] * q[:-1] - p[:-1], 0.0)
    up, down = excess < 0.0, excess > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(up, -excess / supply_above, np.where(down, excess / supply_below, 0.0))
    return np.where(np.isnan(share), np.inf, share), up, down


def _lend(
    p: Array, q: Array, share: Array, up: Array, down: Array, stuck: Array, node: Array, step: float
) -> Array:
    """Retained shares r solve r_i + (what the neighbours borrow of i) = 1; then every node is exactly balanced."""
    from_above = np.where(up & ~stuck, share, 0.0)
    from_below = np.where(down & ~stuck, share, 0.0)
    retained = np.ones(len(p))
    for _ in range(200):
        lent = np.zeros(len(p))
        lent[1:] += retained[:-1] * from_above[:-1]
        lent[:-1] += retained[1:] * from_below[1:]
        change = np.abs(1.0 - lent - retained).max()
        retained = 1.0 - lent
        if change < 1e-16:
            break
    mass = np.zeros(len(p))
    free = ~stuck
    mass[free] = (retained * p)[free]
    mass[:-1] += (retained * from_above)[:-1] * p[1:]
    mass[1:] += (retained * from_below)[1:] * p[:-1]
    for index in np.flatnonzero(stuck & (p > 0.0)):  # nobody to merge with: round the loss down
        loss = math.log(p[index] / q[index]) if q[index] > 0.0 else float(node[index]) - 2.0 * step
        place = math.floor((loss - float(node[0])) / step - 1e-9)
        mass[max(place, 0)] += retained[index] * p[index]
    return cast(Array, mass)
