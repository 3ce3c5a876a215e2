"""Moments of the sum of very many tilted Gaussian losses, sampled and plain, enclosed to second order in the rate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet._numerics import ROOMY_EXPONENT, TINY, UNIT_ROUNDOFF, Array, normal_cells, special
from privet.privacy import Direction

_ALIKE, _UNLIKE = 0.4748, 0.5600  # constants of Berry and Esseen (Shevtsova 2011 and 2010)
_CELLS = 4096  # of the curve that is tabulated: speed and width only
_LOWEST = -9.0  # the outcomes below are one cell
_HIGHEST = 36.0  # beyond, masses vanish among floats
_MASSES = 1e-10  # relative error of the masses of cells, generously
_ENDS = 1e-12  # relative error of the likelihood ratio at their ends, generously
_CURVATURE = 0.13  # an eighth, and room for rounding
_OFTEN, _TWICE = 1e-3, 1e-4  # a large outcome is at most so probable, two of them at most this share of delta
_NEAR, _FAR = 256, 128  # cells of large outcomes: fine ones first
_FINE = 0.02  # the step of the near cells: speed and width only
_PEAK = 1.0 / math.sqrt(2.0 * math.pi)  # the largest density of a normal variable, in its deviations
_STEEPEST = 0.25  # at least the largest x phi(x), 0.24197


@dataclass(frozen=True)
class Moments:
    """Of the sum of all losses, tilted: the middle of each enclosure, how far it may be off, and the distance to normal."""

    log_mass: float
    mean: float
    variance: float
    log_mass_off: float
    normal_off: float  # largest difference of the two distribution functions, uncertain mean and variance included


class Cells:
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
        ratio = p_mass[:-1] / np.maximum(self.mass, TINY)
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
        if float(max(exponent.max(), steep.max(), largest.max())) > ROOMY_EXPONENT:
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
        inside = _CURVATURE * curvature * (self.width * self.width + 4.0 * self.blur * self.blur)
        error = inside + np.abs(slope) * self.blur + _MASSES * np.abs(value) + 16.0 * UNIT_ROUNDOFF * size
        return float((self.mass * value).sum()), float((self.mass * error).sum()) * (1.0 + 1e-9)


class FarSum:
    """One direction of a sum of sampled and plain Gaussian losses, with large outcomes set apart.

    `jumps` are the losses of large outcomes, rounded up, and `weights` their expected numbers over all steps.
    """

    def __init__(self, sampled: Sequence[tuple[float, float, int]], normal: float, direction: Direction) -> None:
        self.sampled, self.normal, self.direction = sampled, normal, direction
        self.alike = len(sampled) == 1 and normal == 0.0
        self.cells: list[tuple[Cells, int]] = []
        self.jumps, self.weights = np.zeros(0), np.zeros(0)

    def cut(self, delta: float) -> None:
        """Set outcomes apart whose expected number, over all steps, is so small that two of them hardly matter."""
        share, self.cells = min(_OFTEN, math.sqrt(_TWICE * delta)) / len(self.sampled), []
        jumps, weights = [], []
        ndtr = special().ndtr
        for q, s, n in self.sampled:
            tops = np.arange(4.0, _HIGHEST, 0.125)
            expected = float(n) * (ndtr(-tops) + (q * ndtr(s - tops) if self.direction == "remove" else 0.0))
            top = float(tops[min(int(np.searchsorted(-expected, -share)), len(tops) - 1)])
            self.cells.append((Cells(q, s, top), n))
            near = top + _FINE * np.arange(_NEAR + 1)
            x = np.concatenate((near, np.linspace(near[-1], max(_HIGHEST, near[-1] + 1.0), _FAR + 1)[1:]))
            weight = normal_cells(x)[1:]
            if self.direction == "remove":  # P is at most Q and q times the shifted law together
                weight = weight + q * normal_cells(x - s)[1:]
                jumps.append(np.append(np.log1p(q * np.expm1(s * x[1:] - 0.5 * s * s)) * (1.0 + 1e-9), math.inf))
            else:
                jumps.append(np.zeros(len(x)))  # their losses are negative
            weights.append(float(n) * (weight * (1.0 + 1e-9) + TINY))  # smaller masses vanish among floats
        self.jumps, self.weights = np.concatenate(jumps), np.concatenate(weights)

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
