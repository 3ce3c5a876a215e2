"""delta of many equal releases by an inversion integral, independent of every grid.

delta(e) = E[(1 - exp(e - L))_+] is the integral of M(s) exp(-s e)/(s (s + 1)) ds/(2 pi i) along Re s = c > 0, where M(s)
is the moment E_P[exp(s L)] of the sum. c is taken near the saddle point, so that the integrand hardly cancels. Moments
of one release are integrals over the output, computed for all frequencies at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LARGEST = 20.0  # a tilt up to here moves the output by at most as much; larger ones are tried where it stays in sight
_ORDERS = np.exp(np.linspace(-7.0, math.log(2e4), 80))  # real parts of s that are tried
_ENOUGH = -46.0  # the integrand is followed until it fell by e^-46


@dataclass(frozen=True)
class Weighted:
    """Losses of one release at quadrature points, with their P-weights; `ends` are the points at the ends of the range."""

    losses: Array
    weights: Array
    ends: NDArray[np.int64]

    def sees(self, order: float) -> bool:
        """Does the law tilted by this order lie within the range of the quadrature?"""
        with np.errstate(divide="ignore"):
            exponent = order * self.losses + np.log(self.weights)
        return bool(exponent[self.ends].max() < exponent.max() + _ENOUGH)

    def log_moment(self, s: complex | NDArray[np.complex128]) -> NDArray[np.complex128]:
        seen = self.weights > 0.0
        exponent = np.multiply.outer(np.asarray(s, dtype=complex), self.losses[seen]) + np.log(self.weights[seen])
        top = exponent.real.max(axis=-1, keepdims=True)
        return np.log(np.exp(exponent - top).sum(axis=-1)) + top[..., 0]


def _panels(low: float, high: float, width: float) -> tuple[Array, Array]:
    count = math.ceil((high - low) / width)
    edges = np.linspace(low, high, count + 1)
    half = 0.5 * np.diff(edges)
    x = (0.5 * (edges[1:] + edges[:-1]))[:, None] + half[:, None] * _POINTS
    return x.ravel(), (half[:, None] * _WEIGHTS).ravel()


def sampled_gaussian(q: float, z: float, direction: str) -> Weighted:
    """Poisson-sampled Gaussian: w = 1 - q + q exp((2x - 1)/(2 z^2)); remove has loss ln w under w Q, add -ln w under Q."""
    x, weight = _panels(-11.0 * z, _LARGEST + 2.0 + 11.0 * z, z)
    log_w = np.log1p(q * np.expm1(np.minimum((2.0 * x - 1.0) / (2.0 * z * z), 600.0)))
    density = np.exp(-0.5 * (x / z) ** 2) / (z * math.sqrt(2.0 * math.pi)) * weight
    ends = np.r_[: len(_POINTS), len(x) - len(_POINTS) : len(x)]
    if direction == "remove":
        return Weighted(log_w, density * np.exp(log_w), ends)
    return Weighted(-log_w, density, ends)


def spliced_gaussian(q: float, z: float) -> Weighted:
    """Sampling without replacement: the sampled pair where its loss is positive, the mirror image below, the rest at 0."""
    x, weight = _panels(0.5, _LARGEST + 2.0 + 11.0 * z, z)
    log_w = np.log1p(q * np.expm1(np.minimum((2.0 * x - 1.0) / (2.0 * z * z), 600.0)))
    q_mass = np.exp(-0.5 * (x / z) ** 2) / (z * math.sqrt(2.0 * math.pi)) * weight
    p_mass = q_mass * np.exp(log_w)
    rest = 1.0 - p_mass.sum() - q_mass.sum()
    last = np.r_[len(x) - len(_POINTS) : len(x)]
    losses, masses = np.concatenate((log_w, -log_w, [0.0])), np.concatenate((p_mass, q_mass, [rest]))
    return Weighted(losses, masses, np.concatenate((last, len(x) + last)))


def delta(parts: list[tuple[Weighted, int]], epsilon: float) -> tuple[float, float]:
    """delta(epsilon) of the sum of n copies of each part, and an estimate of its relative error.

    The estimate is large where high frequencies matter (few steps, rare jumps): more of them would not help, since the
    quadrature over the output cannot follow their waves. Contours are only laid where the tilted law is in sight.
    """

    def exponent(s: NDArray[np.complex128] | complex) -> NDArray[np.complex128]:
        s = np.asarray(s, dtype=complex)
        moment = sum(n * part.log_moment(s) for part, n in parts)
        return moment - s * epsilon - np.log(s) - np.log1p(s)

    grid = np.array([order for order in _ORDERS if order <= 1.0 or all(part.sees(order) for part, _ in parts)])
    values = exponent(grid).real
    c = float(grid[int(np.nanargmin(values))])
    peak = float(exponent(c).real)
    width = 0.25 * c
    while width < 1e7 and float(exponent(complex(c, width)).real) > peak + _ENOUGH:
        width *= 1.5
    # substitute omega = scale sinh(t): dense near the saddle, sparse far out
    scale = 0.3 * c
    top = math.asinh(width / scale)
    answers = []
    for count in (400, 600):
        t = (np.arange(count) + 0.5) * (top / count)
        omega = scale * np.sinh(t)
        rate = scale * np.cosh(t) * (top / count)
        answers.append(float((np.exp(exponent(c + 1j * omega) - peak).real * rate).sum()) / math.pi)
    value = answers[1] * math.exp(peak)
    return value, abs(answers[0] / answers[1] - 1.0)
