"""The law of a weighted sum of independent integer noise, and the interval that holds it as often as it says.

Normal quantiles under-cover where a few Laplace noises make up the sum, so the law itself is inverted: from its
characteristic function, made smooth by a normal noise of `SMOOTH` of the standard deviation. If |S| > r + t, then
|S + tau N| > r unless tau N < -t: Pr[|S| > r + t] <= Pr[|S + tau N| > r] / Phi(t / tau). Proof note workloads/intervals.
"""

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

import numpy as np

from privet._cache import remember
from privet._numerics import Array, ndtr
from privet._validate import open_fraction
from privet.errors import InvalidParameter

Kind = Literal["laplace", "gaussian"]
# Of the normal noise that smooths: its deviation, and by how many of these a radius is widened (see above).
SMOOTH, ASIDE = 0.01, 3.0
SPAN = 60.0  # standard deviations between the images of the law that a sum over frequencies sees
FREQUENCIES = 8.0  # standard deviations of the smooth factor: beyond it is below e^-32
_NOTHING = -50.0  # logarithm of a size that moves no digit
_PIECE = 2**20  # numbers at a time, 16 MB: memory and speed only
FINE = 1_024.0  # steps of noise from which on it is read as continuous


@final
@dataclass(frozen=True)
class NoiseLaw:
    """Independent integer noise in groups: discrete Laplace, or Gaussian rounded to integers, of one scale a group.

    >>> law = NoiseLaw("laplace", ((1, Fraction(10)),))
    >>> round(law.radius(np.array([1.0]), 0.95))  # continuous: 10 ln 20 = 29.96
    30
    """

    kind: Kind
    groups: tuple[tuple[int, Fraction], ...]

    def variances(self) -> Array:
        """The variance of the noise of each group."""
        return np.array([_variance(self.kind, float(scale)) for _, scale in self.groups])

    def radius(self, coefficients: Array, confidence: float) -> float:
        """r with Pr[|sum of coefficients times noise| <= r] >= confidence, nearly with equality."""
        open_fraction("confidence", confidence)
        radius: float = _found_radius(self, _Sizes(np.abs(np.asarray(coefficients, dtype=float))), confidence)
        return radius

    def log_transform(self, part: list[tuple[float, float]], frequencies: Array) -> Array:
        """The logarithm of the size of the characteristic function of a sum: for each group a coefficient, and how many
        noises have it."""
        total = np.zeros(len(frequencies))
        for (_, scale), (size, how_many) in zip(self.groups, part, strict=True):
            if how_many and size:
                transform = np.abs(_transform(self.kind, size * frequencies, float(scale)))
                total += how_many * np.log(np.maximum(transform, 1e-300))
        return total

    def _log_transform(self, weights: Array, frequencies: Array, scale: float) -> Array:
        """The logarithm of the size of the characteristic function; equal weights are counted, not repeated."""
        total = np.zeros(len(frequencies))
        if self.kind == "gaussian" and scale >= FINE:
            return np.asarray(-0.5 * float(weights @ weights) * (scale * frequencies) ** 2)
        values, counts = np.unique(np.round(weights * scale, 12), return_counts=True)
        step = max(1, _PIECE // len(frequencies))
        for start in range(0, len(values), step):
            at = np.outer(values[start : start + step] / scale, frequencies)
            size = np.maximum(np.abs(_transform(self.kind, at, scale)), 1e-300)
            total += counts[start : start + step] @ np.log(size)
        return total


@final
class _Sizes:
    """Sizes of coefficients, known by a digest of them."""

    def __init__(self, values: Array) -> None:
        self.values, self.token = values, hashlib.sha256(values.tobytes()).digest()


@remember(2**20)
def _found_radius(law: NoiseLaw, sizes: _Sizes, confidence: float) -> float:
    """Kept, for it does not depend on data: every release of a mechanism, and each of many equal queries, asks it anew."""
    tail = 1.0 - confidence
    each = np.split(sizes.values, np.cumsum([size for size, _ in law.groups])[:-1])
    deviation = math.sqrt(sum(v * float(u @ u) for v, u in zip(law.variances(), each, strict=True)))
    if deviation == 0.0:
        return 0.0
    # One step of the largest coefficient may be many standard deviations, where there is hardly any noise.
    unit = max(deviation, max(float(u.max(initial=0.0)) for u in each))
    frequencies = (np.arange(math.ceil(FREQUENCIES / SMOOTH * SPAN / (2.0 * math.pi))) + 0.5) * (2.0 * math.pi / SPAN)

    def log_transform(at: Array) -> Array:
        logs = -0.5 * (SMOOTH * at) ** 2
        for (_, scale), weights in zip(law.groups, each, strict=True):
            logs += law._log_transform(weights[weights > 0.0] / unit, at, float(scale))
        return logs

    if all(scale >= FINE for _, scale in law.groups):  # falls without rising again: leave out what counts no more
        coarse = frequencies[:: len(frequencies) // 100]
        seen = coarse[log_transform(coarse) < _NOTHING]
        frequencies = frequencies[frequencies <= seen[0]] if len(seen) else frequencies
    logs = log_transform(frequencies)
    transform = np.exp(logs) / frequencies * (4.0 / SPAN)
    aim = tail * float(ndtr(ASIDE))

    def beyond(r: float) -> float:
        return 1.0 - float(np.sum(np.sin(r * frequencies) * transform))

    low, high = 0.0, SPAN / 3.0
    if beyond(high) > aim:
        raise InvalidParameter("confidence lies so near 1 that no interval can be certified: ask for less")
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (low, middle) if beyond(middle) <= aim else (middle, high)
    return unit * (high + ASIDE * SMOOTH)


def _variance(kind: Kind, scale: float) -> float:
    if kind == "gaussian" and scale >= 1.0:
        return scale * scale + 1.0 / 12.0
    if kind == "gaussian":
        k, masses = _masses(scale)
        return float(np.sum(k * k * masses))
    a = math.exp(-1.0 / scale)
    return 2.0 * a / (1.0 - a) ** 2 if a < 1.0 else 2.0 * scale * scale


def _transform(kind: Kind, frequency: Array, scale: float) -> Array:
    """The characteristic function of one integer noise; it has the period 2 pi. Noise of a thousand steps and more is read
    as continuous: a step is then less than a thirtieth of what the smoothing adds to the radius.
    """
    if scale >= FINE:
        squares = (scale * frequency) ** 2
        return np.asarray(np.exp(-0.5 * squares) if kind == "gaussian" else 1.0 / (1.0 + squares))
    if kind == "laplace":
        q = -math.expm1(-1.0 / scale)  # 1 - a
        half = np.sin(frequency / 2.0)
        return np.asarray(q * q / (q * q + 4.0 * (1.0 - q) * half * half))
    if scale < 1.0:
        k, masses = _masses(scale)
        return np.asarray(sum(mass * np.cos(step * frequency) for step, mass in zip(k, masses, strict=True)))
    around = np.remainder(frequency + math.pi, 2.0 * math.pi) - math.pi
    images = 1 + math.ceil(6.0 / (2.0 * math.pi * scale))
    total = np.zeros_like(around)
    for image in range(-images, images + 1):
        at = around + 2.0 * math.pi * image
        total += np.exp(-0.5 * (scale * at) ** 2) * np.sinc(at / (2.0 * math.pi))
    return total


def _masses(sigma: float) -> tuple[Array, Array]:
    """The law of a Gaussian of at most one step, rounded to whole steps."""
    k = np.arange(-12.0, 13.0)
    masses = ndtr((k + 0.5) / sigma) - ndtr((k - 0.5) / sigma)
    return k, np.where(k == 0.0, 1.0 - 2.0 * ndtr(-0.5 / sigma), np.where(k > 0.0, masses[::-1], masses))
