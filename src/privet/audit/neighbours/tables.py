"""Small tables: records added, removed or exchanged in any place, and whole people with all their rows."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from privet.audit.neighbours.family import Neighbours, several
from privet.errors import InvalidParameter
from privet.privacy import Relation

_NO_NULL = "zero_out pairs need the public null record: name it with null=..., or give them by hand with Pairs"
_MISSING = object()


@dataclass(frozen=True, eq=False)
class Tables(Neighbours):
    """Small tables over a finite list of records: all multisets up to `rows` rows, records added or exchanged.

    The change is at the end, in front, in the middle, and once with all rows in another order: a table is a multiset, and
    what depends on the order of its rows is seen. The empty table and tables of equal rows are among them. A group of k
    changes k records at once.

    >>> list(Tables([0, 1], rows=1).pairs("add_remove"))
    [([], [0]), ([], [1])]
    >>> ([0, 1], [0, 0, 1]) in Tables([0, 1]).pairs("add_remove")
    True
    """

    records: Sequence[Any]
    rows: int = 3
    null: Any = _MISSING
    any_order: bool = True

    def pairs(self, relation: Relation, *, group_size: int = 1) -> Iterator[tuple[Any, Any]]:
        if relation == "zero_out" and self.null is _MISSING:
            raise InvalidParameter(_NO_NULL)
        rows = several("rows", self.rows)
        for rest in range(rows):
            for base in itertools.combinations_with_replacement(self.records, rest):
                for old, new in self._changes(relation, group_size):
                    yield from _placed(list(base), list(old), list(new), self.any_order)

    def _changes(self, relation: Relation, size: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        groups = list(itertools.combinations_with_replacement(self.records, size))
        if relation == "add_remove":
            yield from (((), group) for group in groups)
        elif relation == "zero_out":
            yield from ((group, (self.null,) * size) for group in groups)
        else:
            yield from itertools.combinations(groups, 2)


@dataclass(frozen=True, eq=False)
class Persons(Neighbours):
    """Tables of people with several rows each; neighbours differ in all rows of one person (or of `group_size`).

    A row is (name, record), or the record with one more entry where records are dicts (`column` names it). Between the
    others' rows the person's rows stand together, apart, or in front. `most` rows a person is public; beyond it nothing
    is promised.

    >>> pair = next(Persons(["a"], most=2).pairs("add_remove"))
    >>> pair
    ([], [('p1', 'a'), ('p1', 'a')])
    """

    records: Sequence[Any]
    most: int = 3
    others: int = 2
    column: str = "person"

    def pairs(self, relation: Relation, *, group_size: int = 1) -> Iterator[tuple[Any, Any]]:
        if relation == "zero_out":
            raise InvalidParameter(_NO_NULL)
        most, others = several("most", self.most), range(self.others + 1)
        names = [f"p{j + 1}" for j in range(group_size)]
        for rest in others:
            base = [self._row(f"q{j + 1}", self.records[j % len(self.records)]) for j in range(rest)]
            for rows in sorted({most, 1, (most + 1) // 2}, reverse=True):
                kinds = [self._rows(names, rows, record) for record in self.records]
                if relation == "add_remove":
                    for new in kinds:
                        yield from _placed(base, [], new, True)
                else:
                    fewer = [self._rows(names, 1, record) for record in self.records]
                    for old, new in [*itertools.combinations(kinds, 2), *zip(kinds, fewer, strict=True)]:
                        if old != new:
                            yield from _placed(base, old, new, True)

    def _rows(self, names: list[str], rows: int, record: object) -> list[Any]:
        return [self._row(name, record) for name in names for _ in range(rows)]

    def _row(self, name: str, record: object) -> Any:
        return {self.column: name, **record} if isinstance(record, dict) else (name, record)


def _placed(base: list[Any], old: list[Any], new: list[Any], any_order: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    """The same change at the end, in front, in the middle, and with the rows in another order."""
    seen = []
    for place in (len(base), 0, len(base) // 2):
        pair = tuple(base[:place] + change + base[place:] for change in (old, new))
        if pair not in seen:
            seen.append(pair)
            yield pair[0], pair[1]
    if any_order and len(base) > 1:
        left, right = base + old, base + new
        mixed = random.Random(len(repr(right))).sample(right, len(right))  # an order, not a secret
        if (left, mixed) not in seen:
            yield left, mixed
