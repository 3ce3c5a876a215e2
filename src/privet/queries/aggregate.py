"""The abstract aggregate: a request about the rows of a group, what is measured for it, how the answer follows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar, final

from privet._registry import Registry
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.queries.family import Family, Noisy, Want
from privet.queries.reading import Read
from privet.tables import Column, Condition, Expression, Holds, If, Ref
from privet.tables.columns import known_column

_F = TypeVar("_F", bound=Callable[..., Any])


class Aggregate(ABC):
    """A request, such as the mean of a column, whose name is then in a field `column`.

    It says what it needs measured (`wants`), whether a noisy vector of exact sums (`Family`) holds that (`read_off`), how
    its answer follows from that vector (`read`), and what it is where nothing needs to be measured (`constant`).

    `examples` say what it is on rows that are known, and laws run over them. Subclasses are frozen dataclasses under
    `@register`, each with a function under `@spelt` that users write.

    >>> from privet.queries.aggregates import Mean
    >>> Mean("cost").column
    'cost'
    """

    of_dates: ClassVar[bool] = False  # True if it can be asked of a column of dates
    by_rows: ClassVar[bool] = False  # True if its error depends on how many rows a group has
    of_keys: ClassVar[bool] = False  # True if it is measured by a plan of its own, for which keys must be public
    by_selection: ClassVar[bool] = False  # True if the noisy count that discovered a key is its answer for it

    def wants(self) -> Want | None:
        """The measurements it needs; None for one that no sums answer, such as a quantile, which is chosen by scores.

        >>> from privet.queries.aggregates import Mean
        >>> Mean("cost").wants()
        Want(kind='moments', column='cost', degree=1)
        """
        return None

    def read_off(self, family: Family) -> bool:
        """True if a family holds what it needs.

        >>> from privet.queries.aggregates import Count
        >>> Count().read_off(Family("rows"))
        True
        """
        want = self.wants()
        return want is not None and (family.kind, family.column) == (want.kind, want.column)

    def read(self, noisy: Noisy, columns: dict[str, Column], confidence: float) -> Read:
        """The answers and both ends of their intervals, off the noisy vector of a family that `read_off` takes."""
        raise InvalidParameter(f"{type(self).__name__} is chosen, not read off a noisy vector")

    def constant(self, columns: dict[str, Column]) -> Read:
        """The value that is known without data: the column has only one step, or only the value 0.

        There is no noise; the interval is what values may be within the step.
        """
        raise InvalidParameter(f"{type(self).__name__} is not known without data")

    def half_width(self, even: Noisy, columns: dict[str, Column], confidence: float) -> float:
        """The distance from the answer to the farther end of its interval, for a preview, which sees no data: `even` is
        the vector of a made-up group, without noise, whose values lie evenly between the bounds."""
        return self.read(even, columns, confidence).farther()

    def check(self, columns: dict[str, Column]) -> None:
        """A check, from the schema alone, that the columns can answer it; else it is refused."""
        column = getattr(self, "column", None)
        if column is None:  # counts are about rows
            return
        declared = known_column(columns, column)
        # Dates have an order, hence quantiles, but no sum.
        if not declared.numeric and not (self.of_dates and declared.kind == "date"):
            cure = f"count its values with group_by({column!r}).agg(n=pv.count())"
            if declared.kind == "time":
                cure = f"ask for a part of it, or for the seconds between two: pv.mean(table[{column!r}].hour)"
            raise InvalidParameter(f"column {column!r} holds {declared.describe()}, which cannot be added up: {cure}")

    @classmethod
    @abstractmethod
    def examples(cls) -> "Iterable[AggregateExample]":
        """Requests of this kind about a column `x` of whole numbers, and what each of them is on known rows."""


@final
@dataclass(frozen=True)
class AggregateExample:
    """A request about a column `x`, and what it is on the rows of a group: their values of `x`, None where one is missing.

    >>> from privet.queries.aggregates import Mean
    >>> example = next(iter(Mean.examples()))
    >>> example.kind, example.exact([1, None, 3])
    ('mean', 2.0)
    """

    title: str
    aggregate: Aggregate
    exact: Callable[[list[int | None]], float]

    @property
    def kind(self) -> str:
        """The name of the aggregate among the registered ones."""
        return register.name_of(type(self.aggregate))

    def __str__(self) -> str:
        return self.title


register: Registry[Aggregate] = Registry("aggregates")


def registered_aggregates() -> dict[str, type[Aggregate]]:
    """All aggregates by name.

    >>> from privet import queries
    >>> "mean" in queries.registered_aggregates()
    True
    """
    return register.members()


class Spelling(NamedTuple):
    """A function with which users ask for an aggregate, its names in SQL (`sql`), and names that other libraries give it
    (`alike`), which are answered by a hint."""

    make: Callable[..., Any]
    sql: tuple[str, ...]
    alike: tuple[str, ...]


_SPELLINGS: dict[str, Spelling] = {}


def spelt(*, sql: tuple[str, ...] = (), alike: tuple[str, ...] = ()) -> Callable[[_F], _F]:
    """The decorator of a function with which users ask for an aggregate, such as `pv.mean`.

    `sql` are its names in SQL, where it takes a column, and a number too if the function has a second argument without a
    default. `alike` are names that other libraries give it: who asks a table for one of them is told what it is here.
    """

    def enrol(function: _F) -> _F:
        _SPELLINGS[function.__name__] = Spelling(function, sql, alike)
        return function

    return enrol


def spellings() -> dict[str, Spelling]:
    """The functions that make aggregates, by name.

    >>> from privet import queries
    >>> spellings()["mean"].sql
    ('AVG', 'MEAN')
    """
    return dict(_SPELLINGS)


@final
@dataclass(frozen=True)
class AggregateOf:
    """An aggregate of an expression such as visits["cost"] * 2, which has no name yet.

    The table that is asked computes the expression row by row as a new column, and makes the aggregate of its name.

    >>> from privet.queries.aggregates import Mean
    >>> AggregateOf(Ref("cost"), Mean).make("cost")
    Mean(column='cost')
    """

    expression: Expression
    make: Callable[[str], Aggregate]

    def check(self, columns: dict[str, Column]) -> None:
        """A check, from the schema alone, that the columns can answer it; else it is refused."""
        made = "this expression"  # stands for the name in messages
        self.make(made).check({**columns, made: self.expression.column(columns)})


def asked_of(column: object, make: Callable[[str], Aggregate], where: object = None) -> "Aggregate | AggregateOf":
    """The aggregate of a column: "cost", visits["cost"], an expression such as visits["cost"] * 2, or a condition, which
    counts as 1 where it holds and as 0 elsewhere. With `where` only the rows count that fulfil it.

    >>> from privet.queries.aggregates import Mean
    >>> asked_of("cost", Mean)
    Mean(column='cost')
    """
    expression = getattr(column, "expression", column)  # the field of visits["cost"] * 2, and of visits["age"] >= 65
    if isinstance(expression, Condition):
        expression = Holds(expression)
    if not isinstance(expression, Expression):
        name: Any = getattr(column, "name", column)
        expression = Ref(instance("column", name, str))
    if where is not None:
        expression = If(expression, condition_in(where))
    return make(expression.name) if isinstance(expression, Ref) else AggregateOf(expression, make)


def condition_in(where: object) -> Condition:
    """The condition that was given as `where=`; anything else is refused.

    >>> from privet.tables import Compare, Ref
    >>> condition_in(Compare(Ref("age"), ">=", 65)).names() == {"age"}
    True
    """
    condition = getattr(where, "condition", where)
    if not isinstance(condition, Condition):
        raise InvalidParameter('where must be a condition such as visits["age"] >= 65')
    return condition
