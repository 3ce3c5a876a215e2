"""One public draw: open a stream, work through it in pieces that fit the cache, give back the asked shape."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privet.noise.entropy import Source, current
from privet.noise.parameters import Size, shape_of

Draws = Any  # a plain number when size is None, else an array of that shape
One = Callable[..., Any]  # of a stream and what is given besides
Sampler = Callable[..., NDArray[Any]]  # of a stream, a count and what is given besides

PIECE = 1 << 16  # numbers worked on at a time: large enough to forget the cost of a call, small enough for caches


def pieces(count: int) -> Iterator[slice]:
    """Slices of at most `PIECE` elements that cover range(count).

    >>> [(part.start, part.stop) for part in pieces(100_000)]
    [(0, 65536), (65536, 100000)]
    """
    return (slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE))


def draw(
    one: One,
    sample: Sampler,
    size: Size,
    source: Source | None,
    dtype: DTypeLike = np.int64,
    *,
    given: tuple[Any, ...] = (),
) -> Draws:
    """The draws that `size` asks for: `one(stream, *given)` draws a plain number, `sample(stream, count, *given)` an
    array.

    >>> from privet.noise import Seeded
    >>> from privet.noise.entropy import Stream
    >>> draw(Stream.word, Stream.words, (2, 3), Seeded(1), np.uint64).shape
    (2, 3)
    """
    shape = shape_of(size)
    stream = current(source).stream()
    if shape is None:
        return one(stream, *given)
    if math.prod(shape) == 1:  # a list of one is one draw
        return np.full(shape, one(stream, *given), dtype=dtype)
    out = np.empty(math.prod(shape), dtype=dtype)
    for part in pieces(len(out)):
        out[part] = sample(stream, part.stop - part.start, *given)
    return out.reshape(shape)
