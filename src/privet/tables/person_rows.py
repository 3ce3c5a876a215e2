"""At most so many rows of each person, chosen by a keyed mix of what the rows hold."""

from collections.abc import Iterator

import numpy as np

from privet._numerics import Array
from privet.tables.bounded import Salts
from privet.tables.mix import P, fifth_power


def bounded_rows(blocks: Iterator[Array], most: int, salts: Salts) -> Iterator[Array]:
    """Blocks whose last column numbers persons, the rows of one standing together, with at most `most` rows of each: not
    releasable. Which rows are kept depends on those of the person and on the salts alone, not on where or in what order
    they stand. Of a person with more rows than a block only the best so far are remembered.

    >>> rows = np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 8.0]])
    >>> [len(block) for block in bounded_rows(iter([rows[:2], rows[2:]]), 2, (1, 2, 3, 4, 5))]
    [2, 1]
    """
    open_: Array | None = None  # the last person so far, who may go on in the next block
    for block in blocks:
        held = block if open_ is None else np.concatenate([open_, block])
        if not len(held):
            continue
        start = int(np.searchsorted(held[:, -1], held[-1, -1]))
        if start:
            yield _best(held[:start], most, salts)
        open_ = _best(held[start:], most, salts)
    if open_ is not None:
        yield open_


def _best(rows: Array, most: int, salts: Salts) -> Array:
    """At most `most` rows of each person: those that come first by their mix. Equal rows are as good as each other."""
    starts = np.flatnonzero(np.concatenate([[True], rows[1:, -1] != rows[:-1, -1]]))
    sizes = np.diff(np.append(starts, len(rows)))
    if not (sizes > most).any():
        return rows
    mixed = row_mix(rows[:, :-1], salts)
    order = np.lexsort((*rows[:, :-1].T, mixed, rows[:, -1]))
    places = np.arange(len(rows)) - np.repeat(starts, sizes)
    return np.asarray(rows[np.sort(order[places < most])])


def row_mix(rows: Array, salts: Salts) -> Array:
    """A number below 2^31 for each row, from the bits of its numbers and the salts.

    >>> a, b, again = row_mix(np.array([[0.5, 1.0], [1.0, 0.5], [0.5, 1.0]]), (1, 2, 3, 4, 5)).tolist()
    >>> a == again, a == b
    (True, False)
    """
    bits = np.where(np.isnan(rows), np.nan, rows + 0.0).view(np.uint64)  # one NaN, and -0.0 is 0.0
    mixed = np.full(len(rows), salts[0] % P, dtype=np.int64)
    for place, column in enumerate(bits.T):
        for part, shift in enumerate((0, 22, 44)):
            limb = ((column >> np.uint64(shift)) & np.uint64(2**22 - 1)).astype(np.int64)
            mixed = fifth_power((mixed + limb + salts[1 + (3 * place + part) % 4]) % P)
    return mixed
