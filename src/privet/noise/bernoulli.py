"""Bernoulli(p) for rational p."""

from fractions import Fraction

from privet.noise.base import Draws, Size, Source, draw, flip, probability, rational

__all__ = ["bernoulli"]


def bernoulli(*, p: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """A coin that shows True with probability p; a float is the rational it stands for.

    **Guarantee:** Pr[True] = p exactly. **Reference:** proof note noise/base.

    >>> bernoulli(p=1), bernoulli(p=0, size=2).tolist()
    (True, [False, False])
    """
    num, den = probability("p", p).as_integer_ratio()
    return draw(lambda stream, count: flip(stream, count, lambda bits: rational(num, den, bits)), size, source, bool)
