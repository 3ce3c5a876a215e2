"""Many coins at once: a float comparison with a proven margin, and the exact one for the few that it cannot decide.

A coin is True if a uniform number U is below its probability. `exact` encloses that probability (`enclosure`), so that bits
of U are added until the answer is certain.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._numerics import Array
from privet.noise.entropy import Stream
from privet.noise.families.enclosure import Enclosure
from privet.noise.families.refined import Refined

Bools = NDArray[np.bool_]

TO_UNIT = 2.0**-64  # a word of 64 bits as a point of [0, 1]
LARGEST_EXPONENT = 800.0  # exp(-800) is 0 in doubles, and far smaller than any margin


def fair_bits(stream: Stream, count: int) -> Bools:
    """Fair coins, 64 from every word.

    >>> from privet.noise import Seeded
    >>> fair_bits(Seeded(1).stream(), 100).shape
    (100,)
    """
    octets = stream.words(-(-count // 64)).view(np.uint8)
    return np.unpackbits(octets, count=count).view(np.bool_)


def short_words(stream: Stream, count: int, width: int) -> NDArray[Any]:
    """Unsigned integers of 8, 16, 32 or 64 fair bits, as many from a word as fit.

    >>> from privet.noise import Seeded
    >>> short_words(Seeded(1).stream(), 5, 16).dtype
    dtype('uint16')
    """
    return stream.words(-(-count * width // 64)).view(f"<u{width // 8}")[:count]


def flip(stream: Stream, count: int, probability: Enclosure) -> Bools:
    """Coins of one probability: 16 bits of U decide all but about one in 65,536, then 64, then as many as it takes.

    >>> from privet.noise import Seeded
    >>> flip(Seeded(1).stream(), 3, lambda bits: (1 << bits, 1 << bits)).tolist()
    [True, True, True]
    """
    lo, hi = probability(64)
    below, above = lo >> 48, hi + 2**48 - 1 >> 48  # the probability in units of 2^-16: rounded down, rounded up
    prefix = short_words(stream, count, 16)
    heads = prefix < below
    near = np.flatnonzero((prefix >= below) & (prefix < above))
    for place, tail in zip(near.tolist(), stream.words(len(near)).tolist(), strict=True):
        word = int(prefix[place]) << 48 | tail >> 16  # the 16 bits, and 48 fresh ones after them
        heads[place] = Refined(stream, word, 64).below(probability)
    return heads


def accept_one(stream: Stream, x: float, exact: Enclosure) -> bool:
    """One coin with Pr[True] = exp(-x), for an x that is off by at most 2^-44 (1 + x); `exact` encloses the exact one.

    >>> from privet.noise import Seeded
    >>> accept_one(Seeded(1).stream(), 0.0, lambda bits: (1 << bits, 1 << bits))
    True
    """
    chance = math.exp(-min(x, LARGEST_EXPONENT))
    # the margin: four times what x is off by, which leaves room for rounding exp, and the rounding of a word to a double
    return compare_one(stream, chance, chance * 2.0**-42 * (1.0 + x) + 2.0**-52, exact)


def compare_one(stream: Stream, chance: float, margin: float, exact: Enclosure) -> bool:
    """One coin of a probability that `exact` encloses, and that lies within `margin` (at least 2^-52) of `chance`.

    >>> from privet.noise import Seeded
    >>> compare_one(Seeded(1).stream(), 1.0, 0.25, lambda bits: (1 << bits, 1 << bits))
    True
    """
    word = stream.word()
    point = word * TO_UNIT
    if point < chance - margin:
        return True
    if point > chance + margin:
        return False
    return Refined(stream, word, 64).below(exact)


def compare(stream: Stream, chance: Array, margin: Array, exact: Callable[[int], Enclosure]) -> Bools:
    """Coins of many probabilities: each lies within `margin` of `chance`; `exact(i)` encloses the i-th.

    The margin must also cover 2^-52, for the rounding of a word to a double.

    >>> from privet.noise import Seeded
    >>> compare(Seeded(1).stream(), np.ones(2), np.full(2, 0.25), lambda i: lambda bits: (1 << bits, 1 << bits))
    array([ True,  True])
    """
    words = stream.words(len(chance))
    points = words * TO_UNIT
    heads = points < chance - margin
    for place in np.flatnonzero(~heads & ~(points > chance + margin)).tolist():
        heads[place] = Refined(stream, int(words[place]), 64).below(exact(place))
    return heads


def accept(stream: Stream, x: Array, exact: Callable[[int], Enclosure]) -> Bools:
    """Coins with Pr[True] = exp(-x), for x >= 0 that are off by at most 2^-44 (1 + x); `exact(i)` encloses the i-th.

    >>> from privet.noise import Seeded
    >>> from privet.noise.families.enclosure import exp_neg
    >>> accept(Seeded(1).stream(), np.zeros(3), lambda i: lambda bits: exp_neg(0, 1, bits)).tolist()
    [True, True, True]
    """
    halves = short_words(stream, len(x), 32)
    # exp(-x) >= 1 - x: where U is below 1 - x, 32 bits and no exponential are enough. 2^-31 is for the bits that were not
    # drawn, at most 2^-32, and as much again for rounding and for what x is off by.
    heads = halves * 2.0**-32 < (1.0 - 2.0**-31) - x
    undecided = np.flatnonzero(~heads)
    words = halves[undecided].astype(np.uint64) << np.uint64(32) | short_words(stream, len(undecided), 32)
    x, points = np.minimum(x[undecided], LARGEST_EXPONENT), words * TO_UNIT
    chance = np.exp(-x)
    margin = chance * (2.0**-42 * (1.0 + x)) + 2.0**-52
    decided = points < chance - margin
    for place in np.flatnonzero(np.abs(points - chance) <= margin).tolist():
        decided[place] = Refined(stream, int(words[place]), 64).below(exact(int(undecided[place])))
    heads[undecided] = decided
    return heads
