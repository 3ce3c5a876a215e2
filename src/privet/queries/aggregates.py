"""What can be asked of a group of rows: counts, sums, means, variances and quantiles. Requests, without any data.

The functions are what users write, as `pv.sum("cost")`; `sum`, `min` and `max` hide Python's own in this file.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from privet._calls import door
from privet._numerics import exact
from privet._validate import instance, set_frozen
from privet.errors import InvalidParameter
from privet.tables.columns import Column
from privet.tables.expressions import Condition


class Aggregate:
    """A request; one about a column has its name in a field `column`.

    >>> Mean("cost").column
    'cost'
    """

    def check(self, columns: dict[str, Column]) -> None:
        """Refuse what the columns cannot answer, from the schema alone."""
        column = getattr(self, "column", None)
        if column is None:  # counts are about rows
            return
        if column not in columns:
            raise InvalidParameter(f"there is no column {column!r:.60}; the columns are {', '.join(columns)}")
        declared = columns[column]
        # Dates have an order, hence quantiles, but no sum.
        if not declared.numeric and not (isinstance(self, Quantile) and declared.kind == "date"):
            raise InvalidParameter(
                f"column {column!r} holds {declared.describe()}, which cannot be added up: count its values with "
                f"group_by({column!r}).agg(n=pv.count())"
            )


@final
@dataclass(frozen=True)
class Count(Aggregate):
    """How many rows; with a condition, how many on which it holds."""

    where: Condition | None = None


@final
@dataclass(frozen=True)
class CountPersons(Aggregate):
    """How many persons."""


@final
@dataclass(frozen=True)
class Sum(Aggregate):
    """The sum of a column."""

    column: str


@final
@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of a column."""

    column: str


@final
@dataclass(frozen=True)
class Variance(Aggregate):
    """The variance of a column (divided by the number of rows, not by one less); with `root` the standard deviation."""

    column: str
    root: bool = False


@final
@dataclass(frozen=True)
class Quantile(Aggregate):
    """A value below which the share q of the rows lies."""

    column: str
    q: Fraction

    def __post_init__(self) -> None:
        # The double 0.9 is meant as 9/10. Scores are whole numbers that grow with the denominator, so that it stays small.
        share = exact("q", self.q).limit_denominator(10_000)
        if not 0 < share < 1:
            raise InvalidParameter(f"q must lie strictly between 0 and 1, got {float(share):g}")
        set_frozen(self, q=share)


@door
def count(where: object = None) -> Count:
    """How many rows a group has; with a condition, on how many of them it holds.

    >>> count()
    Count(where=None)
    """
    if where is None:
        return Count()
    condition = getattr(where, "condition", where)  # what visits["age"] >= 65 gives holds its condition in this field
    if not isinstance(condition, Condition):
        raise InvalidParameter('where must be a condition such as visits["age"] >= 65')
    return Count(condition)


@door
def count_persons() -> CountPersons:
    """How many persons a group has.

    >>> count_persons()
    CountPersons()
    """
    return CountPersons()


@door
def sum(column: str) -> Sum:
    """The sum of a column in every group.

    >>> sum("cost")
    Sum(column='cost')
    """
    return Sum(_name(column))


@door
def mean(column: str) -> Mean:
    """The mean of a column in every group.

    >>> mean("cost")
    Mean(column='cost')
    """
    return Mean(_name(column))


@door
def variance(column: str) -> Variance:
    """The variance of a column in every group.

    >>> variance("cost")
    Variance(column='cost', root=False)
    """
    return Variance(_name(column))


@door
def std(column: str) -> Variance:
    """The standard deviation of a column in every group.

    >>> std("cost").root
    True
    """
    return Variance(_name(column), True)


@door
def quantile(column: str, q: Any) -> Quantile:
    """One quantile of a column in every group. For several of one column, `table.quantiles` costs less.

    It has no interval: how far off it is depends on how dense the values lie there, of which nothing is released.
    `table.quantiles` has intervals.

    >>> quantile("cost", 0.9).q
    Fraction(9, 10)
    """
    if isinstance(q, list | tuple):
        raise InvalidParameter(f"one quantile at a time here; for several ask table.quantiles({column!r}, [...])")
    return Quantile(_name(column), q)


@door
def median(column: str) -> Quantile:
    """The median of a column in every group.

    >>> median("cost").q
    Fraction(1, 2)
    """
    return Quantile(_name(column), Fraction(1, 2))


@door
def min(column: str, *, q: float = 0.01) -> Quantile:
    """A small quantile of a column, the 1% one unless `q` says otherwise: the very smallest value belongs to one person.

    >>> min("cost").q
    Fraction(1, 100)
    """
    return Quantile(_name(column), q)  # type: ignore[arg-type]


@door
def max(column: str, *, q: float = 0.99) -> Quantile:
    """A large quantile of a column, the 99% one unless `q` says otherwise: the very largest value belongs to one person.

    >>> max("cost").q
    Fraction(99, 100)
    """
    return Quantile(_name(column), q)  # type: ignore[arg-type]


def _name(column: object) -> str:
    """The name of a column, which may be given by its name or as visits["cost"]."""
    name: Any = getattr(column, "name", column)
    return str(instance("column", name, str))
