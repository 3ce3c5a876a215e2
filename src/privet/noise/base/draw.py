"""One public draw: open a stream, work through it in pieces that fit the cache, give back the asked shape."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privet.noise.base.entropy import Source, Stream, current
from privet.noise.base.parameters import Size, shape_of

__all__ = ["Draws", "draw", "pieces"]

Draws = Any  # a plain number when size is None, else an array of that shape
Sampler = Callable[[Stream, int], NDArray[Any]]

PIECE = 1 << 13  # numbers worked on at a time: what a sampler needs for them stays in the cache


def pieces(count: int) -> Iterator[slice]:
    """Slices of at most `PIECE` elements that cover range(count).

    >>> [(part.start, part.stop) for part in pieces(10_000)]
    [(0, 8192), (8192, 10000)]
    """
    return (slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE))


def draw(sample: Sampler, size: Size, source: Source | None, dtype: DTypeLike = np.int64) -> Draws:
    """Draw from `sample(stream, count)` what `size` asks for.

    >>> from privet.noise import Seeded
    >>> draw(lambda stream, count: stream.words(count) >> 63, (2, 3), Seeded(1)).shape
    (2, 3)
    """
    shape = shape_of(size)
    stream = current(source).stream()
    if shape is None:
        return sample(stream, 1)[0].item()
    count = math.prod(shape)
    out = np.empty(count, dtype=dtype)
    for part in pieces(count):
        out[part] = sample(stream, part.stop - part.start)
    return out.reshape(shape)
