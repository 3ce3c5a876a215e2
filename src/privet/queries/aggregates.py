"""What can be asked of a group of rows: counts, sums, means, variances and quantiles. Requests, without any data.

The functions are what users write, as `pv.sum("cost")`; `sum`, `min` and `max` hide Python's own in this file.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

from privet._calls import door
from privet._numerics import exact
from privet._validate import instance, set_frozen
from privet.errors import InvalidParameter
from privet.queries.family import Family, Noisy, Want
from privet.queries.reading import Read, count_of, deviation_of, mean_of, span_of, sum_of, sum_radius
from privet.tables.columns import Column, known_column
from privet.tables.expressions import Condition


class Aggregate:
    """A request; one about a column has its name in a field `column`.

    It says what it needs measured (`wants`), which noisy vectors it can be read off (`read_off`) and how (`read`), and what
    it is where nothing needs to be measured (`constant`).

    >>> Mean("cost").column
    'cost'
    """

    of_dates: ClassVar[bool] = False  # whether a column of dates has it
    by_rows: ClassVar[bool] = False  # whether its error depends on how many rows a group has
    by_selection: ClassVar[bool] = False  # whether the noisy count by which a key was discovered is its answer

    def wants(self) -> Want | None:
        """What it needs measured; None for one that is chosen by scores of its own instead of added up.

        >>> Mean("cost").wants()
        Want(kind='moments', column='cost', degree=1)
        """
        return None

    def read_off(self, family: Family) -> bool:
        """Whether a family holds what it needs.

        >>> Count().read_off(Family("rows"))
        True
        """
        want = self.wants()
        return want is not None and (family.kind, family.column) == (want.kind, want.column)

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        """The answers and both ends of their intervals, off the noisy vector of a family that `read_off` takes."""
        raise InvalidParameter(f"{type(self).__name__} is chosen, not read off a noisy vector")

    def constant(self, columns: dict[str, Column]) -> Read:
        """What it is where no family is needed, since its column is a single step wide or its sum always 0: no noise, and
        what the step hides."""
        raise InvalidParameter(f"{type(self).__name__} is not known without data")

    def half_width(self, even: Noisy, columns: dict[str, Column], confidence: float) -> float:
        """How far the interval reaches to its farther side, for a preview: `even` is a vector without noise, of values that
        lie evenly between the bounds."""
        return self.read(even, columns, confidence).farther()

    def check(self, columns: dict[str, Column]) -> None:
        """Refuse what the columns cannot answer, from the schema alone."""
        column = getattr(self, "column", None)
        if column is None:  # counts are about rows
            return
        declared = known_column(columns, column)
        # Dates have an order, hence quantiles, but no sum.
        if not declared.numeric and not (self.of_dates and declared.kind == "date"):
            raise InvalidParameter(
                f"column {column!r} holds {declared.describe()}, which cannot be added up: count its values with "
                f"group_by({column!r}).agg(n=pv.count())"
            )


@final
@dataclass(frozen=True)
class Count(Aggregate):
    """How many rows; with a condition, how many on which it holds."""

    where: Condition | None = None

    def wants(self) -> Want:
        return Want("rows")

    def read_off(self, family: Family) -> bool:
        # sums of a column that count rows without a value too add up to all rows
        return family.kind == "rows" or family.missing

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        return count_of(noisy, confidence)


@final
@dataclass(frozen=True)
class CountPersons(Aggregate):
    """How many persons."""

    by_selection = True

    def wants(self) -> Want:
        return Want("persons")

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        return count_of(noisy, confidence)


@final
@dataclass(frozen=True)
class Sum(Aggregate):
    """The sum of a column."""

    column: str

    def wants(self) -> Want:
        return Want("signed", self.column)

    def read_off(self, family: Family) -> bool:
        return family.column == self.column  # moments hold the sum as well

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        return sum_of(noisy, confidence)

    def constant(self, columns: dict[str, Column]) -> Read:
        return Read(0.0, 0.0, 0.0)

    def half_width(self, even: Noisy, columns: dict[str, Column], confidence: float) -> float:
        return sum_radius(even, confidence)  # whatever the rows are


@final
@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of a column."""

    by_rows = True

    column: str

    def wants(self) -> Want:
        return Want("moments", self.column, 1)

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        return mean_of(noisy, columns[self.column], confidence)

    def constant(self, columns: dict[str, Column]) -> Read:
        low, high = span_of(columns[self.column])
        return Read((low + high) / 2.0, low, high)


@final
@dataclass(frozen=True)
class Variance(Aggregate):
    """The variance of a column (divided by the number of rows, not by one less); with `root` the standard deviation."""

    by_rows = True

    column: str
    root: bool = False

    def wants(self) -> Want:
        return Want("moments", self.column, 2)

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        return self._of_deviation(deviation_of(noisy, columns[self.column], confidence))

    def constant(self, columns: dict[str, Column]) -> Read:
        low, high = span_of(columns[self.column])
        return self._of_deviation(Read(0.0, 0.0, (high - low) / 2.0))

    def _of_deviation(self, read: Read) -> Read:
        return read if self.root else Read(*(each**2 for each in read))


@final
@dataclass(frozen=True)
class Quantile(Aggregate):
    """A value below which the share q of the rows lies."""

    of_dates = True

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
