"""Sums over the records of each person, clipped as a whole: exact, wherever the chunks of records end."""

from collections.abc import Iterable, Iterator

import numpy as np

from privet._numerics import Array
from privet.learn.problem.lengths import squared_lengths

MOST_ROWS = 2**13  # of one person: what as many records add together is below 2^62
LARGEST = 2**49  # what one entry of one record may add
_BELOW = 1.0 - 2.0**-30  # far below what rounding adds to a length


def sums_of_persons(parts: Iterable[tuple[Array, Array]]) -> Iterator[Array]:
    """The sums of each person, some persons at a time, of blocks with the numbers of persons and what each record adds
    (whole numbers). Records of a person stand together; where a block ends among them, the person is held until the next
    one. Not releasable.

    >>> blocks = [(np.array([1, 1, 2]), np.array([[1], [2], [5]])), (np.array([2, 3]), np.array([[6], [7]]))]
    >>> np.concatenate(list(sums_of_persons(blocks))).tolist()
    [[3], [11], [7]]
    """
    last: float | None = None
    held = np.zeros(0, dtype=np.int64)
    for persons, values in parts:
        if not len(persons):
            continue
        starts = np.flatnonzero(np.concatenate([[True], persons[1:] != persons[:-1]]))
        sums = np.add.reduceat(values, starts, axis=0)
        if last is not None and persons[0] == last:
            sums[0] += held
        elif last is not None:
            yield held[None]
        last, held = persons[-1], sums[-1]
        yield sums[:-1]
    if last is not None:
        yield held[None]


def clipped_sums(sums: Array, longest: float) -> Array:
    """None longer than `longest`: a longer one is shortened and rounded towards zero, others stay as they are.

    >>> clipped_sums(np.array([[3, 4], [300, 400]]), 100.0).tolist()
    [[3, 4], [59, 79]]
    """
    values = np.ascontiguousarray(sums, dtype=np.float64)
    lengths = np.sqrt(squared_lengths(values))
    with np.errstate(divide="ignore"):
        shares = longest * _BELOW / lengths
    return np.where(
        (shares >= 1.0)[:, None], sums, np.trunc(values * np.minimum(shares, 1.0)[:, None]).astype(np.int64)
    )
