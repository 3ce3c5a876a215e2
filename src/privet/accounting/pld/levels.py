"""Sums told apart by their largest step: without one above a cut, and with one.

If A is the law of a step, split at a cut into B below and J above, then A^T = B^T + (A^T - B^T): the paths without a jump
and those with one or more. Each is a measure of its own, so each may have its own tilt and window. What the transforms get
wrong in the second is proportional to the expected number of jumps: a difference of powers is T terms, each with a factor
J. **Proof:** docs/proofs/accounting/pld.md, (i).
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._numerics import TINY, UNIT_ROUNDOFF, Array
from privet.accounting.pld.band import cut_frequency, low_frequencies, tilted_law, waves_of
from privet.accounting.pld.compose import WORTH_IT, compose, inverted, known_of, window_of
from privet.accounting.pld.heavy import HeavyPlan
from privet.accounting.pld.law import ComposedLaw
from privet.accounting.pld.plan import Plan
from privet.accounting.pld.rounding import GridLaw
from privet.accounting.pld.spectrum import NEGLIGIBLE, Laws, smooth_length, transform_of
from privet.accounting.pld.waves import BandLaw

_ARITHMETIC = 600.0 * UNIT_ROUNDOFF  # of the quotient B/A, its logarithm and the exponential, per expected jump
# The bound m on a factor that occurs once may not be tiny, since errors are divided by it; m may be any bound.
_RARE_FACTOR = 1e-2

Transforms = tuple[
    NDArray[np.complex128], float, NDArray[np.complex128], float, int
]  # A, its error, J, its error, power


def compose_levels(laws: Laws, step: float, plan: HeavyPlan) -> list[ComposedLaw]:
    """The law of the sum as two measures: paths whose steps all stay at or below the cut, and the others."""
    split = [(law.split(plan.cut), n) for law, n in laws]
    low = [(below, n) for (below, _), n in split]
    jumps = [(above, n) for (_, above), n in split]
    return [compose(low, step, plan.bulk), _with_jumps(laws, low, jumps, step, plan.jump)]


def _with_jumps(laws: Laws, low: Laws, jumps: Laws, step: float, plan: Plan) -> ComposedLaw:
    """A^T - B^T under the tilt of the plan."""
    first, length = window_of(laws, plan, step)
    narrow = _low_band(laws, low, jumps, plan.tilt, length)
    if narrow is None:
        length = smooth_length(length)
    spectrum, noise = narrow or _difference(_all_frequencies(laws, jumps, plan.tilt, length), length)

    def moment(order: float) -> float:
        """ln of a bound on the moment of the difference: that of A times the expected number of jumps, at most 1."""
        whole = math.fsum(n * law.log_moment(order) for law, n in laws)
        expected = math.fsum(
            n * math.exp(min(0.0, jump.log_moment(order) - law.log_moment(order)))
            for (law, n), (jump, _) in zip(laws, jumps, strict=True)
        )
        return whole + math.log(min(1.0, expected + TINY))

    known = known_of(laws, step, plan, first, length, float(np.abs(spectrum).sum()), noise, moment)
    if narrow is None:
        return inverted(laws, spectrum, first, length, known)
    smallest = math.fsum(n * (law.offset + law.start * law.step) for law, n in laws)
    return BandLaw(lowest=smallest, first=first, nodes=length, spectrum=spectrum, guess=plan.guess, **known)


def _low_band(laws: Laws, low: Laws, jumps: Laws, t: float, length: int) -> tuple[NDArray[np.complex128], float] | None:
    """The low frequencies of A^T - B^T with a bound on the error of one bin, when the others are proved negligible.

    A bump that lies under the masses of B lies under those of A too, so one bound covers the powers of both: at frequencies
    that are left out they differ by at most twice that.
    """
    if t <= 0.0:
        return None
    parts = []
    for (law, n), (below, _) in zip(laws, low, strict=True):
        whole, peak = (tilted_law(one, t, law.log_moment(t)) for one in (law, below))
        parts.append((replace(peak, total=max(whole.total, peak.total)), n))
    count = cut_frequency(parts, length, -NEGLIGIBLE)
    nodes = sum(len(law.mass) for law, _ in laws)
    if count is None or 2 * count * nodes > WORTH_IT + (10 + 6 * len(parts)) * length:
        return None
    spectrum, noise = _difference(_few_frequencies(laws, jumps, t, length, count), length)
    seen = np.flatnonzero(spectrum)
    last = int(seen[-1]) + 1 if len(seen) else 1
    return spectrum[:last], noise + 2.0 * math.exp(NEGLIGIBLE)


def _few_frequencies(laws: Laws, jumps: Laws, t: float, length: int, count: int) -> Iterator[Transforms]:
    for (law, n), (jump, _) in zip(laws, jumps, strict=True):
        whole, error = low_frequencies(law, tilted_law(law, t, law.log_moment(t)), length, count)
        weight: Array = jump.mass * np.exp(jump.losses() * t - law.log_moment(t))
        yield whole, error, *waves_of(weight, (jump.places - law.start) % length, length, count), n


def _all_frequencies(laws: Laws, jumps: Laws, t: float, length: int) -> Iterator[Transforms]:
    for (law, n), (jump, _) in zip(laws, jumps, strict=True):
        whole, error = transform_of(law, t, length)
        yield whole, error, *_transform_of_jumps(law, jump, t, length), n


def _difference(factors: Iterator[Transforms], length: int) -> tuple[NDArray[np.complex128], float]:
    """The transform of A^T - B^T, and a bound on the error of one bin of its inverse.

    Written as A^T (1 - exp(sum of n ln(1 - J/A))). With m above the moduli of A, B and their computed values, G the
    product of all m^n, and jumps = sum of n |J|/m, errors e of the factors move the difference by at most
    G (sum n e_J/m + jumps sum n e/m): it is a sum over the position of the last jump. Frequencies with G below a bound
    that is proved negligible are set to 0, which the caller charges.
    """
    transforms = list(factors)
    half = len(transforms[0][0])
    power, ratio = np.zeros(half, dtype=complex), np.zeros(half, dtype=complex)
    log_size, jumps, moved, errors = np.zeros(half), np.zeros(half), np.zeros(half), np.zeros(half)
    alive = np.arange(half)  # frequencies that are not negligible yet
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for whole, error, above, error_above, n in transforms:
            size = np.maximum(np.abs(whole), np.abs(whole - above)) + error + error_above
            if n == 1:
                size = np.maximum(size, _RARE_FACTOR)
            log_size += n * np.log(size)
            jumps += n * np.abs(above) / size
            moved += n * error_above / size
            errors += n * (error + error_above + 8.0 * UNIT_ROUNDOFF) / size
            alive = alive[log_size[alive] > NEGLIGIBLE - 1.0]
            one, logs = _log_ratio(whole[alive], above[alive])
            power[alive] += n * one
            ratio[alive] += n * logs
        near, far = alive[np.abs(ratio[alive]) <= 1.0], alive[np.abs(ratio[alive]) > 1.0]
        result = np.zeros(half, dtype=complex)
        result[near] = -np.expm1(ratio[near]) * np.exp(power[near])
        result[far] = np.exp(power[far]) - np.exp(power[far] + ratio[far])
    unknown = ~np.isfinite(result)  # none that we know of; both powers are at most G, so 0 is off by at most twice that
    result[(log_size <= NEGLIGIBLE) | unknown] = 0.0
    sums = UNIT_ROUNDOFF * 2.0 * len(transforms) * (100.0 + math.pi * sum(n for *_, n in transforms))
    moves = np.where(unknown, 2.0, moved + jumps * (errors + sums + _ARITHMETIC))
    noise = np.exp(np.clip(log_size, -200.0, 50.0)) * moves
    return result, 2.0 / length * float(noise.sum())


def _log_ratio(whole: NDArray[np.complex128], above: NDArray[np.complex128]) -> tuple[Any, Any]:
    """ln A and ln(1 - J/A); near A = 0 the second is a difference of logarithms, which is enough there."""
    whole = np.where(whole == 0.0, TINY, whole)
    below = whole - above
    small = np.abs(above) <= 0.5 * np.abs(whole)
    one = np.log(whole)
    logs = _log1p(-above / np.where(small, whole, 1.0))
    large = np.flatnonzero(~small)
    logs[large] = np.log(np.where(below[large] == 0.0, TINY, below[large])) - one[large]
    return one, logs


def _transform_of_jumps(law: GridLaw, jump: GridLaw, t: float, length: int) -> tuple[NDArray[np.complex128], float]:
    """The transform of the tilted masses above the cut, on the scale of the whole law, and its error."""
    weight: Array = jump.mass * np.exp(jump.losses() * t - law.log_moment(t))
    folded = np.bincount((jump.places - law.start) % length, weights=weight, minlength=length)
    error = 8.0 * UNIT_ROUNDOFF * (math.log2(length) + 1.0) * float(folded.sum())
    return np.fft.rfft(folded, length), error


def _log1p(x: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """ln(1 + x) for |x| <= 1/2, with an error of a few roundings of |x|; numpy's own loses small real parts."""
    real, imag = x.real, x.imag
    found: NDArray[np.complex128] = 0.5 * np.log1p(real * (2.0 + real) + imag * imag) + 1j * np.arctan2(
        imag, 1.0 + real
    )
    return found
