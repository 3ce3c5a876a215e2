"""Columns and conditions as they are written: `visits["age"] >= 65`, `visits["cost"] * 2`, `a & ~b`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from privet._validate import items
from privet.errors import InvalidCall, InvalidParameter
from privet.queries.other_names import no_such_name
from privet.tables import Clip, Column, Float, Part, Time, Times, expressions as tree
from privet.tables.columns import known_column, plain_value


@final
class Selection:
    """A condition on rows: `visits.where(condition)` keeps those on which it holds. Combine with & | ~.

    >>> (ColumnOf("age") >= 65) & (ColumnOf("ward") == "A")
    <condition on age, ward>
    """

    __slots__ = ("condition",)

    def __init__(self, condition: tree.Condition) -> None:
        self.condition = condition

    def __and__(self, other: "Selection") -> "Selection":
        return Selection(tree.Both(self.condition, condition_of(other)))

    def __or__(self, other: "Selection") -> "Selection":
        return Selection(tree.Either(self.condition, condition_of(other)))

    def __invert__(self) -> "Selection":
        return Selection(tree.Negated(self.condition))

    @property
    def expression(self) -> tree.Expression:
        """Yes and no as a column: what `derive` and aggregates take."""
        return tree.Holds(self.condition)

    def __bool__(self) -> bool:
        raise InvalidParameter("a condition is about every row: combine conditions with & | ~, not with and, or, not")

    def __repr__(self) -> str:
        return f"<condition on {', '.join(sorted(self.condition.names()))}>"


def condition_of(what: object) -> tree.Condition:
    if isinstance(what, Selection):
        return what.condition
    if isinstance(what, tree.Condition):
        return what
    raise InvalidParameter(
        'a condition looks like visits["age"] >= 65; join several with & | ~ and put each in brackets'
    )


@final
class ColumnOf:
    """A column, or what is computed from columns row by row: compare it, add to it, put it into bins.

    >>> ColumnOf("age") + 1
    <column computed from age>
    """

    __slots__ = ("expression", "name")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # a number of numpy on the left leaves the comparison to this class

    def __init__(self, what: str | tree.Expression) -> None:
        self.expression = tree.Ref(what) if isinstance(what, str) else what
        self.name = self.expression.name if isinstance(self.expression, tree.Ref) else "this expression"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in self.__slots__:
            raise AttributeError(name)
        raise no_such_name(self, name, self.name if isinstance(self.expression, tree.Ref) else None)

    def __array__(self, *arguments: object, **options: object) -> Any:
        """Refused: numpy would compute with the description, and answer with a description."""
        raise InvalidCall(
            "a column of a table is private and no array: ask for aggregates of it, such as table.agg(mean=pv.mean('age'))"
        )

    def _compared(self, operator: Any, other: Any) -> Selection:
        if isinstance(other, ColumnOf):
            return Selection(tree.CompareColumns(self.expression, operator, other.expression))
        return Selection(tree.Compare(self.expression, operator, plain_value(other)))

    def __lt__(self, other: object) -> Selection:
        return self._compared("<", other)

    def __le__(self, other: object) -> Selection:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> Selection:
        return self._compared(">", other)

    def __ge__(self, other: object) -> Selection:
        return self._compared(">=", other)

    def __eq__(self, other: object) -> Selection:  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: object) -> Selection:  # type: ignore[override]
        return self._compared("!=", other)

    def isin(self, values: object) -> Selection:
        """True if the value is one of these; a set is put in order, so that it is the same question in every process."""
        if isinstance(values, set | frozenset):
            values = _in_order(map(plain_value, values))
        return Selection(tree.IsIn(self.expression, tuple(map(plain_value, items("values", values)))))

    def between(self, low: object, high: object) -> Selection:
        """True if the value lies between two others, both included."""
        return (self >= low) & (self <= high)

    def is_missing(self) -> Selection:
        """True if there is no value."""
        return Selection(tree.IsMissing(self.expression))

    def _plus(self, other: object, sign: int) -> "ColumnOf":
        if isinstance(other, ColumnOf):
            return ColumnOf(tree.Plus(self.expression, other.expression, sign))
        return ColumnOf(tree.Linear(self.expression, 1, sign * plain_number(other)))

    def __add__(self, other: object) -> "ColumnOf":
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> "ColumnOf":
        return self._plus(other, -1)

    def __rsub__(self, other: object) -> "ColumnOf":
        return ColumnOf(tree.Linear(self.expression, -1, plain_number(other)))

    def __neg__(self) -> "ColumnOf":
        return ColumnOf(tree.Linear(self.expression, -1, 0))

    def __mul__(self, other: object) -> "ColumnOf":
        if isinstance(other, ColumnOf):
            return ColumnOf(Times(self.expression, other.expression))
        return ColumnOf(tree.Linear(self.expression, plain_number(other), 0))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> "ColumnOf":
        if isinstance(other, ColumnOf) or plain_number(other) == 0:
            raise InvalidParameter(
                "columns are divided by constants only, and not by 0: a division by data could fail on some"
            )
        return ColumnOf(tree.Linear(self.expression, 1.0 / plain_number(other), 0))

    def __pow__(self, other: object) -> "ColumnOf":
        raise InvalidParameter("powers of columns are not computed here: do so before the table is opened")

    def _not_computed(self, *_: object) -> "ColumnOf":
        raise InvalidParameter(
            "columns are added up and multiplied, and divided by constants: compute the rest before the table is opened"
        )

    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _not_computed
    __rtruediv__ = __rpow__ = __matmul__ = __rmatmul__ = __abs__ = __round__ = _not_computed

    def __invert__(self, *_: object) -> "ColumnOf":
        raise InvalidParameter('a column is no condition: compare it, as in visits["ill"] == False')

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__

    def cut(self, edges: object) -> "ColumnOf":
        """The number of the bin between given edges that the value falls in: with [18, 30, 65] it is 0 below 18, 1 from 18
        to below 30, and 3 from 65 on."""
        return ColumnOf(tree.Cut(self.expression, tuple(map(plain_number, items("edges", edges)))))

    def clip(self, lower: object, upper: object) -> "ColumnOf":
        """The value moved into other bounds, which are then those of the column: the tighter they are, the less noise. They
        are public: known without the data, or found privately by `table.find_bounds`."""
        return ColumnOf(Clip(self.expression, plain_number(lower), plain_number(upper)))

    @property
    def year(self) -> "ColumnOf":
        """The year of a day."""
        return ColumnOf(Part(self.expression, "year"))

    @property
    def month(self) -> "ColumnOf":
        """The month of a day, 1 to 12."""
        return ColumnOf(Part(self.expression, "month"))

    @property
    def quarter(self) -> "ColumnOf":
        """The quarter of a day, 1 to 4."""
        return ColumnOf(Part(self.expression, "quarter"))

    @property
    def week(self) -> "ColumnOf":
        """The week of a day by ISO 8601, 1 to 53: weeks begin on Mondays, and the first one has the year's first
        Thursday."""
        return ColumnOf(Part(self.expression, "week"))

    @property
    def day(self) -> "ColumnOf":
        """The day of the month, 1 to 31."""
        return ColumnOf(Part(self.expression, "day"))

    @property
    def weekday(self) -> "ColumnOf":
        """The weekday of a day, 0 for Monday."""
        return ColumnOf(Part(self.expression, "weekday"))

    @property
    def date(self) -> "ColumnOf":
        """The day of a time, in UTC."""
        return ColumnOf(Part(self.expression, "date"))

    @property
    def hour(self) -> "ColumnOf":
        """The hour of a time, 0 to 23, in UTC."""
        return ColumnOf(Part(self.expression, "hour"))

    @property
    def minute(self) -> "ColumnOf":
        """The minute of the hour, 0 to 59."""
        return ColumnOf(Part(self.expression, "minute"))

    def __call__(self, *_: object, **__: object) -> "ColumnOf":
        raise InvalidParameter(
            'a column is not called: .month and the like stand without brackets, visits["day"].month'
        )

    def __bool__(self) -> bool:
        raise InvalidParameter("a column is about every row: compare it, and combine conditions with & | ~")

    def __iter__(self) -> Any:
        raise InvalidParameter("a private column cannot be looped over: ask for aggregates of it")

    def __repr__(self) -> str:
        return f"<column computed from {', '.join(sorted(self.expression.names()))}>"


def plain_names(names: tuple[Any, ...]) -> tuple[Any, ...]:
    """The names of columns, which may come in one list, as pandas takes them.

    >>> plain_names((["ward", "sex"],)), plain_names(("ward", "sex"))
    (('ward', 'sex'), ('ward', 'sex'))
    """
    return tuple(names[0]) if len(names) == 1 and isinstance(names[0], list | tuple) else names


def check_groups(columns: Mapping[str, Column], names: Sequence[object]) -> None:
    """Refuse what cannot be grouped by.

    >>> check_groups({"cost": Float(0, 1)}, ["cost"])
    Traceback (most recent call last):
    privet.errors.InvalidParameter: column 'cost': fractions are not grouped by; put them into bins first
    """
    for name in names:
        if isinstance(name, ColumnOf):
            raise InvalidParameter(
                'a computed column is grouped by its name: table.derive(hour=table["at"].hour).group_by("hour")'
            )
        kind = known_column(columns, name)
        if isinstance(kind, Float):
            raise InvalidParameter(f"column {name!r}: fractions are not grouped by; put them into bins first")
        if isinstance(kind, Time):
            raise InvalidParameter(f"column {name!r}: times are grouped by a part of them: its .date or its .hour")
    if len(set(names)) != len(names):
        raise InvalidParameter("each column is grouped by once")


def plain_number(value: object) -> int | float:
    value = plain_value(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParameter(f"a number is needed here, got {type(value).__name__}")
    return value


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Values in an order that is the same in every process; where they cannot be compared, that of how they are written."""
    listed = sorted(values, key=lambda each: (type(each).__name__, repr(each)))
    try:
        return sorted(listed, key=lambda each: (type(each).__name__, each))
    except TypeError:  # times with and without a zone, say: the column they are asked of will have a word to say
        return listed
