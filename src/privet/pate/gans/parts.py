"""Private points in disjoint parts: a keyed hash of all that a person's rows hold says which part they are in."""

import hashlib
from collections import Counter
from typing import NamedTuple

import numpy as np

from privet._numerics import Array
from privet.pate.gans.task import Units
from privet.pate.partition import KeyedPartition


class Parts(NamedTuple):
    """Points in the order of their parts; part i begins at `starts[i]` and ends where the next one begins."""

    points: Array
    classes: Array
    starts: Array


def exact_parts(units: Units, key: bytes, parts: int) -> Parts:
    """The points of each part, those of one person all in one part: not releasable.

    The part depends on the key and on what the person holds, not on the order of the table. Persons who hold exactly the
    same are numbered 0, 1, 2, ..., and the number is hashed too, so that they are spread over the parts. If one of them
    goes, the highest number is missing and all other persons stay where they are. So one person who comes or goes changes
    one part, and one who is replaced changes two.

    **Proof:** docs/proofs/pate/pate_gan.md.

    >>> from privet.pate.gans.task import units_of
    >>> units = units_of(np.zeros((3, 1), np.float32), np.zeros(3, np.int64), np.arange(3))
    >>> exact_parts(units, b"key", 2).starts.tolist()[-1]
    3
    """
    names = _names(units, key)
    part_of = KeyedPartition(parts, key).assign(np.array(names, dtype=object)) if names else np.zeros(0, dtype=np.int64)
    assigned = part_of[units.owners]
    # Inside a part, too, points stand in an order of their own: the place of one tells nothing about the table.
    rows = [point.tobytes() for point in units.points]
    order = sorted(
        range(len(rows)), key=lambda i: (assigned[i], names[units.owners[i]], rows[i], int(units.classes[i]))
    )
    chosen = np.array(order, dtype=np.int64)
    starts = np.searchsorted(assigned[chosen], np.arange(parts + 1))
    return Parts(units.points[chosen], units.classes[chosen], starts)


def _names(units: Units, key: bytes) -> list[bytes]:
    """A name for each person: a keyed hash of what that person holds and of the number among those who hold the same."""
    seen: Counter[bytes] = Counter()
    names = []
    for content in units.contents:
        numbered = content + seen[content].to_bytes(8, "little")
        seen[content] += 1
        # BLAKE2's `person` is no person: it says what the hash is for, so that other uses of the key give other names
        names.append(hashlib.blake2b(numbered, key=key, digest_size=16, person=b"part").digest())
    return names
