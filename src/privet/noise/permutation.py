"""Uniform permutations."""

import numpy as np
from numpy.typing import NDArray

from privet._validate import count as whole
from privet.errors import InvalidParameter
from privet.noise.entropy import Source, Stream, current

_MOST = 2**40  # numbers: no memory holds more


def permutation(n: int, *, source: Source | None = None) -> NDArray[np.int64]:
    """A uniformly random order of 0, ..., n - 1.

    >>> sorted(permutation(4).tolist())
    [0, 1, 2, 3]
    """
    length = whole("n", n)
    if length > _MOST:
        raise InvalidParameter("n asks for more numbers than fit any memory")
    return _permute(current(source).stream(), length)


def _permute(stream: Stream, n: int) -> NDArray[np.int64]:
    keys = stream.words(n)
    order = np.argsort(keys, kind="stable").astype(np.int64)
    ranked = keys[order]
    same = np.flatnonzero(ranked[1:] == ranked[:-1])
    while len(same):  # equal keys: order each group by further bits
        first = same[0]
        last = int(np.searchsorted(ranked, ranked[first], side="right"))
        order[first:last] = order[first:last][_permute(stream, last - first)]
        same = same[same >= last]
    return order
