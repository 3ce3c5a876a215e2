"""Expressions over the columns of a row: constants, sums, multiples, bins, cuts, and conditions.

Row by row and total: each has a value for every row, or is missing, and none can fail while an engine runs. Numbers stay
within public bounds, which follow from the bounds of the columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, inf, nextafter
from typing import Any, Literal, final

from privet._validate import count, finite, flag, items, set_frozen
from privet.errors import InvalidParameter
from privet.tables.columns import MOST_KEYS, Bool, Category, Column, Date, Float, Int, Text, Time, known_column

Columns = Mapping[str, Column]
Operator = Literal["<", "<=", ">", ">=", "=", "!="]
_LARGEST = 2.0**52  # whole numbers below it are exact in every engine's doubles
_FACTORS = 2.0**-100, 2.0**100  # within these no product by a value that is looked at over- or underflows
_TINIEST = 2.0**-600  # of an edge: far above what engines round to zero
_BEYOND = 2**60  # an edge that no whole number of a column reaches


class Expression(ABC):
    """A value for every row. `column(columns)` is what it may contain, or an error from public facts.

    >>> Ref("age").column({"age": Int(0, 110)})
    Int(lower=0, upper=110, null=False)
    """

    @abstractmethod
    def column(self, columns: Columns) -> Column:
        """The column that describes the values."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """The columns that it reads."""


@final
@dataclass(frozen=True)
class Ref(Expression):
    """A column by its name.

    >>> Ref("age").names() == {"age"}
    True
    """

    name: str

    def column(self, columns: Columns) -> Column:
        return known_column(columns, self.name)

    def names(self) -> frozenset[str]:
        return frozenset({self.name})


@final
@dataclass(frozen=True)
class Linear(Expression):
    """`factor` times a column of numbers, plus `shift`; of whole numbers by whole numbers it is whole.

    >>> Linear(Ref("age"), 2, -1).column({"age": Int(0, 110)})
    Int(lower=-1, upper=219, null=False)
    """

    of: Expression
    factor: int | float
    shift: int | float

    def __post_init__(self) -> None:
        if finite("factor", self.factor) != 0.0 and not _FACTORS[0] <= abs(self.factor) <= _FACTORS[1]:
            raise InvalidParameter("a factor must be 0, or from 2^-100 to 2^100")
        finite("shift", self.shift)

    def column(self, columns: Columns) -> Column:
        inner = _numbers(self.of.column(columns))
        ends = sorted(self.factor * end + self.shift for end in inner.span)
        if max(map(abs, ends)) >= _LARGEST:
            raise InvalidParameter("this expression leaves the range of numbers: its bounds must stay below 2^52")
        if isinstance(inner, Float) or isinstance(self.factor, float) or isinstance(self.shift, float):
            return Float(float(ends[0]), float(ends[1]), null=inner.null)
        return Int(int(ends[0]), int(ends[1]), null=inner.null)

    def names(self) -> frozenset[str]:
        return self.of.names()


@final
@dataclass(frozen=True)
class Plus(Expression):
    """The sum of two columns of numbers (`sign` -1: their difference); missing where one of them is.

    >>> Plus(Ref("a"), Ref("b"), -1).column({"a": Int(0, 3), "b": Int(0, 5)})
    Int(lower=-5, upper=3, null=False)
    """

    left: Expression
    right: Expression
    sign: int = 1

    def column(self, columns: Columns) -> Column:
        one, two = self.left.column(columns), self.right.column(columns)
        if not (self.sign < 0 and isinstance(one, Time) and isinstance(two, Time)):  # seconds between two times
            _numbers(one), _numbers(two)
        ends = two.span if self.sign > 0 else (-two.span[1], -two.span[0])
        low, high = one.span[0] + ends[0], one.span[1] + ends[1]
        if max(abs(low), abs(high)) >= _LARGEST:
            raise InvalidParameter("this expression leaves the range of numbers: its bounds must stay below 2^52")
        kind = Float if isinstance(one, Float) or isinstance(two, Float) else Int
        return kind(low, high, null=one.null or two.null)

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()


@final
@dataclass(frozen=True)
class Bin(Expression):
    """The number of the bin that a value falls in: bins of one width from `start`, `count` of them, the last one closed.

    >>> Bin(Ref("age"), 0, 10, 12).column({"age": Int(0, 110)})
    Int(lower=0, upper=11, null=False)
    """

    of: Expression
    start: int | float
    width: int | float
    count: int

    def __post_init__(self) -> None:
        if not _FACTORS[0] <= finite("width", self.width) <= _FACTORS[1]:
            raise InvalidParameter("the width of a bin must be from 2^-100 to 2^100")
        if abs(finite("start", self.start)) > _FACTORS[1] or 0.0 < abs(self.start) < _FACTORS[0]:
            raise InvalidParameter("bins start at 0, or at a number from 2^-100 to 2^100 in size")
        count("count", self.count, 1)

    def column(self, columns: Columns) -> Column:
        return Int(0, self.count - 1, null=_spread(self.of.column(columns)).null)

    def names(self) -> frozenset[str]:
        return self.of.names()


@final
@dataclass(frozen=True)
class Cut(Expression):
    """The number of the given edges that a value has reached: 0 below the first one, as many as there are from the
    last one on. `closed` says that the last edge itself is not reached yet: it belongs to the bin that ends there.

    >>> Cut(Ref("age"), (18, 30, 65)).column({"age": Int(0, 110)})
    Int(lower=0, upper=3, null=False)
    """

    of: Expression
    edges: tuple[int | float, ...]
    closed: bool = False

    def __post_init__(self) -> None:
        flag("closed", self.closed)
        edges = tuple(items("edges", self.edges))
        sizes = [abs(finite("an edge", each)) for each in edges]
        if any(one >= two for one, two in pairwise(edges)):
            raise InvalidParameter("a column is cut at edges that rise: each lies above the one before it")
        if any(each > _FACTORS[1] or 0.0 < each < _TINIEST for each in sizes):
            raise InvalidParameter("an edge must be 0, or from 2^-600 to 2^100 in size")
        set_frozen(self, edges=edges)

    def column(self, columns: Columns) -> Column:
        return Int(0, len(self.edges), null=_spread(self.of.column(columns)).null)

    def names(self) -> frozenset[str]:
        return self.of.names()

    def exact_edges(self, columns: Columns) -> tuple[int | float, ...]:
        """The edges in the type in which the column is compared: of whole numbers and days the next whole number."""
        floats = isinstance(self.of.column(columns), Float)
        made = [float(each) if floats else max(min(ceil(each), _BEYOND), -_BEYOND) for each in self.edges]
        if self.closed and made:
            last = self.edges[-1]
            made[-1] = nextafter(float(last), inf) if floats else max(min(floor(last) + 1, _BEYOND), -_BEYOND)
        return tuple(made)


@final
@dataclass(frozen=True)
class Place(Expression):
    """The place of a value in the public list of its column, from 0 on. Where the column says that a missing value is one
    of its own (`null=True`), that comes last; else the place of a missing value is missing.

    >>> Place(Ref("ward")).column({"ward": Category(["A", "B"], null=True)})
    Int(lower=0, upper=2, null=False)
    """

    of: Expression

    def column(self, columns: Columns) -> Column:
        inner = self.of.column(columns)
        return Int(0, listed_values(inner) + inner.null - 1)

    def names(self) -> frozenset[str]:
        return self.of.names()


class Condition(ABC):
    """A condition on a row: it holds, it does not, or it is unknown since a value is missing. Only rows on which it
    holds are kept.

    >>> Compare(Ref("age"), ">=", 65).names() == {"age"}
    True
    """

    @abstractmethod
    def check(self, columns: Columns) -> None:
        """Refuse what makes no sense for these columns."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """The columns that it reads."""


@final
@dataclass(frozen=True)
class Compare(Condition):
    """A column compared with a constant.

    >>> Compare(Ref("ward"), "=", "C").check({"ward": Category(["A", "B"])})
    Traceback (most recent call last):
    privet.errors.InvalidParameter: column 'ward': 'C' is not among the values of the category: 'A', 'B'
    """

    of: Expression
    operator: Operator
    value: Any

    def check(self, columns: Columns) -> None:
        column = self.of.column(columns)
        _constant(self.of, column, self.value)
        if self.operator not in ("=", "!=") and isinstance(column, Category | Text):
            raise InvalidParameter(
                f"{_named(self.of)}: texts and categories have no order that all engines share; compare with == or isin"
            )

    def names(self) -> frozenset[str]:
        return self.of.names()


@final
@dataclass(frozen=True)
class CompareColumns(Condition):
    """Two columns of numbers, of days, or of times, compared with each other.

    >>> CompareColumns(Ref("a"), "<", Ref("b")).check({"a": Int(0, 3), "b": Int(0, 5)})
    """

    left: Expression
    operator: Operator
    right: Expression

    def check(self, columns: Columns) -> None:
        kinds = [self.left.column(columns), self.right.column(columns)]
        if any(all(isinstance(each, kind) for each in kinds) for kind in (Date, Time)):
            return
        if not all(each.numeric for each in kinds):
            raise InvalidParameter("two columns are compared when both hold numbers, or both hold days, or both times")

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()


@final
@dataclass(frozen=True)
class IsIn(Condition):
    """A column is one of a list of constants.

    >>> IsIn(Ref("ward"), ("A",)).check({"ward": Category(["A", "B"])})
    """

    of: Expression
    values: tuple[Any, ...]

    def check(self, columns: Columns) -> None:
        column = self.of.column(columns)
        if not items("values", self.values):
            raise InvalidParameter("a list of values to look for must not be empty")
        for value in self.values:
            _constant(self.of, column, value)

    def names(self) -> frozenset[str]:
        return self.of.names()


@final
@dataclass(frozen=True)
class IsMissing(Condition):
    """A value is missing; always known.

    >>> IsMissing(Ref("age")).names() == {"age"}
    True
    """

    of: Expression

    def check(self, columns: Columns) -> None:
        self.of.column(columns)

    def names(self) -> frozenset[str]:
        return self.of.names()


@dataclass(frozen=True)
class _Two(Condition):
    """The common ground of two conditions that are joined."""

    left: Condition
    right: Condition

    def check(self, columns: Columns) -> None:
        self.left.check(columns)
        self.right.check(columns)

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()


@final
@dataclass(frozen=True)
class Both(_Two):
    """Two conditions at once.

    >>> Both(IsMissing(Ref("a")), IsMissing(Ref("b"))).names() == {"a", "b"}
    True
    """


@final
@dataclass(frozen=True)
class Either(_Two):
    """One of two conditions, or both.

    >>> Either(IsMissing(Ref("a")), IsMissing(Ref("b"))).names() == {"a", "b"}
    True
    """


@final
@dataclass(frozen=True)
class Negated(Condition):
    """The opposite of a condition; unknown where that is unknown.

    >>> Negated(IsMissing(Ref("a"))).names() == {"a"}
    True
    """

    of: Condition

    def check(self, columns: Columns) -> None:
        self.of.check(columns)

    def names(self) -> frozenset[str]:
        return self.of.names()


@final
@dataclass(frozen=True)
class Holds(Expression):
    """Yes where a condition holds, no where it does not or is unknown: as `where` keeps rows, so is it never missing.

    >>> Holds(IsMissing(Ref("a"))).column({"a": Int(0, 1)})
    Bool(null=False)
    """

    condition: Condition

    def column(self, columns: Columns) -> Column:
        self.condition.check(columns)
        return Bool()

    def names(self) -> frozenset[str]:
        return self.condition.names()


@final
@dataclass(frozen=True)
class If(Expression):
    """A value where a condition holds; elsewhere the number `otherwise`, or missing.

    >>> If(Ref("cost"), IsMissing(Ref("ward")), 0).column({"cost": Int(5, 9), "ward": Text()})
    Int(lower=0, upper=9, null=False)
    """

    of: Expression
    condition: Condition
    otherwise: int | float | None = None

    def __post_init__(self) -> None:
        if self.otherwise is not None:
            finite("otherwise", self.otherwise)

    def column(self, columns: Columns) -> Column:
        self.condition.check(columns)
        inner = self.of.column(columns)
        if self.otherwise is None:
            return inner
        ends = [*_numbers(inner).span, self.otherwise]
        if max(map(abs, ends)) >= _LARGEST:
            raise InvalidParameter("this expression leaves the range of numbers: its bounds must stay below 2^52")
        kind = Float if isinstance(inner, Float) or isinstance(self.otherwise, float) else Int
        return kind(min(ends), max(ends), null=inner.null)

    def names(self) -> frozenset[str]:
        return self.of.names() | self.condition.names()


@final
@dataclass(frozen=True)
class Pattern(Expression):
    """Which of several conditions hold, as the bits of a whole number; what is unknown does not hold.

    >>> Pattern((IsMissing(Ref("a")), IsMissing(Ref("b")))).column({"a": Int(0, 1), "b": Int(0, 1)})
    Int(lower=0, upper=3, null=False)
    """

    conditions: tuple[Condition, ...]

    def column(self, columns: Columns) -> Column:
        for each in self.conditions:
            each.check(columns)
        return Int(0, 2 ** len(self.conditions) - 1)

    def names(self) -> frozenset[str]:
        return frozenset().union(*(each.names() for each in self.conditions))


def listed_values(column: Column) -> int:
    """The number of values that a column has by its public description, missing ones not counted.

    >>> listed_values(Int(10, 19)), listed_values(Bool())
    (10, 2)
    """
    if isinstance(column, Category):
        return len(column.values)
    if not isinstance(column, Int | Bool | Date) or column.span[1] - column.span[0] >= MOST_KEYS:
        raise InvalidParameter(f"the values of this column cannot be listed, for it holds {column.describe()}: cut it")
    return int(column.span[1] - column.span[0]) + 1


def _numbers(column: Column) -> Column:
    if not column.numeric:
        raise InvalidParameter(f"only numbers can be added and multiplied, and this is {column.describe()}")
    return column


def _spread(column: Column) -> Column:
    if isinstance(column, Time):
        raise InvalidParameter("times are put into bins by a part of them: take the .date or the .hour")
    if not (column.numeric or isinstance(column, Date)) or isinstance(column, Bool):
        raise InvalidParameter(f"only numbers and days can be put into bins, and this is {column.describe()}")
    return column


def _named(expression: Expression) -> str:
    return f"column {expression.name!r}" if isinstance(expression, Ref) else "this expression"


def _constant(expression: Expression, column: Column, value: object) -> None:
    try:
        column.read(value)
    except InvalidParameter as problem:
        raise InvalidParameter(f"{_named(expression)}: {problem}") from None
