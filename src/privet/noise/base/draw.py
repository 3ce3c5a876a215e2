"""One public draw: open a stream, work through it in pieces that fit the cache, give back the asked shape."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privet.noise.base.entropy import Source, Stream, current
from privet.noise.base.parameters import Size, shape_of

__all__ = ["PIECE", "Draws", "Sampler", "draw"]

Draws = Any  # a plain number when size is None, else an array of that shape
Sampler = Callable[[Stream, int], NDArray[Any]]

PIECE = 1 << 15


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
    if count <= PIECE:
        return sample(stream, count).astype(dtype, copy=False).reshape(shape)
    out = np.empty(count, dtype=dtype)
    for start in range(0, count, PIECE):
        piece = out[start : start + PIECE]
        piece[...] = sample(stream, len(piece))
    return out.reshape(shape)
