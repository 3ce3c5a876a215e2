"""Populations without people: counts of reports drawn from the law that the reports of so many people would have."""

from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.local.families.frequency import FrequencyProtocol, people_of
from privet.local.state import State
from privet.mechanisms import Source

_HALF = Fraction(1, 2)
_PIECE = 1 << 20  # people who are drawn at a time
_SINGLE = 2**32  # people who are drawn one by one at most


def spread(total: int, cells: int, source: Source) -> Array:
    """`total` balls thrown into so many cells, all alike: halves of halves, and what falls beyond is thrown again.

    >>> spread(10, 3, noise.Seeded(1)).sum()
    np.int64(10)
    """
    depth = max(cells - 1, 0).bit_length()
    found = np.zeros(cells, dtype=np.int64)
    while total:
        counts = np.array([total])
        for _ in range(depth):
            left = np.asarray(noise.binomial(n=counts, p=_HALF, source=source))
            counts = np.stack((left, counts - left), axis=1).reshape(-1)
        found += counts[:cells]
        total = int(counts[cells:].sum())
    return found


def keep_or_uniform(protocol: FrequencyProtocol, counts: Any, keep: Fraction, source: Source) -> State:
    """A state of randomized response: each person keeps the value with probability `keep`, else any value, all alike."""
    people = people_of(counts, protocol.size)
    kept = np.asarray(noise.binomial(n=people, p=keep, source=source))
    rest = int(people.sum() - kept.sum())
    return State(protocol).add_counts(kept + spread(rest, protocol.size, source), int(people.sum()))


def one_by_one(protocol: FrequencyProtocol, counts: Any, source: Source) -> State:
    """A state from the reports of single people, where values are tied together in a way that no short cut has."""
    people, state = people_of(counts, protocol.size), State(protocol)
    ends = np.cumsum(people)
    n = int(ends[-1])
    if n > _SINGLE:
        raise InvalidParameter(f"{type(protocol).__name__} draws one report for each person: at most 2^32 people")
    for start in range(0, n, _PIECE):
        values = np.searchsorted(ends, np.arange(start, min(start + _PIECE, n)), side="right")
        state.add(protocol._draw(values, 1, source)[0])
    return state


def two_binomials(protocol: FrequencyProtocol, counts: Any, source: Source) -> State:
    """A state of supports as if those of different values were independent: of those who hold a value, and of others."""
    people = people_of(counts, protocol.size)
    mine = np.asarray(noise.binomial(n=people, p=protocol.own, source=source))
    others = np.asarray(noise.binomial(n=people.sum() - people, p=protocol.other, source=source))
    return State(protocol).add_counts(mine + others, int(people.sum()))
