"""The plan of a query: a small frozen tree of what happens to rows. Public, hashable, and without any data."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from privet._cache import kept_property
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.tables.columns import Category, Column, Text, key_value
from privet.tables.expressions import Condition, Expression
from privet.tables.features import Feature
from privet.tables.person import Person, Rows
from privet.tables.reach import Reach

MOST_ROWS = 2**31  # of a table, after joins: public, so that no sum can leave 64 bits


class Node(ABC):
    """A step of a plan. `columns` are those of its rows, `unit` whom they are about, `fan_out` how many rows one row of a
    private source can become.

    >>> Source("visits", (), Rows()).fan_out
    1
    """

    @property
    @abstractmethod
    def columns(self) -> dict[str, Column]:
        """The columns by name."""

    @property
    @abstractmethod
    def unit(self) -> Rows | Person:
        """Whom the rows are about."""

    @property
    @abstractmethod
    def fan_out(self) -> int:
        """The number of rows of the result that one private row can become."""

    @property
    @abstractmethod
    def sources(self) -> tuple["Source", ...]:
        """The private tables that are read."""

    @property
    def reach(self) -> Reach:
        """The most that one unit of privacy can add to groups of these rows.

        Rows of a person are bounded after everything else, on what is then there: rows carry their person along, so
        nothing before that matters. A row that is a unit by itself becomes at most `fan_out` rows, anywhere.
        """
        unit = self.unit
        if isinstance(unit, Person):
            return Reach(unit.max_groups, unit.max_rows_per_group, unit.max_rows)
        return Reach(1, 1, 1).times(self.fan_out)


@final
@dataclass(frozen=True)
class Source(Node):
    """A private table, by name; the data behind the name come with the question.

    >>> Source("visits", (), Rows()).sources[0].name
    'visits'
    """

    name: str
    listed: tuple[tuple[str, Column], ...]
    about: Rows | Person

    @property
    def columns(self) -> dict[str, Column]:
        return dict(self.listed)

    @property
    def unit(self) -> Rows | Person:
        return self.about

    @property
    def fan_out(self) -> int:
        return 1

    @property
    def sources(self) -> tuple["Source", ...]:
        return (self,)


class _Step(Node):
    """A step on the rows of one other step."""

    input: Node

    @property
    def columns(self) -> dict[str, Column]:
        return self.input.columns

    @property
    def unit(self) -> Rows | Person:
        return self.input.unit

    @property
    def fan_out(self) -> int:
        return self.input.fan_out

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.input.sources


@final
@dataclass(frozen=True)
class Where(_Step):
    """The rows on which a condition holds.

    >>> from privet.tables.expressions import IsMissing, Ref
    >>> from privet.tables.columns import Int
    >>> Where(Source("t", (("a", Int(0, 1)),), Rows()), IsMissing(Ref("a"))).fan_out
    1
    """

    input: Node
    condition: Condition

    def __post_init__(self) -> None:
        instance("condition", self.condition, Condition).check(self.input.columns)


@final
@dataclass(frozen=True)
class Derive(_Step):
    """The rows with one more column, or with a column in another meaning: its bounds are those of the expression.

    >>> from privet.tables.expressions import Linear, Ref
    >>> from privet.tables.columns import Int
    >>> Derive(Source("t", (("a", Int(0, 1)),), Rows()), "b", Linear(Ref("a"), 2, 0)).columns["b"]
    Int(lower=0, upper=2, null=False)
    """

    input: Node
    name: str
    expression: Expression

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter("a derived column needs a name")
        instance("expression", self.expression, Expression).column(self.input.columns)

    @property
    def columns(self) -> dict[str, Column]:
        return dict(self._columns)

    @kept_property
    def _columns(self) -> dict[str, Column]:
        """Kept: a long chain would be walked to its source for each of its steps."""
        held = self.input.columns
        return {**held, self.name: self.expression.column(held)}


@final
@dataclass(frozen=True)
class PublicJoin(_Step):
    """Rows joined with a public table: every row meets the public rows that agree on the columns `on`, and is left out
    where there is none.

    >>> from privet.tables.columns import Category
    >>> wards = (("ward", Category(["A", "B"])), ("floor", Category(["1", "2"])))
    >>> rows = Source("t", wards[:1], Rows())
    >>> PublicJoin(rows, wards, (("A", "1"), ("A", "2"), ("B", "1")), ("ward",)).fan_out
    2
    """

    input: Node
    listed: tuple[tuple[str, Column], ...]
    rows: tuple[tuple[Any, ...], ...]
    on: tuple[str, ...]

    def __post_init__(self) -> None:
        mine, theirs = self.input.columns, dict(self.listed)
        for name in self.on:
            if not isinstance(name, str) or name not in mine or name not in theirs:
                raise InvalidParameter(f"both tables need the column {name!r:.60} that they are joined on")
            if mine[name].kind != theirs[name].kind:
                raise InvalidParameter(f"column {name!r} is of another kind in the public table")
            if mine[name].kind == "float":
                raise InvalidParameter(f"column {name!r}: fractions are not joined on; put them into bins first")
            if _texts(mine[name]) != _texts(theirs[name]):
                raise InvalidParameter(f"column {name!r} holds texts in one table and numbers in the other")
        if not self.on:
            raise InvalidParameter("name the columns that the tables are joined on")
        twice = [name for name in theirs if name not in self.on and name in mine]
        if twice:
            raise InvalidParameter(
                f"the public table must not bring columns that are there already: {', '.join(twice)}"
            )
        if not self.rows or any(len(row) != len(self.listed) for row in self.rows):
            raise InvalidParameter("a public table needs rows, each with a value for every column")
        self._read()  # a value beyond the bounds of its column would break what they promise

    def _read(self) -> list[tuple[Any, ...]]:
        """The rows as engines compare them."""
        maps = [
            {v: None if v is None else key_value(name, column, v) for v in {row[place]: 0 for row in self.rows}}
            for place, (name, column) in enumerate(self.listed)
        ]
        return [tuple(each[value] for each, value in zip(maps, row, strict=True)) for row in self.rows]

    @property
    def columns(self) -> dict[str, Column]:
        return {**self.input.columns, **{n: c for n, c in self.listed if n not in self.on}}

    @property
    def fan_out(self) -> int:
        places = [[name for name, _ in self.listed].index(name) for name in self.on]
        met: dict[tuple[Any, ...], int] = {}
        for row in self._read():  # as they are compared: a day may be given as a text or as a date
            key = tuple(row[place] for place in places)
            met[key] = met.get(key, 0) + 1
        return self.input.fan_out * max(met.values())


@final
@dataclass(frozen=True)
class PersonJoin(Node):
    """Two tables of the same persons, joined on the person: every row of one meets every row of the other that is about
    the same person. Bounds on the rows of a person are applied to what comes out, by the left table's limits. Of each
    table at most `most_rows` rows of one person go in: else a million rows on both sides would be 10^12 to look at.

    >>> from privet.tables.columns import Int
    >>> one = Source("t", (("a", Int(0, 1)),), Person("id", max_rows=1))
    >>> sorted(PersonJoin(one, Source("u", (("b", Int(0, 1)),), Person("id", max_rows=1))).columns)
    ['a', 'b']
    """

    left: Node
    right: Node
    most_rows: ClassVar[int] = 256

    def __post_init__(self) -> None:
        units = self.left.unit, self.right.unit
        for unit in units:
            if not isinstance(unit, Person):
                raise InvalidParameter(
                    "two private tables are joined on the person: both need unit=pv.Person(...). A join on anything that "
                    "persons share would let one person move the rows of others"
                )
        if units[0].unit != units[1].unit:
            raise InvalidParameter("the two tables name their persons differently: rename the column of one")
        twice = [name for name in self.right.columns if name in self.left.columns]
        if twice:
            raise InvalidParameter(f"both tables have the columns {', '.join(twice)}: rename them in one")

    @property
    def columns(self) -> dict[str, Column]:
        return {**self.left.columns, **self.right.columns}

    @property
    def unit(self) -> Rows | Person:
        return self.left.unit

    @property
    def fan_out(self) -> int:
        return 1

    @property
    def sources(self) -> tuple[Source, ...]:
        return _distinct(self.left.sources + self.right.sources)


@final
@dataclass(frozen=True)
class PerPerson(_Step):
    """One row for every person, with features of all rows that are about them.

    >>> from privet.tables.columns import Int
    >>> visits = Source("t", (("cost", Int(0, 50)),), Person("id", max_rows=5))
    >>> PerPerson(visits, (("total", Feature("sum", "cost", bounds=(0, 900))),)).unit.max_rows
    1
    """

    input: Node
    features: tuple[tuple[str, Feature], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.input.unit, Person):
            raise InvalidParameter(
                "features of persons need a table with unit=pv.Person(...): here rows are by themselves"
            )
        if not self.features or any(not name for name, _ in self.features):
            raise InvalidParameter("name one feature of a person or more, such as total=pv.sum(...)")
        self.columns  # noqa: B018 (what the columns cannot have is refused)

    @property
    def columns(self) -> dict[str, Column]:
        held = self.input.columns
        return {name: feature.declared(held) for name, feature in self.features}

    @property
    def unit(self) -> Rows | Person:
        about = self.input.unit
        assert isinstance(about, Person)
        return Person(about.column, max_rows=1, relation=about.relation)

    @property
    def fan_out(self) -> int:
        return 1


@final
@dataclass(frozen=True)
class Linked(_Step):
    """Rows whose person is named in another table, the link: each row meets the link's rows with the same value in `on`,
    and counts once for every person that it is linked to. Rows that nobody is linked to are left out.

    Removing a person removes the rows of the link that name them, and with these all that is counted for them.

    >>> from privet.tables.columns import Int
    >>> link = Source("visits", (("visit", Int(0, 99)),), Person("patient", max_rows=3))
    >>> Linked(Source("bills", (("visit", Int(0, 99)),), Rows()), link, "visit").unit.column
    'patient'
    """

    input: Source
    link: Source
    on: str

    def __post_init__(self) -> None:
        if not isinstance(self.input, Source) or not isinstance(self.link, Source):
            raise InvalidParameter("rows are linked to persons first: filter and derive after that")
        if not isinstance(self.link.unit, Person):
            raise InvalidParameter("the table that links rows to persons needs unit=pv.Person(...)")
        if isinstance(self.input.unit, Person):
            raise InvalidParameter("the rows name their persons themselves: only rows with unit=pv.Rows() are linked")
        if self.input.name == self.link.name:
            raise InvalidParameter("a table does not link itself")
        for each in (self.input, self.link):
            if self.on not in each.columns:
                raise InvalidParameter(f"both tables need the column {self.on!r:.60} that links them")
        mine, theirs = self.input.columns[self.on], self.link.columns[self.on]
        if mine.kind != theirs.kind or mine.kind == "float":
            raise InvalidParameter(f"column {self.on!r} must hold whole numbers or texts, and the same in both tables")
        if _texts(mine) != _texts(theirs):
            raise InvalidParameter(f"column {self.on!r} holds texts in one table and numbers in the other")

    @property
    def unit(self) -> Rows | Person:
        return self.link.unit

    @property
    def fan_out(self) -> int:
        return 1

    @property
    def sources(self) -> tuple[Source, ...]:
        return _distinct(self.input.sources + self.link.sources)


@final
@dataclass(frozen=True)
class Union(Node):
    """The rows of several tables, one after the other, each row as often as it is there.

    A unit that is a row may appear once in every input that reads its source: the reaches of one source add up.

    >>> one = Source("t", (), Rows())
    >>> Union((one, one)).fan_out, Union((one, Source("u", (), Rows()))).fan_out
    (2, 1)
    """

    inputs: tuple[Node, ...]

    def __post_init__(self) -> None:
        if not self.inputs:
            raise InvalidParameter("there is nothing to put together: give one table or more")
        first = self.inputs[0]
        for other in self.inputs[1:]:
            if other.unit.unit != first.unit.unit:
                raise InvalidParameter("tables that are put together must be about the same unit")
            if other.columns != first.columns:
                raise InvalidParameter("tables that are put together must have the same columns with the same bounds")

    @property
    def columns(self) -> dict[str, Column]:
        return self.inputs[0].columns

    @property
    def unit(self) -> Rows | Person:
        return self.inputs[0].unit

    @property
    def fan_out(self) -> int:
        met: dict[str, int] = {}
        for each in self.inputs:
            for source in each.sources:
                met[source.name] = met.get(source.name, 0) + each.fan_out
        return max(met.values())

    @property
    def sources(self) -> tuple[Source, ...]:
        return _distinct(tuple(source for each in self.inputs for source in each.sources))


def in_one_group(node: Node) -> Node:
    """The same rows for a question that has no groups, however many cells it is answered from: of a person are kept as
    many rows as one group may have, in whatever cells they lie.

    >>> rows = in_one_group(Source("t", (), Person("id", max_groups=5, max_rows_per_group=3)))
    >>> rows.reach.most_rows, rows.unit.max_groups
    (3, None)
    """
    return in_groups(node, 1)


def in_groups(node: Node, groups: int) -> Node:
    """The same rows for a question about so many groups, each of which is answered from cells: of a person are kept as
    many rows as in these groups together, in whatever groups and cells they lie. For what is priced by rows alone.

    >>> rows = in_groups(Source("t", (), Person("id", max_groups=5, max_rows_per_group=3)), 4)
    >>> rows.reach.most_rows, rows.unit.max_groups
    (12, None)
    """
    unit = node.unit
    if not isinstance(unit, Person):
        return node
    return _limited(node, Person(unit.column, max_rows=node.reach.within(groups).most_rows, relation=unit.relation))


def in_values(node: Node, groups: int) -> Node:
    """The same rows for a question about which values there are in so many groups: of a person are kept as many pairs of
    a group and a value as rows in these groups together, each pair once however many rows have it.

    >>> rows = in_values(Source("t", (), Person("id", max_groups=5, max_rows_per_group=3)), 4)
    >>> rows.unit.max_groups, rows.unit.max_rows_per_group
    (12, 1)
    """
    unit = node.unit
    if not isinstance(unit, Person):
        return node
    most = node.reach.within(groups).most_rows
    return _limited(node, Person(unit.column, max_groups=most, max_rows_per_group=1, relation=unit.relation))


def _limited(node: Node, person: Person) -> Node:
    """The same plan with other limits of a person."""
    if isinstance(node, Source):
        return replace(node, about=person) if isinstance(node.about, Person) else node
    if isinstance(node, PersonJoin):
        return replace(node, left=_limited(node.left, person), right=_limited(node.right, person))
    if isinstance(node, PerPerson):  # one row of each person, whatever the limits
        return node
    if isinstance(node, Linked):
        return replace(node, link=replace(node.link, about=person))
    if isinstance(node, Union):
        return replace(node, inputs=tuple(_limited(each, person) for each in node.inputs))
    assert isinstance(node, Where | Derive | PublicJoin)
    return replace(node, input=_limited(node.input, person))


def _texts(column: Column) -> bool:
    return isinstance(column, Text) or (isinstance(column, Category) and column.texts)


def _distinct(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    found: dict[str, Source] = {}
    for source in sources:
        if found.setdefault(source.name, source) != source:
            raise InvalidParameter(
                f"two different tables are called {source.name!r:.60}: give one of them another name"
            )
    return tuple(found.values())
