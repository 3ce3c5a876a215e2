"""Where the nodes of one law lie: a lattice, fine where the mass that decides is, coarse in the tails.

Any choice of nodes gives valid laws; this one spends them well. The rounding of a cell of width w adds about w^2 times its
mass to the variance of the loss, so for a given number of cells the widths should go as density^(-1/3). They are taken as
powers of two times the lattice step.
"""

import math

import numpy as np

from privet._numerics import Array

_MOST_NODES = 1 << 18  # of one law: a longer one is made coarser, which costs tightness, never validity
_FEW = 48  # below this many nodes all of them are kept
_REFERENCE = 0.4  # density of a normal law at its centre, in units of 1/std: from here downwards cells get wider
_WIDEST = 0.7  # a cell is at most this wide, in units of the loss over which masses and weights change by a factor e


def lattice_places(
    first: int,
    last: int,
    step: float,
    offset: float,
    points: Array,
    mass: Array,
    order: float,
    fine: float = math.inf,
) -> Array:
    """Increasing lattice places from `first` to at least `last`.

    `points` and `mass` outline the density (cell i lies between points i and i + 1), `order` is the exponential tilt under
    which the law decides; no cell is wider than `fine` times its loss.
    """
    if last - first < _FEW:
        return np.arange(first, last + 1)
    if len(points) < 3 or not np.any(
        mass > 0.0
    ):  # nothing to go by: cells of one width, of which there are not too many
        width = 1 << max(0, math.ceil(math.log2((last - first) / _MOST_NODES)))
        return np.arange(first, last + width, width)
    level = _levels(points, mass, order, step, fine)
    count = float(((points[1:] - points[:-1]) / step * 2.0 ** -level.astype(float)).sum())
    level += max(0, math.ceil(math.log2(max(count / _MOST_NODES, 1e-9))))  # a law this long is made coarser as a whole
    where = np.flatnonzero(level[1:] != level[:-1])
    levels = level[np.concatenate((where, [len(level) - 1]))].tolist()
    ends = np.ceil((points[where + 1] - offset) / step).astype(np.int64).tolist()
    runs, place = [], first
    for i, size in enumerate(levels):
        width = 1 << size
        if i < len(ends):
            finer_next = levels[i + 1] < size
            count = max(0, (ends[i] - place) // width if finer_next else -((place - ends[i]) // width))
            if place + count * width > last:
                count = max(0, -((place - last) // width))
        else:
            count = max(0, -((place - last) // width))
        runs.append(np.arange(place, place + count * width, width))
        place += count * width
    return np.concatenate((*runs, [place]))


def _levels(points: Array, mass: Array, order: float, step: float, fine: float) -> Array:
    """log2 of the width of the cells along the outline; neighbours differ by at most one."""
    middle, width = 0.5 * (points[1:] + points[:-1]), points[1:] - points[:-1]
    with np.errstate(divide="ignore"):
        plain = np.log(mass / width)
    density = plain + order * middle
    density -= density.max()
    weight = np.exp(density) * width
    weight /= weight.sum()
    mean = float((weight * middle).sum())
    spread = math.sqrt(float((weight * (middle - mean) ** 2).sum()))
    scale = float((weight / width).max())  # the density at its highest point
    reference = math.log(min(_REFERENCE / (spread * scale), 1.0)) if spread > 0.0 else 0.0
    # within one cell neither the mass nor exp(order loss) may change by much
    steep = np.zeros(len(width))
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.abs((plain[1:] - plain[:-1]) / (middle[1:] - middle[:-1]))
    change[~np.isfinite(change)] = 0.0
    steep[1:], steep[:-1] = change, np.maximum(steep[:-1], change)
    widest = np.floor(np.log2(np.maximum(_WIDEST / (step * (1.0 + order + steep)), 1.0)))
    if math.isfinite(fine):
        widest = np.minimum(widest, np.floor(np.log2(np.maximum(fine * np.abs(middle) / step, 1.0))))
    level = np.maximum(np.minimum(np.floor((reference - density) / (3.0 * math.log(2.0))), widest), 0.0)
    index = np.arange(len(level))
    level = np.minimum.accumulate(level - index) + index
    level = np.minimum.accumulate((level + index)[::-1])[::-1] - index
    return level.astype(np.int64)


def walls_between(places: Array) -> Array:
    """Boundaries between the nodes (in lattice units), one more than nodes: each cell is roughly balanced on its node."""
    gaps = np.diff(places).astype(float)
    if len(gaps) == 0:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    size = np.log2(np.concatenate((gaps[:1], gaps, gaps[-1:])))
    share = 0.5 + np.clip(0.125 * (size[:-2] - size[2:]), -0.25, 0.25)
    inner = places[:-1] + share * gaps
    return np.concatenate(([places[0] - 0.5 * gaps[0]], inner, [places[-1] + 0.5 * gaps[-1]]))
