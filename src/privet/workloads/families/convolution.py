"""Products of power series: of whole numbers exactly, of real numbers in doubles, and their inverses.

Fourier transforms of length N in doubles compute a product of two real sequences a and b with an error of at most about
13 log2(N) 2^-53 |a| |b| in each entry (Percival 2003). Whole numbers are cut into digits so short that this is below a
quarter, and rounding then gives the exact entry. How many digits there are follows from public bounds, never from the data.
"""

import math

import numpy as np

from privet._numerics import Array

_ERROR = 16.0 * 2.0**-53  # for each doubling of the length
_SURE = 0.25  # of an error before rounding to a whole number, where a half would do


def digit_bits(series: Array, terms: int) -> int:
    """The bits of a digit whose product with the series is computed without a doubt.

    >>> digit_bits(np.array([1, 1]), 2)
    44
    """
    length = math.sqrt(float(np.sum(np.asarray(series, dtype=float) ** 2)) * terms)
    room = _SURE / (_ERROR * (1 + math.ceil(math.log2(2 * terms))) * length)
    return max(1, math.floor(math.log2(room)))  # digits lie between plus and minus half of that: once more to be sure


def exact_product(series: Array, values: Array, most: int) -> Array:
    """The first coefficients of series times values, for whole numbers; `most` bounds the size of the values.

    Sums of digits wrap around together: the result is right if it fits 63 bits.

    >>> exact_product(np.array([3, 2, 1]), np.array([1, -1, 2**40]), 2**40).tolist()
    [3, -1, 3298534883327]
    """
    terms = len(values)
    bits = digit_bits(series[:terms], terms)
    length = 2 ** math.ceil(math.log2(2 * terms))
    known = np.fft.rfft(series[:terms].astype(float), length)
    total, rest = np.zeros(terms, dtype=np.int64), values.astype(np.int64)
    for place in range(0, most.bit_length() + 1, bits):
        low = ((rest + 2 ** (bits - 1)) & (2**bits - 1)) - 2 ** (bits - 1)  # between -2^(b-1) and 2^(b-1)
        rest = (rest - low) >> bits
        spectrum = np.fft.rfft(low.astype(float), length)
        spectrum *= known
        total += np.rint(np.fft.irfft(spectrum, length)[:terms]).astype(np.int64) << place
    return total


def real_product(series: Array, values: Array, terms: int) -> Array:
    """The first coefficients of a product in doubles.

    >>> real_product(np.array([1.0, 0.5]), np.array([2.0, 4.0]), 2).round(12).tolist()
    [2.0, 5.0]
    """
    from scipy.signal import fftconvolve

    return np.asarray(fftconvolve(series[:terms], values[:terms])[:terms])


def inverse_series(series: Array, terms: int) -> Array:
    """The first coefficients of 1 / series, by Newton's steps g - g (series g - 1): each doubles how many are right.

    >>> inverse_series(np.array([1.0, -0.5]), 4).round(12).tolist()
    [1.0, 0.5, 0.25, 0.125]
    """
    series = np.append(series, np.zeros(max(0, terms - len(series))))
    found = np.array([1.0 / series[0]])
    while len(found) < terms:
        more = min(2 * len(found), terms)
        rest = real_product(series, found, more)
        rest[0] -= 1.0
        found = np.append(found, np.zeros(more - len(found))) - real_product(found, rest, more)
    return found
