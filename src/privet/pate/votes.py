"""The votes of teachers: how many of them chose each class, for every query."""

from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._private import Private
from privet._validate import count
from privet.errors import InvalidData, InvalidParameter, SerialisationError

_MOST = 2**31 - 1  # counts are kept in 32 bits
_SHAPE = "votes are a table of whole numbers: a row for each query, a column for each of two classes or more"
_SUM = (
    "every teacher votes once in every query: a row must add up to the number of teachers, and hold no negative number"
)


@door
@final
class Votes:
    """Counts of votes, a row for each query and a column for each class: private, until an aggregator is paid for.

    They show nothing, have no pickle and no JSON form. How many queries, classes and teachers there are is public, and
    every row adds up to the number of teachers, for a teacher that fails votes for a public class.

    `adaptive` says that later queries were chosen after earlier answers had been seen: sums of data-dependent costs are no
    bound then, and such figures are refused.

    >>> votes = Votes([[3, 0], [2, 1]], teachers=3)
    >>> votes
    <private votes: 2 queries, 2 classes, 3 teachers>
    """

    __slots__ = ("__weakref__", "_held", "adaptive", "classes", "queries", "teachers")

    def __init__(self, counts: Any, *, teachers: int, adaptive: bool = False) -> None:
        try:
            held = np.asarray(counts)
        except ValueError:  # rows of several lengths
            raise InvalidData(_SHAPE) from None
        if held.ndim != 2 or held.shape[1] < 2 or held.dtype.kind not in "iu":
            raise InvalidData(_SHAPE)
        self.teachers = count("teachers", teachers, 1)
        if self.teachers > _MOST:
            raise InvalidParameter(f"teachers must be at most {_MOST:,}")
        # the same for every neighbour: a person moves votes of one teacher, who still votes once
        if held.size and (held.min() < 0 or held.max() > self.teachers or np.any(held.sum(axis=1) != self.teachers)):
            raise InvalidData(_SUM)
        held = held.astype(np.int32)
        held.setflags(write=False)
        self._held, self.adaptive = Private(held), bool(adaptive)
        self.queries, self.classes = int(held.shape[0]), int(held.shape[1])

    @property
    def exact_counts(self) -> Array:
        """The counts, unprotected: for the custodian's eyes, not releasable."""
        return self._held.exact_value

    def exact_content(self) -> list[list[int]]:
        """Everything, for tests that tell two made-up inputs apart; not releasable."""
        return [list(row) for row in self.exact_counts.tolist()]

    def exact_part(self, rows: Any) -> "Votes":
        """The votes in some of the queries: as private as all of them."""
        return Votes(self.exact_counts[rows], teachers=self.teachers, adaptive=self.adaptive)

    def __repr__(self) -> str:
        return f"<private votes: {self.queries} queries, {self.classes} classes, {self.teachers} teachers>"

    def __reduce_ex__(self, protocol: object) -> Any:
        raise SerialisationError("votes are private and are not pickled, stored or sent: release labels from them")
