"""The abstract aggregate: a request about the rows of a group, what must be measured for it and how it is read."""

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
    """A request; one about a column has its name in a field `column`.

    It says what it needs measured (`wants`), which noisy vectors it can be read off (`read_off`) and how (`read`), and what
    it is where nothing needs to be measured (`constant`).

    `examples` say what it is on rows that are known, and laws run over them. Subclasses are frozen dataclasses under
    `@register`, each with a function under `@spelt` that users write.

    >>> from privet.queries.aggregates import Mean
    >>> Mean("cost").column
    'cost'
    """

    of_dates: ClassVar[bool] = False  # whether a column of dates has it
    by_rows: ClassVar[bool] = False  # whether its error depends on how many rows a group has
    of_keys: ClassVar[bool] = False  # whether it has a plan of its own, which needs public keys
    by_selection: ClassVar[bool] = False  # whether the noisy count by which a key was discovered is its answer

    def wants(self) -> Want | None:
        """The measurements it needs; None for one that is chosen by scores of its own instead of added up.

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
        """Its value where no family is needed, since its column is a single step wide or its sum always 0: no noise,
        and what the step hides."""
        raise InvalidParameter(f"{type(self).__name__} is not known without data")

    def half_width(self, even: Noisy, columns: dict[str, Column], confidence: float) -> float:
        """The distance by which the interval reaches to its farther side, for a preview: `even` is a vector without
        noise, of values that lie evenly between the bounds."""
        return self.read(even, columns, confidence).farther()

    def check(self, columns: dict[str, Column]) -> None:
        """Refuse what the columns cannot answer, from the schema alone."""
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
    """A function that users write for an aggregate, its words in SQL, and what others call it."""

    make: Callable[..., Any]
    sql: tuple[str, ...]
    alike: tuple[str, ...]


_SPELLINGS: dict[str, Spelling] = {}


def spelt(*, sql: tuple[str, ...] = (), alike: tuple[str, ...] = ()) -> Callable[[_F], _F]:
    """Enrol a function that makes an aggregate: SQL takes it under these words (of one column, and of a number where the
    function has a second argument without a default), and a table that is asked for a name in `alike` says what is meant.
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
    """An aggregate of what is computed row by row: the table that is asked gives it a name, and makes the aggregate.

    >>> from privet.queries.aggregates import Mean
    >>> AggregateOf(Ref("cost"), Mean).make("cost")
    Mean(column='cost')
    """

    expression: Expression
    make: Callable[[str], Aggregate]

    def check(self, columns: dict[str, Column]) -> None:
        """Refuse what the columns cannot answer, from the schema alone."""
        made = "this expression"
        self.make(made).check({**columns, made: self.expression.column(columns)})


def asked_of(column: object, make: Callable[[str], Aggregate], where: object = None) -> "Aggregate | AggregateOf":
    """The aggregate of a column, which is given by its name, as visits["cost"], as an expression such as
    visits["cost"] * 2, or as a condition: of 1 where that holds and 0 elsewhere. `where` leaves out the other rows.

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
    """The condition that `where=` was given.

    >>> from privet.tables import Compare, Ref
    >>> condition_in(Compare(Ref("age"), ">=", 65)).names() == {"age"}
    True
    """
    condition = getattr(where, "condition", where)
    if not isinstance(condition, Condition):
        raise InvalidParameter('where must be a condition such as visits["age"] >= 65')
    return condition
