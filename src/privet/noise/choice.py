"""One index with probability proportional to exp(log weight)."""

from fractions import Fraction
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet.errors import InvalidData
from privet.noise.base import TO_UNIT, Draws, Refined, Size, Source, Stream, draw, exp_neg, invert, scores_of

__all__ = ["choice_log"]


def choice_log(log_weights: Any, *, size: Size = None, source: Source | None = None) -> Draws:
    """An index i with probability exp(log_weights[i]) / sum_j exp(log_weights[j]); -inf is never chosen.

    **Guarantee:** exact law, each double taken as the rational it is. The same law as `argmax_gumbel` of the weights.
    **Reference:** McSherry & Talwar 2007; proof note noise/choice.

    >>> choice_log([0.0, -np.inf]), choice_log([-1000.0, 0.0], size=2).tolist()
    (0, [1, 1])
    """
    values = scores_of("log_weights", log_weights)
    possible = np.flatnonzero(values > -np.inf)
    if not len(possible):
        raise InvalidData("log_weights must contain a finite value: with all of them -inf nothing can be chosen")
    weights = _Weights(values[possible])
    return draw(lambda stream, count: possible[weights.sample(stream, count)], size, source)


@final
class _Weights:
    """Cumulative weights relative to the largest: in floats with a bound on their error, and enclosed on demand."""

    def __init__(self, logs: NDArray[np.float64]) -> None:
        self._logs = logs
        with np.errstate(over="ignore"):  # a gap that overflows is a weight of zero in floats
            gaps = np.minimum(logs.max() - logs, 800.0)
        weights = np.exp(-gaps)
        self._sums = _running_sum(weights)
        # Each weight is good to 2^-50 (2 + gap) of itself (or to 2^-1000), the running sum to 2^-50 (1 + sqrt n), since
        # it is summed in blocks; 2^-50 more for the point that is compared.
        slack = weights @ (2.0 + gaps) + self._sums[-1] * (4.0 + 2.0 * len(logs) ** 0.5)
        self._margin = 2.0**-50 * slack + 2.0**-900
        self._columns: dict[int, tuple[list[int], list[int]]] = {}

    def sample(self, stream: Stream, count: int) -> NDArray[np.int64]:
        words = stream.words(count)
        points = words * (TO_UNIT * self._sums[-1])
        index = np.searchsorted(self._sums[:-1], points, side="right")
        below = np.concatenate([[-np.inf], self._sums[:-1]])[index]
        above = np.concatenate([self._sums[:-1], [np.inf]])[index]
        unsure = (points - below <= self._margin) | (above - points <= self._margin)
        for place in np.flatnonzero(unsure).tolist():
            u = Refined(stream, int(words[place]), 64)
            index[place] = invert(u, self._cdf, int(index[place]))
        return index

    def _cdf(self, k: int, bits: int) -> tuple[int, int]:
        if k < 0:
            return 0, 0
        if k >= len(self._logs) - 1:
            return 1 << bits, 1 << bits
        low, high = self._column(bits)
        return (low[k] << bits) // high[-1], -(-(high[k] << bits) // low[-1])

    def _column(self, bits: int) -> tuple[list[int], list[int]]:
        """Running sums of lower and of upper ends; the enclosures are finer than `bits` by the number of weights."""
        if bits not in self._columns:
            guard = bits + 16 + len(self._logs).bit_length()
            largest = Fraction(float(self._logs.max()))
            gaps = (largest - Fraction(value) for value in self._logs.tolist())
            ends = [exp_neg(gap.numerator, gap.denominator, guard) for gap in gaps]
            self._columns[bits] = list(accumulate(lo for lo, _ in ends)), list(accumulate(hi for _, hi in ends))
        return self._columns[bits]


def _running_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative sums over square blocks: rounding grows with the square root of the length."""
    side = max(int(len(values) ** 0.5), 1)
    padded = np.zeros(-(-len(values) // side) * side)
    padded[: len(values)] = values
    blocks = np.cumsum(padded.reshape(-1, side), axis=1)
    blocks[1:] += np.cumsum(blocks[:-1, -1])[:, None]
    return np.maximum.accumulate(blocks.ravel()[: len(values)])
