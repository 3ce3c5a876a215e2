"""Features of numbers that an observer may look at: their bits, their size, their signs, how they are spread."""

import numpy as np

from privet._numerics import Array

_ODD = 2 * np.random.default_rng(0).integers(0, 2**62, size=1 << 14, dtype=np.int64) + 1  # fixed: part of a feature


def lowest_set_bit(column: Array) -> Array:
    """Exponent of the lowest set bit of each double: the precision of a sum betrays its terms (0 has none: -2000).

    >>> lowest_set_bit(np.array([1.0, 0.75, 0.0])).tolist()
    [0.0, -2.0, -2000.0]
    """
    finite = np.isfinite(column) & (column != 0.0)
    mantissa, power = np.frexp(np.where(finite, column, 1.0))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(finite, power - 53 + zeros, -2000.0)


def exponent(column: Array) -> Array:
    """The binary order of magnitude of each double (0 has none: -2000).

    >>> exponent(np.array([1.0, 6.0])).tolist()
    [1.0, 3.0]
    """
    finite = np.isfinite(column) & (column != 0.0)
    return np.where(finite, np.frexp(np.where(finite, column, 1.0))[1], -2000.0)


def special(values: Array, there: Array) -> Array:
    """The number of NaN, infinities and negative zeros in an output, as one number; `there` tells numbers from padding.

    >>> special(np.array([[1.0, np.nan, -0.0]]), np.array([[True, True, True]])).tolist()
    [100000001.0]
    """
    negative_zero = (values == 0.0) & np.signbit(values)
    counts = [np.sum(mark & there, axis=1) for mark in (np.isnan(values), np.isinf(values), negative_zero)]
    return (counts[0] + 1e4 * counts[1] + 1e8 * counts[2]).astype(float)


def first_true(values: Array, lengths: Array) -> Array:
    """The place of the first positive number; one beyond the last of its output when there is none.

    >>> first_true(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([2, 2])).tolist()
    [1.0, 2.0]
    """
    if not values.shape[1]:
        return lengths.astype(float)
    with np.errstate(invalid="ignore"):
        positive = values > 0.0
    return np.where(positive.any(axis=1), np.argmax(positive, axis=1), lengths).astype(float)


def row_marks(values: Array, lengths: Array) -> Array:
    """One number for the bits of a whole row: equal rows have equal marks, and different ones hardly ever.

    >>> marks = row_marks(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), np.array([2, 2, 2]))
    >>> marks[0] == marks[1], marks[0] == marks[2]
    (np.True_, np.False_)
    """
    bits = np.ascontiguousarray(values[:, : len(_ODD)]).view(np.int64)
    there = np.arange(bits.shape[1]) < lengths[:, None]
    bits = np.where(there, bits ^ (bits >> 31), 0)
    with np.errstate(over="ignore"):
        total = bits @ _ODD[: bits.shape[1]] + lengths.astype(np.int64) * _ODD[-1]
        total = (total ^ (total >> 29)) * _ODD[-2]
    return (total.view(np.uint64) >> np.uint64(12)).astype(float)
