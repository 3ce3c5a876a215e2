"""Reports of many bits, packed into words of 64: their sums, their validity, their order."""

from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter

_BLOCK = 2048  # rows that are added together in the cache
_LISTED = 16  # bits of which all patterns are listed


def words_for(bits: int) -> int:
    """The number of words that hold so many bits.

    >>> words_for(64), words_for(65)
    (1, 2)
    """
    return -(-bits // 64)


def widths_of(bits: int) -> tuple[int, ...]:
    """The bits in each word.

    >>> widths_of(70)
    (64, 6)
    """
    return (64,) * (bits // 64) + ((bits % 64,) if bits % 64 else ())


def cut(words: Array, bits: int) -> Array:
    """The words with everything beyond the last bit set to zero, in place.

    >>> cut(np.array([[255]], dtype=np.uint64), 3).tolist()
    [[7]]
    """
    if bits % 64:
        words[..., -1] &= np.uint64(2 ** (bits % 64) - 1)
    return words


def put(words: Array, place: Array, value: Array) -> None:
    """Set the bit at each row's place to its value, in place.

    >>> rows = np.array([[0], [15]], dtype=np.uint64)
    >>> put(rows, np.array([2, 1]), np.array([True, False]))
    >>> rows.tolist()
    [[4], [13]]
    """
    row, word = np.arange(len(words)), place >> 6
    bit = np.uint64(1) << (place & 63).astype(np.uint64)
    words[row, word] = np.where(value, words[row, word] | bit, words[row, word] & ~bit)


def packed(bits: Array) -> Array:
    """Rows of yes and no as words, the first bit lowest.

    >>> packed(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    count = bits.shape[1]
    octets = np.packbits(bits, axis=1, bitorder="little")
    whole = np.zeros((len(bits), 8 * words_for(count)), dtype=np.uint8)
    whole[:, : octets.shape[1]] = octets
    return whole.view("<u8").astype(np.uint64)


def unpacked(words: Array, bits: int) -> Array:
    """Rows of words as rows of 0 and 1.

    >>> unpacked(np.array([[5]], dtype=np.uint64), 3).tolist()
    [[1, 0, 1]]
    """
    octets = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :bits]


def in_range(words: Array, bits: int) -> Array:
    """Which rows have no bit beyond the last one.

    >>> in_range(np.array([[7], [8]], dtype=np.uint64), 3).tolist()
    [True, False]
    """
    last = words[:, -1].astype(np.uint64)
    return last >> np.uint64(bits % 64) == 0 if bits % 64 else np.ones(len(words), dtype=bool)


def bit_sums(words: Array, bits: int) -> Array:
    """The number of rows that have each bit: three words become a sum and a carry, until few are left of every weight.

    >>> bit_sums(np.array([[5], [4], [7]], dtype=np.uint64), 3).tolist()
    [2, 1, 3]
    """
    totals = np.zeros(bits, dtype=np.int64)
    for start in range(0, len(words), _BLOCK):
        level, weight = np.ascontiguousarray(words[start : start + _BLOCK], dtype=np.uint64), 1
        while len(level):
            carries = []
            while len(level) > 2:
                third = len(level) // 3
                a, b, c = level[:third], level[third : 2 * third], level[2 * third : 3 * third]
                odd = a ^ b
                carries.append((a & b) | (odd & c))
                level = np.concatenate([odd ^ c, level[3 * third :]])
            totals += weight * unpacked(level, bits).sum(axis=0, dtype=np.int64)
            level, weight = np.concatenate(carries) if carries else level[:0], 2 * weight
    return totals


def patterns(bits: int) -> Array:
    """All rows of so many bits, in counting order; refused where there are too many to list.

    >>> patterns(2).tolist()
    [[0], [1], [2], [3]]
    """
    if bits > _LISTED:
        raise InvalidParameter(f"a channel over more than {_LISTED} bits is not listed outcome by outcome")
    return np.arange(2**bits, dtype=np.uint64).reshape(-1, 1)


def product_law(chances: list[Any], bits: int) -> tuple[Any, ...]:
    """The law of all patterns when bit i is 1 with chances[i], independently.

    >>> from fractions import Fraction
    >>> product_law([Fraction(1, 2), Fraction(1, 4)], 2)
    (Fraction(3, 8), Fraction(3, 8), Fraction(1, 8), Fraction(1, 8))
    """
    law: list[Any] = [1]
    for chance in chances[:bits]:
        law = [each * (1 - chance) for each in law] + [each * chance for each in law]
    return tuple(law)
