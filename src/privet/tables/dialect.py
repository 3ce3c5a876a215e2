"""What engines spell differently: one small table of primitives for each, and nothing else about SQL.

Only what gives the same answer everywhere is used: no engine's own rounding, hash, random numbers or sums of fractions,
no `%` of negative numbers, no order of texts that depends on a collation.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, final

from privet.errors import InvalidData

Raw = Literal["int", "float", "decimal", "text", "bool", "date", "time", "other"]
"""How an engine holds a column: part of the schema, and public."""


class Dialect(ABC):
    """The primitives of one engine, as texts of SQL.

    >>> DuckDB().number(0.5), DuckDB().text("it's")
    ("CAST('0.5' AS DOUBLE)", "'it''s'")
    """

    name: str
    double = "DOUBLE"
    varchar = "VARCHAR"
    materialized = ""  # how a common table expression is kept from being inlined

    def quote(self, name: str) -> str:
        """A name of a column or table."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A constant text."""
        return "'" + value.replace("'", "''") + "'"

    def number(self, value: int | float) -> str:
        """A constant number: whole, or the very double."""
        return f"CAST({value} AS BIGINT)" if isinstance(value, int) else f"CAST('{value!r}' AS {self.double})"

    def whole(self, sql: str) -> str:
        """A 64-bit integer of what is one already, or of a double without a fraction."""
        return f"CAST({sql} AS BIGINT)"

    def as_double(self, sql: str) -> str:
        """A double."""
        return f"CAST({sql} AS {self.double})"

    def as_text(self, sql: str) -> str:
        """A text."""
        return f"CAST({sql} AS {self.varchar})"

    def present(self, sql: str) -> str:
        """A double, with NaN as missing."""
        return f"CASE WHEN isnan({sql}) THEN NULL ELSE {sql} END"

    def total(self, sql: str) -> str:
        """A sum over rows as a 64-bit integer, saturated: no number of rows can make it fail."""
        return f"CAST(least(greatest(coalesce(sum({sql}), 0), {-(2**62)}), {2**62}) AS BIGINT)"

    @abstractmethod
    def divided(self, a: str, b: str) -> str:
        """The whole quotient of non-negative integers."""

    @abstractmethod
    def read_double(self, sql: str) -> str:
        """A double out of a text; missing where it is none."""

    @abstractmethod
    def read_day(self, sql: str, raw: Raw) -> str:
        """Days since 1970, in UTC; missing where it is no day."""

    @abstractmethod
    def day_part(self, part: str, sql: str) -> str:
        """The year or the month of a day, given as days since 1970."""

    @abstractmethod
    def digest(self, sql: str) -> str:
        """The first 60 bits of the MD5 of a text in UTF-8."""

    def same(self, a: str, b: str) -> str:
        """Equal, or both missing."""
        return f"{a} IS NOT DISTINCT FROM {b}"

    def ordered(self, sql: str) -> str:
        """A text in the order of its bytes."""
        return sql


@final
@dataclass(frozen=True)
class DuckDB(Dialect):
    """DuckDB 1.1 and newer.

    >>> DuckDB().divided("a", "b")
    '(a // b)'
    """

    name = "duckdb"

    def divided(self, a: str, b: str) -> str:
        return f"({a} // {b})"

    def read_double(self, sql: str) -> str:
        return f"TRY_CAST({sql} AS DOUBLE)"

    def read_day(self, sql: str, raw: Raw) -> str:
        day = f"TRY_CAST({sql} AS DATE)"
        return f"CASE WHEN isfinite({day}) THEN CAST(date_diff('day', DATE '1970-01-01', {day}) AS BIGINT) END"

    def day_part(self, part: str, sql: str) -> str:
        return f"CAST({part}(DATE '1970-01-01' + CAST({sql} AS INTEGER)) AS BIGINT)"

    def digest(self, sql: str) -> str:
        return f"CAST('0x' || substr(md5({sql}), 1, 15) AS BIGINT)"


@final
@dataclass(frozen=True)
class PostgreSQL(Dialect):
    """PostgreSQL 13 and newer, read in a transaction that sees one snapshot.

    >>> PostgreSQL().number(0.5)
    "CAST('0.5' AS double precision)"
    """

    name = "postgresql"
    double = "double precision"
    varchar = "text"
    materialized = "MATERIALIZED "  # it would copy the mix into itself, and take twenty times as long

    def present(self, sql: str) -> str:
        return f"nullif({sql}, CAST('NaN' AS double precision))"

    def divided(self, a: str, b: str) -> str:
        return f"({a} / {b})"

    def read_double(self, sql: str) -> str:
        raise InvalidData("PostgreSQL cannot read numbers out of texts without failing on some: cast them in a view")

    def read_day(self, sql: str, raw: Raw) -> str:
        if raw == "text":
            raise InvalidData("PostgreSQL cannot read days out of texts without failing on some: cast them in a view")
        return f"CASE WHEN isfinite({sql}) THEN CAST(CAST({sql} AS date) - DATE '1970-01-01' AS BIGINT) END"

    def day_part(self, part: str, sql: str) -> str:
        return f"CAST(extract({part} FROM DATE '1970-01-01' + CAST({sql} AS integer)) AS BIGINT)"

    def digest(self, sql: str) -> str:
        return f"('x' || lpad(substr(md5({sql}), 1, 15), 16, '0'))::bit(64)::bigint"

    def ordered(self, sql: str) -> str:
        return f'{sql} COLLATE "C"'


@final
@dataclass(frozen=True)
class Spark(Dialect):
    """Spark 3.5 and newer, in ANSI mode.

    >>> Spark().quote("a`b"), Spark().text("it's")
    ('`a``b`', "'it\\\\'s'")
    """

    name = "spark"
    varchar = "STRING"

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def divided(self, a: str, b: str) -> str:
        return f"({a} div {b})"

    def read_double(self, sql: str) -> str:
        return f"try_cast({sql} AS DOUBLE)"

    def read_day(self, sql: str, raw: Raw) -> str:
        return f"CAST(datediff(try_cast({sql} AS DATE), DATE'1970-01-01') AS BIGINT)"

    def day_part(self, part: str, sql: str) -> str:
        return f"CAST({part}(date_add(DATE'1970-01-01', CAST({sql} AS INT))) AS BIGINT)"

    def digest(self, sql: str) -> str:
        return f"CAST(conv(substr(md5({sql}), 1, 15), 16, 10) AS BIGINT)"

    def same(self, a: str, b: str) -> str:
        return f"{a} <=> {b}"
