"""A uniform number on [0, 1) of which only as many bits are drawn as the question needs."""

from collections.abc import Callable
from typing import final

from privet.noise.entropy import Stream
from privet.noise.families.enclosure import Enclosure


@final
class Refined:
    """U in [value, value + 1) / 2^length, grown when a comparison cannot be decided.

    **Guarantee:** every answer is the answer for one real uniform number, to which all bits belong; no truncation.

    >>> from privet.noise import Seeded
    >>> u = Refined(Seeded(1).stream(), value=5, length=3)  # U in [5/8, 6/8)
    >>> u.below(lambda bits: (3 << bits - 2, 3 << bits - 2)), u.below(lambda bits: (1 << bits - 1, 1 << bits - 1))
    (True, False)
    """

    __slots__ = ("length", "stream", "value")

    def __init__(self, stream: Stream, value: int = 0, length: int = 0) -> None:
        self.stream, self.value, self.length = stream, value, length

    def grow(self, bits: int = 64) -> None:
        """Append fresh bits."""
        self.value = self.value << bits | self.stream.bits(bits)
        self.length += bits

    def below(self, real: Enclosure) -> bool:
        """True if U < x, for x given by enclosures."""
        while True:
            lo, hi = real(self.length)
            if self.value + 1 <= lo:
                return True
            if self.value >= hi:
                return False
            self.grow()


def least(holds: Callable[[int], bool], guess: int) -> int:
    """The least k for which a monotone condition holds; quick when the guess is near.

    >>> least(lambda k: k * k * k >= 1000, guess=3)
    10
    """
    step = 1
    if holds(guess):
        inside, outside = guess, guess - 1
        while holds(outside):
            inside, step = outside, 2 * step
            outside -= step
    else:
        inside, outside = guess + 1, guess
        while not holds(inside):
            outside, step = inside, 2 * step
            inside += step
    while inside - outside > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def invert(u: Refined, cdf: Callable[[int, int], tuple[int, int]], guess: int) -> int:
    """The least k with U < F(k), where cdf(k, bits) encloses 2^bits F(k).

    >>> from privet.noise import Seeded
    >>> u = Refined(Seeded(1).stream(), value=5, length=3)
    >>> invert(u, lambda k, bits: (min(k, 8) << bits - 3, min(k, 8) << bits - 3), guess=1)  # F(k) = k/8
    6
    """
    return least(lambda k: u.below(lambda bits: cdf(k, bits)), guess)
