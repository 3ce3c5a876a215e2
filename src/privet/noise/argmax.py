"""The exact arg max of scores plus continuous noise, the noise refined until the winner is certain."""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from privet._numerics import special
from privet.errors import InvalidData, InvalidParameter
from privet.noise.entropy import Source, Stream, current
from privet.noise.families.coins import TO_UNIT, fair_bits
from privet.noise.families.enclosure import neg_log, normal_above
from privet.noise.families.refined import Refined, least
from privet.noise.families.scores import gaps_of, scores_of
from privet.noise.parameters import positive
from privet.noise.rounded_gaussian import FIRST, MARGIN

Floats = NDArray[np.float64]
End = Fraction | None  # None: not bounded on this side, so far


def argmax_gumbel(scores: object, *, scale: int | float | Fraction, source: Source | None = None) -> int:
    """The index of the largest score + Gumbel noise of this scale.

    **Guarantee:** exact law, that is Pr[i] proportional to exp(scores[i] / scale); ties do not happen.
    **Reference:** proof note noise/argmax.

    >>> argmax_gumbel([0.0, 1e6], scale=1.0)
    1
    """
    return _argmax(_Gumbel, scores, scale, source)


def argmax_exponential(scores: object, *, scale: int | float | Fraction, source: Source | None = None) -> int:
    """The index of the largest score + exponential noise of this mean: the law of permute-and-flip.

    **Guarantee:** exact law; ties do not happen. **Reference:** Ding et al. 2021; proof note noise/argmax.

    >>> argmax_exponential([0.0, 1e6], scale=1.0)
    1
    """
    return _argmax(_Exponential, scores, scale, source)


def argmax_laplace(scores: object, *, scale: int | float | Fraction, source: Source | None = None) -> int:
    """The index of the largest score + Laplace noise of this scale.

    **Guarantee:** exact law; ties do not happen. **Reference:** Dwork & Roth 2014, section 3.3; proof note noise/argmax.

    >>> argmax_laplace([0.0, 1e6], scale=1.0)
    1
    """
    return _argmax(_Laplace, scores, scale, source)


def argmax_gaussian(scores: object, *, scale: int | float | Fraction, source: Source | None = None) -> int:
    """The index of the largest score + normal noise of this standard deviation.

    **Guarantee:** exact law; ties do not happen. **Reference:** Papernot et al. 2018; proof note noise/argmax.

    >>> argmax_gaussian([0.0, 1e6], scale=1.0)
    1
    """
    return _argmax(_Gaussian, scores, scale, source)


class _Noise(ABC):
    """One number per candidate, known as an interval: in floats from 64 bits, in rationals from as many as it takes."""

    def __init__(self, stream: Stream, count: int) -> None:
        self._stream, self._words = stream, stream.words(count)

    def _exponentials(self) -> tuple[Floats, Floats]:
        """-ln U between two doubles; the cell of word 0 has no upper end."""
        centre = self._words + 0.5
        value = -np.log(centre * TO_UNIT)
        margin = 1.0 / centre + 2.0**-45 * (1.0 + value)
        return np.maximum(value - margin, 0.0), np.where(self._words == 0, np.inf, value + margin)

    @abstractmethod
    def floats(self) -> tuple[Floats, Floats]:
        """Both ends for every candidate."""

    @abstractmethod
    def ends(self, u: Refined, place: int) -> tuple[End, End]:
        """Both ends for one candidate, whose uniform is known to the bits of u."""

    def start(self, place: int) -> Refined:
        return Refined(self._stream, int(self._words[place]), 64)


@final
class _Exponential(_Noise):
    def floats(self) -> tuple[Floats, Floats]:
        return self._exponentials()

    def ends(self, u: Refined, place: int) -> tuple[End, End]:
        return _exponential(u)


@final
class _Laplace(_Noise):
    def __init__(self, stream: Stream, count: int) -> None:
        super().__init__(stream, count)
        self._minus = fair_bits(stream, count)

    def floats(self) -> tuple[Floats, Floats]:
        lo, hi = self._exponentials()
        return np.where(self._minus, -hi, lo), np.where(self._minus, -lo, hi)

    def ends(self, u: Refined, place: int) -> tuple[End, End]:
        lo, hi = _exponential(u)
        return (None if hi is None else -hi, -lo) if self._minus[place] else (lo, hi)


@final
class _Gumbel(_Noise):
    def floats(self) -> tuple[Floats, Floats]:
        low, high = self._exponentials()
        with np.errstate(divide="ignore"):  # an exponential that may be 0 gives a Gumbel number without an upper end
            lo, hi = -np.log(high), -np.log(low)
        return lo - 2.0**-45 * (1.0 + np.abs(lo)), hi + 2.0**-45 * (1.0 + np.abs(hi))

    def ends(self, u: Refined, place: int) -> tuple[End, End]:
        low, high = _exponential(u)
        bits = u.length + 64
        return None if high is None else -_log(high, bits)[1], None if low == 0 else -_log(low, bits)[0]


@final
class _Gaussian(_Noise):
    """Phi^-1(U): the lower half of the words is below 0, the upper half its mirror image."""

    def floats(self) -> tuple[Floats, Floats]:
        upper = self._words >= np.uint64(2**63)
        folded = self._words ^ -upper.astype(np.uint64)
        size = -special().ndtri((np.maximum(folded, np.uint64(FIRST)) + 0.5) * TO_UNIT)
        near = np.maximum(size - MARGIN, 0.0)
        far = np.where(folded < np.uint64(FIRST), np.inf, size + MARGIN)  # their cells are too wide for the margin
        return np.where(upper, near, -far), np.where(upper, far, -near)

    def ends(self, u: Refined, place: int) -> tuple[End, End]:
        upper = u.value >> u.length - 1
        folded = (1 << u.length) - 1 - u.value if upper else u.value
        near, far = _normal(folded, u.length)
        return (near, far) if upper else (None if far is None else -far, -near)


def _normal(cell: int, length: int) -> tuple[Fraction, End]:
    """Both ends of the x at which the mass above x lies in [cell, cell + 1]/2^length, on a grid of 2^-length."""
    bits = length + 64
    guess = int(-float(special().ndtri(max(math.ldexp(cell + 0.5, -length), 1e-300))) * 2**53) << length >> 53

    def above(k: int) -> tuple[int, int]:
        return normal_above(max(k, 0), 1 << length, bits)

    near = least(lambda k: k > 0 and above(k)[0] < cell + 1 << 64, guess) - 1
    far = least(lambda k: k > 0 and above(k)[1] <= cell << 64, guess) if cell else None
    return Fraction(max(near, 0), 1 << length), None if far is None else Fraction(far, 1 << length)


def _exponential(u: Refined) -> tuple[Fraction, End]:
    bits = u.length + 64
    lo = Fraction(neg_log(u.value + 1, u.length, bits)[0], 1 << bits)
    return lo, Fraction(neg_log(u.value, u.length, bits)[1], 1 << bits) if u.value else None


def _log(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """ln x between two rationals, for x > 0 with a power of two as denominator."""
    length = x.denominator.bit_length() - 1
    top = max(x.numerator.bit_length(), length)
    lo, hi = neg_log(x.numerator, top, bits)
    scale_lo, scale_hi = neg_log(1, top - length, bits)  # (top - length) ln 2
    return Fraction(scale_lo - hi, 1 << bits), Fraction(scale_hi - lo, 1 << bits)


def _argmax(law: type[_Noise], scores: object, scale: int | float | Fraction, source: Source | None) -> int:
    values = scores_of("scores", scores)
    if np.any(np.asarray(values == -np.inf)):
        raise InvalidData("scores must be finite")
    s = positive("scale", scale, largest=None)
    if s > 2**1000:
        raise InvalidParameter("scale must be at most 2^1000")
    noise = law(current(source).stream(), len(values))
    # The best score is subtracted first, exactly: margins, hence time, do not grow with the size of the scores.
    gaps, exact = gaps_of(values)
    alive = _contenders(-gaps, float(s), *noise.floats())
    if len(alive) == 1:
        return alive[0]
    return _settle(noise, {i: -exact(i) for i in alive}, s)


def _contenders(scores: Floats, scale: float, lo: Floats, hi: Floats) -> list[int]:
    """Every candidate that may have the largest sum, by intervals in floats, widened for their rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        down, up = scale * lo, scale * hi
        low = scores + down - (2.0**-48 * (np.abs(scores) + np.abs(down)) + 1e-300)
        high = scores + up + (2.0**-48 * (np.abs(scores) + np.abs(up)) + 1e-300)
    # What is not a number has overflowed and says nothing: no lower bound, no upper bound.
    best = np.max(np.where(np.isfinite(low), low, -np.inf))
    return np.flatnonzero(~((high < best) & np.isfinite(high))).tolist()


def _settle(noise: _Noise, scores: dict[int, Fraction], scale: Fraction) -> int:
    """Refine the contenders in exact rationals until one is ahead of all others."""
    uniforms = {i: noise.start(i) for i in scores}
    while True:
        ends = {i: noise.ends(u, i) for i, u in uniforms.items()}
        floors = [scores[i] + scale * lo for i, (lo, _) in ends.items() if lo is not None]
        if floors:
            best = max(floors)
            uniforms = {
                i: u for i, u in uniforms.items() if (hi := ends[i][1]) is None or scores[i] + scale * hi >= best
            }
        if len(uniforms) == 1:
            return next(iter(uniforms))
        for u in uniforms.values():
            u.grow()
