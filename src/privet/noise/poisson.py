"""The Poisson law."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.ratios import RatioTails, one_of
from privet.noise.parameters import Size, positive
from privet.noise.table import InversionTable, from_tails

_LARGEST = 2**16  # of the mean: the exact tails are summed term by term, and terms grow with it
_TABLE = 32  # the largest mean with a table: from 45 on, Pr[X >= 1] rounds up to 1, which no word of 64 bits holds


def poisson(*, mean: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """A whole number X >= 0 with Pr[X = k] = exp(-mean) mean^k/k!.

    **Guarantee:** exact law, tails included. **Error:** mean and variance `mean`.
    **Reference:** proof note noise/poisson.

    >>> bool(poisson(mean=3.0, size=1000).min() >= 0)
    True
    """
    return draw(one_of, _sample, size, source, given=(PoissonTails(positive("mean", mean, _LARGEST)),))


@final
@dataclass(frozen=True)
class PoissonTails(RatioTails):
    """Pr[X = k+1] = Pr[X = k] mean/(k + 1).

    >>> PoissonTails(Fraction(1)).upper(1, 10)  # 1 - 1/e
    (647, 648)
    """

    mean: Fraction

    @property
    def guess(self) -> int:
        return int(self.mean)

    def ratio(self, k: int) -> tuple[int, int]:
        return self.mean.numerator, self.mean.denominator * (k + 1)

    def largest_ratio(self, k: int) -> tuple[int, int]:
        return self.ratio(k)


@lru_cache(maxsize=4)
def _table(law: PoissonTails) -> InversionTable:
    return from_tails(law)


def _sample(stream: Stream, count: int, law: PoissonTails) -> NDArray[Any]:
    if law.mean <= _TABLE:
        return _table(law).sample(stream, count)
    return np.array([one_of(stream, law) for _ in range(count)], dtype=np.int64)
