"""Uniform integers below a bound."""

from numbers import Integral

import numpy as np

from privet.errors import InvalidParameter
from privet.noise.base import Draws, Size, Source, Stream, current, draw

__all__ = ["uniform_int"]


def uniform_int(*, bound: int, size: Size = None, source: Source | None = None) -> Draws:
    """Uniform on {0, ..., bound - 1}; never by a remainder, which favours small numbers.

    >>> 0 <= uniform_int(bound=6) < 6
    True
    """
    if isinstance(bound, bool | np.bool_) or not isinstance(bound, Integral) or bound < 1:
        raise InvalidParameter("bound must be a whole number >= 1")
    if size is None:
        return _one(current(source).stream(), int(bound))
    if bound >= 2**63:
        raise InvalidParameter("bound must be below 2^63 for an array; draw single numbers with size=None")
    return draw(
        lambda stream, count: np.array([_one(stream, int(bound)) for _ in range(count)], dtype=np.int64), size, source
    )


def _one(stream: Stream, bound: int) -> int:
    length = (bound - 1).bit_length()
    while (value := stream.bits(length)) >= bound:
        pass
    return value
