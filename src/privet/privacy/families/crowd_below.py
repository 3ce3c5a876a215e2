"""The least that shuffled answers of k-ary randomized response show: pairs from below, of data sets that are chosen
here."""

import math

import numpy as np

from privet._numerics import Array, exp_capped
from privet.privacy.families.crowd import along, binomial_masses
from privet.privacy.variable import AtomicVariable

_ERROR = 1e-9  # relative, of a mass: as in `crowd`, with the sums over places
# Standard deviations of C that are summed; what lies outside is left out, and the bound stays one from below.
_REACH = 10.0


def shown_by_counts(k: int, epsilon: float, n: int, nodes: Array) -> AtomicVariable:
    """The two counts of the values that are told apart, k >= 3, where everybody else holds a third value.

    Losses between two nodes (increasing, from 0 on) are merged, and so is all that is not summed: both only garble. The
    pair is its own mirror image.

    >>> pair = shown_by_counts(3, 1.0, 50, np.linspace(0.0, 1.0, 200))
    >>> bool(0.0 < pair.delta(0.1) < 0.2)
    True
    """
    e0, others = exp_capped(epsilon), n - 1
    lie = 1.0 / (e0 + k - 1.0)
    reach = _REACH * math.sqrt(2.0 * others * lie * (1.0 - 2.0 * lie)) + 20.0
    first = max(0, math.floor(2.0 * others * lie - reach))
    last = min(others, math.ceil(2.0 * others * lie + reach))
    c, mass = np.arange(first, last + 1, dtype=float), binomial_masses(first, last, others, 2.0 * lie)
    tails = [_tails(np.exp(some), e0, lie, others, c, mass) for some in np.array_split(nodes, len(nodes) // 8 + 1)]
    p, q = (np.concatenate(side) for side in zip(*tails, strict=True))
    return mirrored(nodes, p, q)


def _tails(gammas: Array, e0: float, lie: float, others: int, c: Array, mass: Array) -> tuple[Array, Array]:
    """P(L > ln gamma) and Q(L > ln gamma), c others (with this mass) reporting one of the two values."""
    up, down = np.maximum(e0 - gammas, 0.0)[:, None], (gammas * e0 - 1.0)[:, None]
    rest, own_rest = 1.0 - 2.0 * lie, max(0.0, 1.0 - (e0 + 1.0) * lie)
    dip = own_rest * (gammas[:, None] - 1.0) / rest
    b = np.floor(((c + 1.0) * down + (others - c) * dip) / (up + down))
    value, tail = along(c, b, np.array([[0.5]]))
    at_b = np.floor((c * down + (others - c + 1.0) * dip) / (up + down)) < b
    larger, smaller = (value + tail) @ mass, tail @ mass
    third = smaller + np.where(at_b, value, 0.0) @ mass
    p, q = lie * (e0 * larger + smaller) + own_rest * third, lie * (larger + e0 * smaller) + own_rest * third
    return np.where(up[:, 0] > 0.0, p, 0.0), np.where(up[:, 0] > 0.0, q, 0.0)


def mirrored(nodes: Array, p: Array, q: Array) -> AtomicVariable:
    """Outcomes of positive loss from the tails above the nodes, their mirror image, and the rest at loss 0."""
    p_cells, q_cells = -np.diff(np.append(p, 0.0)), -np.diff(np.append(q, 0.0))
    seen = (q_cells > 1e-280) & (p_cells > q_cells)
    losses = np.log(p_cells, where=seen, out=np.zeros(len(nodes))) - np.log(
        q_cells, where=seen, out=np.zeros(len(nodes))
    )
    inside = seen & (losses > 0.0) & (losses >= nodes) & (losses <= np.append(nodes[1:], math.inf))
    losses, up, down = losses[inside], p_cells[inside], q_cells[inside]
    middle = [max(0.0, 1.0 - math.fsum(up) - math.fsum(down))]
    return AtomicVariable(
        np.concatenate((-losses[::-1], [0.0], losses)),
        np.concatenate((down[::-1], middle, up)),
        np.concatenate((up[::-1], middle, down)),
        blur=1e-12,
        stated_error=_ERROR,
    )


def shown_by_sum(epsilon: float, n: int) -> AtomicVariable:
    """The number of ones among binary answers, where all others hold a zero: direction "remove" has the one first.

    >>> pair = shown_by_sum(1.0, 50)
    >>> bool(0.0 < pair.delta(0.1) < 0.2)
    True
    """
    others = n - 1
    lie = 1.0 / (exp_capped(epsilon) + 1.0)
    reach = _REACH * math.sqrt(others * lie * (1.0 - lie)) + 20.0
    first, last = max(0, math.floor(others * lie - reach)), min(others, math.ceil(others * lie + reach))
    counts = binomial_masses(first, last, others, lie)
    before, after = np.append(0.0, counts), np.append(counts, 0.0)  # the answer is one: a report more among the ones
    p, q = (1.0 - lie) * before + lie * after, lie * before + (1.0 - lie) * after
    middle = int(np.argmax(p + q))  # all that is not summed is merged with the likeliest outcome
    for side in (p, q):
        side[middle] = max(0.0, 1.0 - math.fsum(np.delete(side, middle)))
    seen = (p > 1e-280) & (q > 1e-280)
    losses = np.log(p[seen]) - np.log(q[seen])
    rising = np.concatenate(([True], losses[1:] > np.maximum.accumulate(losses)[:-1]))
    place = np.cumsum(rising) - 1  # outcomes that rounding put out of order are merged
    masses = [np.bincount(place, weights=side[seen]) for side in (p, q)]
    return AtomicVariable(losses[rising], masses[0], masses[1], blur=1e-9, stated_error=_ERROR)
