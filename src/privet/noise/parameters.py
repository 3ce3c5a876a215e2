"""Public parameters of the samplers: exact rationals, sizes and centres."""

import math
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from privet._numerics import exact, exact_ratio
from privet._validate import whole
from privet.errors import InvalidData, InvalidParameter

Size = int | tuple[int, ...] | None
Center = int | float | Fraction | NDArray[Any]

LARGEST_SCALE = 2**52  # Laplace noise of this scale leaves int64 with probability exp(-2048)
_MOST = 2**48  # numbers: no memory holds more, and a product of lengths must not wrap around
_NOTHING = Fraction(0)
_FAR = 2**60  # a centre beyond saturates: with it goes the sum, which is post-processing
_CENTER = "center must be an int, a float or a Fraction, or an array of them, and not NaN"


def positive(name: str, value: object, largest: int | None = LARGEST_SCALE) -> Fraction:
    """A rational above 0; a scale whose noise could leave the 64-bit integers is refused.

    >>> positive("sigma", 2)
    Fraction(2, 1)
    """
    number = exact(name, value)
    if number.numerator <= 0:
        raise InvalidParameter(f"{name} must be greater than 0, got {float(number):g}")
    if largest is not None and number.numerator > largest * number.denominator:
        raise InvalidParameter(
            f"{name} must be at most {largest} (2^{largest.bit_length() - 1}), so that the noise fits 64-bit integers; "
            "choose a coarser grid"
        )
    return number


def probability(name: str, value: object) -> Fraction:
    """A rational in [0, 1].

    >>> probability("p", 0.25)
    Fraction(1, 4)
    """
    number = exact(name, value)
    if not 0 <= number <= 1:
        raise InvalidParameter(f"{name} must lie in [0, 1]")
    return number


def shape_of(size: Size) -> tuple[int, ...] | None:
    """The shape that is asked for; None stands for one plain number.

    >>> shape_of(3), shape_of((2, 0)), shape_of(None)
    ((3,), (2, 0), None)
    """
    if size is None:
        return None
    shape = tuple(whole("size", length, 0) for length in (size if isinstance(size, tuple) else (size,)))
    if math.prod(shape) > _MOST:
        raise InvalidParameter("size asks for more numbers than fit any memory")
    return shape


def matching_shape(name: str, shape: tuple[int, ...], size: Size) -> None:
    """When the argument `name` is an array, `size` may only repeat its shape.

    >>> matching_shape("center", (2, 3), (2, 3))
    """
    asked = shape_of(size)
    if asked is not None and asked != shape:
        raise InvalidParameter(f"size must be None or the shape of {name} when {name} is an array")


def split(center: object) -> tuple[Any, Any, tuple[int, ...] | None]:
    """A centre as (nearest integer, rest in [-1/2, 1/2], shape): integers and Fractions, or arrays of them.

    Both parts are exact; a centre beyond 2^60 saturates. The message is the same whatever the values are, since a centre
    may be private. The rests of an array of objects are `Rests`, those of an array of doubles are doubles.

    >>> split(2.75)
    (3, Fraction(-1, 4), None)
    """
    if isinstance(center, np.ndarray):
        return _split_array(center)
    if type(center) is int and abs(center) < _FAR:  # plain numbers take the short way
        return center, _NOTHING, None
    if type(center) is Fraction and 2 * abs(center.numerator) <= center.denominator:
        return 0, center, None
    if type(center) is float and abs(center) < 2.0**52:
        whole = round(center)
        return whole, Fraction(center - whole), None  # the difference of neighbours is exact
    return *_nearest(center), None


def _nearest(center: object) -> tuple[int, Fraction]:
    if type(center) is Fraction and 2 * abs(center.numerator) < center.denominator:
        return 0, center
    ratio = None if isinstance(center, bool | np.bool_) else exact_ratio(center)
    if ratio is None:
        raise InvalidData(_CENTER)
    value = Fraction(*ratio)
    whole = round(value)
    return (whole, value - whole) if abs(whole) < _FAR else (_FAR if whole > 0 else -_FAR, _NOTHING)


def _split_array(center: NDArray[Any]) -> tuple[Any, Any, tuple[int, ...]]:
    if center.dtype.kind in "iu":
        return np.clip(center, -_FAR if center.dtype.kind == "i" else 0, _FAR).astype(np.int64), _NOTHING, center.shape
    if center.dtype.kind == "O":
        parts = [_nearest(item) for item in center.flat]
        wholes = np.array([whole for whole, _ in parts], dtype=np.int64).reshape(center.shape)
        return wholes, Rests([rest for _, rest in parts]), center.shape
    if center.dtype.kind != "f" or center.dtype.itemsize > 8:
        raise InvalidData(_CENTER)
    value = center.astype(np.float64, copy=False)
    if np.any(np.isnan(value)):
        raise InvalidData(_CENTER)
    value = np.clip(value, -float(_FAR), float(_FAR))
    whole = np.rint(value)
    return whole.astype(np.int64), value - whole, center.shape  # the difference of neighbours is exact


@final
class Rests:
    """Rests of centres that are no doubles: the nearest doubles, and the numbers themselves where those do not decide.

    >>> Rests([Fraction(1, 3)]).floats.tolist(), Rests([Fraction(1, 3)])[0:1].exact
    ([0.3333333333333333], [Fraction(1, 3)])
    """

    __slots__ = ("exact", "floats")

    def __init__(self, exact: list[Fraction]) -> None:
        self.exact = exact
        self.floats = np.fromiter((item.numerator / item.denominator for item in exact), np.float64, len(exact))

    def __getitem__(self, part: slice) -> "Rests":
        return Rests(self.exact[part])

    def reshape(self, _: int) -> "Rests":
        """As it is: a flat list."""
        return self
