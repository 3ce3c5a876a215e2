"""What an observer may look at: numbers, their bits, the form of the output, the time it took."""

from collections.abc import Iterator

import numpy as np

from privet._numerics import Array
from privet.audit.search.worlds import World

__all__ = ["features", "lowest_set_bit"]

_COORDINATES = 8


def features(world: World, vocabulary: dict[str, int]) -> dict[str, Array]:
    """Named columns, one number a run. `vocabulary` numbers the forms of outputs and is shared by the worlds.

    >>> world = World(np.array([[0.5], [np.nan]]), np.array(["float", "float"], dtype=object))
    >>> sorted(features(world, {}))
    ['exponent[0]', 'form', 'lowest bit[0]', 'special', 'value[0]']
    """
    return dict(_columns(world, vocabulary))


def _columns(world: World, vocabulary: dict[str, int]) -> Iterator[tuple[str, Array]]:
    values = world.values
    yield "form", np.array([vocabulary.setdefault(form, len(vocabulary)) for form in world.forms], dtype=float)
    for j in range(min(values.shape[1], _COORDINATES)):
        column = values[:, j]
        yield f"value[{j}]", column
        yield f"lowest bit[{j}]", lowest_set_bit(column)
        yield f"exponent[{j}]", _exponent(column)
    yield "special", _special(values)
    if values.shape[1] > 1:
        with np.errstate(invalid="ignore", over="ignore"):
            yield "sum", np.nansum(values, axis=1)
            yield "length", np.sum(~np.isnan(values), axis=1).astype(float)
            yield "largest", np.nanmax(np.where(np.isnan(values), -np.inf, values), axis=1)
            yield "first true", _first_true(values)
            for j in range(min(values.shape[1], _COORDINATES) - 1):
                yield f"value[{j + 1}] - value[{j}]", values[:, j + 1] - values[:, j]
    if world.seconds is not None:
        yield "time", world.seconds


def _first_true(values: Array) -> Array:
    """The place of the first positive number; one beyond the last when there is none."""
    positive = values > 0.0
    return np.where(positive.any(axis=1), np.argmax(positive, axis=1), values.shape[1]).astype(float)


def lowest_set_bit(column: Array) -> Array:
    """Exponent of the lowest set bit of each double: the precision of a sum betrays its terms (0 has none: -2000).

    >>> lowest_set_bit(np.array([1.0, 0.75, 0.0])).tolist()
    [0.0, -2.0, -2000.0]
    """
    finite = np.isfinite(column) & (column != 0.0)
    mantissa, exponent = np.frexp(np.where(finite, column, 1.0))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(finite, exponent - 53 + zeros, -2000.0)


def _exponent(column: Array) -> Array:
    finite = np.isfinite(column) & (column != 0.0)
    return np.where(finite, np.frexp(np.where(finite, column, 1.0))[1], -2000.0)


def _special(values: Array) -> Array:
    """How many NaN, infinities and negative zeros an output has, as one number."""
    negative_zero = (values == 0.0) & np.signbit(values)
    counts = [np.sum(mark, axis=1) for mark in (np.isnan(values), np.isinf(values), negative_zero)]
    return (counts[0] + 1e4 * counts[1] + 1e8 * counts[2]).astype(float)
