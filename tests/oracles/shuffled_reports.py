"""Shuffled reports from the definition: every data set, every outcome, as floats or as fractions. For a few people."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

Channel = Sequence[Sequence[Any]]


def shuffled_law(channel: Channel, people: Sequence[int]) -> Counter[tuple[int, ...]]:
    """The law of the reports without their order: outcome by outcome, each person's report independent of the others'.

    >>> from fractions import Fraction
    >>> coin = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))
    >>> shuffled_law(coin, (0, 1))[(0, 1)]
    Fraction(5, 8)
    """
    found: Counter[tuple[int, ...]] = Counter()
    for reports in itertools.product(range(len(channel[0])), repeat=len(people)):
        found[tuple(sorted(reports))] += math.prod(channel[x][y] for x, y in zip(people, reports, strict=True))
    return found


def neighbours(inputs: int, n: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every two data sets of n people, up to order, of which one person's value differs."""
    for others in itertools.combinations_with_replacement(range(inputs), n - 1):
        for x, y in itertools.permutations(range(inputs), 2):
            yield (x, *others), (y, *others)


def shuffled_delta(channel: Channel, n: int, gamma: Any) -> Any:
    """The largest hockey stick of order gamma over all neighbours."""
    return max(
        sum(max(p - gamma * other[reports], 0) for reports, p in shuffled_law(channel, one).items())
        for one, other in ((left, shuffled_law(channel, right)) for left, right in neighbours(len(channel), n))
    )


def k_rr(k: int, e0: Any) -> Channel:
    """The channel of k-ary randomized response with truth e0 times as likely as each lie."""
    total = e0 + k - 1
    return [[e0 / total if x == y else 1 / total for y in range(k)] for x in range(k)]
