"""Public hash functions: multiply, add, shift. The same on every platform and in every version."""

from typing import Any

import numpy as np

from privet._numerics import Array

_HALF = np.uint64(32)
_STEP = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, the increment of splitmix64


def hashed(values: Array, a: Any, b: Any, cells: int) -> Array:
    """((a x + b mod 2^64) >> 32) cells >> 32: for even a and b of 64 bits, pairwise independent on x < 2^32.

    Both a and b are needed: without b, 0 always falls into cell 0 and small values collide too often.

    >>> hashed(np.array([1, 2], dtype=np.uint64), np.uint64(2**63), np.uint64(0), 4).tolist()
    [2, 0]
    """
    mixed = values.astype(np.uint64) * a + b
    return (mixed >> _HALF) * np.uint64(cells) >> _HALF


def pool(seed: int, count: int) -> tuple[Array, Array]:
    """`count` public pairs (a, b) from a public seed: a fixed sequence of well mixed words (Steele, Lea & Flood 2014).

    >>> [int(word) for word in np.concatenate(pool(0, 1))]
    [16294208416658607535, 7960286522194355700]
    """
    z = np.uint64(seed % 2**64) + np.uint64(_STEP) * np.arange(1, 2 * count + 1, dtype=np.uint64)  # modulo 2^64
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z[0::2], z[1::2]


def parity(a: Any, b: Any) -> Array:
    """True if a and b have an odd number of ones in common: the sign of an entry of the Hadamard matrix.

    >>> parity(np.array([1, 3]), np.array([1, 3])).tolist()
    [1, 0]
    """
    return np.bitwise_count(a & b) & 1


def walsh(table: Array) -> Array:
    """The Walsh-Hadamard transform along the last axis, in whole numbers: sum over y of (-1)^parity(v, y) table[y].

    >>> walsh(np.array([1, 2, 3, 4])).tolist()
    [10, -2, -4, 0]
    """
    out, half = table.astype(np.int64), 1
    size = table.shape[-1]
    while half < size:
        pairs = out.reshape(*table.shape[:-1], size // (2 * half), 2, half)
        out = np.stack((pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]), axis=-2)
        out, half = out.reshape(table.shape), 2 * half
    return out


def third_collisions(shares: Array, cells: int) -> Array:
    """For each pair u, v: the sum over other values x, by their shares, of Pr[u, v and x share a cell] - 1/cells^2.

    A hash is t + a x on a circle, t and a even there, so only the ratio p : q of u - x and v - x in lowest terms counts.
    Fourier series of the cell leave sums of sines over cubes, which are Bernoulli polynomials.

    >>> third_collisions(np.array([0.0, 1.0, 0.0]), 8).round(6)[0].tolist()  # 1/(2 cells) - 1/cells^2 around the middle
    [0.0, 0.0, 0.046875]
    """
    k = len(shares)
    t = np.arange(cells) / cells
    third = t**3 - 1.5 * t**2 + 0.5 * t
    found, size = np.zeros((k, k)), 1 << (3 * k).bit_length()
    spectrum, first = np.fft.rfft(shares, size), np.arange(1 - k, k)  # u - x
    for gap in range(1, k):  # v - u
        both = first * (first + gap) != 0
        common = np.gcd(first, gap)
        p, q = first // common, (first + gap) // common
        rise = third[p % cells] + third[(q - p) % cells] - third[q % cells]
        excess = np.where(both, cells / 3.0 * rise / np.where(both, p * q * (q - p), 1), 0.0)
        along = np.fft.irfft(spectrum * np.fft.rfft(excess, size), size)[k - 1 : 2 * k - 1 - gap]
        place = np.arange(k - gap)
        found[place, place + gap] = found[place + gap, place] = along
    return found
