"""The shape of a tree over time: how many blocks make the next wider one, and how the budget is shared out among widths.

A step t is the sum of its digits times the widths of the blocks. A block's sum is known from its own measurement and from
those of the blocks inside it; combined by their variances, u_l = 1 / (1 / v_l + 1 / (b u_(l-1))). The mean squared error is
the sum over the widths of the mean digit times u_l, and v_l is the inverse square of the weight. Proof note
workloads/continual_counts.
"""

from fractions import Fraction

import numpy as np

from privet._cache import remember
from privet._numerics import Array
from privet.workloads.design import NoiseNorm, whole_weight

_MOST_LEVELS, _MOST_CHILDREN = 40, 64  # of the trees that are tried; 2^40 steps are the longest horizon
# Found branchings are then within 2e-5 of the least error; one that is named may lose more (binary, l1, 1,000 steps: 4%).
_ROUNDS = 40
_LEAST = 0.05  # of the largest weight: a width that somebody names is measured, even where it would better be left out


def widths_of(branching: tuple[int, ...]) -> tuple[int, ...]:
    """The widths of the blocks, from one step up.

    >>> widths_of((4, 3))
    (1, 4, 12)
    """
    found = [1]
    for children in branching:
        found.append(found[-1] * children)
    return tuple(found)


def mean_digits(horizon: int, widths: tuple[int, ...]) -> Array:
    """The number of blocks of each width that the sum after a step is made of, on average over all steps.

    >>> mean_digits(8, (1, 4)).tolist()
    [1.5, 0.75]
    """
    found = []
    for width, wider in zip(widths, (*widths[1:], 0), strict=True):
        full, rest = divmod(horizon + 1, wider) if wider else (0, horizon + 1)
        whole, part = divmod(rest, width)
        children = wider // width
        found.append((full * width * children * (children - 1) + width * whole * (whole - 1)) / 2 + whole * part)
    return np.array(found, dtype=float) / horizon


def combined(variances: Array, branching: tuple[int, ...]) -> Array:
    """The variance of the best estimate of a block of each width.

    >>> combined(np.array([1.0, 1.0]), (3,)).tolist()
    [1.0, 0.75]
    """
    found = [float(variances[0])]
    for own, children in zip(variances[1:].tolist(), branching, strict=True):
        found.append(1.0 / (1.0 / own + 1.0 / (children * found[-1])))
    return np.array(found)


def best_shares(digits: Array, branching: tuple[int, ...], norm: NoiseNorm) -> Array:
    """Weights of the widths that make the error least; they sum to 1 (l1), or their squares do (l2).

    At the optimum the weight (l1) or 1 (l2) times the weight times the slope is the same for every width.

    >>> best_shares(np.array([1.0]), (), "l1").tolist()
    [1.0]
    """
    weights = np.ones(len(digits))
    for _ in range(_ROUNDS):
        known = combined(weights**-2.0, branching)
        slopes = digits.copy()
        for level in range(len(digits) - 2, -1, -1):
            slopes[level] += slopes[level + 1] * (known[level + 1] / known[level]) ** 2 / branching[level]
        pull = slopes * known**2 * (weights if norm == "l1" else 1.0)
        weights = weights * (pull / pull.max()) ** (1.0 / 3.0 if norm == "l1" else 0.25)
        weights = np.maximum(weights / weights.max(), _LEAST)
    return np.asarray(weights / (weights.sum() if norm == "l1" else np.sqrt(np.sum(weights * weights))))


def error_of(weights: Array, digits: Array, branching: tuple[int, ...], norm: NoiseNorm) -> float:
    """The squared sensitivity times the mean squared error at noise of variance 1.

    >>> error_of(np.ones(1), np.array([2.5]), (), "l1")
    2.5
    """
    reach = float(np.sum(weights)) ** 2 if norm == "l1" else float(np.sum(weights**2))
    return reach * float(digits @ combined(weights**-2.0, branching))


@remember(2**20)
def level_weights(horizon: int, branching: tuple[int, ...], norm: NoiseNorm) -> tuple[Fraction, ...]:
    """The best weights in whole steps of 2^-20.

    >>> [float(weight) for weight in level_weights(8, (), "l1")]
    [1.0]
    """
    found = best_shares(mean_digits(horizon, widths_of(branching)), branching, norm)
    return tuple(whole_weight(weight) for weight in found.tolist())


@remember(2**20)
def best_branching(horizon: int, norm: NoiseNorm) -> tuple[int, ...]:
    """The branching of least mean squared error for this many steps: equal below, and then the last one up or down.

    The widest blocks are as many as fit: at a power of the branching nothing new begins.

    >>> best_branching(1_000, "l1")
    (12, 10)
    """
    tried: dict[tuple[int, ...], float] = {(): _cost(horizon, (), norm)}
    for children in range(2, _MOST_CHILDREN + 1):
        same: tuple[int, ...] = (children,)
        while widths_of(same)[-1] <= horizon and len(same) < _MOST_LEVELS:
            tried[same] = _cost(horizon, same, norm)
            same = (*same, children)
    best = min(tried, key=lambda each: (tried[each], each))
    while True:
        near = [
            (*best[:place], best[place] + change, *best[place + 1 :])
            for place in range(len(best))
            for change in (-1, 1)
            if best[place] + change >= 2
        ]
        for each in near:
            if each not in tried and widths_of(each)[-1] <= horizon:
                tried[each] = _cost(horizon, each, norm)
        better = min(tried, key=lambda each: (tried[each], each))
        if better == best:
            return best
        best = better


def _cost(horizon: int, branching: tuple[int, ...], norm: NoiseNorm) -> float:
    digits = mean_digits(horizon, widths_of(branching))
    return error_of(best_shares(digits, branching, norm), digits, branching, norm)
