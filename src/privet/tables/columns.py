"""Columns: what a column of a table may contain, as its custodian knows it without looking at the data."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from typing import Any, ClassVar, final

from privet._calls import door
from privet._numerics import exact
from privet._validate import finite, flag, items, set_frozen
from privet.errors import InvalidParameter

MOST_KEYS = 2**24  # of a column that can be grouped by without a list
_FARTHEST = 2**53  # whole numbers that a double holds
_LARGEST, _SMALLEST = 2.0**100, 2.0**-600  # of bounds that are fractions: no engine's arithmetic fails between them
_TICKS = 2**20  # steps of a column of floats, unless it says otherwise


class Column(ABC):
    """The public description of a column. Everything here is public, and none of it is read from the data.

    `null=True` says that a missing value is a group of its own when the column is grouped by; otherwise such rows are left
    out there. What lies outside of the bounds is moved to the nearer one, what is no value of this kind counts as missing.

    >>> Int(0, 110).describe()
    'whole numbers from 0 to 110'
    """

    kind: ClassVar[str]
    null: bool = False

    @abstractmethod
    def describe(self) -> str:
        """Words on what the column may contain."""

    @property
    def domain(self) -> tuple[Any, ...] | range | None:
        """The values in their public order; None where they cannot be listed."""
        return None

    @property
    def numeric(self) -> bool:
        """True if it can be added up."""
        return False

    @property
    def span(self) -> tuple[Any, Any]:
        """The bounds of a column of numbers, as they are compared in an engine: days since 1970 for dates."""
        raise InvalidParameter(f"{self.describe()} have no bounds")

    def read(self, value: object) -> Any:
        """A constant of a condition as it is compared in an engine, or an error that names what is expected."""
        raise InvalidParameter(f"{value!r:.60} is not among {self.describe()}")

    def to_dict(self) -> dict[str, Any]:
        """The kind and the fields that are set: how a schema is written.

        >>> Int(0, 110).to_dict()
        {'kind': 'int', 'lower': 0, 'upper': 110}
        """
        held = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in held.items()}
        return {"kind": self.kind} | {
            name: value for name, value in plain.items() if value is not None and value is not False
        }


def _ordered(lower: Any, upper: Any) -> None:
    if lower > upper:
        raise InvalidParameter(f"the lower bound must not be above the upper one, got {lower!r} and {upper!r}")


@door
@final
@dataclass(frozen=True)
class Int(Column):
    """Whole numbers from `lower` to `upper`; a fraction is rounded half up.

    >>> len(Int(0, 110).domain), Int(0, 110).read(65)
    (111, 65)
    """

    kind = "int"
    lower: int
    upper: int
    null: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        set_frozen(self, lower=_whole("lower", self.lower), upper=_whole("upper", self.upper))
        _ordered(self.lower, self.upper)
        flag("null", self.null)

    def describe(self) -> str:
        return f"whole numbers from {self.lower} to {self.upper}"

    @property
    def domain(self) -> range | None:
        values = range(self.lower, self.upper + 1)
        return values if self.upper - self.lower < MOST_KEYS else None

    @property
    def numeric(self) -> bool:
        return True

    @property
    def span(self) -> tuple[int, int]:
        return self.lower, self.upper

    def read(self, value: object) -> int | float:
        return _number(value)


@door
@final
@dataclass(frozen=True)
class Float(Column):
    """Numbers from `lower` to `upper`, added up in steps of `tick`: a power of two near a millionth of the range, unless
    it is given.

    >>> Float(0.0, 50_000.0).tick
    0.0625
    """

    kind = "float"
    lower: float
    upper: float
    tick: float | None = None
    null: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        lower, upper = finite("lower", self.lower), finite("upper", self.upper)
        _ordered(lower, upper)
        if any(abs(end) >= _LARGEST or 0.0 < abs(end) < _SMALLEST for end in (lower, upper)):
            raise InvalidParameter("the bounds of a column of numbers must be below 2^100, and 0 or above 2^-600")
        tick = default_tick(lower, upper) if self.tick is None else finite("tick", self.tick)
        top = max(abs(lower), abs(upper))
        if not (tick > 0.0 and math.isfinite(tick) and top / tick < 2.0**52 and math.frexp(tick)[0] == 0.5):
            raise InvalidParameter(
                "tick must be a power of two, such as 0.25, that fits the bounds less than 2^52 times"
            )
        if self.tick is not None and lower < upper < lower + tick:
            raise InvalidParameter("tick must not be wider than the range of the column: every value would be one step")
        set_frozen(self, lower=lower, upper=upper, tick=tick)
        flag("null", self.null)

    def describe(self) -> str:
        return f"numbers from {self.lower:g} to {self.upper:g}"

    @property
    def numeric(self) -> bool:
        return True

    @property
    def span(self) -> tuple[float, float]:
        return self.lower, self.upper

    def read(self, value: object) -> float:
        return float(_number(value))


@door
@final
@dataclass(frozen=True)
class Category(Column):
    """One of a public list of texts (or of whole numbers); anything else counts as missing.

    >>> Category(["A", "B"]).domain
    ('A', 'B')
    """

    kind = "category"
    values: Any
    null: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        listed = tuple(map(plain_value, items("values", self.values)))
        kinds = {bool if isinstance(each, bool) else type(each) for each in listed}
        if kinds not in ({str}, {int}):
            raise InvalidParameter("a category needs a list of texts, or a list of whole numbers, and at least one")
        if len(set(listed)) != len(listed):
            raise InvalidParameter("the values of a category must differ")
        if kinds == {int} and any(abs(each) >= _FARTHEST for each in listed):
            raise InvalidParameter("the numbers of a category must be below 2^53")
        if kinds == {str} and any("\0" in each for each in listed):
            raise InvalidParameter("the texts of a category must not hold a NUL, which no engine compares")
        if kinds == {str} and not all(map(is_unicode, listed)):
            raise InvalidParameter(
                "the texts of a category must be Unicode: half of a surrogate pair cannot be compared"
            )
        set_frozen(self, values=listed)
        flag("null", self.null)

    def describe(self) -> str:
        return f"one of {len(self.values)} values"

    @property
    def texts(self) -> bool:
        """True if the values are texts."""
        return isinstance(self.values[0], str)

    @property
    def domain(self) -> tuple[Any, ...]:
        return self.values

    def read(self, value: object) -> Any:
        if type(value) is type(self.values[0]) and value in self.values:
            return value
        listed = ", ".join(repr(each) for each in self.values[:8]) + (", ..." if len(self.values) > 8 else "")
        raise InvalidParameter(f"{value!r:.60} is not among the values of the category: {listed}")


@door
@final
@dataclass(frozen=True)
class Text(Column):
    """Texts of which no list is public. Such a column can be compared, and grouped by with keys that are discovered.

    >>> Text().domain is None
    True
    """

    kind = "text"
    null: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        flag("null", self.null)

    def describe(self) -> str:
        return "texts"

    def read(self, value: object) -> str:
        if not isinstance(value, str):
            raise InvalidParameter(f"a column of texts is compared with a text, got {type(value).__name__}")
        if "\0" in value:
            raise InvalidParameter("a text that a column is compared with must not hold the character of code 0")
        if not is_unicode(value):
            raise InvalidParameter("a text that a column is compared with must not hold half of a surrogate pair")
        return value


@door
@final
@dataclass(frozen=True)
class Date(Column):
    """Days from `lower` to `upper`, given as dates or as texts like "2024-05-01"; of a time the day in UTC counts.

    >>> Date("2024-01-01", "2024-12-31").span
    (19723, 20088)
    """

    kind = "date"
    lower: date
    upper: date
    null: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        set_frozen(self, lower=_day("lower", self.lower), upper=_day("upper", self.upper))
        _ordered(self.lower, self.upper)
        flag("null", self.null)

    def describe(self) -> str:
        return f"days from {self.lower} to {self.upper}"

    @property
    def domain(self) -> tuple[date, ...]:
        low, high = self.span
        return tuple(date.fromordinal(EPOCH + day) for day in range(low, high + 1))

    @property
    def span(self) -> tuple[int, int]:
        return self.lower.toordinal() - EPOCH, self.upper.toordinal() - EPOCH

    def read(self, value: object) -> int:
        return day_number(value)


@final
@dataclass(frozen=True)
class Time(Column):
    """Moments from `lower` to `upper`, to the second, in UTC: given as datetimes, or as texts like "2024-05-01 12:30". They
    are compared, and subtracted, which gives seconds; groups, bins and sums are of parts: `.date`, `.hour` and the like.

    >>> Time("2024-01-01", "2024-01-01 00:01").span
    (1704067200, 1704067260)
    """

    kind = "time"
    lower: datetime
    upper: datetime
    null: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        set_frozen(self, lower=_moment("lower", self.lower), upper=_moment("upper", self.upper))
        _ordered(self.lower, self.upper)
        flag("null", self.null)

    def describe(self) -> str:
        return f"times from {self.lower} to {self.upper}"

    @property
    def span(self) -> tuple[int, int]:
        return _seconds(self.lower), _seconds(self.upper)

    def read(self, value: object) -> int:
        return _seconds(_moment("what a time is compared with", value))


@door
@final
@dataclass(frozen=True)
class Bool(Column):
    """Yes or no.

    >>> Bool().domain
    (False, True)
    """

    kind = "bool"
    null: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        flag("null", self.null)

    def describe(self) -> str:
        return "yes or no"

    @property
    def domain(self) -> tuple[bool, bool]:
        return False, True

    @property
    def numeric(self) -> bool:
        return True

    @property
    def span(self) -> tuple[int, int]:
        return 0, 1

    def read(self, value: object) -> int:
        if not isinstance(value, bool):
            raise InvalidParameter(f"a column of yes and no is compared with True or False, got {type(value).__name__}")
        return int(value)


KINDS: dict[str, type[Column]] = {each.kind: each for each in (Int, Float, Category, Text, Date, Time, Bool)}
EPOCH = date(1970, 1, 1).toordinal()  # days are counted from here, as engines do


def column_of(fields_: dict[str, Any]) -> Column:
    """The column that `Column.to_dict` wrote.

    >>> column_of({"kind": "int", "lower": 0, "upper": 110})
    Int(lower=0, upper=110, null=False)
    """
    given = dict(fields_)
    kind = KINDS.get(given.pop("kind", ""))
    if kind is None:
        raise InvalidParameter(f"a column needs a kind, one of {', '.join(KINDS)}")
    try:
        return kind(**given)
    except TypeError:
        known = ", ".join(f.name for f in fields(kind))  # type: ignore[arg-type]
        raise InvalidParameter(f"a column of kind {kind.kind} has the fields {known}") from None


def as_columns(given: object) -> tuple[tuple[str, Column], ...]:
    """The columns of a table by name, checked.

    >>> as_columns({"age": Int(0, 110)})
    (('age', Int(lower=0, upper=110, null=False)),)
    """
    if not isinstance(given, dict) or not all(isinstance(name, str) and name and is_unicode(name) for name in given):
        raise InvalidParameter('columns must be a mapping such as {"age": pv.Int(0, 110)}')
    for name, column in given.items():
        if not isinstance(column, Column):
            raise InvalidParameter(
                f"column {name!r} must be one of pv.Int(lower, upper), pv.Float(lower, upper), pv.Category([...]), "
                f"pv.Text(), pv.Date(lower, upper), pv.Time(lower, upper) and pv.Bool(), "
                f"got {getattr(column, '__name__', type(column).__name__)}"
            )
    return tuple(given.items())


def known_column(columns: Mapping[str, Column], name: object, what_for: str = "") -> Column:
    """The column of this name, or an error that lists those that there are.

    >>> known_column({"age": Int(0, 110)}, ["age"])
    Traceback (most recent call last):
    privet.errors.InvalidParameter: there is no column ['age']; the columns are age
    """
    if not isinstance(name, str) or name not in columns:
        raise InvalidParameter(f"there is no column {name!r:.60}{what_for}; the columns are {', '.join(columns)}")
    return columns[name]


def plain_value(value: object) -> Any:
    """A public constant as Python has it, where it came out of numpy or pandas; an array stays, to be refused.

    >>> import numpy as np
    >>> plain_value(np.array(["A", "B"])[0]), plain_value(np.int64(3)), plain_value("A")
    ('A', 3, 'A')
    """
    if isinstance(value, str):
        return str.__str__(value)
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value


def is_unicode(text: str) -> bool:
    """True if it can be written in UTF-8, as engines and files need: half of a surrogate pair cannot.

    >>> is_unicode("Zürich"), is_unicode("\\ud800")
    (True, False)
    """
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def default_tick(lower: float, upper: float) -> float:
    """A power of two near a millionth of the range, and fine enough where the range is a point.

    >>> default_tick(0.0, 1.0) == 2.0**-20
    True
    """
    width = upper - lower or max(abs(lower), 1.0)
    width = max(width, max(abs(lower), abs(upper)) * 2.0**-30)
    return 2.0 ** round(math.log2(width / _TICKS))


def _whole(name: str, value: object) -> int:
    number = exact(name, value)
    if number.denominator != 1 or abs(number) >= _FARTHEST:
        raise InvalidParameter(f"{name} must be a whole number below 2^53, got {value!r:.40}")
    return int(number)


def _number(value: object) -> int | float:
    if type(value) is int and abs(value) < _FARTHEST:  # keys come by the thousand
        return value
    number = exact(name := "a number that a column is compared with", value)
    return int(number) if number.denominator == 1 and abs(number) < _FARTHEST else finite(name, number)


def _day(name: str, value: object) -> date:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise InvalidParameter(f'{name} must be a day such as "2024-05-01"') from None
    if type(value) is not date:
        raise InvalidParameter(f'{name} must be a date, or a text such as "2024-05-01", got {type(value).__name__}')
    return value


def _moment(name: str, value: object) -> datetime:
    """A time of a calendar in UTC, without its zone and without fractions of a second."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidParameter(f'{name} must be a time such as "2024-05-01 12:30"') from None
    elif type(value) is date:
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime) or value != value:  # pandas' missing time is one that differs from itself
        raise InvalidParameter(
            f'{name} must be a time, or a text such as "2024-05-01 12:30", got {type(value).__name__}'
        )
    plain = value if value.tzinfo is None else value.astimezone(UTC)
    return datetime(plain.year, plain.month, plain.day, plain.hour, plain.minute, plain.second)


def _seconds(moment: datetime) -> int:
    """Seconds since 1970, in which columns of times are compared."""
    return (moment.toordinal() - EPOCH) * 86_400 + moment.hour * 3600 + moment.minute * 60 + moment.second


def day_number(value: object) -> int:
    """A day as the number of days since 1970, in which columns of days are compared.

    >>> day_number("1970-01-03")
    2
    """
    return _day("a day", value).toordinal() - EPOCH


def key_value(name: str, column: Column, value: object) -> Any:
    """A public value of a column as engines compare it, or an error where the column cannot have it.

    >>> key_value("age", Int(0, 110), 65)
    65
    """
    try:
        read = column.read(value)
    except InvalidParameter as problem:
        raise InvalidParameter(f"column {name!r}: {problem}") from None
    if column.numeric or column.kind in ("date", "time"):
        low, high = column.span
        if not low <= read <= high or (column.kind == "int" and not isinstance(read, int)):
            raise InvalidParameter(f"column {name!r}: {value!r:.40} is outside of its bounds, or no value of it")
    return read
