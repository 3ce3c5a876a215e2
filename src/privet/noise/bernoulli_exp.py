"""Bernoulli(exp(-x)) for rational x."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._numerics import exact
from privet.errors import InvalidData, InvalidParameter
from privet.noise.draw import Draws, draw, pieces
from privet.noise.entropy import Source, Stream, current
from privet.noise.families.coins import accept, accept_one, flip
from privet.noise.families.enclosure import Enclosure, exp_neg
from privet.noise.parameters import Size, matching_shape


def bernoulli_exp(
    *, x: int | float | Fraction | NDArray[Any], size: Size = None, source: Source | None = None
) -> Draws:
    """A coin that shows True with probability exp(-x) for x >= 0; an array x gives one coin for each element.

    **Guarantee:** Pr[True] = exp(-x) exactly, each double taken as the rational it is.
    **Reference:** proof note noise/families/refined.

    >>> bernoulli_exp(x=0), bernoulli_exp(x=np.array([0.0, 1e6])).tolist()
    (True, [True, False])
    """
    if isinstance(x, np.ndarray):
        return _many(x, size, source)
    value = exact("x", x)
    if value < 0:
        raise InvalidParameter("x must be at least 0")
    near = float(min(value, Fraction(1000)))  # as a float; beyond, all that counts is that it is large
    chance = _chance(value)
    return draw(
        lambda stream: accept_one(stream, near, chance),
        lambda stream, count: flip(stream, count, chance),
        size,
        source,
        bool,
    )


def _chance(x: Fraction) -> Enclosure:
    return lambda bits: exp_neg(x.numerator, x.denominator, bits)


def _many(x: NDArray[Any], size: Size, source: Source | None) -> NDArray[np.bool_]:
    if x.dtype.kind not in "iuf" or x.dtype.itemsize > 8 or not np.all(np.isfinite(x) & (x >= 0)):
        raise InvalidData("x must be an array of finite numbers >= 0")
    matching_shape("x", x.shape, size)
    values = x.ravel()  # 64-bit integers keep their digits: the exact path reads them from here
    stream = current(source).stream()
    out = np.empty(values.shape, dtype=bool)
    for part in pieces(len(values)):
        out[part] = _accept_all(stream, values[part])
    return out.reshape(x.shape)


def _accept_all(stream: Stream, x: NDArray[Any]) -> NDArray[np.bool_]:
    return accept(stream, x.astype(np.float64), lambda place: _chance(Fraction(x[place].item())))
