"""One index with probability proportional to exp(log weight)."""

from fractions import Fraction
from typing import Any

import numpy as np

from privet.errors import InvalidData
from privet.noise.base import Draws, Refined, Size, Source, Stream, draw, exp_neg, invert
from privet.noise.base import log_weights as checked

__all__ = ["choice_log"]


def choice_log(log_weights: Any, *, size: Size = None, source: Source | None = None) -> Draws:
    """An index i with probability exp(log_weights[i]) / sum_j exp(log_weights[j]), exactly; -inf is never chosen.

    >>> choice_log([0.0, -np.inf])
    0
    """
    values = checked("log_weights", log_weights)
    possible = np.flatnonzero(values > -np.inf)
    if not len(possible):
        raise InvalidData("log_weights must contain a finite value: with all of them -inf nothing can be chosen")
    logs = [Fraction(v) for v in values[possible].tolist()]
    gaps = [max(logs) - v for v in logs]
    return draw(lambda stream, count: possible[[_one(stream, gaps) for _ in range(count)]], size, source)


def _one(stream: Stream, gaps: list[Fraction]) -> int:
    cache: dict[int, tuple[list[int], list[int]]] = {}

    def cdf(k: int, bits: int) -> tuple[int, int]:
        if k < 0:
            return 0, 0
        if k >= len(gaps) - 1:
            return 1 << bits, 1 << bits
        if bits not in cache:
            ends = [exp_neg(g.numerator, g.denominator, bits + 16) for g in gaps]
            cache[bits] = (
                np.cumsum(np.array([e[0] for e in ends], object)).tolist(),
                np.cumsum(np.array([e[1] for e in ends], object)).tolist(),
            )
        low, high = cache[bits]
        return (low[k] << bits) // high[-1], -(-(high[k] << bits) // low[-1])

    u = Refined(stream)
    u.grow()
    return invert(u, cdf, 0)
