"""What can be asked of a group of rows: counts, sums, means, variances and quantiles. Requests, without any data.

The functions are what users write, as `pv.sum("cost")`; `sum`, `min` and `max` hide Python's own in this file.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, median_low, pstdev, pvariance
from typing import Any, final

from privet._calls import door
from privet._numerics import exact
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.queries.aggregate import Aggregate, AggregateExample, column_name, register, spelt
from privet.queries.family import Family, Noisy, Want
from privet.queries.reading import Read, count_of, deviation_of, mean_of, span_of, sum_of, sum_radius
from privet.tables import Column, Condition


@final
@register
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

    @classmethod
    def examples(cls) -> Iterable[AggregateExample]:
        yield AggregateExample("count", cls(), len)


@final
@register
@dataclass(frozen=True)
class CountPersons(Aggregate):
    """How many persons."""

    by_selection = True

    def wants(self) -> Want:
        return Want("persons")

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        return count_of(noisy, confidence)

    @classmethod
    def examples(cls) -> Iterable[AggregateExample]:
        yield AggregateExample("count of persons", cls(), len)  # of rows about nobody else


@final
@register
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

    @classmethod
    def examples(cls) -> Iterable[AggregateExample]:
        yield AggregateExample("sum", cls("x"), lambda rows: math.fsum(each for each in rows if each is not None))


@final
@register
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

    @classmethod
    def examples(cls) -> Iterable[AggregateExample]:
        yield AggregateExample("mean", cls("x"), lambda rows: fmean(each for each in rows if each is not None))


@final
@register
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

    @classmethod
    def examples(cls) -> Iterable[AggregateExample]:
        yield AggregateExample(
            "variance", cls("x"), lambda rows: pvariance([each for each in rows if each is not None])
        )
        yield AggregateExample(
            "deviation", cls("x", True), lambda rows: pstdev([each for each in rows if each is not None])
        )


@final
@register
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

    @classmethod
    def examples(cls) -> Iterable[AggregateExample]:
        middle = Fraction(1, 2)
        yield AggregateExample(
            "median", cls("x", middle), lambda rows: median_low(each for each in rows if each is not None)
        )


@spelt()
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


@spelt()
@door
def count_persons() -> CountPersons:
    """How many persons a group has.

    >>> count_persons()
    CountPersons()
    """
    return CountPersons()


@spelt(sql=("SUM",))
@door
def sum(column: str) -> Sum:
    """The sum of a column in every group.

    >>> sum("cost")
    Sum(column='cost')
    """
    return Sum(column_name(column))


@spelt(sql=("AVG", "MEAN"), alike=("avg", "average"))
@door
def mean(column: str) -> Mean:
    """The mean of a column in every group.

    >>> mean("cost")
    Mean(column='cost')
    """
    return Mean(column_name(column))


@spelt(sql=("VARIANCE", "VAR_POP"), alike=("var",))
@door
def variance(column: str) -> Variance:
    """The variance of a column in every group.

    >>> variance("cost")
    Variance(column='cost', root=False)
    """
    return Variance(column_name(column))


@spelt(sql=("STDDEV", "STDDEV_POP", "STD"), alike=("stddev",))
@door
def std(column: str) -> Variance:
    """The standard deviation of a column in every group.

    >>> std("cost").root
    True
    """
    return Variance(column_name(column), True)


@spelt(sql=("QUANTILE", "PERCENTILE"))
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
    return Quantile(column_name(column), q)


@spelt(sql=("MEDIAN",))
@door
def median(column: str) -> Quantile:
    """The median of a column in every group.

    >>> median("cost").q
    Fraction(1, 2)
    """
    return Quantile(column_name(column), Fraction(1, 2))


@spelt(sql=("MIN",))
@door
def min(column: str, *, q: float = 0.01) -> Quantile:
    """A small quantile of a column, the 1% one unless `q` says otherwise: the very smallest value belongs to one person.

    >>> min("cost").q
    Fraction(1, 100)
    """
    return Quantile(column_name(column), q)  # type: ignore[arg-type]


@spelt(sql=("MAX",))
@door
def max(column: str, *, q: float = 0.99) -> Quantile:
    """A large quantile of a column, the 99% one unless `q` says otherwise: the very largest value belongs to one person.

    >>> max("cost").q
    Fraction(99, 100)
    """
    return Quantile(column_name(column), q)  # type: ignore[arg-type]
