"""A slow second opinion on composed privacy losses, by contour inversion.

Nothing here rounds a loss to a grid or convolves. Write `M(s) = E_P[exp(s L)]` for the moment generating
function of one privacy loss `L = ln(P/Q)`. Since `(1 - e^-y)_+` has the Laplace transform `1/(s(s+1))`,

    delta(epsilon) = 1/(2 pi i) * integral over Re s = c of  M(s)^T exp(-epsilon s) / (s (s+1)) ds,   c > 0.

The trapezoidal rule with step `eta` on that line is not an approximation of unknown quality. By Poisson
summation it equals `sum over k of exp(c k Y) delta(epsilon + k Y)` with `Y = 2 pi / eta`: every error term is
positive (so the sum is an upper bound) and each is bounded by Chernoff or by `delta <= 1` (so subtracting
those bounds gives a lower bound). What is left is the cut of the line at `|Im s| = U` and rounding; both
are charged, with a bound that is numerical rather than proved. At the saddle point `c` the integrand does not
cancel, so the relative precision of `delta` does not depend on its size: 1e-50 costs what 1e-5 costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]
LogMgf = Callable[[Complex], Complex]
Direction = Literal["remove", "add"]

_UNIT_ROUNDOFF = 2.0**-53
_RELATIVE_FLOOR = 1e-17  # the line is cut where the integrand is this small beside its peak
_SIGMAS = 11.0  # half width of quadrature windows in standard deviations: exp(-11**2 / 2) = 5e-27


@dataclass(frozen=True)
class Estimate:
    """A number with the two ends of its error budget."""

    value: float
    lower: float
    upper: float


# --- logarithms of M(s) for one release ---------------------------------------------------------------


def gaussian(noise_multiplier: float) -> LogMgf:
    """L ~ N(1/(2 z^2), 1/z^2), so ln M(s) = s (s+1) / (2 z^2)."""
    return lambda s: s * (s + 1) / (2 * noise_multiplier**2)


def laplace(scale: float) -> LogMgf:
    """Direct integration of the two-sided exponential over x<0, 0<x<1 and x>1."""

    def log_mgf(s: Complex) -> Complex:
        alpha = s + 1
        top = alpha * np.exp((alpha - 1) / scale) + (alpha - 1) * np.exp(-alpha / scale)
        return np.log(top / (2 * alpha - 1))

    return log_mgf


def bounded_range(epsilon: float) -> LogMgf:
    """Envelope of the exponential mechanism: P-density of L proportional to e^(L/2) on [-epsilon, epsilon]."""

    def log_mgf(s: Complex) -> Complex:
        half = s + 0.5
        return np.log(np.sinh(half * epsilon) / half) - math.log(2 * math.sinh(epsilon / 2))

    return log_mgf


def _log_ratio(x: Real, *, q: float, noise_multiplier: float) -> Real:
    """ln(1 - q + q exp((2x-1)/(2 z^2))), exact for tiny q and safe for large x."""
    exponent = (2 * x - 1) / (2 * noise_multiplier**2)
    small = np.log1p(q * np.expm1(np.minimum(exponent, 30.0)))
    large = math.log(q) + exponent + np.log1p((1 - q) / q * np.exp(-np.maximum(exponent, 30.0)))
    return np.where(exponent < 30.0, small, large)


def _weighted_expm1(exponent: Complex, log_weights: Real) -> Complex:
    """exp(log_weights) * expm1(exponent), without overflow of the second factor where the first is tiny."""
    large = np.real(exponent) > 1.0
    weights = np.exp(log_weights)
    safe = weights * np.expm1(np.where(large, 0.0, exponent))
    return np.where(large, np.exp(np.where(large, exponent, 0.0) + log_weights) - weights, safe)


def _expectation(
    terms: Callable[[Complex, Real, Real], Complex], s: Complex, nodes: Real, log_weights: Real
) -> Complex:
    """Sum of the weighted terms over the nodes, for each s, in blocks that fit in memory."""
    flat = np.asarray(s, dtype=complex).ravel()
    block = max(1, 1_000_000 // max(1, len(nodes)))
    parts = [
        np.sum(terms(flat[i : i + block, None], nodes[None, :], log_weights[None, :]), axis=1)
        for i in range(0, len(flat), block)
    ]
    return np.concatenate(parts).reshape(np.shape(s))


def _log_normal(x: Real, *, noise_multiplier: float) -> Real:
    return -0.5 * (x / noise_multiplier) ** 2 - math.log(noise_multiplier * math.sqrt(2 * math.pi))


def _line_nodes(s: Complex, *, noise_multiplier: float, top: float, refine: float) -> tuple[Real, Real]:
    """Trapezoidal nodes on the real line, fine enough for the oscillation of exp(i Im(s) L(x))."""
    z = noise_multiplier
    band = float(np.max(np.abs(np.imag(s)))) / z**2 + 14.0 / z
    step = math.pi / band / refine
    low, high = -_SIGMAS * z, max(top, 0.0) + _SIGMAS * z
    nodes = low + step * np.arange(math.ceil((high - low) / step) + 1)
    return nodes, math.log(step) + _log_normal(nodes, noise_multiplier=z)


def sampled_gaussian(*, q: float, noise_multiplier: float, direction: Direction, refine: float = 1.0) -> LogMgf:
    """Poisson-sampled Gaussian: P = (1-q) N(0) + q N(1) against N(0), or the reverse ("add").

    With w = P/Q both are E_N(0)[w^alpha], alpha = s+1 (remove) or -s (add). As E[w] = 1, the sum is taken of
    w^alpha - 1 - alpha (w - 1): second order in q, so that rounding stays harmless when T is huge.
    """
    z = noise_multiplier

    def log_mgf(s: Complex) -> Complex:
        alpha = s + 1 if direction == "remove" else -s
        top = max(float(np.max(np.real(alpha))), 0.0)
        nodes, log_weights = _line_nodes(s, noise_multiplier=z, top=top, refine=refine)
        return _log1p(_mean_power(alpha, _log_ratio(nodes, q=q, noise_multiplier=z), log_weights))

    return log_mgf


def cut_sampled_gaussian(*, q: float, noise_multiplier: float, direction: Direction, top: float) -> LogMgf:
    """The same without outcomes beyond `top` standard deviations of N(0): what T steps do with none of them that large.

    High moments are then not those of the rarest outcomes, and the saddle point is where the curve is decided. The
    probability that is left out, at most T P(x > top), is the caller's to add.
    """
    z = noise_multiplier
    q_beyond, p_beyond = 0.5 * math.erfc(top / math.sqrt(2)), 0.5 * math.erfc((top - 1 / z) / math.sqrt(2))

    def log_mgf(s: Complex) -> Complex:
        alpha = s + 1 if direction == "remove" else -s
        swing = float(np.max(np.abs(np.imag(s)))) * math.log1p(q * math.exp(min(top / z, 600.0)))
        nodes, weights = _gauss_panels(-_SIGMAS * z, top * z, 40 + math.ceil(swing))
        log_weights = np.log(weights) + _log_normal(nodes, noise_multiplier=z)
        inside = _mean_power(alpha, _log_ratio(nodes, q=q, noise_multiplier=z), log_weights)
        return _log1p(inside - q_beyond - alpha * q * (p_beyond - q_beyond))

    return log_mgf


def _mean_power(alpha: Complex, ratio: Real, log_weights: Real) -> Complex:
    """Weighted sum of w^alpha - 1 - alpha (w-1) with w = exp(ratio): a series where w is near 1."""
    small = np.abs(np.expm1(np.minimum(ratio, 1.0))) * max(1.0, float(np.max(np.abs(alpha)))) < 0.5
    near = _power_series(alpha, np.expm1(ratio[small]), np.exp(log_weights[small]))
    return near + _expectation(_power_beyond_line, alpha, ratio[~small], log_weights[~small])


def _power_beyond_line(alpha: Complex, ratio: Real, log_weights: Real) -> Complex:
    return _weighted_expm1(alpha * ratio, log_weights) - alpha * np.real(_weighted_expm1(ratio, log_weights))


def _log1p(value: Complex) -> Complex:
    """ln(1 + value); numpy's own complex log1p takes ln|1 + value| and loses the small real part."""
    real, imag = np.real(value), np.imag(value)
    modulus = np.hypot(1 + real, imag)
    near = 0.5 * np.log1p(np.maximum(real * (2 + real) + imag**2, -0.9))
    far = np.log(np.maximum(modulus, 1e-300))
    return np.where(modulus > 0.5, near, far) + 1j * np.arctan2(imag, 1 + real)


def _power_series(alpha: Complex, excess: Real, weights: Real) -> Complex:
    """Weighted sum of (1+y)^alpha - 1 - alpha y by the binomial series; needs |alpha y| <= 1/2."""
    total = np.zeros(np.shape(alpha), dtype=complex)
    unit = float(np.max(np.abs(excess), initial=1e-300))
    coefficient, powers = alpha * unit, weights * (excess / unit)
    for k in range(2, 60):
        coefficient = coefficient * ((alpha - k + 1) / k * unit)
        powers = powers * (excess / unit)
        total = total + coefficient * float(np.sum(powers))
    return total


def fixed_size_gaussian(*, q: float, noise_multiplier: float, refine: float = 1.0) -> LogMgf:
    """Sampling without replacement under `replace`: the self-mirrored curve q h(1 + (gamma-1)/q), gamma >= 1.

    Above L=0 the pair is that of Poisson sampling; below it is its mirror, where P(L=-l) = Q(L=l); the
    remaining mass sits at 0. Hence M(s) - 1 = E_Q[w^(s+1) - w + w^-s - 1 ; w > 1], which is the sum of the two
    terms of the Poisson case, alpha = s+1 and alpha = -s, over the half line.
    """
    z = noise_multiplier

    def log_mgf(s: Complex) -> Complex:
        top = max(float(np.max(np.real(s))) + 1.0, 0.5) + _SIGMAS * z
        band = float(np.max(np.abs(np.imag(s)))) / z**2 + 14.0 / z
        panels = max(8, math.ceil((top - 0.5) * band / 6.0 * refine))
        nodes, weights = _gauss_panels(0.5, top, panels)
        log_weights = np.log(weights) + _log_normal(nodes, noise_multiplier=z)
        ratio = _log_ratio(nodes, q=q, noise_multiplier=z)
        return _log1p(_mean_power(s + 1, ratio, log_weights) + _mean_power(-s, ratio, log_weights))

    return log_mgf


def _gauss_panels(low: float, high: float, panels: int) -> tuple[Real, Real]:
    """Twenty-point Gauss-Legendre nodes on equal panels of [low, high]."""
    x, w = np.polynomial.legendre.leggauss(20)
    half = (high - low) / panels / 2
    centres = low + half * (2 * np.arange(panels) + 1)
    return (centres[:, None] + half * x[None, :]).ravel(), np.tile(half * w, panels)


# --- composition and inversion ------------------------------------------------------------------------


@dataclass(frozen=True)
class Composition:
    """A sum of independent losses, each repeated some number of times, in one direction."""

    parts: tuple[tuple[LogMgf, int], ...]

    def log_mgf(self, s: Complex) -> Complex:
        """ln E[exp(s * total)]."""
        return sum((count * part(s) for part, count in self.parts), start=np.zeros(np.shape(s), dtype=complex))

    def at(self, s: float) -> float:
        """The same at one real point; 1e300 where it exceeds what a double can hold."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(np.real(self.log_mgf(np.array([complex(s)]))[0]))
        return value if math.isfinite(value) else 1e300


def repeated(part: LogMgf, count: int) -> Composition:
    """One loss, `count` times."""
    return Composition(((part, count),))


def _log_peak(total: Composition, s: float, epsilon: float) -> float:
    return total.at(s) - epsilon * s - math.log(s) - math.log1p(s)


def _lowest(function: Callable[[float], float], start: float = -7.0) -> tuple[float, float]:
    """Minimum over s > 0 of a function with one valley in ln s: walk until it rises, then refine."""
    values = [function(math.exp(start)), function(math.exp(start + 0.5))]
    while values[-1] < values[-2] and len(values) < 40:
        values.append(function(math.exp(start + 0.5 * len(values))))
    end = start + 0.5 * (len(values) - 1)
    found = minimize_scalar(
        lambda t: function(math.exp(t)), bounds=(end - 1.0, end), method="bounded", options={"xatol": 1e-4}
    )
    return math.exp(float(found.x)), float(found.fun)


def saddle(total: Composition, epsilon: float) -> float:
    """The c > 0 at which the integrand on the real axis is smallest."""
    return _lowest(lambda s: _log_peak(total, s, epsilon))[0]


def chernoff(total: Composition, epsilon: float, s: float) -> float:
    """ln of an upper bound on delta(epsilon): E[exp(s(L-epsilon))] * max_y (1-e^-y) e^(-s y)."""
    return total.at(s) - epsilon * s + s * math.log(s) - (1 + s) * math.log1p(s)


@dataclass(frozen=True)
class Line:
    """Values of ln(M^T) on the trapezoidal points of one vertical line; reusable for every epsilon near it."""

    c: float
    step: float
    s: Complex
    log_values: Complex
    centre: float
    spread: float
    total: Composition

    def _terms(self, epsilon: float) -> tuple[Complex, float]:
        exponent = self.log_values - epsilon * self.s - np.log(self.s) - np.log1p(self.s)
        top = float(np.real(exponent[0]))
        return np.exp(exponent - top), top

    def log_delta(self, epsilon: float) -> float:
        """ln of the trapezoidal sum."""
        terms, top = self._terms(epsilon)
        series = (np.sum(np.real(terms)) - 0.5 * float(np.real(terms[0]))) * self.step / math.pi
        return top + math.log(series)

    def log_slope(self, epsilon: float) -> float:
        """Derivative of ln(delta): the same sum with a factor -s."""
        terms, _ = self._terms(epsilon)
        slopes = np.real(-self.s * terms)
        series = np.sum(np.real(terms)) - 0.5 * float(np.real(terms[0]))
        return float((np.sum(slopes) - 0.5 * slopes[0]) / series)

    def relative_errors(self, epsilon: float) -> tuple[float, float]:
        """Bounds, relative to the sum, on (discretisation, truncation plus rounding)."""
        terms, top = self._terms(epsilon)
        value = self.log_delta(epsilon)
        period = 2 * math.pi / self.step
        alias_up = self.c * period - value + _lowest(lambda s: chernoff(self.total, epsilon + period, s))[1]
        alias_down = -self.c * period - value
        alias = 2 * (math.exp(min(alias_up, 0.0)) + math.exp(min(alias_down, 0.0)))
        scale = math.exp(top - value) / math.pi
        tail = float(np.max(np.abs(terms[-len(terms) // 8 :]))) * float(np.imag(self.s[-1])) * scale
        steps = 1.0 + math.log2(len(terms)) + np.abs(self.log_values) + np.abs(self.s * epsilon)
        rounding = 64 * _UNIT_ROUNDOFF * float(np.sum(np.abs(terms) * steps)) * self.step * scale
        return alias, tail + rounding


def line(total: Composition, epsilon: float, *, refine: float = 1.0, abscissa: float | None = None) -> Line:
    """The contour through the saddle point of `epsilon` (or through `abscissa`), until the integrand has died.

    Any c > 0 is exact in principle. A smaller one than the saddle point costs digits by cancellation, but
    helps when very rare, very large losses dominate the tilted law and make it needlessly wide.
    """
    c = saddle(total, epsilon) if abscissa is None else abscissa
    width = 1e-3 * c
    below, here, above = (total.at(c + k * width) for k in (-1, 0, 1))
    centre = (above - below) / (2 * width)
    spread = math.sqrt(max((above - 2 * here + below) / width**2, 1e-12))
    floor = -chernoff(total, max(epsilon, 0.0), c) + 45.0
    period = refine * max(20.0 * spread, floor / c)
    step = 2 * math.pi / period
    points, values = _walk(total, c, step, here)
    return Line(c=c, step=step, s=points, log_values=values, centre=centre, spread=spread, total=total)


def _walk(total: Composition, c: float, step: float, peak: float) -> tuple[Complex, Complex]:
    """Points c + i k step, k = 0, 1, ... in blocks, up to where |M^T / (s (s+1))| is negligible."""
    points: list[Complex] = []
    values: list[Complex] = []
    start, block = 0, 64
    log_floor = math.log(_RELATIVE_FLOOR) + peak - math.log(c * (c + 1))
    while start < 2_000_000:
        s = c + 1j * step * np.arange(start, start + block)
        log_values = total.log_mgf(s)
        points.append(s)
        values.append(log_values)
        if np.max(np.real(log_values) - np.log(np.abs(s * (s + 1)))) < log_floor:
            return np.concatenate(points), np.concatenate(values)
        start, block = start + block, min(2 * block, 65_536)
    raise ArithmeticError("the characteristic function decays too slowly for this inversion")


def delta(total: Composition, epsilon: float, *, refine: float = 1.0, abscissa: float | None = None) -> Estimate:
    """delta(epsilon) of one direction, with its error budget."""
    contour = line(total, epsilon, refine=refine, abscissa=abscissa)
    value = math.exp(contour.log_delta(epsilon))
    alias, rest = contour.relative_errors(epsilon)
    return Estimate(value=value, lower=value * (1 - alias - rest), upper=value * (1 + rest))


def epsilon(total: Composition, delta: float, *, refine: float = 1.0, abscissa: float | None = None) -> Estimate:
    """The epsilon at which delta(epsilon) equals the target, for one direction.

    Errors of ln(delta) become errors of epsilon through the slope of ln(delta), taken numerically.
    """
    log_target = math.log(delta)
    guess = _chernoff_epsilon(total, delta) if abscissa is None else _gaussian_epsilon(total, delta)
    for _ in range(40):
        contour = line(total, guess, refine=refine, abscissa=abscissa)
        slope = contour.log_slope(guess)
        move = (log_target - contour.log_delta(guess)) / slope
        guess += math.copysign(min(abs(move), 2 * contour.spread), move)
        if abs(move) <= 1e-6 * contour.spread:  # Newton is quadratic: the next move would be about 1e-12
            break
    guess = _polish(contour, log_target, guess)
    alias, rest = contour.relative_errors(guess)
    return Estimate(value=guess, lower=guess - (alias + rest) / abs(slope), upper=guess + rest / abs(slope))


def _chernoff_epsilon(total: Composition, delta: float) -> float:
    """The smallest epsilon whose Chernoff bound on delta is the target: a starting point above the answer."""
    return _lowest(lambda s: (chernoff(total, 0.0, s) - math.log(delta)) / s)[1]


def _gaussian_epsilon(total: Composition, delta: float) -> float:
    """Mean plus standard deviations, as if the total were normal: a starting point where Chernoff is far off."""
    width = 1e-2
    below, above = total.at(width / 2), total.at(width)
    variance = max((above - 2 * below) / (width / 2) ** 2, 0.0)
    return below / (width / 2) + math.sqrt(2 * variance * math.log(1 / delta)) * 0.8


def _polish(contour: Line, log_target: float, guess: float) -> float:
    """Solve on one contour, close to its own saddle point."""
    reach = 1e-4 * contour.spread
    return float(
        brentq(lambda e: contour.log_delta(e) - log_target, guess - reach, guess + reach, xtol=1e-15, rtol=1e-15)
    )


def renyi_epsilon(total: Composition, delta: float) -> float:
    """Epsilon by the best real Renyi order of one direction: what a perfect RDP accountant returns."""

    def price(s: float) -> float:  # s = alpha - 1
        return total.at(s) / s + math.log(s / (1 + s)) - math.log((1 + s) * delta) / s

    return _lowest(price)[1]


def tradeoff(total: Composition, fpr: float) -> float:
    """Least false-negative rate of one direction: the convex dual sup over epsilon of 1 - delta - e^epsilon a."""

    def loss(e: float) -> float:
        return delta(total, e, refine=1.5).value + math.exp(e) * fpr - 1.0

    found = minimize_scalar(loss, bounds=(-3.0, 6.0), method="bounded", options={"xatol": 1e-7})
    return -float(found.fun)


def worst(estimates: Sequence[Estimate]) -> Estimate:
    """The larger of several directions, end by end."""
    return Estimate(*(max(getattr(e, end) for e in estimates) for end in ("value", "lower", "upper")))


def sampled_gaussian_epsilon(
    *, q: float, noise_multiplier: float, count: int, delta: float, refine: float = 1.0
) -> Estimate:
    """Poisson-sampled Gaussian, both directions composed separately, the larger epsilon returned."""
    return worst([epsilon(t, delta, refine=refine) for t in _both(q, noise_multiplier, count, refine)])


def sampled_gaussian_delta(
    *, q: float, noise_multiplier: float, count: int, epsilon: float, direction: Direction, refine: float = 1.0
) -> Estimate:
    """delta(epsilon) of one direction of a repeated Poisson-sampled Gaussian."""
    part = sampled_gaussian(q=q, noise_multiplier=noise_multiplier, direction=direction, refine=refine)
    return delta(repeated(part, count), epsilon, refine=refine)


def fixed_size_gaussian_epsilon(
    *, q: float, noise_multiplier: float, count: int, delta: float, refine: float = 1.0
) -> Estimate:
    """Gaussian on m = q n records drawn without replacement, `replace` relation, repeated."""
    part = fixed_size_gaussian(q=q, noise_multiplier=noise_multiplier, refine=refine)
    return epsilon(repeated(part, count), delta, refine=refine)


def _both(q: float, noise_multiplier: float, count: int, refine: float) -> list[Composition]:
    directions: tuple[Direction, ...] = ("remove", "add")
    return [
        repeated(sampled_gaussian(q=q, noise_multiplier=noise_multiplier, direction=d, refine=refine), count)
        for d in directions
    ]
