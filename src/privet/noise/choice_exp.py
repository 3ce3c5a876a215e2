"""One index with probability proportional to count * exp(score / scale), for many candidates at once."""

import math
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet.errors import InvalidData, InvalidParameter
from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.enclosure import exp_neg
from privet.noise.families.refined import Refined
from privet.noise.families.scores import gaps_of, scores_of
from privet.noise.parameters import Size, positive
from privet.noise.uniform_int import below

_BITS = 60  # the weights are laid out on about 2^60 units; a sum of them fits int64
_MARGIN = 2.0**-40  # relative error of a float weight is below 2^-41: see `_Proposal`
_MOST = 2**62  # of a count: what is computed from it stays inside int64


def choice_exp(
    scores: object,
    *,
    scale: int | float | Fraction,
    counts: object = None,
    size: Size = None,
    source: Source | None = None,
) -> Draws:
    """An index i with probability counts[i] exp(scores[i]/scale) / sum_j counts[j] exp(scores[j]/scale), exactly.

    Scores are the numbers they are (doubles, integers, Fractions), `scale` is the rational it is, `counts` (default: all
    1) are integers >= 0, such as the number of points that share a score. A score of -inf or a count of 0 is never chosen.

    **Guarantee:** exact, by rejection from integer weights that dominate; one draw costs a pass over the scores and, as
    a rule, no exact arithmetic. **Reference:** proof note noise/choice_exp.

    >>> choice_exp([0.0, 1e6], scale=2), choice_exp([0.0, 0.0], scale=1, counts=[0, 7])
    (1, 1)
    """
    values = scores_of("scores", scores)
    proposal = _Proposal(values, positive("scale", scale, largest=None), _whole_counts(counts, len(values)))
    return draw(lambda stream: int(proposal.sample(stream, 1)[0]), proposal.sample, size, source)


def choice_log(log_weights: object, *, size: Size = None, source: Source | None = None) -> Draws:
    """An index i with probability exp(log_weights[i]) / sum_j exp(log_weights[j]); -inf is never chosen.

    **Guarantee:** exact law, each double taken as the rational it is. The same law as `argmax_gumbel` of the weights.
    **Reference:** McSherry & Talwar 2007; proof note noise/choice_exp.

    >>> choice_log([0.0, -float("inf")]), choice_log([-1000.0, 0.0], size=2).tolist()
    (0, [1, 1])
    """
    return choice_exp(log_weights, scale=1, size=size, source=source)


@final
class _Proposal:
    """Integers G[i] >= w[i] 2^shift, where w[i] = counts[i] exp(-gap[i]/scale), with equality up to one unit and 2^-39.

    Float error of w[i]: 2^-53 each for the gap, the scale and the quotient, which exp turns into at most 4 gap/scale
    2^-53 < 2^-41.4 while gap/scale < 745 (beyond, w is far below one unit anyway); a few 2^-53 for exp, the count and
    the product. A library whose exp errs by hundreds of units in the last place would still be covered.
    """

    def __init__(self, values: NDArray[Any], scale: Fraction, counts: NDArray[np.int64] | None) -> None:
        possible = np.asarray(values != -np.inf) if counts is None else np.asarray(values != -np.inf) & (counts > 0)
        if not np.any(possible):
            raise InvalidData("there must be a candidate with a finite score and a count above 0")
        if not 1e-300 < scale < 1e300:
            raise InvalidParameter("scale must lie between 1e-300 and 1e300")
        gaps, self.gap = gaps_of(values, possible)
        self.scale, self.counts = scale, counts
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(-gaps / float(scale))
            if counts is not None:
                weights *= counts
            weights[~possible] = 0.0
            self.shift = _BITS - math.frexp(float(weights.sum()))[1]
            self.weights = np.ldexp(weights, self.shift)
            units = (self.weights * (1.0 + _MARGIN)).astype(np.int64)
        units += possible
        self.ends = np.cumsum(units)

    def sample(self, stream: Stream, count: int) -> NDArray[np.int64]:
        chosen = np.full(count, -1, dtype=np.int64)
        while len(open_ := np.flatnonzero(chosen < 0)):
            index = np.searchsorted(self.ends, below(stream, len(open_), int(self.ends[-1])), side="right")
            accepted = self._accept(stream, index)
            chosen[open_[accepted]] = index[accepted]
        return chosen

    def _accept(self, stream: Stream, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Keep i with probability w[i] 2^shift / G[i]; almost always 64 bits and a float decide."""
        words = stream.words(len(index))
        units = self.ends[index] - np.where(index > 0, self.ends[index - 1], 0)
        surely = self.weights[index] * (1.0 - _MARGIN) / units - _MARGIN
        accepted = (words * 2.0**-64) < surely
        for j in np.flatnonzero(~accepted):
            accepted[j] = self._exactly(Refined(stream, int(words[j]), 64), int(index[j]), int(units[j]))
        return accepted

    def _exactly(self, u: Refined, i: int, units: int) -> bool:
        gap = self.gap(i) / self.scale
        share = Fraction(1 if self.counts is None else int(self.counts[i])) * Fraction(2) ** self.shift / units
        guard = max(0, math.ceil(share).bit_length()) + 2

        def real(bits: int) -> tuple[int, int]:
            low, high = exp_neg(gap.numerator, gap.denominator, bits + guard)
            return math.floor(low * share / 2**guard), math.ceil(high * share / 2**guard)

        return u.below(real)


def _whole_counts(counts: object, length: int) -> NDArray[np.int64] | None:
    if counts is None:
        return None
    array = np.asarray(counts)
    if array.shape != (length,) or array.dtype.kind not in "iu" or np.any(array > _MOST) or np.any(array < 0):
        raise InvalidData("counts must be whole numbers from 0 to 2^62, one for each score")
    return array.astype(np.int64)
