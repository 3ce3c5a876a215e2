"""The contract of families of neighbours, pairs given by hand, and the check that they fit the claim."""

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet._validate import count
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import Relation, Unit


class Neighbours(ABC):
    """Base of the families of input pairs."""

    @abstractmethod
    def pairs(self, relation: Relation, *, group_size: int = 1) -> Iterator[tuple[Any, Any]]:
        """Pairs (left, right) that are neighbours under the relation, `group_size` records apart."""


@dataclass(frozen=True, eq=False)
class Pairs(Neighbours):
    """Pairs given by hand. Say which relation they are neighbours under, and a claim about another one is refused.

    Without a relation, pairs that are recognisably tables (lists of records of different lengths, or of records that are
    no numbers) must lie as far apart as the claim says. `checked=False` takes them as they are: for a person with several
    rows, or inputs whose distance only their author can tell.

    >>> list(Pairs([(0, 1)], relation="add_remove").pairs("add_remove"))
    [(0, 1)]
    """

    given: Sequence[tuple[Any, Any]]
    relation: Relation | None = None
    checked: bool = True

    def pairs(self, relation: Relation, *, group_size: int = 1) -> Iterator[tuple[Any, Any]]:
        if self.relation not in (None, relation):
            raise MixedUnits(
                f"these pairs are neighbours under {self.relation}, the claim speaks of {relation}; "
                "give pairs of the claim's relation, or convert the claim (privacy.to_replace, privacy.Grouped)"
            )
        for pair in self.given:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InvalidParameter("neighbours are pairs (left, right)")
            if self.checked and self.relation is None:
                _fits(*pair, relation, group_size)
            yield pair[0], pair[1]


def pairs_for(family: Neighbours, unit: Unit) -> Iterator[tuple[Any, Any]]:
    """The pairs of a family for the unit that a claim speaks about.

    >>> next(pairs_for(Pairs([([1], [1, 2, 3])]), Unit(group_size=2)))
    ([1], [1, 2, 3])
    """
    if unit.person is not None and isinstance(family, Pairs) and family.relation is None:
        family = Pairs(family.given, checked=False)  # rows of one person: how many, only the author of the pairs knows
    if "group_size" in inspect.signature(family.pairs).parameters:
        return family.pairs(unit.relation, group_size=unit.group_size)
    if unit.group_size > 1:
        raise MixedUnits(f"this family of neighbours knows single records, the claim speaks of {unit.describe()}")
    return family.pairs(unit.relation)


def _fits(left: object, right: object, relation: Relation, group_size: int) -> None:
    """Refuse a pair of tables that is further apart than the claim allows; what may be a vector of answers passes."""
    a, b = _records(left), _records(right)
    if a is None or b is None:
        return
    only_left, only_right = (a - b).total(), (b - a).total()
    same_length = a.total() == b.total()
    if same_length and not any(isinstance(record, str) for record in (*a, *b)):
        return  # numbers in equal numbers: answers rather than records
    if relation == "add_remove":
        fits = min(only_left, only_right) == 0 and max(only_left, only_right) <= group_size
    else:
        fits = same_length and only_left <= group_size
    if not fits:
        wanted = Unit(relation, group_size).describe()
        raise MixedUnits(
            f"a pair of tables is not what the claim speaks about ({wanted}): one has {only_left} records of its own, the "
            f"other {only_right}; give neighbours of the claim's relation, convert the claim (privacy.to_replace, "
            "privacy.Grouped), or say Pairs(..., checked=False) where a unit has several rows"
        )


def doubt_of(left: object, right: object, unit: Unit) -> str | None:
    """A note where two inputs may be neighbours of another relation than the claimed one, and only their author can tell.

    >>> doubt_of([30, 41], [30, 99], Unit("add_remove")).partition(":")[0]
    'the inputs of a pair are equally long and differ in one place'
    >>> doubt_of([30], [30, 99], Unit("add_remove")) is None
    True
    """
    a, b = _rows(left), _rows(right)
    if a is None or b is None or unit.person is not None:
        return None
    if unit.relation == "add_remove" and (a - b).total() == (b - a).total() == 1:
        return (
            "the inputs of a pair are equally long and differ in one place: right for answers, but tables of records that "
            f"differ so are neighbours by replacing one, and the claim speaks of {unit.describe()}"
        )
    if unit.relation != "add_remove" and a.total() != b.total():
        return f"a pair has {a.total()} and {b.total()} records, and the claim speaks of {unit.describe()}"
    return None


def stratum_of(left: object, right: object) -> str:
    """The kind of table that two neighbours have in common: empty, of equal rows, with one odd row, with rows that all
    differ, mixed; `other` for what is no table.

    >>> stratum_of([], [1]), stratum_of([1, 1], [1, 1, 2]), stratum_of([1, 1, 2], [1, 1, 2, 3]), stratum_of(1, 2)
    ('empty', 'equal rows', 'one odd row', 'other')
    """
    a, b = _rows(left), _rows(right)
    if a is None or b is None:
        return "other"
    common = a & b
    rows, times = common.total(), sorted(common.values())
    if rows == 0:
        return "empty"
    if len(times) == 1:
        return "equal rows"
    if len(times) == 2 and times[0] == 1 and rows > 2:
        return "one odd row"
    return "all different" if times[-1] == 1 else "mixed"


def _rows(side: Any) -> "Counter[Any] | None":
    """A list, an array, a dict of columns or a frame as a multiset of its rows."""
    if isinstance(side, dict) or (hasattr(side, "columns") and hasattr(side, "to_dict")):
        try:
            columns = [list(side[name]) for name in (side if isinstance(side, dict) else side.columns)]
        except TypeError:  # a dict of numbers is no table
            return None
        return Counter(map(repr, zip(*columns, strict=False)))
    return _records(side)


def _records(side: object) -> "Counter[Any] | None":
    """A table as a multiset: numbers as they are, other records as texts; None for what is no list of records."""
    if isinstance(side, np.ndarray) and side.ndim in (1, 2):
        side = side.tolist()
    if not isinstance(side, list | tuple):
        return None
    return Counter(record if isinstance(record, int | float) else repr(record) for record in side)


def several(name: str, value: int) -> int:
    """A count of at least one.

    >>> several("rows", 3)
    3
    """
    return count(name, value, 1)
