"""The loss variable of two normal distributions of equal variance, mu standard deviations apart."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import TINY, UNIT_ROUNDOFF, Array, bisect, log_ndtr, ndtri, normal_cells, round_up, special
from privet.privacy.variable import Enclosure, SymmetricVariable

# Below this mu the closed form subtracts nearly equal numbers: two terms of a series serve, right to a relative mu^4/240.
_SMALL = 1e-3
# Beyond this mu delta is only said to be from 0 to 1: here the rounding of e/mu - mu/2 costs 1.4% (`gaussian_rounding`).
_LARGE = 1e12
_CELL_ERROR = 2e-12  # relative error of `normal_cells`, compared with 40 digits in the tests
_SQRT2 = math.sqrt(2.0)  # Pr[N(0, 1) > x] is erfc(x / this) / 2


@dataclass(frozen=True, eq=False)
class NormalVariable(SymmetricVariable):
    """The loss variable L with the law N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q; the pair (Q, P) has the same.

    **Reference:** Balle & Wang 2018, lemma 3.
    """

    mu: float

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        centre = nodes / self.mu
        return normal_cells(centre - self.mu / 2.0), normal_cells(centre + self.mu / 2.0)

    def span(self, tail: float) -> tuple[float, float]:
        reach = self.mu * (self.mu / 2.0 - ndtri(max(tail, TINY)))
        return -reach, reach

    @property
    def mass_error(self) -> float:
        return _CELL_ERROR

    def delta(self, epsilon: Array | float) -> Array:
        return gaussian_delta(self.mu, np.asarray(epsilon, dtype=float))

    def enclose(self, epsilon: float) -> Enclosure:
        return enclose_gaussian(self.mu, epsilon)

    @property
    def least(self) -> float:
        return 1e-250  # the closed form keeps its digits there, and TINY, which `enclose` adds, is far below


def gaussian_delta(mu: float, epsilon: Array | float) -> Array:
    """delta(epsilon) of mu-GDP in closed form, without cancellation in the tail.

    **Reference:** Balle & Wang 2018, theorem 8; Dong, Roth & Su 2019, corollary 2.13.

    >>> round(float(gaussian_delta(1.0, 0.0)), 10)
    0.3829249225
    """
    e = np.asarray(epsilon, dtype=float)
    if mu < _SMALL:
        small, below_zero = _small_delta(mu, np.abs(e)), np.minimum(e, 0.0)
        return np.where(e < 0.0, -np.expm1(below_zero) + np.exp(below_zero) * small, small)
    below, above = e / mu - mu / 2.0, e / mu + mu / 2.0
    # Both tails carry the factor exp(-below^2/2), since above^2 - below^2 = 2 e: what is left loses few digits. This serves
    # for below > -1; up to there the second form serves, and the maxima only keep erfcx from overflowing.
    erfcx, near = special().erfcx, np.maximum(below, -1.0)
    scaled = 0.5 * np.exp(-0.5 * near * near) * (erfcx(near / _SQRT2) - erfcx(np.maximum(above, -1.0) / _SQRT2))
    if (below > -1.0).all():
        return np.asarray(scaled)
    # delta = exp(first) - exp(second) = exp(first) * (1 - exp(second - first)); second <= first always
    first = log_ndtr(-below)
    # for above > 0 the same factor is taken out: e and the logarithm of a far tail are as large as mu^2, and would cancel
    far = np.log(0.5 * erfcx(np.maximum(above, 0.0) / _SQRT2)) - 0.5 * below * below
    second = np.where(above > 0.0, far, e + log_ndtr(-np.minimum(above, 0.0)))
    bulk = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
    return np.where(below > -1.0, scaled, bulk)


def _small_delta(mu: float, e: Array) -> Array:
    """delta of the Gaussian pair for small mu and e >= 0, from the expansion of the Mills ratio M around x = e/mu.

    delta = phi(x - mu/2) (M(x - mu/2) - M(x + mu/2)), and M(x) is the integral of exp(-x t - t^2/2) over t > 0. The
    difference of its values is an odd series in mu/2 with terms of one sign; two are taken, the third is at most mu^4/240
    of the first.
    """
    x = e / mu
    near = np.minimum(x, 60.0)  # beyond, the density is 0 in doubles, and the product with it
    mills = math.sqrt(math.pi / 2.0) * special().erfcx(near / _SQRT2)
    first = np.maximum(1.0 - near * mills, 0.0)
    square = near * near
    second = np.maximum(square + 2.0 - (square + 3.0) * near * mills, 0.0)
    density = np.exp(0.5 * e - 0.5 * x * x - mu * mu / 8.0) / math.sqrt(2.0 * math.pi)
    return mu * density * (first + mu * mu / 24.0 * second)


def enclose_gaussian(mu: float, epsilon: float) -> Enclosure:
    """delta(epsilon) of mu-GDP from below and from above, rounding included.

    >>> low, high = enclose_gaussian(1e-16, 0.0)
    >>> 0.0 < low <= 3.989422804e-17 * (1.0 + 1e-9) and high < 4e-17
    True
    """
    if mu > _LARGE:
        return 0.0, 1.0
    if epsilon < 0.0:
        low, high = enclose_gaussian(mu, -epsilon)
        # delta(epsilon) = 1 - exp(epsilon) + exp(epsilon) delta(-epsilon); 1e-14 is ninety roundings, and few are made
        rest, factor = -math.expm1(epsilon), math.exp(epsilon)
        return (rest + factor * low) * (1.0 - 1e-14), min(1.0, (rest + factor * high) * (1.0 + 1e-14))
    value, error = float(gaussian_delta(mu, epsilon)), gaussian_rounding(mu)
    return value * (1.0 - error), min(1.0, value * (1.0 + error) + TINY)


def gaussian_rounding(mu: float) -> float:
    """The relative error of `gaussian_delta` for epsilon >= 0, up to mu = 1e12. It has three parts: that of the special
    functions, that of subtracting nearly equal numbers, which grows like 1/mu as mu falls to 1e-3, and that of rounding
    e/mu - mu/2, which grows like mu.

    >>> gaussian_rounding(1.0) < 2e-11
    True
    """
    return 1e-11 + 1024.0 * UNIT_ROUNDOFF / max(mu, _SMALL) + 128.0 * UNIT_ROUNDOFF * mu


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon >= 0 with gaussian_delta(mu, epsilon) <= delta, or a number just above it: one at which this was
    computed to hold.

    >>> round(gaussian_epsilon(1.0, 1e-5), 8)
    4.3771781
    """
    if mu == 0.0 or float(gaussian_delta(mu, 0.0)) <= delta:
        return 0.0
    # from delta(epsilon) <= Pr[N(0, 1) > x] <= exp(-x^2/2) at x = epsilon/mu - mu/2
    high = mu * mu / 2.0 + mu * math.sqrt(2.0 * math.log(1.0 / delta)) + TINY
    if mu > _LARGE:
        return round_up(high, 8.0)  # above the least epsilon by a relative 1e-10 at most; 8 units cover its rounding
    return bisect(lambda epsilon: float(gaussian_delta(mu, epsilon)) <= delta, 0.0, high)
