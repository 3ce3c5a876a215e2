"""The exact arg max of scores plus continuous noise, the noise refined until the winner is certain."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet.errors import InvalidData
from privet.noise.base import Refined, Source, Stream, current, log_weights, neg_log, positive

__all__ = ["argmax_exponential", "argmax_gumbel", "argmax_laplace"]

Interval = tuple[Fraction | None, Fraction | None]  # None: no end yet


def argmax_gumbel(scores: Any, *, scale: int | float | Fraction, source: Source | None = None) -> int:
    """The index of the largest score + Gumbel noise of this scale.

    >>> argmax_gumbel([0.0, 1e6], scale=1.0)
    1
    """
    return _argmax(scores, scale, source, _gumbel)


def argmax_exponential(scores: Any, *, scale: int | float | Fraction, source: Source | None = None) -> int:
    """The index of the largest score + exponential noise of this mean.

    >>> argmax_exponential([0.0, 1e6], scale=1.0)
    1
    """
    return _argmax(scores, scale, source, _exponential)


def argmax_laplace(scores: Any, *, scale: int | float | Fraction, source: Source | None = None) -> int:
    """The index of the largest score + Laplace noise of this scale.

    >>> argmax_laplace([0.0, 1e6], scale=1.0)
    1
    """
    return _argmax(scores, scale, source, _laplace)


def _exponential(u: Refined) -> Interval:
    bits = u.length + 64
    lo = Fraction(neg_log(u.value + 1, u.length, bits)[0], 1 << bits)
    return lo, Fraction(neg_log(u.value, u.length, bits)[1], 1 << bits) if u.value else None


def _laplace(u: Refined) -> Interval:
    half = 1 << (u.length - 1)
    minus = u.value >= half
    rest = Refined(u._stream, u.value % half, u.length - 1)
    lo, hi = _exponential(rest)
    return (None if hi is None else -hi, -lo) if minus else (lo, hi)


def _gumbel(u: Refined) -> Interval:
    bits = u.length + 64
    low, high = _exponential(u)
    return (
        None if high is None else -_log(high, bits)[1],
        None if not low else -_log(low, bits)[0],
    )


def _log(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """ln x of a dyadic x > 0."""
    length = x.denominator.bit_length() - 1
    top = max(x.numerator.bit_length(), length)
    lo, hi = neg_log(x.numerator, top, bits)
    a, b = neg_log(1, top - length, bits) if top > length else (0, 0)
    return Fraction(a - hi, 1 << bits), Fraction(b - lo, 1 << bits)


def _argmax(
    scores: Any, scale: int | float | Fraction, source: Source | None, interval: Callable[[Refined], Interval]
) -> int:
    values = log_weights("scores", scores)
    if np.any(np.isinf(values)):
        raise InvalidData("scores must be finite")
    s = positive("scale", scale, largest=None)
    stream: Stream = current(source).stream()
    exact = [Fraction(v) for v in values.tolist()]
    noise = [Refined(stream) for _ in exact]
    alive = list(range(len(exact)))
    while len(alive) > 1:
        ends = {}
        for i in alive:
            noise[i].grow()
            lo, hi = interval(noise[i])
            ends[i] = (None if lo is None else exact[i] + s * lo, None if hi is None else exact[i] + s * hi)
        floors = [lo for lo, _ in ends.values() if lo is not None]
        if floors:
            best = max(floors)
            alive = [i for i in alive if ends[i][1] is None or ends[i][1] >= best]
    return alive[0]
