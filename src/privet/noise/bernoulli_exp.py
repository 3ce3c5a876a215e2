"""Bernoulli(exp(-x)) for rational x."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import InvalidData, InvalidParameter
from privet.noise.base import Draws, Refined, Size, Source, Stream, current, draw, exact, exp_neg, shape_of

__all__ = ["bernoulli_exp"]


def bernoulli_exp(
    *, x: int | float | Fraction | NDArray[Any], size: Size = None, source: Source | None = None
) -> Draws:
    """A coin that shows True with probability exp(-x), x >= 0, exactly; an array x gives one coin per element.

    >>> bernoulli_exp(x=0), bernoulli_exp(x=np.array([0.0, 1e6])).tolist()
    (True, [True, False])
    """
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "iuf" or not np.all(x >= 0) or not np.all(np.isfinite(x)):
            raise InvalidData("x must be an array of finite numbers >= 0")
        if size is not None and shape_of(size) != x.shape:
            raise InvalidParameter("size must be None or the shape of x when x is an array")
        stream = current(source).stream()
        return np.array([_coin(stream, Fraction(v)) for v in x.astype(float).ravel().tolist()], dtype=bool).reshape(
            x.shape
        )
    value = exact("x", x)
    if value < 0:
        raise InvalidParameter("x must be at least 0")
    return draw(
        lambda stream, count: np.array([_coin(stream, value) for _ in range(count)], dtype=bool), size, source, bool
    )


def _coin(stream: Stream, x: Fraction) -> bool:
    return Refined(stream).below(lambda bits: exp_neg(x.numerator, x.denominator, bits))
