"""Public keys: the groups that a query answers for, whether or not the data have them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from math import prod
from typing import Any, final

from privet._validate import items, set_frozen
from privet.errors import InvalidParameter
from privet.tables.columns import (
    EPOCH,
    MOST_KEYS,
    Bool,
    Category,
    Column,
    Date,
    Float,
    Int,
    key_value,
    known_column,
    plain_value,
)


@final
@dataclass(frozen=True)
class KeySet:
    """A public list of groups: the columns in `names`, and for each group a value of every one of them.

    `None` stands for a missing value. Groups that the data do not have are answered too, with noise; rows of other groups
    are left out.

    >>> wards = KeySet.of({"ward": ["A", "B"], "sex": ["f", "m"]})
    >>> len(wards), wards.rows[1]
    (4, ('A', 'm'))
    >>> (KeySet.of({"ward": ["A"]}) | KeySet.of({"ward": ["B"]})).rows
    (('A',), ('B',))
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        names = tuple(items("names", self.names))
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise InvalidParameter("a set of keys needs the names of its columns, each once")
        rows = tuple(items("a row of keys", row) for row in items("rows", self.rows))
        if any(len(row) != len(names) for row in rows):
            raise InvalidParameter("every key must have a value for each of its columns")
        try:
            differ = len(set(rows)) == len(rows)
        except TypeError:
            raise InvalidParameter(
                "a key is a text, a number, a day, True, False or None, and no list of them"
            ) from None
        if not differ:
            raise InvalidParameter("the keys of a set must differ")
        if not rows or len(rows) > MOST_KEYS:
            raise InvalidParameter(f"a set of keys holds from 1 to {MOST_KEYS} keys")
        set_frozen(self, names=names, rows=rows)

    @staticmethod
    def of(values: Mapping[str, Iterable[Any]]) -> "KeySet":
        """Every combination of the values, the last column fastest.

        >>> KeySet.of({"ward": ["A", "B"]}).names
        ('ward',)
        """
        listed = [tuple(map(plain_value, items(f"the values of {name}", each))) for name, each in values.items()]
        if prod(map(len, listed)) > MOST_KEYS:
            raise InvalidParameter(
                f"these are more than {MOST_KEYS} combinations: give a list of keys, or group by fewer"
            )
        return KeySet(tuple(values), tuple(product(*listed)))

    def __len__(self) -> int:
        return len(self.rows)

    def cross(self, other: "KeySet") -> "KeySet":
        """Every key of this set with every key of another, which has other columns.

        >>> len(KeySet.of({"a": [1, 2]}).cross(KeySet.of({"b": [1, 2, 3]})))
        6
        """
        if set(self.names) & set(other.names):
            raise InvalidParameter("sets of keys that are crossed must have different columns")
        if len(self) * len(other) > MOST_KEYS:
            raise InvalidParameter(f"these are more than {MOST_KEYS} combinations")
        return KeySet(self.names + other.names, tuple(a + b for a in self.rows for b in other.rows))

    def __or__(self, other: "KeySet") -> "KeySet":
        """The keys of both sets, which have the same columns."""
        if not isinstance(other, KeySet) or self.names != other.names:
            raise InvalidParameter("sets of keys that are put together must have the same columns")
        return KeySet(self.names, tuple(dict.fromkeys(self.rows + other.rows)))

    def join(self, other: "KeySet") -> "KeySet":
        """The keys of both sets that agree on the columns which both have.

        >>> floors = KeySet(("ward", "floor"), (("A", 1), ("B", 2)))
        >>> KeySet.of({"ward": ["A"]}).join(floors).rows
        (('A', 1),)
        """
        shared = [name for name in self.names if name in other.names]
        mine = [self.names.index(name) for name in shared]
        theirs = [other.names.index(name) for name in shared]
        rest = [place for place, name in enumerate(other.names) if name not in shared]
        found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row in other.rows:
            found.setdefault(tuple(row[i] for i in theirs), []).append(tuple(row[i] for i in rest))
        rows = [row + more for row in self.rows for more in found.get(tuple(row[i] for i in mine), [])]
        return KeySet(self.names + tuple(other.names[i] for i in rest), tuple(rows))

    def plain_rows(self, columns: Mapping[str, Column]) -> Sequence[tuple[Any, ...]]:
        """The keys in the one form in which engines give them back (a day may have been given as a text), or an error where
        the columns cannot have them.

        >>> KeySet(("d",), (("2024-05-01",),)).plain_rows({"d": Date("2024-01-01", "2024-12-31")})
        [(datetime.date(2024, 5, 1),)]
        """
        maps = [_plain_values(name, columns, {row[i] for row in self.rows}) for i, name in enumerate(self.names)]
        if not any(maps):
            return self.rows
        return [
            tuple(each[value] if each else value for each, value in zip(maps, row, strict=True)) for row in self.rows
        ]


def _plain_values(name: str, columns: Mapping[str, Column], given: set[Any]) -> dict[Any, Any]:
    """The values of a column in the form in which engines give them back; empty where they all have it already."""
    column, known = known_column(columns, name, " to group by"), given - {None}
    if len(known) < len(given) and not column.null:
        raise InvalidParameter(f"column {name!r} says that missing values are no group: give null=True there")
    if not known or _are_plain(column, known):
        return {}
    return {None: None, **{value: plain_key(column, key_value(name, column, value)) for value in known}}


def _are_plain(column: Column, values: set[Any]) -> bool:
    """True if all are values that engines give back for the column: asked of all at once, for keys come by the
    thousand."""
    kinds = set(map(type, values))
    if isinstance(column, Category):
        return kinds == {type(column.values[0])} and values.issubset(column.values)
    if isinstance(column, Int | Date):
        return kinds == {int if isinstance(column, Int) else date} and (
            column.lower <= min(values) and max(values) <= column.upper
        )
    return False


def all_keys(columns: Mapping[str, Column], names: tuple[str, ...]) -> KeySet:
    """Every combination of the values that these columns may have.

    >>> from privet.tables.columns import Bool
    >>> len(all_keys({"smoker": Bool(null=True)}, ("smoker",)))
    3
    """
    values: dict[str, tuple[Any, ...]] = {}
    for name in names:
        domain = known_column(columns, name, " to group by").domain
        if domain is None:
            raise InvalidParameter(
                f"column {name!r} has no public list of values: give keys=, let keys be discovered (discover=True, which "
                "needs a delta), or put it into bins"
            )
        values[name] = tuple(domain) + ((None,) if columns[name].null else ())
    return KeySet.of(values)


def plain_key(column: Column, value: Any) -> Any:
    """A key as an engine holds it, in the form of the public list: days become dates, 0 and 1 yes and no.

    >>> from privet.tables.columns import Int
    >>> plain_key(Bool(), 1), plain_key(Int(0, 9), 3)
    (True, 3)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(column, Date):
        return date.fromordinal(int(value) + EPOCH)
    return bool(value) if isinstance(column, Bool) else float(value) if isinstance(column, Float) else int(value)
