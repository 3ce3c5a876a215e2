"""A keyed mix of numbers that is the same on every engine: it decides which groups and rows of a person are kept.

z -> z^5 modulo 2^31 - 1 is a permutation, and every product stays below 2^62: no engine can overflow, and none of its
own hash or random functions, which differ, is used. The salt is drawn afresh for every query. Privacy rests on none of
this: what is kept of a person depends on that person's rows and on the salt alone.
"""

from privet._numerics import Array

P = 2**31 - 1  # a prime: numbers are mixed modulo P
LIMIT = 2**60  # numbers from here on, and negative ones, go through their text
MISSING = LIMIT - 1  # the number that stands for a missing value
FOLD = 1_000_003  # the base in which several numbers become one, modulo P; any other that P does not divide would do


def fifth_power(z: Array) -> Array:
    """z^5 modulo 2^31 - 1.

    >>> import numpy as np
    >>> fifth_power(np.array([2, 3, P - 1, 123456789])).tolist()
    [32, 243, 2147483646, 1949744752]
    """
    square = z * z % P
    return square * square % P * z % P


def turn_of(salts: tuple[int, ...]) -> int:
    """A factor from 1 to P - 1, by which numbers modulo P are brought into another order.

    >>> turn_of((1, 0, 3, 4, 5)), turn_of((1, P - 1, 3, 4, 5))
    (1, 1)
    """
    return salts[1] % (P - 1) + 1
