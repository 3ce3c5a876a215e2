"""Very many sampled Gaussian steps: the sum of tilted losses is nearly normal, and Berry and Esseen say how nearly.

A grid charges the error of its masses once for every step; from about 1e9 steps on that is all one sees. Here the two
moments and the third absolute one of a single loss are enclosed by quadrature, all of second order in the rate, so that
no error is multiplied by the number of steps before it was divided by about as much. The proof is part (k) of
docs/proofs/accounting/pld.md.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from privet._numerics import ROOMY_EXPONENT, UNIT_ROUNDOFF, Array, bisect, bracket, special
from privet.accounting.pld.interval import Interval, larger_of
from privet.accounting.pld.tilted import FarSum, Moments
from privet.privacy import DIRECTIONS, PoissonSampled, PrivacyLoss

_STEPS = 20_000, 10**18  # fewer, and more, are left to the other ways
_MOST_PARTS = 16  # speed alone: each takes integrals of its own
_DISTANCES = 1e-3, 5.0  # of the two worlds in one step, in standard deviations
_ROUNDS = 8  # of the search for a tilt: a poor one makes the ends wider, not wrong
_HARDLY = 1e-9  # a tilt that changes nothing: the sum itself
_CLOSE = 0.05  # standard deviations between the loss that is asked about and the tilted mean
_NORMAL = 1e-12  # relative error of the tail of the normal law


class _Curve:
    """delta of a sum near one tilt: in the middle, from below and from above."""

    def __init__(self, moments: Moments, tilt: float, total: FarSum) -> None:
        self.m, self.tilt, self.jumps, self.weights = moments, tilt, total.jumps, total.weights
        self.deviation = math.sqrt(moments.variance)
        highest = math.exp(-tilt * math.log1p(1.0 / tilt)) / (1.0 + tilt)  # of e^{-ty} (1 - e^{-y})
        self.error = 2.0 * (1.0 + 1e-9) * highest * moments.normal_off
        self.often = float(self.weights.sum()) * (1.0 + 1e-9)

    def _half(self, c: float, away: Array) -> tuple[Array, Array]:
        """E[e^{-c (N - e)}; N > e] for the normal law whose mean is `away` above e, and its error."""
        at, far = (c * self.deviation - away / self.deviation) / math.sqrt(2.0), away / self.deviation
        value = 0.5 * np.exp(-0.5 * far * far) * special().erfcx(at)
        return value, value * _NORMAL * (1.0 + at * at + far * far)

    def _without_jumps(self, epsilon: Array) -> tuple[Array, Array, Array]:
        """delta of the paths without a large outcome, from below, in the middle, from above.

        Nothing is known where a number would be too large for a float: there 0 and 1 are said.
        """
        exponent, away = self.m.log_mass - self.tilt * epsilon, self.m.mean - epsilon
        off = self.m.log_mass_off + 16.0 * UNIT_ROUNDOFF * (
            1.0 + abs(self.m.log_mass) + self.tilt * (np.abs(epsilon) + abs(self.m.mean))
        )
        unknown = (exponent > ROOMY_EXPONENT) | (off > 1.0) | (away > 20.0 * self.deviation)
        exponent, away, off = (np.where(unknown, 0.0, x) for x in (exponent, away, off))
        (one, one_off), (two, two_off) = (self._half(self.tilt + i, away) for i in (0.0, 1.0))
        error, value = self.error + one_off + two_off, np.maximum(one - two, 0.0)
        lower = np.exp(exponent - off) * np.maximum(one - two - error, 0.0)
        upper = np.minimum(np.exp(exponent + off) * (value + error), 1.0)
        middle = np.exp(exponent) * value
        return np.where(unknown, 0.0, lower), np.where(unknown, 1.0, middle), np.where(unknown, 1.0, upper)

    def about(self, epsilon: float) -> float:
        """delta at epsilon; nothing is promised."""
        return float(self._without_jumps(np.array([epsilon]))[1][0])

    def ends(self, epsilon: float) -> tuple[float, float]:
        """delta at epsilon from below and from above.

        A path with a jump is a jump and a path of the other steps, with or without another one.
        """
        places = np.append(epsilon, epsilon - np.where(np.isinf(self.jumps), 0.0, self.jumps))
        lower, _, upper = self._without_jumps(places)
        after = np.where(np.isinf(self.jumps), 1.0, np.minimum(upper[1:] + self.often, 1.0))
        return float(lower[0]), min(1.0, float(upper[0]) + float((self.weights * after).sum()) * (1.0 + 1e-9))

    def middle(self, delta: float) -> float:
        """About where delta is reached; nothing is promised."""
        if self.about(0.0) <= delta:
            return 0.0
        start = max(self.m.mean, 0.0) + self.deviation
        low, high = bracket(lambda e: self.about(e) <= delta, start, least=start)
        return bisect(lambda e: self.about(e) <= delta, low, high, steps=30)

    def interval(self, delta: float) -> Interval:
        """The smallest epsilon >= 0 at delta: each end has been tried, walking away from the middle."""
        start = self.middle(delta)
        lower = self._tried(start, -1.0, lambda e: self.ends(e)[0] >= delta)
        upper = self._tried(start, 1.0, lambda e: self.ends(e)[1] <= delta)
        return Interval(lower or 0.0, 0.0 if self.ends(0.0)[1] <= delta else math.inf if upper is None else upper)

    def _tried(self, start: float, sign: float, holds: Callable[[float], bool]) -> float | None:
        """The nearest point on one side of the start at which a claim was seen to hold; None if there is none."""
        bad, move = start, 1e-6 * self.deviation
        while move < 1e3 * (start + self.deviation):
            at = max(start + sign * move, 0.0)
            if holds(at):
                return bisect(holds, bad, at, steps=14)
            if at == 0.0:
                break
            bad, move = at, 2.0 * move
        return None


def _told_apart(parts: Sequence[tuple[object, int]]) -> tuple[list[tuple[float, float, int]], float] | None:
    """Rate, distance and number of sampled Gaussian steps, and the mu^2 of plain ones; None where this is not the way."""
    if not _STEPS[0] <= sum(n for _, n in parts) <= _STEPS[1] or len(parts) > _MOST_PARTS:
        return None
    sampled, normal = [], 0.0
    for loss, n in parts:
        if not isinstance(loss, PrivacyLoss):
            return None
        plain = loss.gaussian()
        if plain is not None:
            normal += n * plain * plain
            continue
        if not isinstance(loss, PoissonSampled) or not 0.0 < loss.q < 1.0:
            return None
        mu = loss.of.gaussian()
        if mu is None or not _DISTANCES[0] <= mu <= _DISTANCES[1]:
            return None
        sampled.append((loss.q, mu, n))
    return (sampled, normal) if sampled else None


def _curve_near(total: FarSum, tilt: float, place: Callable[[_Curve], float]) -> _Curve | None:
    """The curve whose tilted mean lies close to the loss that is asked about."""
    best: _Curve | None = None
    for _ in range(_ROUNDS):
        moments = total.moments(tilt)
        if moments is None:
            if best is None:
                tilt *= 0.25
                continue
            tilt = 0.5 * (tilt + best.tilt)
            continue
        best = _Curve(moments, tilt, total)
        away = place(best) - moments.mean
        least = 0.25 / best.deviation  # a tilt must be positive; below this one it makes no difference
        after = min(max(tilt + away / moments.variance, least), 4.0 * tilt)
        if not math.isfinite(away) or abs(after - tilt) * best.deviation <= _CLOSE:
            break
        tilt = after
    return best


def far_epsilon(parts: Sequence[tuple[object, int]], delta: float) -> Interval | None:
    """The smallest epsilon >= 0 at this delta of very many sampled Gaussian steps, enclosed; None for other sums.

    >>> from privet import privacy
    >>> step = privacy.PoissonSampled(privacy.GaussianLoss(2.0), q=1e-6)
    >>> found = far_epsilon([(step, 10**10)], 1e-6)
    >>> found is not None and round(found.lower, 4) == round(found.upper, 4)
    True
    """

    def of(total: FarSum) -> Interval | None:
        total.cut(delta)
        start = total.moments(_HARDLY)
        if start is None:
            return None
        tilt = math.sqrt(2.0 * math.log(1.0 / delta) / start.variance)
        curve = _curve_near(total, tilt, lambda found: found.middle(delta))
        return None if curve is None else curve.interval(delta)

    return _larger_direction(parts, of)


def far_delta(parts: Sequence[tuple[object, int]], epsilon: float) -> Interval | None:
    """delta(epsilon) of very many sampled Gaussian steps, enclosed; None for other sums.

    >>> from privet import privacy
    >>> step = privacy.PoissonSampled(privacy.GaussianLoss(2.0), q=1e-6)
    >>> found = far_delta([(step, 10**10)], 0.1)
    >>> found is not None and 0.99 < found.lower / found.upper < 1.0
    True
    """

    def of(total: FarSum) -> Interval | None:
        size, found = 1e-12, None
        for _ in range(4):  # the cut is made for the delta that is found
            total.cut(size)
            start = total.moments(_HARDLY)
            if start is None:
                return None
            tilt = max(epsilon - start.mean, math.sqrt(start.variance)) / start.variance
            curve = _curve_near(total, tilt, lambda found: epsilon)
            if curve is None:
                return None
            found, about = Interval(*curve.ends(epsilon)), curve.about(epsilon)
            if 0.1 * about <= size <= about or size < 1e-280:
                break
            size = min(max(0.5 * about, 1e-290), 0.5)
        return found

    return _larger_direction(parts, of)


def _larger_direction(parts: Sequence[tuple[object, int]], of: Callable[[FarSum], Interval | None]) -> Interval | None:
    """The larger answer of both directions; None where a part is of another kind, or nothing is known of a direction."""
    told = _told_apart(parts)
    if told is None:
        return None
    answers = (of(FarSum(*told, direction)) for direction in DIRECTIONS)
    first = next(answers)
    second = next(answers) if first is not None else None
    return None if first is None or second is None else larger_of(first, second)
