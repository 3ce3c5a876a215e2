"""Pairs of neighbouring inputs to try, for the relation that the claim speaks about."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import Relation

__all__ = ["BOUNDARY_VALUES", "Neighbours", "Numbers", "Pairs", "Tables"]

BOUNDARY_VALUES: tuple[float, ...] = (
    0.0, -0.0, 5e-324, 2.2e-308, 1.0, -1.0, 0.5, 1e-3, 2.0**24, 2.0**50, 2.0**53, 1e9, -1e9,
)  # fmt: skip


class Neighbours(ABC):
    """Base of the families of input pairs."""

    @abstractmethod
    def pairs(self, relation: Relation) -> Iterator[tuple[Any, Any]]:
        """Pairs (left, right) that are neighbours under the relation."""


@dataclass(frozen=True, eq=False)
class Pairs(Neighbours):
    """Pairs given by hand. Say which relation they are neighbours under, and a claim about another one is refused.

    >>> list(Pairs([(0, 1)], relation="add_remove").pairs("add_remove"))
    [(0, 1)]
    """

    given: Sequence[tuple[Any, Any]]
    relation: Relation | None = None

    def pairs(self, relation: Relation) -> Iterator[tuple[Any, Any]]:
        if self.relation not in (None, relation):
            raise MixedUnits(
                f"these pairs are neighbours under {self.relation}, the claim speaks of {relation}; "
                "give pairs of the claim's relation, or convert the claim (privacy.to_replace, privacy.Grouped)"
            )
        yield from self.given


@dataclass(frozen=True, eq=False)
class Numbers(Neighbours):
    """Answers at a distance of exactly the sensitivity: boundary values, and random ones in the bounds.

    >>> next(Numbers(sensitivity=1.0).pairs("add_remove"))
    (0.0, 1.0)
    """

    sensitivity: float
    bounds: tuple[float, float] | None = None
    extra: Sequence[float] = field(default=())

    def pairs(self, relation: Relation) -> Iterator[tuple[Any, Any]]:
        centres = [*BOUNDARY_VALUES, *self.extra, *(self.bounds or ())]
        for centre in centres:
            for right in (centre + self.sensitivity, centre - self.sensitivity):
                # far from zero the sum rounds: keep only pairs that are no further apart than promised
                if 0.0 < abs(right - centre) <= self.sensitivity and self._inside(centre, right):
                    yield centre, right

    def _inside(self, *values: float) -> bool:
        return self.bounds is None or all(self.bounds[0] <= value <= self.bounds[1] for value in values)


@dataclass(frozen=True, eq=False)
class Tables(Neighbours):
    """Small tables over a finite list of records: all multisets up to `rows` rows, one record added or exchanged.

    >>> list(Tables([0, 1], rows=1).pairs("add_remove"))
    [([], [0]), ([], [1])]
    """

    records: Sequence[Any]
    rows: int = 3

    def pairs(self, relation: Relation) -> Iterator[tuple[Any, Any]]:
        if relation == "zero_out":
            raise InvalidParameter("zero_out pairs need the public null record: give them by hand with Pairs")
        for rest in range(self.rows):
            for base in itertools.combinations_with_replacement(self.records, rest):
                if relation == "add_remove":
                    yield from ((list(base), [*base, new]) for new in self.records)
                else:
                    swaps = itertools.combinations(self.records, 2)
                    yield from (([*base, old], [*base, new]) for old, new in swaps)
