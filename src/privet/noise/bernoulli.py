"""Bernoulli(p) for rational p."""

from fractions import Fraction

import numpy as np

from privet.noise.base import Draws, Refined, Size, Source, draw, probability, rational

__all__ = ["bernoulli"]


def bernoulli(*, p: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """A coin that shows True with probability p, exactly; a float is the rational it stands for.

    **Guarantee:** Pr[True] = p, with no rounding. **Reference:** proof note noise/base.

    >>> bernoulli(p=1), bernoulli(p=0, size=2).tolist()
    (True, [False, False])
    """
    value = probability("p", p)
    num, den = value.numerator, value.denominator
    return draw(
        lambda stream, count: np.array(
            [Refined(stream).below(lambda bits: rational(num, den, bits)) for _ in range(count)], dtype=bool
        ),
        size,
        source,
        dtype=bool,
    )
