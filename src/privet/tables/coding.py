"""Codes of columns: every value of a described table as a whole number from 0 on, and the way back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array
from privet._validate import count, finite, items
from privet.errors import InvalidParameter
from privet.tables.columns import (
    Bool,
    Category,
    Column,
    Date,
    Float,
    Int,
    Text,
    Time,
    as_columns,
    column_of,
    day_number,
)
from privet.tables.expressions import Cut, Expression, Place, Ref, listed_values

BINS = 32  # of a column of fractions, where nothing else is said
_MOST_BINS = 2**16  # of one width: every edge is a number in each question to an engine
_FINE = 2**53  # places inside a bin that a value is drawn from

Edges = tuple[int | float, ...]


@final
@dataclass(frozen=True)
class Coding:
    """Columns as codes 0, 1, 2, ...: made from the public description of a table, without a look at data.

    A column of whole numbers, days, categories or yes and no has one code for each value, in the order of its list; one
    that is cut (columns of fractions always are) has one for each bin. `edges` are the inner ends of bins: a value belongs
    to the bin above an edge from the edge on.

    Every value has a code, by one rule: what lies outside of the bounds, infinity too, is moved to the nearer one; NULL,
    NaN, a category that is not listed and whatever is no value of the column's kind is missing. Where the column says
    `null=True`, missing has the last code; a row with a missing value in another column is left out of all counts.

    >>> from privet.tables.columns import Int
    >>> coding = Coding.of({"age": Int(0, 110, null=True), "cost": Float(0.0, 100.0)}, bins=10, cuts={"age": [18, 65]})
    >>> coding.names, coding.sizes
    (('age', 'cost'), (4, 10))
    >>> coding.decode([[3, 0]])["age"].mask.tolist()
    [True]
    """

    listed: tuple[tuple[str, Column], ...]
    edges: tuple[Edges | None, ...]

    def __post_init__(self) -> None:
        as_columns(dict(self.listed))
        if not self.listed or len(dict(self.listed)) != len(self.listed) or len(self.edges) != len(self.listed):
            raise InvalidParameter("a coding needs one column or more, each once, and edges or None for each")
        for (name, column), edges in zip(self.listed, self.edges, strict=True):
            _check(name, column, edges)

    @staticmethod
    @door
    def of(
        columns: Mapping[str, Column],
        *,
        bins: int | Mapping[str, int] = BINS,
        cuts: Mapping[str, Sequence[Any]] | None = None,
    ) -> "Coding":
        """The codes of these columns. `bins` is how many of one width a column of fractions has, or for each column by
        name; `cuts` are inner edges by name, such as {"age": [18, 30, 65]}."""
        listed, cut = as_columns(dict(columns)), dict(cuts or {})
        if isinstance(bins, int):
            whole = count("bins", bins, 1)  # also where no column is put into them
            wanted = {name: whole for name, column in listed if isinstance(column, Float)}
        else:
            wanted = {name: BINS for name, column in listed if isinstance(column, Float)} | dict(bins)
        for name in (*wanted, *cut):
            if name not in columns:
                raise InvalidParameter(f"there is no column {name!r:.60} to cut; there are {', '.join(columns)}")
        edges = tuple(
            _given(name, column, cut[name])
            if name in cut
            else _even(name, column, count(f"bins of {name!r:.60}", wanted[name], 1))
            if name in wanted
            else None
            for name, column in listed
        )
        return Coding(listed, edges)

    @property
    def columns(self) -> dict[str, Column]:
        """The columns by name."""
        return dict(self.listed)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in their order."""
        return tuple(name for name, _ in self.listed)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column, that of a missing value among them."""
        return tuple(
            (listed_values(column) if edges is None else len(edges) + 1) + column.null
            for (_, column), edges in zip(self.listed, self.edges, strict=True)
        )

    def expression(self, place: int) -> Expression:
        """The code of a column, as engines compute it."""
        (name, _), edges = self.listed[place], self.edges[place]
        return Place(Ref(name) if edges is None else Cut(Ref(name), edges))

    def bin_ends(self, place: int) -> tuple[Array, Array]:
        """The least and the largest value of every code but that of a missing one; of days as days since 1970. Above an
        inner end of a column of fractions a bin is open. Categories have no ends."""
        (name, column), edges = self.listed[place], self.edges[place]
        if isinstance(column, Category):
            raise InvalidParameter(f"column {name!r} holds categories, which have no ends")
        low, high = column.span
        if edges is None:
            every = np.arange(low, high + 1)
            return every, every
        kind, step = (np.float64, 0) if isinstance(column, Float) else (np.int64, 1)
        return np.array([low, *edges], dtype=kind), np.array([*(each - step for each in edges), high], dtype=kind)

    def labels(self, place: int) -> tuple[str, ...]:
        """The texts that people read in the place of a column's codes: values as they are, bins by their ends.

        >>> from privet.tables.columns import Int
        >>> Coding.of({"age": Int(0, 110, null=True)}, cuts={"age": [18, 65]}).labels(0)
        ('[0, 18)', '[18, 65)', '[65, 110]', '(missing)')
        """
        (_, column), edges = self.listed[place], self.edges[place]
        if isinstance(column, Bool):
            told = ["no", "yes"]
        elif edges is None:
            told = [str(each) for each in self._decoded(place, np.arange(listed_values(column)), None).tolist()]
        else:
            low, high = column.span
            ends = [_told(column, each) for each in (low, *edges, high)]
            told = [f"[{one}, {two})" for one, two in pairwise(ends)]
            told[-1] = f"[{ends[-2]}, {ends[-1]}]"
        return (*told, "(missing)") if column.null else tuple(told)

    def decode(self, codes: object, source: noise.Source | None = None) -> dict[str, Array]:
        """Columns of the schema's types for rows of codes, one row a record. Inside of a bin every value is equally
        likely. Where a column may be missing, its array is masked."""
        rows = np.asarray(codes)
        if rows.ndim != 2 or rows.shape[1] != len(self.listed) or rows.dtype.kind not in "iu":
            raise InvalidParameter("codes are rows of whole numbers, one for each column")
        if len(rows) and ((rows < 0) | (rows >= np.array(self.sizes))).any():
            raise InvalidParameter("a code must be from 0 to below the size of its column")
        return {
            name: self._decoded(place, rows[:, place].astype(np.int64), source) for place, name in enumerate(self.names)
        }

    def _decoded(self, place: int, codes: Array, source: noise.Source | None) -> Array:
        column = self.listed[place][1]
        missing = codes == self.sizes[place] - 1 if column.null else np.zeros(len(codes), dtype=bool)
        there = np.where(missing, 0, codes)
        if isinstance(column, Category):
            made = np.array(column.values)[there]
        else:
            low, high = (ends[there] for ends in self.bin_ends(place))
            made = _typed(column, _inside(low, high, source))
        return np.ma.MaskedArray(made, missing) if column.null else made

    def to_dict(self) -> dict[str, Any]:
        """The coding as JSON has it.

        >>> Coding.from_dict(Coding.of({"smoker": Bool()}).to_dict()).names
        ('smoker',)
        """
        made = []
        for (name, column), edges in zip(self.listed, self.edges, strict=True):
            facts = {key: str(each) if isinstance(each, date) else each for key, each in column.to_dict().items()}
            made.append({"name": name, "column": facts, "edges": None if edges is None else list(edges)})
        return {"columns": made}

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> "Coding":
        """Back from `to_dict`."""
        listed = given["columns"]
        edges = tuple(None if each["edges"] is None else tuple(each["edges"]) for each in listed)
        return Coding(tuple((each["name"], column_of(each["column"])) for each in listed), edges)

    def subset(self, names: Sequence[str]) -> "Coding":
        """The codes of some of the columns, in the order that is given."""
        places = [self.names.index(name) for name in names]
        return replace(self, listed=tuple(self.listed[i] for i in places), edges=tuple(self.edges[i] for i in places))


def _check(name: str, column: Column, edges: Edges | None) -> None:
    if isinstance(column, Text):
        raise InvalidParameter(
            f"column {name!r} holds texts without a public list: leave it out, or describe it as pv.Category([...])"
        )
    if isinstance(column, Time):
        raise InvalidParameter(f"column {name!r} holds times: leave it out, and derive its .date or its .hour")
    if edges is None:
        try:
            listed_values(column)
        except InvalidParameter as problem:
            raise InvalidParameter(f"column {name!r}: {problem}") from None
        return
    if isinstance(column, Category | Bool):
        raise InvalidParameter(f"column {name!r} holds {column.describe()}, which cannot be cut")
    low, high = column.span
    ends = [low, *edges]
    if any(one >= two for one, two in pairwise(ends)) or (edges and edges[-1] > high):
        raise InvalidParameter(
            f"column {name!r}: edges must rise and lie above its lower bound and not above its upper one, so that "
            "every bin can have values"
        )
    if not isinstance(column, Float) and not all(isinstance(each, int) for each in edges):
        raise InvalidParameter(f"column {name!r}: the edges of whole numbers and of days must be whole")


def _given(name: str, column: Column, edges: object) -> Edges:
    """Edges as they are compared: fractions between whole numbers are moved to the next one."""
    listed = items(f"the cuts of {name!r:.60}", edges)
    if isinstance(column, Date):
        return tuple(day_number(each) if not isinstance(each, int) else each for each in listed)
    if isinstance(column, Int):
        return tuple(int(-(-finite("an edge", each) // 1)) for each in listed)
    return tuple(float(finite("an edge", each)) for each in listed)


def _even(name: str, column: Column, bins: int) -> Edges | None:
    """Inner edges of bins of one width, as nearly as whole numbers allow."""
    if isinstance(column, Category | Bool | Text):
        raise InvalidParameter(f"column {name!r} holds {column.describe()}, which are not put into bins")
    low, high = column.span
    many = None if isinstance(column, Float) else int(high - low) + 1
    if many is not None and bins >= many:
        return None
    if bins > _MOST_BINS:
        raise InvalidParameter(f"column {name!r} is cut into at most {_MOST_BINS:,} bins, got {bins:.6g}")
    if many is None:
        made = [low + (high - low) * (i / bins) for i in range(1, bins)]
        return tuple(each for each, below in zip(made, [low, *made], strict=False) if below < each <= high)
    return tuple(int(low) - (-many * i // bins) for i in range(1, bins))


def _inside(low: Array, high: Array, source: noise.Source | None) -> Array:
    """A number between two ends for each row, both ends included where they are whole."""
    if np.array_equal(low, high):
        return low
    share = np.asarray(noise.uniform_int(bound=_FINE, size=len(low), source=source)) / _FINE
    if low.dtype.kind == "i":
        return np.minimum(low + np.floor(share * (high - low + 1)).astype(np.int64), high)
    drawn = low + share * (high - low)
    return np.where(low < high, np.minimum(drawn, np.nextafter(high, low)), low)


def _told(column: Column, end: Any) -> str:
    """An end of a bin as it is written."""
    if isinstance(column, Date):
        return str(np.datetime64(int(end), "D"))
    return f"{end:.15g}" if isinstance(column, Float) else str(end)


def _typed(column: Column, values: Array) -> Array:
    if isinstance(column, Bool):
        return values.astype(np.bool_)
    return values.astype("datetime64[D]") if isinstance(column, Date) else values
