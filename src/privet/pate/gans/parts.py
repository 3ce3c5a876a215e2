"""Private points in disjoint parts, each person's by a keyed hash of what that person's rows hold."""

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
    """The points of each part: not releasable.

    Persons who hold the same are numbered, so that their parts differ: one more of them gets the next number, and all
    others stay where they are, in an order that does not depend on that of the table. So one person who comes or goes
    changes one part, and one who is replaced changes two.

    **Proof:** docs/proofs/pate/pate_gan.md.

    >>> from privet.pate.gans.task import units_of
    >>> units = units_of(np.zeros((3, 1), np.float32), np.zeros(3, np.int64), np.arange(3))
    >>> exact_parts(units, b"key", 2).starts.tolist()[-1]
    3
    """
    names = _names(units, key)
    part_of = KeyedPartition(parts, key).assign(np.array(names, dtype=object)) if names else np.zeros(0, dtype=np.int64)
    assigned = part_of[units.owners]
    rows = [point.tobytes() for point in units.points]
    order = sorted(
        range(len(rows)), key=lambda i: (assigned[i], names[units.owners[i]], rows[i], int(units.classes[i]))
    )
    chosen = np.array(order, dtype=np.int64)
    starts = np.searchsorted(assigned[chosen], np.arange(parts + 1))
    return Parts(units.points[chosen], units.classes[chosen], starts)


def _names(units: Units, key: bytes) -> list[bytes]:
    """A name for each person: what that person holds, and the number among those who hold the same."""
    seen: Counter[bytes] = Counter()
    names = []
    for content in units.contents:
        told = content + seen[content].to_bytes(8, "little")
        seen[content] += 1
        names.append(hashlib.blake2b(told, key=key, digest_size=16, person=b"part").digest())
    return names
