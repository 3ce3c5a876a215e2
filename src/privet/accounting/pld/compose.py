"""Many-fold convolution of grid laws by one FFT, exponentially tilted, with every error bounded.

The law of the sum is computed as w_j = p_j exp(t e_j - K): its bulk sits at the losses that decide delta, so rounding
noise is relative to delta. Undoing the tilt multiplies by exp(K - t e).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._numerics import UNIT_ROUNDOFF
from privet.accounting.pld.band import cut_frequency, low_frequencies, tilted_law
from privet.accounting.pld.law import ComposedLaw
from privet.accounting.pld.nodes import NodeLaw
from privet.accounting.pld.plan import Plan
from privet.accounting.pld.rounding import GridLaw
from privet.accounting.pld.spectrum import NEGLIGIBLE, Laws, factor_of, grouped, product, smooth_length
from privet.accounting.pld.waves import BandLaw
from privet.errors import NoGuarantee

_DROPPED = -50.0  # the same for whole bands of frequencies that are never computed
_FINE = 1e-8  # a bound on a tail that needs no better order
WORTH_IT = 1 << 16  # waves times nodes that always cost less than a fast transform and what follows it

Moment = Callable[[float], float]


def compose(laws: Laws, step: float, plan: Plan) -> ComposedLaw:
    """Law of the sum of independent losses, `n` copies of each grid law."""
    t = plan.tilt
    first, length = window_of(laws, plan, step)
    if len(laws) > 1:
        length = smooth_length(length)  # other sums with these parts may have the same length, and share the work
    narrow = _low_band(laws, t, length) if t > 0.0 else None
    if narrow is None:
        length = smooth_length(length)
    spectrum, noise = narrow if narrow is not None else _spectrum(laws, t, length)
    known = known_of(laws, step, plan, first, length, float(np.abs(spectrum).sum()), noise)
    if narrow is None:
        return inverted(laws, spectrum, first, length, known)
    smallest = support_of(laws)[0]
    return BandLaw(lowest=smallest, first=first, nodes=length, spectrum=spectrum, guess=plan.guess, **known)


def window_of(laws: Laws, plan: Plan, step: float) -> tuple[int, int]:
    """First node of the window, counted from the lowest possible sum, and the number of nodes."""
    smallest = support_of(laws)[0]
    low, high = _window(laws, plan, step)
    if not all(map(math.isfinite, (smallest, low, high))):
        raise NoGuarantee("the losses of so many steps add up to more than a double holds")
    first = math.floor((low - smallest) / step)
    return first, math.ceil((high - smallest) / step) - first + 2


def known_of(
    laws: Laws,
    step: float,
    plan: Plan,
    first: int,
    length: int,
    size: float,
    noise: float,
    moment: Moment | None = None,
) -> dict[str, Any]:
    """Facts that both forms of a sum know; `size` is the sum of the moduli of its spectrum, `moment` bounds its
    log-moments."""
    t, bottom = plan.tilt, support_of(laws)[0] + first * step

    def of_all(order: float) -> float:
        return math.fsum(n * law.log_moment(order) for law, n in laws)

    fine = _FINE if moment is None else 0.0  # a measure of little mass is judged by its own size
    above, wrapped = _tails(laws, plan, bottom, bottom + (length - 1) * step, of_all(t), moment or of_all, fine)
    inverse = 16.0 * UNIT_ROUNDOFF * math.log2(length) / length * size
    return {
        "tilt": t,
        "log_scale": of_all(t),
        "infinite": _infinite(laws) if moment is None else 0.0,
        "above": above,
        "bin_error": noise + inverse + 2.0 * math.exp(NEGLIGIBLE),  # twice: a difference of powers is dropped, too
        "wrapped": wrapped,
        "mass_error": math.expm1(min(50.0, math.fsum(n * _mass_error(law, t) for law, n in laws))),
        "shift": math.fsum(n * (law.shift + 2.0 * law.error + _node_error(law)) for law, n in laws),
        "complete_below": first <= 0,
        "step": step,
    }


def inverted(laws: Laws, spectrum: NDArray[np.complex128], first: int, length: int, known: dict[str, Any]) -> NodeLaw:
    """The masses of a sum from its transform: that starts at the lowest possible sum, the window at its first node."""
    bottom = support_of(laws)[0] + first * known["step"]
    weight = np.roll(np.fft.irfft(spectrum, length), -first % length)
    return NodeLaw(losses=bottom + np.arange(length) * known["step"], weight=weight, **known)


def _low_band(laws: Laws, t: float, length: int) -> tuple[NDArray[np.complex128], float] | None:
    """The low frequencies of the sum with a bound on the error of one bin, when the others are proved negligible."""
    parts = [(tilted_law(law, t, law.log_moment(t)), n) for law, n in laws]
    count = cut_frequency(parts, length, -_DROPPED)
    if count is None:
        return None
    if count * sum(len(part.weight) for part, _ in parts) > WORTH_IT + (10 + 6 * len(parts)) * length:
        return None
    transforms = [
        (*low_frequencies(law, part, length, count), n) for (law, n), (part, _) in zip(laws, parts, strict=True)
    ]
    spectrum, noise = product(transforms, length)
    seen = np.flatnonzero(np.abs(spectrum) > math.exp(_DROPPED))  # often a tenth of them: the cut is a rough bound
    return spectrum[: seen[-1] + 1 if len(seen) else 1], noise + math.exp(_DROPPED)


def _mass_error(law: GridLaw, t: float) -> float:
    """Relative error of one tilted mass: of the mass itself and of the exponent t e - K."""
    return law.error + UNIT_ROUNDOFF * (8.0 + 4.0 * t * law.reach)


def _node_error(law: GridLaw) -> float:
    """Nodes and cell boundaries are floats: each loss may be off by a few units in its last place."""
    return 16.0 * UNIT_ROUNDOFF * (1.0 + law.reach)


def _infinite(laws: Laws) -> float:
    """1 - product of (1 - mass at infinity)^n."""
    logs = [n * math.log1p(-law.infinite) if law.infinite < 1.0 else -math.inf for law, n in laws if law.infinite > 0.0]
    return -math.expm1(math.fsum(logs)) if logs else 0.0


def _spectrum(laws: Laws, t: float, length: int) -> tuple[NDArray[np.complex128], float]:
    """Transform of the n-fold sums, and a bound on the error of one bin of its inverse."""
    return product((factor_of(group, t, length) for group in grouped(laws, length)), length)


def support_of(laws: Laws) -> tuple[float, float]:
    """Smallest and largest possible sum."""
    smallest = math.fsum(n * (law.offset + law.start * law.step) for law, n in laws)
    return smallest, smallest + math.fsum(n * (law.stop - law.start) * law.step for law, n in laws)


def _window(laws: Laws, plan: Plan, step: float) -> tuple[float, float]:
    """The planned window, moved out to the ends of the support where they are near: then nothing lies outside."""
    smallest, largest = support_of(laws)
    near = 0.1 * (plan.high - plan.low) + 16.0 * step
    low = smallest - step if smallest >= plan.low - near else plan.low
    return low, max(low, largest if largest <= plan.high + near else plan.high)


def _tails(
    laws: Laws, plan: Plan, low: float, high: float, total: float, moment: Moment, fine: float
) -> tuple[float, float]:
    """Chernoff bounds: mass above the window (untilted), and tilted mass outside the window (it wraps around)."""

    def tail(tilt: float, value: float, order: float, reach: float) -> float:
        """Mass of the tilted law beyond a loss (`reach`, signed like the order): any order bounds it."""
        found = 1.0
        for factor in (1.0, 0.5, 2.0, 0.25):
            s = factor * order
            found = min(found, math.exp(min(0.0, moment(tilt + s) - value - abs(s) * reach)))
            if found <= fine:
                break
        return found

    smallest, largest = support_of(laws)
    rounding = 1e-6 * laws[0][0].step
    above = wrapped = 0.0
    if largest > high + rounding:
        above = tail(0.0, 0.0, plan.top_order, high)
        wrapped += tail(plan.tilt, total, plan.high_order, high)
    if smallest < low - rounding:
        wrapped += tail(plan.tilt, total, -plan.low_order, -low)
    return above, wrapped
