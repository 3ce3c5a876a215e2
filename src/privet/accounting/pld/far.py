"""Very many sampled Gaussian steps: the sum of tilted losses is nearly normal, and Berry and Esseen say how nearly.

A grid charges the error of its masses once for every step; from about 1e9 steps on that is all one sees. Here the two
moments and the third absolute one of a single loss are enclosed by quadrature, all of second order in the rate, so that
no error is multiplied by the number of steps before it was divided by about as much. The proof is part (k) of
docs/proofs/accounting/pld.md.
"""

import math
from collections.abc import Callable, Sequence

from privet._numerics import UNIT_ROUNDOFF, special
from privet.accounting.pld.interval import Interval, larger_of
from privet.accounting.pld.tilted import FarSum, Moments
from privet.privacy import PoissonSampled, PrivacyLoss
from privet.privacy.variable import DIRECTIONS

_STEPS = 20_000, 10**18
_MOST_PARTS = 16
_DISTANCES = 1e-3, 5.0  # of the two worlds in one step, in standard deviations
_ROUNDS = 8
_CLOSE = 0.05  # standard deviations between the loss that is asked about and the tilted mean
_LARGEST = 600.0
_NORMAL = 1e-12  # relative error of the tail of the normal law


class _Curve:
    """delta of a sum near one tilt: in the middle, from below and from above."""

    def __init__(self, moments: Moments, tilt: float, lost: float) -> None:
        self.m, self.tilt, self.lost = moments, tilt, lost
        self.deviation = math.sqrt(moments.variance)
        highest = math.exp(-tilt * math.log1p(1.0 / tilt)) / (1.0 + tilt)  # of e^{-ty} (1 - e^{-y})
        self.error = 2.0 * (1.0 + 1e-9) * highest * moments.normal_off

    def _half(self, c: float, away: float) -> tuple[float, float]:
        """E[e^{-c (N - e)}; N > e] for the normal law whose mean is `away` above e, and its error."""
        at = (c * self.deviation - away / self.deviation) / math.sqrt(2.0)
        if at < -20.0:
            return math.inf, math.inf
        value = 0.5 * math.exp(-0.5 * (away / self.deviation) ** 2) * float(special().erfcx(at))
        return value, value * _NORMAL * (1.0 + at * at + (away / self.deviation) ** 2)

    def ends(self, epsilon: float) -> tuple[float, float, float]:
        """delta at epsilon: from below, in the middle, from above; nothing is known where it would overflow."""
        exponent = self.m.log_mass - self.tilt * epsilon
        (one, one_off), (two, two_off) = (self._half(self.tilt + i, self.m.mean - epsilon) for i in (0.0, 1.0))
        off = self.m.log_mass_off + 16.0 * UNIT_ROUNDOFF * (
            1.0 + abs(self.m.log_mass) + self.tilt * (abs(epsilon) + abs(self.m.mean))
        )
        if exponent > _LARGEST or off > 1.0 or math.isinf(one):
            return 0.0, 1.0, 1.0
        error = self.error + one_off + two_off
        low, high = math.exp(exponent - off), math.exp(exponent + off)
        upper = high * (max(one - two, 0.0) + error) + self.lost
        return low * max(one - two - error, 0.0), math.exp(exponent) * max(one - two, 0.0), min(1.0, upper)

    def middle(self, delta: float) -> float:
        """About where delta is reached; nothing is promised."""
        low, high = 0.0, max(self.m.mean, 0.0) + self.deviation
        if self.ends(low)[1] <= delta:
            return 0.0
        for _ in range(60):
            if self.ends(high)[1] <= delta:
                break
            low, high = high, 2.0 * high
        for _ in range(50):
            half = 0.5 * (low + high)
            low, high = (half, high) if self.ends(half)[1] > delta else (low, half)
        return high

    def interval(self, delta: float) -> Interval:
        """The smallest epsilon >= 0 at delta: each end has been tried, walking away from the middle."""
        start = self.middle(delta)
        lower, upper = 0.0, 0.0 if self.ends(0.0)[2] <= delta else math.inf
        for which, sign in ((0, -1.0), (2, 1.0)):
            bad, good, move = start, math.nan, 1e-9 * (start + self.deviation)
            while math.isnan(good) and move < 1e3 * (start + self.deviation):
                at = max(start + sign * move, 0.0)
                value = self.ends(at)[which]
                if value >= delta if which == 0 else value <= delta:
                    good = at
                elif at == 0.0:
                    break
                else:
                    bad, move = at, 2.0 * move
            if math.isnan(good):
                continue
            for _ in range(40):
                half = 0.5 * (bad + good)
                value = self.ends(half)[which]
                bad, good = (bad, half) if (value >= delta if which == 0 else value <= delta) else (half, good)
            lower, upper = (good, upper) if which == 0 else (lower, min(good, upper))
        return Interval(lower, upper)


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
        best = _Curve(moments, tilt, total.lost)
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
    told = _told_apart(parts)
    if told is None:
        return None
    result: Interval | None = None
    for direction in DIRECTIONS:
        total = FarSum(*told, direction)
        total.cut(delta)
        start = total.moments(1e-9)
        if start is None:
            return None
        tilt = math.sqrt(2.0 * math.log(1.0 / delta) / start.variance)
        curve = _curve_near(total, tilt, lambda found: found.middle(delta))
        if curve is None:
            return None
        own = curve.interval(delta)
        result = own if result is None else larger_of(result, own)
    return result


def far_delta(parts: Sequence[tuple[object, int]], epsilon: float) -> Interval | None:
    """delta(epsilon) of very many sampled Gaussian steps, enclosed; None for other sums.

    >>> from privet import privacy
    >>> step = privacy.PoissonSampled(privacy.GaussianLoss(2.0), q=1e-6)
    >>> found = far_delta([(step, 10**10)], 0.1)
    >>> found is not None and 0.99 < found.lower / found.upper < 1.0
    True
    """
    told = _told_apart(parts)
    if told is None:
        return None
    result: Interval | None = None
    for direction in DIRECTIONS:
        total, size = FarSum(*told, direction), 1e-12
        for _ in range(4):  # the smaller delta, the further out the cut
            total.cut(size)
            start = total.moments(1e-9)
            if start is None:
                return None
            tilt = max(epsilon - start.mean, math.sqrt(start.variance)) / start.variance
            curve = _curve_near(total, tilt, lambda found: epsilon)
            if curve is None:
                return None
            lower, middle, upper = curve.ends(epsilon)
            if middle >= size or size < 1e-280:
                break
            size = max(0.1 * middle, 1e-290)
        own = Interval(lower, upper)
        result = own if result is None else larger_of(result, own)
    return result
