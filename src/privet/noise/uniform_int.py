"""Uniform integers below a bound."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._validate import whole
from privet.errors import InvalidParameter
from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream
from privet.noise.families.coins import short_words
from privet.noise.parameters import Size


def uniform_int(*, bound: int, size: Size = None, source: Source | None = None) -> Draws:
    """Uniform on {0, ..., bound - 1}: random bits, drawn again while they are too large.

    A remainder would favour small numbers, a scaled float would miss some altogether.

    **Guarantee:** every value has probability 1/bound exactly.

    >>> 0 <= uniform_int(bound=6) < 6, uniform_int(bound=1, size=2).tolist()
    (True, [0, 0])
    """
    limit = whole("bound", bound, 1)
    if size is not None and limit >= 2**63:
        raise InvalidParameter("bound must be below 2^63 for an array; draw single numbers with size=None")
    return draw(lambda stream: _one(stream, limit), lambda stream, count: below(stream, count, limit), size, source)


def _one(stream: Stream, bound: int) -> int:
    length = (bound - 1).bit_length()
    while (value := stream.bits(length)) >= bound:
        pass
    return value


def below(stream: Stream, count: int, bound: int) -> NDArray[Any]:
    """`count` uniform numbers below a bound of at most 63 bits.

    >>> from privet.noise import Seeded
    >>> below(Seeded(1).stream(), 1000, 3).max()
    np.int64(2)
    """
    length = (bound - 1).bit_length()
    if length == 0:
        return np.zeros(count, dtype=np.int64)
    out = _bits(stream, count, length)
    bad = np.flatnonzero(out >= bound)
    while len(bad):
        out[bad] = again = _bits(stream, len(bad), length)
        bad = bad[again >= bound]
    return out


def _bits(stream: Stream, count: int, length: int) -> NDArray[np.int64]:
    """Numbers of `length` random bits, from words as short as will do."""
    width = next(w for w in (8, 16, 32, 64) if w >= length)
    words = short_words(stream, count, width)
    return (words >> words.dtype.type(width - length)).astype(np.int64)
