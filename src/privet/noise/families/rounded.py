"""floor(center + noise + 1/2): the frame that the rounded laws share."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.noise.draw import Draws, pieces
from privet.noise.entropy import Source, current
from privet.noise.parameters import Center, Rests, Size, matching_shape, shape_of, split

Rest = Fraction | NDArray[np.float64] | Rests  # what is left of the centre, in [-1/2, 1/2]: one number, or one a draw
OneRounded = Callable[..., int]  # of a stream, what is given besides, and the rest
RoundedSampler = Callable[..., NDArray[Any]]  # of a stream, a count, what is given besides, and the rest

SATURATION = 2**62  # where results stop: a centre can be added to noise as large, and still fits int64
_NOISE = SATURATION + 2**60  # noise this large saturates whatever the centre is


def draw_rounded(
    one: OneRounded,
    sample: RoundedSampler,
    center: Center,
    size: Size,
    source: Source | None,
    *,
    given: tuple[Any, ...] = (),
    saturate: bool = False,
) -> Draws:
    """Split the centre, draw floor(rest + noise + 1/2) (`one` or many by `sample`), put both together.

    >>> from privet.noise import Seeded
    >>> draw_rounded(lambda *_: 0, lambda stream, count, rest: np.zeros(count, dtype=np.int64), 7, 2, Seeded(1))
    array([7, 7])
    """
    whole, rest, shape = split(center)
    if shape is None:
        shape = shape_of(size)
    else:
        matching_shape("center", shape, size)
    stream = current(source).stream()
    if shape is None:
        return min(max(whole + one(stream, *given, rest), -SATURATION), SATURATION)
    if isinstance(rest, Fraction) and isinstance(whole, int) and math.prod(shape) == 1:  # a list of one is one draw
        number = min(max(whole + one(stream, *given, rest), -SATURATION), SATURATION)
        return np.array([number], dtype=np.int64).reshape(shape)
    out = np.empty(shape, dtype=np.int64)
    flat = out.reshape(-1)
    wholes = whole.reshape(-1) if isinstance(whole, np.ndarray) else None
    rests = None if isinstance(rest, Fraction) else rest.reshape(-1)
    for part in pieces(len(flat)):
        values = sample(stream, part.stop - part.start, *given, rest if rests is None else rests[part])
        flat[part] = _shift(whole if wholes is None else wholes[part], values, saturate)
    return out


def _shift(whole: object, values: NDArray[Any], saturate: bool) -> NDArray[np.int64]:
    """whole + values; saturated as a sum, since saturating the noise alone would show the centre."""
    if not saturate:
        return values + (np.int64(whole) if isinstance(whole, int) else whole)
    return np.clip(whole + np.clip(values, -_NOISE, _NOISE), -SATURATION, SATURATION)


def float_rest(rest: Rest) -> Any:
    """The rest as a double or doubles; a Fraction is rounded, which margins cover.

    >>> float_rest(Fraction(1, 4))
    0.25
    """
    if isinstance(rest, Fraction):
        return float(rest)
    return rest.floats if isinstance(rest, Rests) else rest


def oriented(rest: Rest, minus: NDArray[np.bool_]) -> Any:
    """The rest where the noise is negative, minus the rest where it is positive; in doubles.

    >>> oriented(Fraction(1, 4), np.array([True, False])).tolist()
    [0.25, -0.25]
    """
    if isinstance(rest, Fraction) and not rest:
        return 0.0
    return (2.0 * minus - 1.0) * float_rest(rest)  # quicker than np.where, and exact


def exact_rest(rest: Rest, place: int) -> Fraction:
    """The rest of one draw, exactly.

    >>> exact_rest(np.array([0.25]), 0)
    Fraction(1, 4)
    """
    if isinstance(rest, Fraction):
        return rest
    return rest.exact[place] if isinstance(rest, Rests) else Fraction(float(rest[place]))


def signed(whole: NDArray[np.int64], minus: NDArray[np.bool_], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """floor(theta +- (whole + F)) for theta in [0, 1] and F in [0, 1), where `inside` says F < 1 - theta (plus sign)
    or F < theta (minus sign).

    >>> signed(np.array([3, 3]), np.array([False, True]), np.array([True, True])).tolist()
    [3, -3]
    """
    up = whole + ~inside
    flip = -minus.astype(np.int64)  # all bits set for a minus: ~x + 1 is -x
    return (up ^ flip) - flip
