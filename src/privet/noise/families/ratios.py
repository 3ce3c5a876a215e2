"""Integer laws whose neighbouring probabilities have rational ratios: Poisson, negative binomial, logarithmic."""

from abc import abstractmethod
from functools import lru_cache

from privet.noise.entropy import Stream
from privet.noise.families.refined import Refined, invert
from privet.noise.families.tails import Ends, Tails

_GUARD = 64  # more bits of each weight than were asked for, against rounding; it changes speed only: ends are certified


class RatioTails(Tails):
    """A law on 0, 1, ... with Pr[X = k+1]/Pr[X = k] = ratio(k). No normaliser is needed: the sum of all weights is enclosed
    by the first of them and a bound on the rest. Subclasses are frozen dataclasses.
    """

    symmetric = False

    @property
    def guess(self) -> int:
        """The place at which inversion begins to look."""
        return 0

    @abstractmethod
    def ratio(self, k: int) -> tuple[int, int]:
        """Pr[X = k+1]/Pr[X = k] as numerator and denominator."""

    @abstractmethod
    def largest_ratio(self, k: int) -> tuple[int, int]:
        """The least upper bound of ratio(k), ratio(k+1), ...; below 1 from some k on."""

    def upper(self, m: int, bits: int) -> Ends:
        column = tails_of(self, bits)
        return column[m - 1] if m <= len(column) else (0, 1)

    def column(self, bits: int) -> list[Ends]:
        return tails_of(self, bits)


@lru_cache(maxsize=64)
def tails_of(law: RatioTails, bits: int) -> list[Ends]:
    """`law.column(bits)`: weights in fixed point, rounded down and up, until the rest is below a unit of the whole."""
    guard = bits + _GUARD
    lows, highs, low, high, rest = _weights(law, guard)
    column: list[Ends] = []
    tail_low, tail_high = sum(lows), sum(highs) + rest
    for weight_low, weight_high in zip(lows, highs, strict=True):
        tail_low, tail_high = tail_low - weight_low, tail_high - weight_high
        column.append(((tail_low << bits) // high, min(-(-(tail_high << bits) // low), 1 << bits)))
        if tail_high << bits < low:
            break
    return column


def _weights(law: RatioTails, guard: int) -> tuple[list[int], list[int], int, int, int]:
    """Weights from below and from above in units of 2^-guard, their sums, and a bound on all that come after."""
    weight_low = weight_high = 1 << guard
    lows, highs, low, high, k = [], [], 0, 0, 0
    while True:
        lows.append(weight_low)
        highs.append(weight_high)
        low, high = low + weight_low, high + weight_high
        top, bottom = law.largest_ratio(k)
        if top < bottom:
            rest = -(-weight_high * top // (bottom - top))  # a geometric series
            # Small enough is 2^-16 of the last bit that was asked for. No smaller bound could be demanded: weights are
            # rounded up, so that the rest never falls below some units of 2^-guard, however far the sum goes.
            if rest << guard - _GUARD + 16 <= low:
                return lows, highs, low, high + rest, rest
        top, bottom = law.ratio(k)
        weight_low, weight_high = weight_low * top // bottom, -(-weight_high * top // bottom)
        k += 1


def one_of(stream: Stream, law: RatioTails) -> int:
    """One draw: the least k with U < Pr[X <= k], with as many bits of U as that takes."""
    return invert(Refined(stream, stream.word(), 64), law.cdf, law.guess)
