"""The reading of a column that an engine holds: as a bounded whole number or double, a text, or missing."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from privet.errors import InvalidData
from privet.tables.columns import Bool, Category, Column, Date, Float, Int, Text, Time
from privet.tables.dialect import Dialect, Raw
from privet.tables.person import Person
from privet.tables.plan import Source
from privet.tables.texts import NO, YES

_FARTHEST = 2**53  # whole numbers beyond are no longer told apart by doubles
HELD: dict[str, str] = {
    "int": "whole numbers",
    "wide": "whole numbers",
    "float": "numbers",
    "decimal": "numbers",
    "text": "texts",
    "uuid": "identifiers",
    "bool": "yes and no",
    "date": "days",
    "time": "times",
    "seconds": "times",
    "days": "days",
    "collated": "texts of which some are equal that differ",
    "other": "values of another kind",
}


class Reading(NamedTuple):
    """An engine's way to a private table: what stands after FROM, and how it holds each column. `person` is the name
    and the kind of the column that names persons, where that is read in another way than a column of values. `at` says
    what a column is called there, where that is not its own name: an engine may take names that differ by upper and
    lower case for one.

    >>> Reading("visits", {"age": "int"}).sql
    'visits'
    """

    sql: str
    raw: Mapping[str, Raw]
    person: tuple[str, Raw] | None = None
    at: Mapping[str, str] = MappingProxyType({})

    def called(self, name: str) -> str:
        """The name of the column there."""
        return self.at.get(name, name)


def no_column(source: Source, name: str) -> InvalidData:
    """The error that names a column which the data do not have.

    >>> from privet.tables.person import Rows
    >>> str(no_column(Source("visits", (), Rows()), "age"))
    "the table 'visits' has no column 'age'"
    """
    return InvalidData(f"the table {source.name!r} has no column {name!r}", column=name)


def wrong_kind(name: str, column: Column, raw: Raw) -> InvalidData:
    """The error that names a column which the data hold in another kind.

    >>> wrong_kind("age", Int(0, 110), "date").column
    'age'
    """
    held = HELD[raw]
    return InvalidData(f"column {name!r} is declared as {column.describe()}, and the table holds {held}", column=name)


def no_person(name: str, raw: Raw) -> InvalidData:
    """The error that names a column which cannot name persons.

    >>> no_person("born", "date").column
    'born'
    """
    return InvalidData(
        f"column {name!r} cannot name a person: it holds {HELD[raw]}, not whole numbers or texts", column=name
    )


def equal_spellings(name: str, dialect: Dialect) -> InvalidData:
    """The error that names a column in which texts are equal that differ: to take them for one would put persons together
    where they are two, and to tell them apart would bound a person once for each spelling.

    >>> from privet.tables.dialect import DuckDB
    >>> equal_spellings("who", DuckDB()).column
    'who'
    """
    held = dialect.quote(name)
    one, two = dialect.spelled(f"lower({held})"), dialect.spelled(held)
    return InvalidData(
        f"column {name!r} has a collation in which texts are equal that differ, such as by upper and lower case: ask a "
        f"view with {one} AS {held} if they are the same, or with {two} AS {held} if they are not",
        column=name,
    )


class Reader:
    """The columns of a private table, in the SQL of one engine.

    >>> from privet.tables.dialect import DuckDB
    >>> Reader(DuckDB()).canonical("age", Text(), "text")
    'CAST("age" AS VARCHAR)'
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def person(self, source: Source, reading: Reading) -> tuple[str, bool]:
        """The person of a row, a whole number or a text, and whether it is a text; missing where there is none."""
        assert isinstance(source.about, Person)
        d, name = self.dialect, source.about.column
        if reading.person is None and name not in reading.raw:
            raise InvalidData(f"the table {source.name!r} has no column {name!r} that names a person", column=name)
        at, raw = reading.person or (reading.called(name), reading.raw[name])
        sql = d.quote(at)
        if raw == "collated":
            raise equal_spellings(name, d)
        if raw in ("text", "uuid"):
            return d.plain_text(sql), True
        if raw in ("int", "wide"):
            return d.whole(sql) if raw == "int" else d.wide(sql), False
        if raw == "float":  # whole numbers beside missing ones, as data frames hold them
            fits = f"{sql} = floor({sql}) AND {sql} > {-_FARTHEST} AND {sql} < {_FARTHEST}"
            return f"CASE WHEN {fits} THEN {d.whole(sql)} END", False
        raise no_person(name, raw)

    def canonical(self, name: str, column: Column, raw: Raw, linking: bool = False, at: str | None = None) -> str:
        """A column as it is compared and added up everywhere. What links rows to persons is not moved to a bound: values
        outside would meet there, and link rows to other persons. `at` is what it is called in the engine."""
        sql, d = self.dialect.quote(at or name), self.dialect
        if raw == "collated":
            raise equal_spellings(name, d)
        if isinstance(column, Text) or (isinstance(column, Category) and column.texts):
            if raw in ("int", "wide", "uuid") and isinstance(column, Text):
                return d.plain_text(sql)
            if raw != "text":
                raise wrong_kind(name, column, raw)
            text = d.plain_text(sql)
            if isinstance(column, Text):
                return text
            return f"CASE WHEN {text} IN ({', '.join(map(d.text, column.values))}) THEN {text} END"
        if isinstance(column, Date):
            if raw not in ("date", "time", "days", "text"):
                raise wrong_kind(name, column, raw)
            day = d.read_day(sql, raw)
            return self._inside(day, column) if linking else self._clamped(day, *column.span)
        if isinstance(column, Time):
            if raw not in ("date", "time", "seconds", "text"):
                raise wrong_kind(name, column, raw)
            second = d.read_second(sql, raw)
            return self._inside(second, column) if linking else self._clamped(second, *column.span)
        if raw in ("date", "time", "days", "seconds", "uuid", "other"):
            raise wrong_kind(name, column, raw)
        if isinstance(column, Bool):
            return self._truth(sql, raw)
        number = self.number(sql, raw)
        if isinstance(column, Category):
            return f"CASE WHEN {number} IN ({', '.join(map(str, column.values))}) THEN {d.whole(number)} END"
        if isinstance(column, Int):
            if linking:
                return self._inside(number, column)
            if raw in ("int", "wide", "bool"):
                return d.whole(self._clamped(number, *column.span))
            return rounded(d, self._clamped_double(sql, raw, *map(float, column.span)))
        assert isinstance(column, Float)
        return self._clamped_double(sql, raw, column.lower, column.upper)

    def _truth(self, sql: str, raw: Raw) -> str:
        d = self.dialect
        one, zero = d.number(1), d.number(0)
        if raw == "text":
            yes, no = (", ".join(map(d.text, words)) for words in (YES, NO))
            text = f"trim({d.plain_text(sql)})"
            return f"CASE WHEN {text} IN ({yes}) THEN {one} WHEN {text} IN ({no}) THEN {zero} END"
        number = self.number(sql, raw)
        return f"CASE WHEN {number} = 1 THEN {one} WHEN {number} = 0 THEN {zero} END"

    def number(self, sql: str, raw: Raw) -> str:
        """A number as it is held: whole, or a double that is not NaN."""
        d = self.dialect
        if raw == "text":
            return f"({d.read_double(d.plain_text(sql))})"
        if raw in ("int", "wide"):
            return sql if raw == "int" else d.wide(sql)
        if raw == "bool":
            return f"CAST({sql} AS INT)"
        return d.present(d.decimal(sql) if raw == "decimal" else d.as_double(sql))

    def _clamped(self, sql: str, lower: int, upper: int) -> str:
        """Whole numbers moved into the bounds; what is missing stays missing. Not by `greatest`: of nothing and a bound
        that is the bound."""
        low, high = self.dialect.number(lower), self.dialect.number(upper)
        return f"CASE {_within(sql, low, high)} END"

    def _clamped_double(self, sql: str, raw: Raw, lower: float, upper: float) -> str:
        """A number as a double in the bounds; NaN is missing: engines put it above everything, so it is looked for among
        what is not between them."""
        d, low, high = self.dialect, self.dialect.number(lower), self.dialect.number(upper)
        x = d.as_double(sql) if raw == "float" else d.as_double(self.number(sql, raw))
        if raw == "wide":
            x = d.decimal(d.wide(sql))
        absent = f"WHEN {d.is_nan(x)} THEN NULL "
        return f"CASE {_within(x, low, high, absent)} END"

    def _inside(self, value: str, column: Column) -> str:
        low, high = map(self.dialect.number, column.span)
        fits = f"{value} >= {low} AND {value} <= {high} AND {value} = floor({value})"
        return f"CASE WHEN {fits} THEN {self.dialect.whole(value)} END"


def _within(sql: str, low: str, high: str, absent: str = "") -> str:
    """The cases of a number that is moved into bounds. What most rows have comes first: the others are looked at apart."""
    inside = f"WHEN {sql} BETWEEN {low} AND {high} THEN {sql} "
    return f"{inside}{absent}WHEN {sql} > {high} THEN {high} WHEN {sql} < {low} THEN {low}"


def rounded(dialect: Dialect, sql: str) -> str:
    """A double rounded half up: the same on every engine, unlike their own rounding.

    >>> from privet.tables.dialect import DuckDB
    >>> rounded(DuckDB(), "x")
    "CAST(floor(x + CAST('0.5' AS DOUBLE)) AS BIGINT)"
    """
    return dialect.whole(f"floor({sql} + {dialect.number(0.5)})")
