"""The gradient of an objective at a point, with a bound on its error that holds for a million million records.

Rows are whole steps of 2^-21, and a point is the sum of three vectors of whole steps, so that margins are exact. Slopes
are computed in doubles, or in pairs of doubles, cut into pieces of 21 bits, and their products with rows are added up as
whole numbers. What is left is the error of a slope itself, once for each record.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.learn.losses import Loss
from privet.learn.losses.double_double import Pair, add, exact_add, pair
from privet.learn.problem import Chunk
from privet.learn.problem.array_records import dense
from privet.learn.problem.task import ROW_STEPS
from privet.learn.solvers.exact_totals import Total

_BITS = 21  # of a row, and of a piece of a slope: 2^10 of their products are added up in doubles without rounding
_TILE = 2**10  # rows at a time: memory and speed only
_LONG = 30  # bits of a part of a point, with room for rounding
_PARTS = 3  # of a point: 90 bits, as `rounded` and `moved` count on
_PIECES = 4  # of a slope in pairs of doubles; one in doubles has three
_UNIT = 2.0**-53  # the relative error of one rounding
_WIDE = 2.0**-84  # what a slope in pairs of doubles can be off by, in units of `scale_of`: its last piece is 2^-84

Summed = Callable[[Callable[[Iterator[Chunk]], Any]], Any]


class Place(NamedTuple):
    """A point as the sum of a few vectors, in each of which all numbers are whole multiples of one power of two, and not
    longer than 2^30 of them."""

    parts: tuple[Array, ...]

    @classmethod
    def of(cls, high: Array, low: Array) -> "Place":
        """high + low, to 90 bits of its length.

        >>> place = Place.of(np.array([1.0, 1e-20]), np.array([2.0**-60, 0.0]))
        >>> [float(each) for each in sum(part.astype(object) for part in place.parts[1:]) ][0] == 2.0**-60
        True
        """
        rest: Pair = (np.asarray(high, dtype=np.float64), np.asarray(low, dtype=np.float64))
        length = float(np.linalg.norm(rest[0]))
        parts: list[Array] = []
        exponent = math.frexp(length)[1] if length > 0.0 else 0
        for _ in range(_PARTS):
            exponent -= _LONG
            part = np.ldexp(np.rint(np.ldexp(rest[0], -exponent)), exponent)
            rest = add(rest, pair(-part))
            parts.append(part)
        return cls(tuple(parts))

    @property
    def rounded(self) -> Array:
        """As doubles."""
        return np.asarray(self.parts[0] + (self.parts[1] + self.parts[2]))

    def moved(self, step: Array) -> "Place":
        """This point and a step from it."""
        held = exact_add(self.parts[0], self.parts[1])
        return Place.of(*add((held[0], held[1] + self.parts[2]), pair(step)))


def exact_gradient(summed: Summed, loss: Loss, strength: float, linear: Array, at: Place, *, wide: bool) -> Any:
    """The gradient of sum psi(x.w) + (strength/2)|w|^2 + linear.w at a point, rounded once, and how far it can be off. With
    `wide`, slopes are pairs of doubles. Not releasable."""
    classes = loss.outputs
    pieces, records = summed(lambda chunks: _pieces(chunks, loss, at.parts, wide))
    unit, total = Fraction(scale_of(loss)), np.zeros(len(linear), dtype=object)
    for piece in pieces:  # the first one is the coarsest
        total = total * 2**_BITS + piece.ravel()
    unit /= 2 ** (_BITS * (len(pieces) + 1))
    made, known = np.empty(len(linear)), Fraction(strength)
    for j, whole in enumerate(total.tolist()):
        place = sum((Fraction(float(part[j])) for part in at.parts), Fraction(0))
        made[j] = float(whole * unit + known * place + Fraction(float(linear[j])))
    each = error_of_slopes(loss, wide, float(np.linalg.norm(at.rounded)))
    return made, records * each * math.sqrt(classes)


def error_of_slopes(loss: Loss, wide: bool, length: float) -> float:
    """The distance by which the computed slope of one record can be off, at a point of that length.

    >>> from privet.learn.losses import Logistic
    >>> error_of_slopes(Logistic(), True, 2.0**20) < 1e-24 < 1e-15 < error_of_slopes(Logistic(), False, 10.0)
    True
    """
    if wide:
        return scale_of(loss) * (2.0 * _WIDE) + loss.smoothness * 2.0**-100 * length
    # a margin is rounded to a double, and a slope has a few units of its own; shares are divided by a sum over classes
    own = 16.0 if loss.outputs == 1 else 16.0 + 2.0 * loss.outputs
    return _UNIT * 1.01 * (loss.smoothness * length + own * scale_of(loss))


def scale_of(loss: Loss) -> float:
    """A power of two that no slope exceeds, and whose 85th part in bits no wide slope is off by.

    >>> from privet.learn.losses import Logistic
    >>> scale_of(Logistic())
    1.0
    """
    return float(2.0 ** math.ceil(math.log2(loss.lipschitz * max(1.0, loss.smoothness))))


def _pieces(chunks: Iterator[Chunk], loss: Loss, parts: tuple[Array, ...], wide: bool) -> Any:
    """For each piece of the slopes, the sum of its products with rows in steps; and how many records there are."""
    classes, many = loss.outputs, _PIECES if wide else _PIECES - 1
    size = len(parts[0]) // classes
    totals, records = [Total((classes, size)) for _ in range(many)], 0
    weights = [part.reshape(classes, size) for part in parts]
    for rows, targets, _ in chunks:
        records += len(targets)
        for start in range(0, len(targets), _TILE):
            tile, goals = dense(rows[start : start + _TILE]), targets[start : start + _TILE]
            for total, piece in zip(totals, _cut(_slopes(tile, goals, loss, weights, wide), loss, many), strict=True):
                total.add(piece.T @ (tile * ROW_STEPS))
    return np.array([total.exact_sum() for total in totals], dtype=object), records


def _slopes(tile: Array, goals: Array, loss: Loss, weights: list[Array], wide: bool) -> Pair:
    """Slopes, a column for each class."""
    first, second, third = (tile @ part.T for part in weights)  # each of them exact
    high, low = exact_add(first, second)
    if loss.outputs == 1:
        high, low, third = high[:, 0], low[:, 0], third[:, 0]
    margins = exact_add(high, low + third)
    found = loss.wide_slope(margins, goals) if wide else pair(loss.slope(margins[0].copy(), goals))
    return (found[0][:, None], found[1][:, None]) if loss.outputs == 1 else found


def _cut(slopes: Pair, loss: Loss, many: int) -> Iterator[Array]:
    """Slopes in pieces of whole numbers of at most 2^21, each in units of 2^-21 of those of the one before."""
    high, low = slopes[0] / scale_of(loss), slopes[1] / scale_of(loss)
    for _ in range(many):
        high, low = np.ldexp(high, _BITS), np.ldexp(low, _BITS)
        whole = np.rint(high)
        yield whole
        high, low = exact_add(high - whole, low)
