"""Aggregates of a group of rows: counts, sums, means, variances and quantiles. Requests, without any data.

The functions are what users write, as `pv.sum("cost")`; `sum`, `min` and `max` hide Python's own in this file.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean, median_low, pstdev, pvariance
from typing import Any, final

from privet._calls import door
from privet._numerics import exact
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.queries.aggregate import (
    Aggregate,
    AggregateExample,
    AggregateOf,
    asked_of,
    condition_in,
    register,
    spelt,
)
from privet.queries.family import Family, Noisy, Want
from privet.queries.reading import Read, count_of, counted, deviation_of, mean_of, span_of, sum_of, sum_radius
from privet.tables import Bool, Column, Condition, Derive, Float, Holds, Node, Ref


@final
@register
@dataclass(frozen=True)
class Count(Aggregate):
    """The number of rows; with a condition, of those on which it holds."""

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
    """The number of persons."""

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
class CountDistinct(Aggregate):
    """The number of different values of a column; what is missing is none of them."""

    of_keys = True

    column: str

    def wants(self) -> Want:
        return Want("distinct", self.column)

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        return count_of(noisy, confidence)

    def check(self, columns: dict[str, Column]) -> None:
        if isinstance(Ref(self.column).column(columns), Float):
            raise InvalidParameter(
                f"column {self.column!r} holds fractions, whose values are not counted: cut it first"
            )

    @classmethod
    def examples(cls) -> Iterable[AggregateExample]:
        yield AggregateExample("count of values", cls("x"), lambda rows: len({*rows} - {None}))


@final
@register
@dataclass(frozen=True)
class Sum(Aggregate):
    """The sum of a column; of yes and no it is a count of yes, a whole number that is not below 0."""

    column: str

    def wants(self) -> Want:
        return Want("signed", self.column)

    def read_off(self, family: Family) -> bool:
        return family.column == self.column  # moments hold the sum as well

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        read = sum_of(noisy, confidence)
        return counted(read.value, sum_radius(noisy, confidence)) if isinstance(columns[self.column], Bool) else read

    def constant(self, columns: dict[str, Column]) -> Read:
        return Read(0.0, 0.0, 0.0)

    def half_width(self, even: Noisy, columns: dict[str, Column], confidence: float) -> float:
        radius = sum_radius(even, confidence)  # whatever the rows are
        return float(math.ceil(radius)) if isinstance(columns[self.column], Bool) else radius

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
            raise InvalidParameter(f"q must lie strictly between 0 and 1, got {str(share)[:24]}")
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
    """The number of rows that a group has; with a condition, on how many of them it holds. Several counts with
    conditions, of all rows together, are planned as one: `table.counts(...)`.

    >>> count()
    Count(where=None)
    """
    if where is None:
        return Count()
    return Count(condition_in(where))


@spelt()
@door
def count_persons() -> CountPersons:
    """The number of persons that a group has.

    >>> count_persons()
    CountPersons()
    """
    return CountPersons()


@spelt(alike=("nunique", "n_unique", "approx_count_distinct", "countDistinct"))
@door
def count_distinct(column: object, *, where: object = None) -> Aggregate | AggregateOf:
    """The number of different values that a column has in every group. Persons are counted by `count_persons`.

    Of a person as many values count as rows would: a tight `max_rows`, or `max_rows_per_group`, means little noise.

    >>> count_distinct("city")
    CountDistinct(column='city')
    """
    return asked_of(column, CountDistinct, where)


@spelt(sql=("SUM",))
@door
def sum(column: object, *, where: object = None) -> Aggregate | AggregateOf:
    """The sum of a column in every group; of a condition it is the number of rows on which that holds.

    All aggregates of a column take what is computed from columns too, as `pv.sum(visits["cost"] * 2)`, and `where=`, a
    condition that leaves out the other rows of each group.

    >>> sum("cost")
    Sum(column='cost')
    """
    return asked_of(column, Sum, where)


@spelt(sql=("AVG", "MEAN"), alike=("avg", "average"))
@door
def mean(column: object, *, where: object = None) -> Aggregate | AggregateOf:
    """The mean of a column in every group; of a condition it is the share of rows on which that holds, as in
    `pv.mean(visits["age"] >= 65)`.

    >>> mean("cost")
    Mean(column='cost')
    """
    return asked_of(column, Mean, where)


@spelt(sql=("VARIANCE", "VAR_POP"), alike=("var",))
@door
def variance(column: object, *, where: object = None) -> Aggregate | AggregateOf:
    """The variance of a column in every group.

    >>> variance("cost")
    Variance(column='cost', root=False)
    """
    return asked_of(column, Variance, where)


@spelt(sql=("STDDEV", "STDDEV_POP", "STD"), alike=("stddev",))
@door
def std(column: object, *, where: object = None) -> Aggregate | AggregateOf:
    """The standard deviation of a column in every group.

    >>> std("cost").root
    True
    """
    return asked_of(column, lambda name: Variance(name, True), where)


@spelt(sql=("QUANTILE", "PERCENTILE"))
@door
def quantile(column: object, q: object, *, where: object = None) -> Aggregate | AggregateOf:
    """One quantile of a column in every group. For several of one column, `table.quantiles` costs less.

    It has no interval: how far off it is depends on how dense the values lie there, of which nothing is released.
    `table.quantiles` has intervals, and so has `table.group_by(...).quantiles`.

    >>> quantile("cost", 0.9).q
    Fraction(9, 10)
    """
    if isinstance(q, list | tuple):
        raise InvalidParameter(
            f"one quantile at a time here; for several ask table.quantiles({column!r}, [...]), and of groups "
            f"table.group_by(...).quantiles({column!r}, [...])"
        )
    return _quantile(column, q, where)


@spelt(sql=("MEDIAN",))
@door
def median(column: object, *, where: object = None) -> Aggregate | AggregateOf:
    """The median of a column in every group.

    >>> median("cost").q
    Fraction(1, 2)
    """
    return _quantile(column, Fraction(1, 2), where)


@spelt(sql=("MIN",))
@door
def min(column: object, *, q: float = 0.01, where: object = None) -> Aggregate | AggregateOf:
    """A small quantile of a column, the 1% one unless `q` says otherwise: the very smallest value belongs to one person.

    >>> min("cost").q
    Fraction(1, 100)
    """
    return _quantile(column, q, where)


@spelt(sql=("MAX",))
@door
def max(column: object, *, q: float = 0.99, where: object = None) -> Aggregate | AggregateOf:
    """A large quantile of a column, the 99% one unless `q` says otherwise: the very largest value belongs to one person.

    >>> max("cost").q
    Fraction(99, 100)
    """
    return _quantile(column, q, where)


def _quantile(column: object, q: Any, where: object) -> Aggregate | AggregateOf:
    asked = Quantile("", q)  # a share that makes no sense is refused here, and not where the column gets its name
    return asked_of(column, lambda name: replace(asked, column=name), where)


def with_columns(rows: Node, asked: Mapping[str, Aggregate | AggregateOf]) -> tuple[Node, dict[str, Aggregate]]:
    """Rows with a column for everything that is computed for an aggregate, and the aggregates of these columns. What is
    written twice is computed, and measured, once."""
    outputs: dict[str, Aggregate] = {}
    held = rows.columns
    named: dict[str, str] = {}
    for name, each in asked.items():
        if isinstance(each, Count) and each.where is not None:
            each = AggregateOf(Holds(each.where), Sum)
        if isinstance(each, AggregateOf):
            written = repr(each.expression)  # 1 and True are equal, and a column may take only one of them
            if written not in named:
                named[written] = next(free for n in itertools.count() if (free := name + "_" * n) not in held)
                rows = Derive(rows, named[written], each.expression)
                held = rows.columns
            each = each.make(named[written])
        outputs[name] = each
    return rows, outputs
