"""Very many sampled Gaussian steps: the sum of tilted losses is nearly normal, and Berry and Esseen say how nearly.

A grid charges the error of its masses once for every step; from about 1e9 steps on that is all one sees. Here the two
moments and the third absolute one of a single loss are enclosed by quadrature, all of second order in the rate, so that
no error is multiplied by the number of steps before it was divided by about as much. The proof is part (k) of
docs/proofs/accounting/pld.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array, normal_cells, special
from privet.accounting.pld.interval import Interval, larger_of
from privet.privacy import Direction, PoissonSampled, PrivacyLoss
from privet.privacy.variable import DIRECTIONS

_STEPS = 10_000_000, 10**18
_MOST_PARTS = 16
_DISTANCES = 1e-3, 5.0  # of the two worlds in one step, in standard deviations
_ALIKE, _UNLIKE = 0.4748, 0.5600  # constants of Berry and Esseen (Shevtsova 2011 and 2010)
_CELLS = 4096
_LOWEST = -9.0  # the outcomes below are one cell
_HIGHEST = 36.0  # beyond, masses vanish among floats
_MASSES = 1e-10  # relative error of the masses of cells, generously
_ENDS = 1e-12  # relative error of the likelihood ratio at their ends, generously
_CUT = 1e-6  # share of delta that is given away with the largest outcomes
_ROUNDS = 8
_CLOSE = 0.05  # standard deviations between the loss that is asked about and the tilted mean
_NORMAL = 1e-12  # relative error of the tail of the normal law
_PEAK = 1.0 / math.sqrt(2.0 * math.pi)
_STEEPEST = 0.25  # at least the largest x phi(x), 0.24197


@dataclass(frozen=True)
class Moments:
    """Of the sum of all losses, tilted: the middle of each enclosure, how far it may be off, and the distance to normal."""

    log_mass: float
    mean: float
    variance: float
    log_mass_off: float
    normal_off: float  # largest difference of the two distribution functions, uncertain mean and variance included


class _Cells:
    """Outcomes x of N(0, 1) up to a cut, in cells, with the excess u = q (e^{sx - s^2/2} - 1) of the likelihood ratio."""

    def __init__(self, q: float, s: float, top: float) -> None:
        self.q = q
        x = np.linspace(_LOWEST, top, _CELLS)
        q_mass, p_mass = normal_cells(x), normal_cells(x - s)
        self.mass = q_mass[:-1]
        self.beyond = float(q_mass[-1])
        self.moved = q * (float(p_mass[-1]) - self.beyond)  # E[u; beyond] = -E[u; up to the cut]
        ends = q * np.expm1(s * x - 0.5 * s * s)
        self.low, self.high = np.concatenate(([-q], ends[:-1])), ends
        ratio = p_mass[:-1] / np.maximum(self.mass, 1e-300)
        self.centre = np.clip(q * (ratio - 1.0), self.low, self.high)
        self.blur = 4.0 * _MASSES * (q * ratio + np.abs(self.centre))  # of the centre beside the true mean of u
        self.width = self.high - self.low + _ENDS * (q + np.abs(self.low) + np.abs(self.high))
        self.log_low, self.log_high, self.log = (np.log1p(u) for u in (self.low, self.high, self.centre))
        self.log_most = np.maximum(np.abs(self.log_low), np.abs(self.log_high))

    def moments(self, a: float) -> tuple[tuple[float, float], ...] | None:
        """E[(1+u)^a ln^j(1+u)] up to the cut, minus 1 where j = 0, and its error, for j = 0, 1, 2; then the third moment.

        Terms linear in u are left out of each cell: they sum to what is known in closed form.
        """
        u, log, most = self.centre, self.log, self.log_most
        exponent = a * log
        steep = np.maximum((a - 2.0) * self.log_low, (a - 2.0) * self.log_high)
        largest = np.maximum(a * self.log_low, a * self.log_high)
        if float(max(exponent.max(), steep.max(), largest.max())) > 600.0:
            return None
        grown, power = np.expm1(exponent), np.exp(exponent)
        slope = power / (1.0 + u)  # (1+u)^(a-1)
        curve = np.exp(steep)
        square = abs(a * (a - 1.0))
        terms = (
            (grown - a * u, a * (slope - 1.0), curve * square, (np.abs(a * u) + np.abs(exponent)) * (1.0 + power)),
            (
                grown * log + (log - u),
                slope * (exponent + 1.0) - 1.0,
                curve * (square * most + abs(2.0 * a - 1.0)),
                (np.abs(u) + np.abs(log) * (1.0 + np.abs(exponent))) * (1.0 + power),
            ),
            (
                power * log * log,
                slope * (exponent + 2.0) * log,
                curve * ((square * most + abs(4.0 * a - 2.0)) * most + 2.0),
                (1.0 + np.abs(exponent)) * power * log * log,
            ),
        )
        found = [self._sum(*term) for term in terms]
        linear = (-self.beyond - a * self.moved, -self.moved, 0.0)
        enclosed = [
            (value + known, error + 1e-9 * (self.beyond + (1.0 + abs(a)) * abs(self.moved)))
            for (value, error), known in zip(found, linear, strict=True)
        ]
        mean = enclosed[1][0] / (1.0 + enclosed[0][0])
        far = np.maximum(np.abs(self.log_low - mean), np.abs(self.log_high - mean))
        third = float((self.mass * np.exp(largest) * far**3).sum())
        return (*enclosed, (third, 0.0))

    def _sum(self, value: Array, slope: Array, curvature: Array, size: Array) -> tuple[float, float]:
        """The sum over the cells of a function at their centres, and its error.

        Within a cell: half the curvature times the variance of u, at most a quarter of the width squared. Then the centre
        that is not quite the mean of the cell, the masses, and rounding.
        """
        inside = 0.13 * curvature * (self.width * self.width + 4.0 * self.blur * self.blur)
        error = inside + np.abs(slope) * self.blur + _MASSES * np.abs(value) + 16.0 * UNIT_ROUNDOFF * size
        return float((self.mass * value).sum()), float((self.mass * error).sum()) * (1.0 + 1e-9)


class FarSum:
    """One direction of a sum of sampled and plain Gaussian losses, cut where only a small share of delta is lost."""

    def __init__(self, sampled: Sequence[tuple[float, float, int]], normal: float, direction: Direction) -> None:
        self.sampled, self.normal, self.direction = sampled, normal, direction
        self.alike = len(sampled) == 1 and normal == 0.0
        self.cells: list[tuple[_Cells, int]] = []
        self.lost = 0.0

    def cut(self, delta: float) -> None:
        """Leave out outcomes whose probability, over all steps, is at most a small share of delta."""
        share, self.lost, self.cells = _CUT * delta / len(self.sampled), 0.0, []
        ndtr = special().ndtr
        for q, s, n in self.sampled:
            top = np.arange(4.0, _HIGHEST, 0.125)
            mass = float(n) * (ndtr(-top) + (q * ndtr(s - top) if self.direction == "remove" else 0.0))
            index = min(int(np.searchsorted(-mass, -share)), len(top) - 1)
            self.cells.append((_Cells(q, s, float(top[index])), n))
            self.lost += float(mass[index]) * (1.0 + 1e-9)

    def moments(self, tilt: float) -> Moments | None:
        """Of all steps under the tilt e^{tL}; None where they are not known well enough to say anything."""
        a, sign = (1.0 + tilt, 1.0) if self.direction == "remove" else (-tilt, -1.0)
        mu2 = self.normal
        log_mass, mean, variance = 0.5 * mu2 * tilt * (1.0 + tilt), mu2 * (tilt + 0.5), mu2
        off, third = [0.0, 0.0, 0.0], 0.0  # a normal law is the sum of as many smaller ones as one likes
        for cells, n in self.cells:
            found = cells.moments(a)
            if found is None:
                return None
            (grown, e0), (one, e1), (two, e2), (three, _) = found
            mass, least = 1.0 + grown, 1.0 + grown - e0
            if not least > 0.1:
                return None
            m, m_off = one / mass, (e1 + abs(one / mass) * e0) / least
            v, v_off = two / mass - m * m, (e2 + two / mass * e0) / least + m_off * (2.0 * abs(m) + m_off)
            v_off += 8.0 * UNIT_ROUNDOFF * two
            log_mass, mean, variance = log_mass + n * math.log1p(grown), mean + sign * n * m, variance + n * v
            for i, error in enumerate((e0 / least, m_off, v_off)):
                off[i] += n * error
            third += n * (math.cbrt(three * (1.0 + 1e-8) / least) + m_off) ** 3  # Minkowski: its mean is off by m_off
        off = [error + 32.0 * UNIT_ROUNDOFF * abs(x) for error, x in zip(off, (log_mass, mean, variance), strict=True)]
        if not variance > 4.0 * off[2]:
            return None
        least_variance = variance - off[2]
        moved = _PEAK * off[1] / math.sqrt(least_variance) + 0.5 * _STEEPEST * off[2] / least_variance
        normal_off = (_ALIKE if self.alike else _UNLIKE) * third / least_variance**1.5 + moved
        return Moments(log_mass, mean, variance, off[0], normal_off)


class _Curve:
    """delta of a sum near one tilt: in the middle, from below and from above."""

    def __init__(self, moments: Moments, tilt: float, lost: float) -> None:
        self.m, self.tilt, self.lost = moments, tilt, lost
        self.deviation = math.sqrt(moments.variance)
        highest = math.exp(tilt * math.log(tilt / (1.0 + tilt))) / (1.0 + tilt)
        self.error = 2.0 * highest * moments.normal_off

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
        if exponent > 600.0 or math.isinf(one):
            return 0.0, 1.0, 1.0
        off = self.m.log_mass_off + 16.0 * UNIT_ROUNDOFF * (
            1.0 + abs(self.m.log_mass) + self.tilt * (abs(epsilon) + abs(self.m.mean))
        )
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
        mu = loss.of.gaussian() if isinstance(loss, PoissonSampled) and 0.0 < loss.q < 1.0 else None
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
