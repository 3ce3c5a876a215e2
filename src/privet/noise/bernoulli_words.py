"""Coins of one probability, 64 to a word."""

from fractions import Fraction

import numpy as np

from privet.noise.draw import Draws, draw
from privet.noise.entropy import Source, Stream, Words
from privet.noise.parameters import Size, probability

_FULL = 6  # digits that nearly every word needs; from then on only words with undecided coins are looked at
_ALL = np.uint64(2**64 - 1)  # every coin of a word


def bernoulli_words(*, p: int | float | Fraction, size: Size = None, source: Source | None = None) -> Draws:
    """Words of 64 coins that show 1 with probability p, for rational p; a float is the rational it stands for.

    All 64 coins of a word are compared with p at once, digit by digit from the top: one random word is the next digit
    of 64 uniform numbers, and a coin is decided where its digit differs from that of p. Eight random words do for most.

    **Guarantee:** each bit is 1 with probability p exactly, and all are independent.
    **Reference:** proof note noise/bernoulli_words.

    >>> bernoulli_words(p=1), bernoulli_words(p=0, size=2).tolist()
    (18446744073709551615, [0, 0])
    """
    num, den = probability("p", p).as_integer_ratio()
    return draw(
        lambda stream: int(words_of(stream, 1, num, den)[0]),
        lambda stream, count: words_of(stream, count, num, den),
        size,
        source,
        np.uint64,
    )


def words_of(stream: Stream, count: int, num: int, den: int) -> Words:
    """`count` words of coins with probability num/den.

    >>> from privet.noise import Seeded
    >>> words_of(Seeded(1).stream(), 2, 1, 2).shape
    (2,)
    """
    if num == den:
        return np.full(count, _ALL)
    heads, undecided, place, rest, digits = np.zeros(count, np.uint64), np.full(count, _ALL), None, num, 0
    while rest and len(undecided):  # once the digits of p end, a number that has agreed so far is not below p
        rest *= 2
        drawn = stream.words(len(undecided))
        if rest >= den:
            rest -= den
            decided = undecided & ~drawn
            if place is None:
                heads |= decided
            else:
                heads[place] |= decided
            undecided = undecided & drawn
        else:
            undecided = undecided & ~drawn
        digits += 1
        if digits >= _FULL:
            keep = np.flatnonzero(undecided)
            undecided, place = undecided[keep], keep if place is None else place[keep]
    return heads
