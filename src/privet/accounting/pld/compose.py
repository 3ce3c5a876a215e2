"""Many-fold convolution of grid laws by one FFT, exponentially tilted, with every error bounded.

The law of the sum is computed as w_j = p_j exp(t e_j - K): its bulk sits at the losses that decide delta, so rounding
noise is relative to delta. Undoing the tilt multiplies by exp(K - t e).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privet._numerics import UNIT_ROUNDOFF, Array
from privet.accounting.pld.cache import remember
from privet.accounting.pld.plan import Plan
from privet.accounting.pld.rounding import GridLaw

__all__ = ["CACHES", "ComposedLaw", "compose", "smooth_length"]

_NEGLIGIBLE = -100.0  # a factor exp(-100) of the spectrum is dropped and charged


@dataclass(frozen=True, eq=False)
class ComposedLaw:
    """Tilted masses of the sum on consecutive nodes, and what the computation may have got wrong."""

    losses: Array  # nodes of the window
    weight: Array  # tilted masses (may be slightly negative by rounding)
    tilt: float
    log_scale: float  # K
    infinite: float  # mass at +infinity
    above: float  # bound on the mass above the window
    bin_error: float  # bound on the error of each tilted mass
    wrapped: float  # bound on the tilted mass that wrapped around into the window
    mass_error: float  # relative error of the masses of the sum
    shift: float  # losses may be off by this much
    complete_below: bool  # does no mass lie below the window?
    step: float

    @property
    def error_weight(self) -> float:
        """Bound on the error of delta(e), in units of exp(K - t e): rounding of the transform, and wrapping."""
        t, h = self.tilt, self.step
        # sum over nodes above e of e^{-t x}(1 - e^{-x}), and the largest of these weights
        bins = min(1.0 / (h * t * (1.0 + t)) + 1.0, float(len(self.weight))) if t > 0.0 else float(len(self.weight))
        peak = math.exp(-t * math.log1p(1.0 / t)) / (1.0 + t) if t > 0.0 else 1.0
        return self.bin_error * bins + self.wrapped * peak


def smooth_length(length: int) -> int:
    """The smallest number m * 2^k >= length with m = 4, 5 or 6: fast to transform, and few enough to share transforms.

    >>> smooth_length(1001), smooth_length(1025)
    (1024, 1280)
    """
    power = max(0, (length - 1).bit_length() - 3)
    return next(m << power for m in (4, 5, 6, 8) if m << power >= length)


@lru_cache(maxsize=1024)
def _log_moment(law: GridLaw, t: float) -> float:
    """ln of the sum of p exp(t loss)."""
    if t == 0.0:
        return math.log(max(float(law.mass.sum()), 1e-300))
    losses = law.losses()
    peak = float(losses[-1] if t > 0.0 else losses[0]) * t
    count = min(len(losses), int(600.0 / (abs(t) * law.step)) + 1)  # beyond, exp underflows
    near = slice(len(losses) - count, None) if t > 0.0 else slice(count)
    total = float((law.mass[near] * np.exp(losses[near] * t - peak)).sum())  # not @: BLAS would start threads
    if count < len(losses):  # what was left out is at most the rest of the mass at the edge of the slice
        total += float(law.mass.sum()) * math.exp(-600.0)
    return peak + math.log(max(total, 1e-300))


def compose(laws: list[tuple[GridLaw, int]], step: float, plan: Plan) -> ComposedLaw:
    """Law of the sum of independent losses, `n` copies of each grid law."""
    t = plan.tilt
    offset = math.fsum(n * law.offset for law, n in laws)
    low, high = _window(laws, plan, step)
    first = math.floor((low - offset) / step)
    length = smooth_length(math.ceil((high - offset) / step) - first + 2)
    total = math.fsum(n * _log_moment(law, t) for law, n in laws)
    spectrum, noise = _spectrum(laws, t, length)
    # the transform starts at the sum of the first nodes: rotate so that the window's first node comes first
    origin = sum(n * law.start for law, n in laws)
    weight = np.roll(np.fft.irfft(spectrum, length), (origin - first) % length)
    losses = offset + (first + np.arange(length)) * step
    inverse = 16.0 * UNIT_ROUNDOFF * math.log2(length) / length * float(np.abs(spectrum).sum())
    above, wrapped = _tails(laws, plan, float(losses[0]), float(losses[-1]), total)
    return ComposedLaw(
        losses=losses,
        weight=weight,
        tilt=t,
        log_scale=total,
        infinite=_infinite(laws),
        above=above,
        bin_error=noise + inverse + math.exp(_NEGLIGIBLE),
        wrapped=wrapped,
        mass_error=math.expm1(min(50.0, math.fsum(n * _mass_error(law, t) for law, n in laws))),
        shift=math.fsum(n * (law.shift + 2.0 * law.error + _node_error(law)) for law, n in laws),
        complete_below=_support(laws)[0] >= float(losses[0]),
        step=step,
    )


def _mass_error(law: GridLaw, t: float) -> float:
    """Relative error of one tilted mass: of the mass itself and of the exponent t e - K."""
    reach = abs(law.offset) + max(abs(law.start), abs(law.start + len(law.mass))) * law.step
    return law.error + UNIT_ROUNDOFF * (8.0 + 4.0 * t * reach)


def _node_error(law: GridLaw) -> float:
    """Nodes and cell boundaries are floats: each loss may be off by a few units in its last place."""
    return (
        16.0 * UNIT_ROUNDOFF * (1.0 + abs(law.offset) + max(abs(law.start), abs(law.start + len(law.mass))) * law.step)
    )


def _infinite(laws: list[tuple[GridLaw, int]]) -> float:
    """1 - product of (1 - mass at infinity)^n."""
    logs = [n * math.log1p(-law.infinite) if law.infinite < 1.0 else -math.inf for law, n in laws if law.infinite > 0.0]
    return -math.expm1(math.fsum(logs)) if logs else 0.0


@remember(24_000_000)
def _transform(law: GridLaw, t: float, length: int) -> tuple[NDArray[np.complex128], Array, float]:
    """The transform of the tilted law, the logarithm of its modulus with the error added, and that error.

    Every output of a fast transform is a sum of its inputs, each of which passed log2(N) stages of one complex product
    and one or a few sums; so |error of F_k| <= 8 u log2(N) ||w||_1 (8 u a stage covers radix 5), and ||w||_1 = 1 here.
    """
    tilted: Array = law.mass * np.exp(law.losses() * t - _log_moment(law, t))
    if len(tilted) > length:
        tilted = np.bincount(np.arange(len(tilted)) % length, weights=tilted, minlength=length)
    error = 8.0 * UNIT_ROUNDOFF * (math.log2(length) + 1.0) * float(tilted.sum())
    transform = np.fft.rfft(tilted, length)
    with np.errstate(divide="ignore"):  # an empty law
        return transform, np.log(np.abs(transform) + error), error


def _spectrum(laws: list[tuple[GridLaw, int]], t: float, length: int) -> tuple[NDArray[np.complex128], float]:
    """Transform of the n-fold sums, and a bound on the error of one bin of its inverse.

    A power n taken through the complex logarithm adds 8 u n to the error. Products of numbers of modulus at most
    M = |F_k| + error then differ by at most the sum over the parts of n (error + 8 u) times the product of the M with one
    factor of that part left out.
    """
    parts = [(*_transform(law, t, length), n) for law, n in laws]
    log_modulus = np.zeros(length // 2 + 1)
    for _, modulus, _, n in parts:
        log_modulus += n * modulus
    keep = np.flatnonzero(log_modulus > _NEGLIGIBLE)
    power = np.zeros(len(keep), dtype=complex)
    with np.errstate(divide="ignore", invalid="ignore"):
        for transform, _, _, n in parts:
            power += n * np.log(transform[keep])
    result = np.zeros(length // 2 + 1, dtype=complex)
    result[keep] = np.where(np.isfinite(power.real), np.exp(power), 0.0)
    noise = 0.0
    for _, modulus, error, n in parts:
        others = np.exp(np.clip(log_modulus - modulus, -200.0, 50.0))
        noise += n * (error + 8.0 * UNIT_ROUNDOFF) * float(others.sum())
    return result, 2.0 / length * noise


def _support(laws: list[tuple[GridLaw, int]]) -> tuple[float, float]:
    """Smallest and largest possible sum."""
    smallest = math.fsum(n * (law.offset + law.start * law.step) for law, n in laws)
    return smallest, smallest + math.fsum(n * (len(law.mass) - 1) * law.step for law, n in laws)


def _window(laws: list[tuple[GridLaw, int]], plan: Plan, step: float) -> tuple[float, float]:
    """The planned window, moved out to the ends of the support where they are near: then nothing lies outside."""
    smallest, largest = _support(laws)
    near = 0.1 * (plan.high - plan.low) + 16.0 * step
    low = smallest - step if smallest >= plan.low - near else plan.low
    return low, max(low, largest if largest <= plan.high + near else plan.high)


def _tails(laws: list[tuple[GridLaw, int]], plan: Plan, low: float, high: float, total: float) -> tuple[float, float]:
    """Chernoff bounds: mass above the window (untilted), and tilted mass outside the window (it wraps around)."""

    def moment(order: float) -> float:
        return math.fsum(n * _log_moment(law, order) for law, n in laws)

    smallest, largest = _support(laws)
    rounding = 1e-6 * laws[0][0].step
    above = wrapped = 0.0
    if largest > high + rounding:
        above = math.exp(min(0.0, moment(plan.top_order) - plan.top_order * high))
        wrapped += math.exp(min(0.0, moment(plan.tilt + plan.high_order) - total - plan.high_order * high))
    if smallest < low - rounding:
        wrapped += math.exp(min(0.0, moment(plan.tilt - plan.low_order) - total + plan.low_order * low))
    return above, wrapped


CACHES = (_log_moment, _transform)
