"""The median with noise calibrated to its smooth sensitivity."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Unpack, final

import numpy as np

from privet import noise
from privet._numerics import ROOMY_EXPONENT, TINY, Array, bisect, minimise
from privet._validate import above, at_least, fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms.families.record_totals import FINE, in_steps
from privet.mechanisms.families.record_values import (
    admit_records,
    clean_records,
    missing_note,
    public_bounds,
    public_missing,
)
from privet.mechanisms.mechanism import Example, Mechanism, Source, register
from privet.mechanisms.target import smallest_scale
from privet.noise import Grid
from privet.privacy import ApproxLoss, Guarantee, PrivacyLoss, Promise, PureLoss, Unit, as_unit

_FLOOR = 2.0**8  # steps: the smooth sensitivity is never taken below 2^-32 of the width
_SLACK = 2.0**-42  # covers the rounding of the smooth sensitivity, computed in doubles
_BLOCK = 32  # so many places on the left are asked at once
_PIECES = 64  # of the range of dilations: what changes between two is charged. Width and time
_ROUNDING = 1e-14  # absolute error allowed for in a difference of probabilities


@final
@register
@dataclass(frozen=True, kw_only=True)
class SmoothMedian(Mechanism[Any, float]):
    """The lower median plus noise proportional to S, the smooth sensitivity of *this* data set.

    S = max over k of exp(-k beta) times the largest gap that k replacements can open at the median. The released
    number is median + (S/share) Z, rounded to a public grid and clamped to the bounds. With delta = 0 the noise Z is
    Cauchy, otherwise Laplace: a delta buys light tails, not narrower noise (at 95% Cauchy noise is narrower still).
    S itself is as private as the data: no error bar, no log line and no type tells it.

    **Guarantee:** delta = 0: pure epsilon with cosh epsilon = cosh beta + exp(-beta) share^2/2 (or 1 + share^2/2 where
    that is more), exactly; the textbook's epsilon = share + beta needs twice the noise. Otherwise (epsilon, delta), by
    the exact curves of narrow against wide Laplace noise. One record replaced by another.
    **Sensitivity:** local, smoothed; found in O(n log n).
    **Error:** depends on the data through S, hence none is stated.
    **Reference:** Nissim, Raskhodnikova & Smith 2007, with sharper constants (proof note).

    >>> mechanism = SmoothMedian.for_budget(epsilon=1.0, bounds=(0, 100))
    >>> mechanism.loss.pure(), mechanism.error(0.95) is None
    (1.0, True)
    >>> 0.0 <= mechanism.release(range(101)).value <= 100.0
    True
    """

    name = "smooth_median"

    bounds: tuple[float, float]
    epsilon: float
    delta: float = 0.0
    beta: float
    share: float
    missing: float | None = None
    unit: Unit = field(default=Unit("replace"))

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, bounds=public_bounds(self.bounds))
        set_frozen(self, missing=public_missing(self.missing, self.bounds, self.unit))
        for name in ("epsilon", "beta", "share"):
            set_frozen(self, **{name: above(name, getattr(self, name), 0.0)})
        set_frozen(self, delta=fraction("delta", self.delta))
        if self.unit.relation != "replace" or self.unit.group_size != 1:
            raise InvalidParameter(
                'smooth sensitivity counts replacements of one record: the unit must be Unit("replace")'
            )
        if not _covers(self.epsilon, self.delta, self.share, self.beta):
            raise InvalidParameter("share and beta are too large for this epsilon and delta; use for_budget")

    @classmethod
    def for_budget(
        cls,
        *,
        bounds: tuple[float, float],
        missing: float | None = None,
        unit: Unit | None = None,
        **promise: Unpack[Promise],
    ) -> "SmoothMedian":
        """The split between share and beta that is best for evenly spread records."""
        target = Guarantee(**promise)
        at_least("delta", target.delta, 0.0)  # not too small to be divided by
        price = target.epsilon
        if price is None:  # rho and mu: the largest pure price within them
            price = 1.0 / smallest_scale(lambda inverse: PureLoss(1.0 / inverse), target)
        share, beta = _cauchy_split(price) if target.delta == 0.0 else _laplace_split(price, target.delta)
        neighbours = as_unit(unit, Unit("replace"))
        return cls(
            bounds=bounds,
            epsilon=price,
            delta=target.delta,
            beta=beta,
            share=share,
            missing=missing,
            unit=neighbours,
        )

    @property
    def loss(self) -> PrivacyLoss:
        if self.delta == 0.0:
            return PureLoss(self.epsilon, unit=self.unit)
        return ApproxLoss(self.epsilon, self.delta, unit=self.unit)

    def _admit(self, value: object) -> None:
        admit_records(value)

    def _notes(self, drawn: float) -> tuple[str, ...]:
        return (missing_note(self.missing),)

    def _prepare(self, value: object) -> tuple[int, float]:
        assert self.missing is not None
        steps = np.sort(in_steps(clean_records(value, self.bounds, self.missing), self.bounds))
        padded = np.concatenate(([0], steps, [2**FINE]))
        middle = (len(padded) - 1) // 2
        return int(padded[middle]), max(_FLOOR, _smooth_sensitivity(padded, middle, self.beta))

    def _draw(self, prepared: tuple[int, float], runs: int, source: Source) -> Array:
        median, smooth = prepared
        coarser = Grid(self._coarser)
        sample = noise.rounded_cauchy if self.delta == 0.0 else noise.rounded_laplace
        scale = coarser.length(Fraction(smooth) / Fraction(self.share))
        noisy = sample(scale=scale, center=coarser.length(median), size=runs, source=source)
        low, high = self.bounds
        # in doubles, since what follows is post-processing of the noisy whole number
        place = np.clip(np.ldexp(noisy.astype(float), self._coarser - FINE), 0.0, 1.0)
        return np.clip(low + (high - low) * place, low, high)

    @property
    def at(self) -> float | None:  # type: ignore[override]
        """The delta of the price."""
        return self.delta or None

    @property
    def _coarser(self) -> int:
        """The grid follows from the share, never from S. The largest scale, 2^FINE/share, is at most 2^31 steps: up to
        there a draw takes the same time for every scale, and time must not tell S. The smallest is half a step."""
        return max(0, FINE - 31 - math.frexp(self.share)[1] + 1)

    def error(self, confidence: float = 0.95) -> None:
        """None: the noise depends on the data."""
        return

    @classmethod
    def examples(cls) -> Iterable[Example]:
        # The median moves by the whole smooth sensitivity, and both worlds have the same noise: a worst pair.
        left, right = [4.0] * 6 + [6.0] * 5, [4.0] * 5 + [6.0] * 6
        yield Example(cls.for_budget(epsilon=1.0, bounds=(0, 10)), left, right, Guarantee(1.0))
        yield Example(
            cls.for_budget(rho=0.5, bounds=(0, 10)), [5.0] * 5, [5.0] * 4 + [0.0], Guarantee(rho=0.5), detects=0.35
        )
        private = cls.for_budget(epsilon=1.0, delta=1e-3, bounds=(0, 10))
        # the sensitivity decays slowly, so that more records are needed; the share is most of what a shift may cost
        yield Example(private, [4.0] * 16 + [6.0] * 15, [4.0] * 15 + [6.0] * 16, Guarantee(1.0, 1e-3), detects=0.4)


def _smooth_sensitivity(padded: Array, middle: int, beta: float) -> float:
    """max of (x[r] - x[l]) exp(-beta (r - l - 1)) over l <= middle <= r.

    The best r does not fall as l grows, so each l is asked only between the answers of its neighbours (divide and
    conquer). Gaps of more than `reach` records stay below the floor, whatever they are: a public limit of the work.
    """
    reach = math.ceil(math.log(2.0**FINE / _FLOOR) / beta) + 2
    first, last = max(0, middle - reach), min(len(padded) - 1, middle + reach)
    window = padded[first : last + 1].astype(float)
    centre = middle - first
    best = 0.0
    tasks = [(0, centre, centre, len(window) - 1)]
    while tasks:
        low, high, near, far = tasks.pop()
        half = (low + high) // 2
        small = high - low < _BLOCK
        left = np.arange(low, high + 1)[:, None] if small else np.array([[half]])
        right = np.arange(near, far + 1)
        gaps = (window[right] - window[left]) * np.exp(-beta * (right - left - 1))
        best = max(best, float(gaps.max(initial=0.0)))
        if not small:
            turn = near + int(np.argmax(gaps))
            tasks += [(low, half - 1, near, turn), (half + 1, high, turn, far)]
    return best


def _covers(epsilon: float, delta: float, share: float, beta: float) -> bool:
    """True if noise of scale S/share with beta-smooth S is (epsilon, delta)-DP, the rounding of S included."""
    moved, dilated = share * (1.0 + _SLACK), beta + _SLACK
    if dilated >= ROOMY_EXPONENT:  # no epsilon below that covers it, and its exponential is no float
        return False
    if delta == 0.0:
        return _cauchy_epsilon(moved, dilated) <= epsilon
    return moved < ROOMY_EXPONENT and _laplace_delta(epsilon, moved, dilated) <= delta


def _cauchy_epsilon(shift: float, beta: float) -> float:
    """The largest log-ratio of Cauchy densities with a shift of `shift` narrow scales and a dilation up to exp(beta).

    For one dilation it is the hyperbolic distance, cosh epsilon = (1 + shift^2 + dilation^2)/(2 dilation), which is
    convex in the dilation: the larger of its values at 1 and at exp(beta).
    """
    square = shift * shift / 2.0
    return 2.0 * math.asinh(math.sqrt(max(square, 2.0 * math.sinh(beta / 2.0) ** 2 + square * math.exp(-beta)) / 2.0))


def _cauchy_split(epsilon: float) -> tuple[float, float]:
    """The share that each beta leaves, by the same formula; of these the best."""
    usable = min(epsilon * (1.0 - 1e-9) - 8.0 * _SLACK, 40.0)
    if usable <= 0.0:
        raise InvalidParameter("epsilon is too small for smooth sensitivity in double precision; take at least 1e-9")

    def share(beta: float) -> float:
        dilated = 2.0 * math.exp(beta) * math.sinh((usable + beta) / 2.0) * math.sinh((usable - beta) / 2.0)
        return math.sqrt(2.0 * min(2.0 * math.sinh(usable / 2.0) ** 2, dilated))

    most = min(usable, 2.0)  # beyond ln 2 the smooth sensitivity of spread records no longer falls
    beta, _ = minimise(lambda b: _spread(b) / share(b), most * 1e-3, most * (1.0 - 1e-3))
    return share(beta), beta


@lru_cache(maxsize=64)
def _laplace_split(epsilon: float, delta: float) -> tuple[float, float]:
    """Over a range of beta, the largest share that the delta allows; of these the best."""
    start = min(epsilon / (2.0 * math.log(2.0 / delta)), 0.7)  # the textbook's; beyond ln 2 nothing is gained
    found = []
    for beta in start * np.exp2(np.arange(-16, 25) / 8.0):
        covers = partial(_covers, epsilon, delta, beta=float(beta))
        share = bisect(covers, epsilon, 0.0, steps=30)
        if share > 0.0:
            found.append((share, float(beta)))
    if not found:
        raise InvalidParameter("no split of this epsilon and delta was found; take a larger epsilon or delta")
    return min(found, key=lambda split: _spread(split[1]) / split[0])


def _spread(beta: float) -> float:
    """The smooth sensitivity of evenly spread records, one apart: max of (k + 1) exp(-k beta)."""
    k = max(0, math.floor(1.0 / beta - 1.0))
    return max((k + 1) * math.exp(-k * beta), (k + 2) * math.exp(-(k + 1) * beta))


def _laplace_delta(epsilon: float, shift: float, beta: float) -> float:
    """A bound on delta over all dilations between 1 and exp(beta), both directions, at the largest shift.

    Between two nodes a density changes by a factor of at most exp(beta/pieces); that factor is charged.
    """
    epsilon = min(epsilon, ROOMY_EXPONENT)  # the curve falls: an upper bound that does not overflow
    factor = beta / _PIECES
    nodes = np.exp(factor * np.arange(_PIECES + 1))
    if factor >= epsilon:
        return 1.0
    wide = math.exp(factor) * _wide_over_narrow(epsilon - factor, shift, nodes[1:])
    return float(max(wide.max(), _narrow_over_wide(epsilon - factor, shift, nodes[:-1]).max()))


def _wide_over_narrow(epsilon: float, shift: float, dilation: Array) -> Array:
    """Hockey-stick divergence of Lap(shift, dilation) from Lap(0, 1), for dilations above 1."""
    slope = 1.0 - 1.0 / dilation
    need = epsilon + np.log(dilation)
    left = -(need + shift / dilation) / slope
    inside = need <= shift  # the upper crossing lies between the centres
    right = np.where(inside, (need + shift / dilation) / (1.0 + 1.0 / dilation), shift + (need - shift) / slope)
    upper = np.exp(-np.abs(right - shift) / dilation) / 2.0
    mass = np.exp((left - shift) / dilation) / 2.0 + np.where(inside, 1.0 - upper, upper)
    other = (np.exp(epsilon + left) + np.exp(epsilon - right)) / 2.0
    return np.maximum(mass - other, 0.0) * (1.0 + 1e-9) + np.where(inside, _ROUNDING, 0.0)


def _narrow_over_wide(epsilon: float, shift: float, dilation: Array) -> Array:
    """Hockey-stick divergence of Lap(0, 1) from Lap(shift, dilation), for dilations of at least 1."""
    top = np.maximum(np.log(dilation) + shift / dilation - epsilon, 0.0)  # the largest excess of the loss, at 0
    beyond = np.log(dilation) - shift - epsilon  # its value at the other centre
    slope = np.maximum(1.0 - 1.0 / dilation, TINY)
    left = np.maximum(-top / slope, -1e6)
    right = np.where(beyond <= 0.0, top / (1.0 + 1.0 / dilation), shift + np.maximum(beyond, 0.0) / slope)
    mass = 1.0 - (np.exp(left) + np.exp(-right)) / 2.0
    low = np.exp((left - shift) / dilation) / 2.0
    far = np.exp(-np.abs(right - shift) / dilation) / 2.0
    other = np.where(right < shift, far - low, 1.0 - far - low)
    return np.where(top > 0.0, np.maximum(mass - math.exp(epsilon) * other, 0.0) + _ROUNDING, 0.0)
