"""The distance that a model's tables may have from the data's, from what was released and from public facts."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from privet._numerics import Array, ndtri
from privet._validate import open_fraction
from privet.synth.compression import Compression
from privet.synth.graph import Clique, Measurement, combined
from privet.synth.graph.reduction import Reduction


class CandidateBound(NamedTuple):
    """A bound on the l1 distance of a table that a choice passed over: base + a l1 + b l2, which fails with probability at
    most exp(-l1^2/2) + exp(-l2). `by_noise` is a, `by_choice` is b.

    >>> round(CandidateBound(10.0, 1.0, 1.0).radius(0.95), 3)
    16.405
    """

    base: float
    by_noise: float
    by_choice: float

    def moved(self, by: float) -> "CandidateBound":
        """The bound for a table that is so far in l1 from the one it was made for."""
        return self._replace(base=self.base + by)

    def radius(self, confidence: float) -> float:
        """The bound at a confidence, half of the rest for each of the two events."""
        half = (1.0 - open_fraction("confidence", confidence)) / 2.0
        return self.base + self.by_noise * math.sqrt(2.0 * math.log(1.0 / half)) + self.by_choice * math.log(1.0 / half)


def table_bound(sigma: float, cells: int, confidence: float) -> float:
    """The distance that noisy counts of so many cells may have from the exact ones in l1: the mean, and Gaussian
    concentration of a sigma sqrt(cells)-Lipschitz function.

    >>> round(table_bound(1.0, 100, 0.95), 3)
    104.266
    """
    beta = 1.0 - open_fraction("confidence", confidence)
    return sigma * (cells * math.sqrt(2.0 / math.pi) + math.sqrt(2.0 * cells * math.log(1.0 / beta)))


def cell_bar(
    told: Array,
    measurements: Sequence[Measurement],
    compression: Compression,
    clique: Clique,
    confidence: float,
) -> Array | None:
    """The radius of every cell of a table that was `told`, all at once, from the measured table that says most about it;
    None where no measured table holds it.
    """
    beta = 1.0 - open_fraction("confidence", confidence)
    best: tuple[float, Array, Array] | None = None
    for measured, (values, weights) in combined(measurements).items():
        if not set(clique) <= set(measured):
            continue
        onto = Reduction(measured, clique, compression.sizes)
        variance = onto.sum(1.0 / weights)
        asked = [each for each in measurements if each.clique == measured]
        if any(each.cell_variance is not None for each in asked):
            wide = _merged_radius(asked, beta)
        elif all(each.normal for each in asked):
            wide = -ndtri(beta / variance.size / 2.0) * np.sqrt(variance)
        else:
            wide = _laplace_radius(asked, variance, values.size // variance.size, beta / variance.size)
        if best is None or float(wide.max()) < best[0]:
            best = float(wide.max()), onto.sum(values), wide
    if best is None:
        return None
    _, seen, wide = best
    radius = np.abs(told - seen) + wide
    return _unmerged(told, compression, clique, radius)


def query_bar(
    told: Array,
    measurements: Sequence[Measurement],
    compression: Compression,
    clique: Clique,
    asked: Array,
    confidence: float,
) -> float | None:
    """The radius of a weighted sum of a table's cells, from the measured table whose noise moves it least; None where no
    measured table holds it. Where codes were merged, from the bars of all cells.
    """
    if any(compression.groups[i] is not None for i in clique):
        cells = cell_bar(told, measurements, compression, clique, confidence)
        return None if cells is None else float(np.sum(np.abs(asked) * cells))
    beta = 1.0 - open_fraction("confidence", confidence)
    best: tuple[float, Array] | None = None
    for measured, (values, weights) in combined(measurements).items():
        same = [each for each in measurements if each.clique == measured]
        if not set(clique) <= set(measured) or any(each.cell_variance is not None for each in same):
            continue
        onto = Reduction(measured, clique, compression.sizes)
        lifted = np.broadcast_to(onto.spread(np.ascontiguousarray(asked, dtype=float)), onto.shape).reshape(-1)
        # of the mean of several measurements, each cell of which has its share of the weight
        shares = (each.weights / weights * lifted.reshape(weights.shape) for each in same)
        variance = sum(each.variance_of(share) for each, share in zip(same, shares, strict=True))
        if all(each.normal for each in same):
            wide = -float(ndtri(beta / 2.0)) * math.sqrt(variance)
        else:
            wide = math.sqrt(variance / beta)
            if len(same) == 1:
                tail = beta / max(1, int(np.count_nonzero(lifted)))
                wide = min(wide, float(np.abs(lifted).sum()) * _laplace_quantile(same[0].sigma, tail))
        if best is None or wide < best[0]:
            best = wide, onto.sum(values)
    if best is None:
        return None
    return abs(float(np.vdot(asked, told - best[1]))) + best[0]


def _laplace_radius(asked: Sequence[Measurement], variance: Array, many: int, tail: float) -> Array:
    """A radius that sums of `many` noises leave with probability at most `tail`: by Chebyshev's inequality, and, where the
    table was measured once with one scale b, by Pr[|noise| > r] <= 2 exp(-r/b) for each of them.
    """
    radius = np.sqrt(variance / tail)
    if len(asked) > 1:
        return radius
    return np.minimum(radius, many * _laplace_quantile(asked[0].sigma, tail / many))


def _laplace_quantile(sigma: float, tail: float) -> float:
    """A radius that one noise of Laplace's law in whole numbers leaves with probability at most `tail`."""
    # the variance of the law with scale b is 1/(2 sinh(1/(2b))^2)
    return math.log(2.0 / tail) / (2.0 * math.asinh(math.sqrt(0.5) / sigma))


def _merged_radius(asked: Sequence[Measurement], beta: float) -> Array:
    """The radius of groups of codes that were formed by the noise of their own counts: those that stay by themselves were
    picked for much noise, the others for little. So all codes are bounded at once, in each look, and a sum by all of its
    members; a mean of several looks by the mean of their radii.
    """
    whole = sum(each.sigma**-2.0 for each in asked)
    return sum((each.sigma**-2.0 / whole * _look_radius(each, beta / len(asked)) for each in asked), np.zeros(1))


def _look_radius(seen: Measurement, beta: float) -> Array:
    assert seen.cell_variance is not None
    members: Array = seen.cell_variance / seen.sigma**2  # a group has the variance of its members
    tail = beta / float(members.sum())
    alone = -ndtri(tail / 2.0) * seen.sigma if seen.normal else _laplace_quantile(seen.sigma, tail)
    return members * alone


def _unmerged(whole: Array, compression: Compression, clique: Clique, radius: Array) -> Array:
    """Bars of groups as bars of codes: a code has between none and all of its group's rows."""
    if all(compression.groups[i] is None for i in clique):
        return radius
    alone = np.ones(whole.shape, dtype=bool)
    for axis, column in enumerate(clique):
        shape = [1] * whole.ndim
        shape[axis] = -1
        alone &= (compression.members(column) == 1).reshape(shape)
    shares = compression.spread(whole, clique)
    most, single = whole + radius, radius
    for axis, column in enumerate(clique):
        groups = compression.groups[column]
        if groups is not None:
            most, single, alone = (each.take(groups, axis=axis) for each in (most, single, alone))
    return np.where(alone, single, np.maximum(shares, most - shares))
