"""The request to an engine: whole numbers for every group, bounded for every person. The only door to data."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, frexp, isfinite
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.tables.columns import MOST_KEYS, Column, Float, Int, Time
from privet.tables.expressions import Expression, Ref
from privet.tables.keys import KeySet
from privet.tables.plan import MOST_ROWS, Node
from privet.tables.reach import Reach

_LIMIT = 2**62  # of a sum: inside int64 with room for noise


@final
@dataclass(frozen=True)
class Ticks:
    """A column of numbers as whole steps: floor((value - start)/tick + 1/2). Sums of steps are exact, in every order.

    >>> from privet.tables.expressions import Ref
    >>> Ticks(Ref("cost"), 0.0, 0.25).tick
    0.25
    """

    of: Expression
    start: float
    tick: float

    def __post_init__(self) -> None:
        if not (2.0**-700 <= self.tick <= 2.0**100 and frexp(self.tick)[0] == 0.5 and isfinite(self.start)):
            raise InvalidParameter("a tick must be a power of two")

    def ends(self, columns: Mapping[str, Column]) -> tuple[int, int]:
        """The least and the most steps that a row can have."""
        low, high = (floor((float(end) - self.start) / self.tick + 0.5) for end in self.of.column(columns).span)
        return low, high


def join_ticks(name: str, column: Float) -> Ticks:
    """A column of fractions as whole steps from 0 on, by which rows of a person are brought into an order.

    >>> join_ticks("cost", Float(-1.0, 1.0, tick=0.5)).start
    -1.0
    """
    assert column.tick is not None
    return Ticks(Ref(name), float(column.span[0]), column.tick)


@final
@dataclass(frozen=True)
class Term:
    """A product of ticks that is added up over rows; 1 where there are no factors. Rows where one of the columns in
    `present` is missing add nothing.

    >>> Term((), ()).top(())
    1
    """

    factors: tuple[Ticks, ...]
    present: tuple[Expression, ...]

    def top(self, tops: tuple[int, ...]) -> int:
        """The most that one row adds, given the most of each factor."""
        most = 1
        for each in tops:
            most *= each
        return most


@final
@dataclass(frozen=True)
class Cell:
    """A sum of non-negative whole numbers over rows: `parts` times terms, at most `top` a row. Where rows of a person are
    left out of a group, the sum shrinks in proportion, rounded down.

    >>> Cell(((0, 1),), 1).top
    1
    """

    parts: tuple[tuple[int, int], ...]  # (which term, factor)
    top: int


@final
@dataclass(frozen=True)
class Signed:
    """A sum of whole numbers of both signs, from `lower` to `upper` a row. Where rows of a person are left out of a group,
    the sum is cut to what the rest could have had.

    >>> from privet.tables.expressions import Ref
    >>> Signed(Ticks(Ref("balance"), 0.0, 1.0), -10, 10).upper
    10
    """

    ticks: Ticks
    lower: int
    upper: int


@final
@dataclass(frozen=True)
class Bounded:
    """A plan whose rows are grouped and added up. `keys` is None where the groups are discovered in the data. With `bins`
    the last of the names is a column of whole numbers below it: every key is crossed with all of these, without a list.
    With `distinct` the last of the names is no group either: the rows of a key are how many values it has there.

    **Sensitivity:** `reach`: one person adds at most so many rows to so many groups, and each row at most the tops of
    the cells.

    >>> from privet.tables.person import Rows
    >>> from privet.tables.plan import Source
    >>> Bounded(Source("visits", (), Rows()), (), KeySet((), ((),))).reach.most_rows
    1
    """

    rows: Node
    names: tuple[str, ...]
    keys: KeySet | None = None
    terms: tuple[Term, ...] = ()
    cells: tuple[Cell, ...] = ()
    signed: tuple[Signed, ...] = ()
    bins: int = 0
    distinct: bool = False

    def __post_init__(self) -> None:
        if self.bins:
            self._check_bins()
        if self.distinct and (not self.names or self.keys is None or self.bins or self.cells or self.signed):
            raise InvalidParameter("values are counted in public groups, by themselves: name their column last")
        for name in self.names:
            if isinstance(self.rows.columns.get(name), Float):
                raise InvalidParameter(f"column {name!r}: fractions are not grouped by; put them into bins first")
            if isinstance(self.rows.columns.get(name), Time):
                raise InvalidParameter(f"column {name!r}: times are grouped by a part of them: its .date or its .hour")
        self.rows.sources  # noqa: B018 (two tables of one name are refused)
        if self.keys is not None:
            if self.keys.names != self.key_names:
                raise InvalidParameter("the keys must have the columns that are grouped by, in their order")
            if len(self.places) != len(self.keys):
                raise InvalidParameter("the keys of a set must differ")
        for cell in self.cells:
            if cell.top * MOST_ROWS >= _LIMIT:
                raise InvalidParameter("the sums of this query could leave 64 bits: give the column a coarser tick")
        for each in self.signed:
            if max(abs(each.lower), abs(each.upper)) * MOST_ROWS >= _LIMIT:
                raise InvalidParameter("the sums of this query could leave 64 bits: give the column a coarser tick")
            low, high = each.ticks.ends(self.rows.columns)
            if low < each.lower or high > each.upper:
                raise InvalidParameter("a signed sum must state what a row can add: its ends do not hold its column")

    def _check_bins(self) -> None:
        column = self.rows.columns.get(self.names[-1]) if self.names else None
        if self.keys is None or not isinstance(column, Int) or column.span != (0, self.bins - 1):
            raise InvalidParameter("bins are crossed with public keys, and numbered from 0 on in the last of the names")
        if self.cell_count > MOST_KEYS:
            raise InvalidParameter(f"these are more than {MOST_KEYS} combinations: take fewer groups or fewer bins")

    @property
    def key_names(self) -> tuple[str, ...]:
        """The columns of the keys: all that are grouped by, but for bins and values."""
        return self.names[:-1] if self.bins or self.distinct else self.names

    @property
    def found_names(self) -> tuple[str, ...]:
        """The columns that an engine gives back for every group."""
        return self.names[:-1] if self.distinct else self.names

    @property
    def cell_count(self) -> int:
        """The number of groups that are answered for: keys, each with all of its bins."""
        assert self.keys is not None
        return len(self.keys) * (self.bins or 1)

    def cell_of(self, group: tuple[Any, ...]) -> int | None:
        """Where a group stands among those that are answered for; None where it is not one of them."""
        if not self.bins:
            return self.places.get(group)
        place = self.places.get(group[:-1])
        return None if place is None or group[-1] is None else place * self.bins + int(group[-1])

    @kept_property
    def places(self) -> dict[tuple[Any, ...], int]:
        """Where each public key stands, by the form in which engines give it back."""
        rows = () if self.keys is None else self.keys.plain_rows(self.rows.columns)
        return {row: place for place, row in enumerate(rows)}

    @property
    def reach(self) -> Reach:
        """The most that one unit of privacy adds."""
        reach = self.rows.reach
        if self.distinct:  # limits are about pairs of a group and a value, and all of these may be of one group
            return Reach(rows=reach.most_rows)
        return reach if self.keys is None else reach.within(self.cell_count)


@final
@dataclass(frozen=True, eq=False)
class Aggregates:
    """Exact sums for every group: not releasable. With public keys in their order, else the keys that were found, sorted.

    >>> Aggregates(None, np.array([3]), np.array([3]), (), ()).rows.tolist()
    [3]
    """

    found: tuple[tuple[Any, ...], ...] | None
    rows: Array
    persons: Array
    cells: tuple[Array, ...]
    signed: tuple[Array, ...]


Sources = Mapping[str, Any]
Salts = tuple[int, int, int, int, int]


def arranged(plan: Bounded, columns: list[list[Any]], numbers: list[Array]) -> Aggregates:
    """Groups as an engine found them, brought into the public order; groups that it did not find are zeros. A missing key
    makes a group only where the column says so.

    >>> from privet.tables.person import Rows
    >>> from privet.tables.plan import Source
    >>> plan = Bounded(Source("t", (), Rows()), (), KeySet((), ((),)))
    >>> arranged(plan, [], [np.zeros(0, dtype=np.int64)] * 2).rows.tolist()
    [0]
    """
    groups = list(zip(*columns, strict=True)) if columns else [()] * len(numbers[0])
    if plan.keys is None:
        named = [place for place, name in enumerate(plan.names) if not plan.rows.columns[name].null]
        known = [i for i, group in enumerate(groups) if all(group[place] is not None for place in named)]
        order = sorted(known, key=lambda i: sort_key(groups[i]))
        found: tuple[tuple[Any, ...], ...] | None = tuple(groups[i] for i in order)
        made = [each[np.array(order, dtype=np.int64)] for each in numbers]
    else:
        found = None
        kept = [(i, place) for i, group in enumerate(groups) if (place := plan.cell_of(group)) is not None]
        taken = np.array([i for i, _ in kept], dtype=np.int64)
        put = np.array([place for _, place in kept], dtype=np.int64)
        made = []
        for each in numbers:
            dense = np.zeros(plan.cell_count, dtype=np.int64)
            dense[put] = each[taken]
            made.append(dense)
    cells = len(plan.cells)
    return Aggregates(found, made[0], made[1], tuple(made[2 : 2 + cells]), tuple(made[2 + cells :]))


def sort_key(group: tuple[Any, ...]) -> tuple[Any, ...]:
    """An order of keys that does not depend on an engine: missing last, numbers by size, texts by their UTF-8 bytes.

    >>> sorted([("b",), (None,), ("a",)], key=sort_key)
    [('a',), ('b',), (None,)]
    """
    return tuple(
        (2, 0, b"")
        if value is None
        else (1, 0, value.encode("utf-8", "surrogatepass"))
        if isinstance(value, str)
        else (0, value, b"")
        for value in group
    )
