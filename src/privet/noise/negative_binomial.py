"""The negative binomial law without 0, and the logarithmic law, which is its limit."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet._numerics import exact
from privet.errors import InvalidParameter
from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.ratios import RatioTails, one_of
from privet.noise.parameters import Size
from privet.noise.table import InversionTable, from_tails

_LEAST = Fraction(1, 2**14)  # below, the law has millions of likely outcomes
_MOST = 64  # of eta: beyond, as for small gamma, the law has more likely outcomes than a table should hold


def truncated_negative_binomial(
    *, eta: int | float | Fraction, gamma: int | float | Fraction, size: Size = None, source: Source | None = None
) -> Draws:
    """A whole number K >= 1 with Pr[K = k+1] = Pr[K = k] (1 - gamma)(k + eta)/(k + 1): geometric for eta = 1.

    `eta` lies above -1, `gamma` in (0, 1]. It is the number of tries of private selection.

    **Guarantee:** exact law, tails included.
    **Error:** mean eta (1 - gamma)/(gamma (1 - gamma^eta)).
    **Reference:** Papernot & Steinke 2022; proof note noise/negative_binomial.

    >>> bool(truncated_negative_binomial(eta=0.5, gamma=0.25, size=1000).min() >= 1)
    True
    """
    return draw(_one, _sample, size, source, given=(_law(eta, gamma),))


def logarithmic(*, gamma: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """A whole number K >= 1 with Pr[K = k] = (1 - gamma)^k/(k ln(1/gamma)).

    **Guarantee:** exact law, tails included. **Error:** mean (1 - gamma)/(gamma ln(1/gamma)).
    **Reference:** Papernot & Steinke 2022; proof note noise/negative_binomial.

    >>> bool(logarithmic(gamma=0.1, size=1000).min() >= 1)
    True
    """
    return truncated_negative_binomial(eta=0, gamma=gamma, size=size, source=source)


@final
@dataclass(frozen=True)
class NegativeBinomialTails(RatioTails):
    """The law of K - 1.

    >>> low, high = NegativeBinomialTails(Fraction(1), Fraction(1, 2)).upper(1, 10)
    >>> low <= 512 <= high <= low + 2
    True
    """

    eta: Fraction
    gamma: Fraction

    def ratio(self, k: int) -> tuple[int, int]:
        value = (1 - self.gamma) * (k + 1 + self.eta) / (k + 2)
        return value.numerator, value.denominator

    def largest_ratio(self, k: int) -> tuple[int, int]:
        value = (1 - self.gamma) * max(Fraction(1), (k + 1 + self.eta) / (k + 2))
        return value.numerator, value.denominator


def _law(eta: object, gamma: object) -> NegativeBinomialTails:
    shape, stop = exact("eta", eta), exact("gamma", gamma)
    if not -1 < shape <= _MOST:
        raise InvalidParameter(f"eta must lie above -1 and be at most {_MOST}")
    if not _LEAST <= stop <= 1:
        raise InvalidParameter(f"gamma must lie in [{float(_LEAST):g}, 1]")
    return NegativeBinomialTails(shape, stop)


@lru_cache(maxsize=4)
def _table(law: NegativeBinomialTails) -> InversionTable:
    return from_tails(law)


def _one(stream: Stream, law: NegativeBinomialTails) -> int:
    return 1 + one_of(stream, law)


def _sample(stream: Stream, count: int, law: NegativeBinomialTails) -> NDArray[Any]:
    return _table(law).sample(stream, count).astype(np.int64) + 1
