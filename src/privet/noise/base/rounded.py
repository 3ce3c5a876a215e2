"""floor(center + scale * noise + 1/2) by inversion, for any symmetric continuous law."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privet.errors import InvalidParameter
from privet.noise.base.draw import Draws
from privet.noise.base.enclosure import complement
from privet.noise.base.entropy import Source, Stream, current
from privet.noise.base.parameters import Size, shape_of, split
from privet.noise.base.refined import Refined, invert

__all__ = ["draw_rounded"]

Tail = Callable[[int, int, int], tuple[int, int]]


def draw_rounded(above: Tail, scale: Fraction, center: object, size: Size, source: Source | None) -> Draws:
    whole, rest, shape = split(center)
    asked = shape_of(size)
    if shape is not None and asked is not None and asked != shape:
        raise InvalidParameter("size must be None or the shape of center when center is an array")
    stream = current(source).stream()
    if shape is None and asked is None:
        return _saturate(whole + one_rounded(stream, above, scale, rest))
    shape = shape if shape is not None else asked
    wholes = np.broadcast_to(np.asarray(whole, dtype=np.int64), shape).ravel().tolist()
    rests = (
        [0] * len(wholes)
        if rest is None
        else (rest.ravel().tolist() if isinstance(rest, np.ndarray) else [rest] * len(wholes))
    )
    values = [_saturate(w + one_rounded(stream, above, scale, Fraction(r))) for w, r in zip(wholes, rests, strict=True)]
    return np.array(values, dtype=np.int64).reshape(shape)


def _saturate(value: int) -> int:
    return min(max(value, -(2**63)), 2**63 - 1)


def one_rounded(stream: Stream, above: Tail, scale: Fraction, rest: Fraction) -> int:
    u = Refined(stream)
    u.grow()

    def cdf(k: int, bits: int) -> tuple[int, int]:
        x = (k + Fraction(1, 2) - rest) / scale
        ends = above(abs(x.numerator), x.denominator, bits)
        return ends if x < 0 else complement(ends, bits)

    return invert(u, cdf, 0)
