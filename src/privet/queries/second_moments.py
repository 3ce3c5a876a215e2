"""Intervals of variances, covariances and correlations, from noisy sums at the corners of columns scaled to [0, 1].

Around the true means (c, d) a covariance is the mean of (t - c)(u - d): the noise of that mean less the covariance itself
is one known combination of the noises, whose radius needs no union of several. The means are not known; a tenth of the
tail pays for boxes that hold them, and inside a box the covariance moves only by the product of two small distances.
"""

from typing import NamedTuple

import numpy as np

from privet._numerics import Array
from privet.queries.intervals import Law, own_radii, ratio_interval

_ASIDE = 0.1  # of the tail: for boxes of what is only needed nearly
_ROUNDS = 3  # each narrows an interval that holds already
_PIECES = 4  # of a box: in each the radius is that of its widest weights
_MOST = 0.25  # no covariance of columns in [0, 1] is larger


class Box(NamedTuple):
    """Both ends of a mean, or of a ratio of deviations, for every entry."""

    low: Array
    high: Array

    def of(self, places: Array) -> "Box":
        """The boxes of some entries."""
        return Box(self.low[places], self.high[places])

    def pieces(self, many: int) -> "Box":
        """The same box as pieces side by side, one after the other for all entries."""
        steps = np.linspace(0.0, 1.0, many + 1)[:, None]
        ends = self.low + steps * (self.high - self.low)
        return Box(ends[:-1].ravel(), ends[1:].ravel())


class Corners(NamedTuple):
    """Noisy sums, a row for each corner and a column for each entry, and the places of the corners in both columns."""

    cells: Array
    left: Array
    right: Array

    def of(self, places: Array) -> "Corners":
        """The sums of some entries."""
        return self._replace(cells=self.cells[:, places])

    def centres(self) -> tuple[Array, Array]:
        """The means of both columns, and that of one column twice."""
        whole = self.whole()
        if len(self.cells) == 3:
            middle = (self.left + self.right) @ self.cells / (2.0 * whole)
            return middle, middle
        return self.left @ self.cells / whole, self.right @ self.cells / whole

    def whole(self) -> Array:
        """The sums of all corners; where they are not positive nothing is read off them."""
        whole = self.cells.sum(axis=0)
        return np.where(whole > 0.0, whole, np.inf)

    def entry(self) -> Array:
        """The covariances as they are read off: the mean of products less the product of means."""
        one, two = self.centres()
        return np.asarray((self.left * self.right) @ self.cells / self.whole() - one * two)


def tail_aside(confidence: float) -> float:
    """The tail that boxes of means share."""
    return _ASIDE * (1.0 - confidence)


def mean_box(sums: Corners, law: Law, tail: float) -> tuple[Box, Array]:
    """The interval of the mean of one column, and where there are too few rows to say anything."""
    places = (sums.left + sums.right) / 2.0
    low, high, weak = ratio_interval(
        places @ sums.cells, sums.cells.sum(axis=0), (places, np.ones(len(places))), law, 1.0 - tail
    )
    return Box(low, high), weak


def variance_interval(sums: Corners, law: Law, confidence: float) -> tuple[Array, Array, Array]:
    """Both ends of the variances of columns in [0, 1], and where nothing can be said.

    >>> sums = Corners(np.array([[1e6], [1e6], [1e6]]), np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    >>> low, high, weak = variance_interval(sums, ("laplace", 1000.0), 0.95)
    >>> bool(0.08 < low[0] < 1 / 12 < high[0] < 0.087), bool(weak[0])
    (True, False)
    """
    aside = tail_aside(confidence)
    box, weak = mean_box(sums, law, aside)
    low, high = covariance_interval(sums, (box, box), law, confidence + aside)
    return np.where(weak, 0.0, np.maximum(low, 0.0)), np.where(weak, _MOST, np.maximum(high, 0.0)), weak


def covariance_interval(sums: Corners, boxes: tuple[Box, Box], law: Law, confidence: float) -> tuple[Array, Array]:
    """Both ends of covariances while the means lie in their boxes."""
    many = sums.cells.shape[1]
    points = _points(sums, boxes)
    times = points[0].shape[1] // many
    one, two = sums.centres()
    apart = (np.tile(one, times) - points[0]) * (np.tile(two, times) - points[1])
    forms = (sums.left[:, None, None] - points[0]) * (sums.right[:, None, None] - points[1])
    entry, whole = np.tile(sums.entry(), times), np.tile(sums.whole(), times)
    ends = []
    for sign in (-1.0, 1.0):  # the lower end is the upper one of the negative
        base = np.clip((sign * (entry + apart)).max(axis=0), -_MOST, _MOST)
        least, most = (sign * forms).min(axis=1), (sign * forms).max(axis=1)
        end = np.full_like(base, _MOST)
        for _ in range(_ROUNDS):
            weights = np.maximum(np.abs(least - end), np.abs(most - base))
            end = np.minimum(end, base + own_radii(*law, weights.T, confidence) / whole)
        ends.append(sign * end.reshape(times, many).max(axis=0))
    return ends[0], ends[1]


class Triple(NamedTuple):
    """The sums of pairs of columns, those of the first and of the second with itself, and what a row adds to each."""

    both: Corners
    one: Corners
    two: Corners
    tops: tuple[Array, Array, Array]


def correlation_interval(sums: Triple, slack: tuple[Array, Array], law: Law, confidence: float) -> tuple[Array, Array]:
    """Both ends of correlations; values were rounded by at most `slack`.

    With k the ratio of the deviations, cov - r (k var_1 + var_2 / k) / 2 is 0 at the true correlation r, and as k varies
    the sum in brackets is least there: neither means nor k need be known well.
    """
    tail = tail_aside(confidence) / 4.0
    boxes, least, most, weak = [], [], [], ~(sums.both.cells.sum(axis=0) > 0.0)
    for each in (sums.one, sums.two):
        box, few = mean_box(each, law, tail)
        ends = covariance_interval(each, (box, box), law, 1.0 - tail)
        weak = weak | few | (ends[0] <= 0.0)
        boxes.append(box)
        least.append(ends[0])
        most.append(ends[1])
    safe = np.flatnonzero(~weak)
    low, high = np.full(len(weak), -1.0), np.full(len(weak), 1.0)
    if len(safe):
        one, two, three = (top[safe] for top in sums.tops)
        some = Triple(sums.both.of(safe), sums.one.of(safe), sums.two.of(safe), (one, two, three))
        ratio = Box(*(np.log(up[safe] / down[safe]) / 2.0 for up, down in ((least[1], most[0]), (most[1], least[0]))))
        low[safe], high[safe] = _correlations(some, (boxes[0].of(safe), boxes[1].of(safe)), ratio, law, confidence)
        # rounding turns the centred columns, as vectors, by no more than these angles
        turned = sum(
            np.arcsin(np.minimum(each[safe] / np.sqrt(v[safe]), 1.0)) for each, v in zip(slack, least, strict=True)
        )
        low[safe] = np.cos(np.minimum(np.arccos(low[safe]) + turned, np.pi))
        high[safe] = np.cos(np.maximum(np.arccos(high[safe]) - turned, 0.0))
    return low, high


def _correlations(sums: Triple, boxes: tuple[Box, Box], ratio: Box, law: Law, confidence: float) -> tuple[Array, Array]:
    """Both ends while means and the ratio of deviations lie in their boxes."""
    level = confidence + tail_aside(confidence)
    both = _read(sums.both, boxes, sums.tops[0])
    one, two = (_read(each, (box, box), top) for each, box, top in zip(sums[1:3], boxes, sums.tops[1:], strict=True))
    ends, many = [], sums.both.cells.shape[1]
    shortest, longest = (np.exp(each).reshape(_PIECES, many) for each in ratio.pieces(_PIECES))
    best = np.clip(np.sqrt(two.low / one.low), shortest, longest)
    below = (best * one.low + two.low / best) / 2.0
    above = np.maximum(*(at * one.high + two.high / at for at in (shortest, longest))) / 2.0
    for top in (-both.low, both.high):
        base = np.clip(np.where(top >= 0.0, top / below, top / above), -1.0, 1.0)
        end = np.ones_like(base)
        for _ in range(_ROUNDS):
            factor = np.maximum(np.abs(base), np.abs(end)) / 2.0
            parts = [np.broadcast_to(both.weights[:, None], (len(both.weights), *base.shape))]
            parts += [one.weights[:, None] * (factor * longest), two.weights[:, None] * (factor / shortest)]
            weights = np.concatenate(parts).reshape(-1, _PIECES * many)
            more = top + own_radii(*law, weights.T, level).reshape(_PIECES, many)
            end = np.clip(np.minimum(end, np.where(more >= 0.0, more / below, more / above)), -1.0, 1.0)
        ends.append(end.max(axis=0))
    return -ends[0], ends[1]


class _Seen(NamedTuple):
    """Both ends of a sum of products around the means of a box, and the largest weights of its noises."""

    low: Array
    high: Array
    weights: Array


def _read(sums: Corners, boxes: tuple[Box, Box], tops: Array) -> _Seen:
    many = sums.cells.shape[1]
    points = _points(sums, boxes)
    one, two = (np.tile(each, points[0].shape[1] // many) for each in sums.centres())
    apart = ((one - points[0]) * (two - points[1])).reshape(-1, many)
    forms = (sums.left[:, None, None] - points[0]) * (sums.right[:, None, None] - points[1])
    rows = sums.whole() / tops
    return _Seen(
        rows * (sums.entry() + apart.min(axis=0)),
        rows * (sums.entry() + apart.max(axis=0)),
        np.abs(forms).reshape(len(sums.cells), -1, many).max(axis=1) / tops,
    )


def _points(sums: Corners, boxes: tuple[Box, Box]) -> tuple[Array, Array]:
    """Pairs of means, for each piece of the boxes those between which products are largest and smallest."""
    if len(sums.cells) == 3:  # both means are one; c (1 - c) is largest at a half, and (m - c)^2 smallest at m
        low, high = boxes[0].pieces(_PIECES)
        middle = np.tile(sums.centres()[0], _PIECES)
        places = np.stack([low, high, np.clip(0.5, low, high), np.clip(middle, low, high)])
        return places, places
    half = [box.pieces(2) for box in boxes]
    many = sums.cells.shape[1]
    first = [np.tile(end, 2) for end in half[0]]
    second = [np.repeat(end.reshape(2, many), 2, axis=0).ravel() for end in half[1]]
    return np.stack([first[0], first[0], first[1], first[1]]), np.stack([second[0], second[1], second[0], second[1]])
