"""The loss variable of two normal distributions of equal variance, mu standard deviations apart."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import TINY, UNIT_ROUNDOFF, Array, bisect, log_ndtr, ndtri, normal_cells, round_up, special
from privet.privacy.variable import Enclosure, SymmetricVariable

_SMALL = 1e-3  # below, the closed form subtracts nearly equal numbers, and two orders in mu serve
_LARGE = 1e12  # beyond, the arguments of the normal law have lost the digits that decide
_CELL_ERROR = 2e-12  # of `normal_cells`; compared with 40 digits in the tests
_SQRT2 = math.sqrt(2.0)  # between erfc and the normal law


@dataclass(frozen=True, eq=False)
class NormalVariable(SymmetricVariable):
    """L is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q; the pair is its own mirror image.

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
        return 1e-250


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
    # both tails carry the factor exp(-below^2/2), since above^2 - below^2 = 2 e: what is left loses few digits
    erfcx, near = special().erfcx, np.maximum(below, -1.0)
    scaled = 0.5 * np.exp(-0.5 * near * near) * (erfcx(near / _SQRT2) - erfcx(np.maximum(above, -1.0) / _SQRT2))
    if (below > -1.0).all():
        return np.asarray(scaled)
    # exp(first) - exp(second) = exp(first) * (1 - exp(second - first)); second <= first always
    first = log_ndtr(-below)
    # as above the factor is taken out: e and the logarithm of a far tail are both as large as mu^2, and cancel
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
    near = np.minimum(x, 60.0)  # beyond, the density alone makes everything vanish
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
        rest, factor = -math.expm1(epsilon), math.exp(epsilon)
        return (rest + factor * low) * (1.0 - 1e-14), min(1.0, (rest + factor * high) * (1.0 + 1e-14))
    value, error = float(gaussian_delta(mu, epsilon)), gaussian_rounding(mu)
    return value * (1.0 - error), min(1.0, value * (1.0 + error) + TINY)


def gaussian_rounding(mu: float) -> float:
    """Relative error of `gaussian_delta` for epsilon >= 0: nearly equal numbers are subtracted when mu is small, and
    the rounding of far arguments shows when it is large (up to mu = 1e12).

    >>> gaussian_rounding(1.0) < 2e-11
    True
    """
    return 1e-11 + 1024.0 * UNIT_ROUNDOFF / max(mu, _SMALL) + 128.0 * UNIT_ROUNDOFF * mu


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon >= 0 with gaussian_delta(mu, epsilon) <= delta, found on the safe side.

    >>> round(gaussian_epsilon(1.0, 1e-5), 8)
    4.3771781
    """
    if mu == 0.0 or float(gaussian_delta(mu, 0.0)) <= delta:
        return 0.0
    high = mu * mu / 2.0 + mu * math.sqrt(2.0 * math.log(1.0 / delta)) + TINY
    if mu > _LARGE:
        return round_up(high, 8.0)  # mu^2/2 and nothing else that a double can show
    return bisect(lambda epsilon: float(gaussian_delta(mu, epsilon)) <= delta, 0.0, high)
