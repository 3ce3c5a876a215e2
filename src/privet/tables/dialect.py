"""Differences of spelling between engines: one small table of primitives for each, and nothing else about SQL.

Only what gives the same answer everywhere is used: no engine's own rounding, hash, random numbers or sums of fractions,
no `%` of negative numbers, no order of texts that depends on a collation.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Literal, final

from privet.tables.texts import DAY, HUGE, INFINITE, NUMBER, TIME

Raw = Literal[
    "int", "wide", "float", "decimal", "text", "uuid", "bool", "date", "time", "days", "seconds", "collated", "other"
]
"""How an engine holds a column: part of the schema, and public. `wide` are whole numbers beyond 64 bits, `days` and
`seconds` whole numbers that count them since 1970, `collated` texts of which some are equal that differ."""

SETTLE = 2.0**-840  # its last digit is 2^-892: see `settled`


class Dialect(ABC):
    """The primitives of one engine, as texts of SQL.

    >>> DuckDB().number(0.5), DuckDB().text("it's")
    ("CAST('0.5' AS DOUBLE)", "'it''s'")
    """

    name: str
    double = "DOUBLE"
    varchar = "VARCHAR"
    fence = ""  # what ends a step that must not be copied into the next one
    double_sums = False  # whether to add up whole numbers as doubles, where those hold them, takes less
    late_keys = True  # whether to read a key once a group, and to group again, takes less than to read it on every row

    def quote(self, name: str) -> str:
        """A name of a column or table."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A constant text."""
        return "'" + value.replace("'", "''") + "'"

    def number(self, value: int | float) -> str:
        """A constant number: whole, or the very double."""
        if isinstance(value, int):
            return f"CAST({value} AS BIGINT)"
        return f"CAST('{'Infinity' if value == inf else repr(value)}' AS {self.double})"

    def whole(self, sql: str) -> str:
        """A 64-bit integer of what is one already, or of a double without a fraction."""
        return f"CAST({sql} AS BIGINT)"

    def as_double(self, sql: str) -> str:
        """A double."""
        return f"CAST({sql} AS {self.double})"

    def decimal(self, sql: str) -> str:
        """A double out of a decimal number of whatever size."""
        return self.as_double(sql)

    def as_text(self, sql: str) -> str:
        """A text."""
        return f"CAST({sql} AS {self.varchar})"

    def plain_text(self, sql: str) -> str:
        """A text that is compared by its bytes, whatever the column's own collation says."""
        return self.as_text(sql)

    @abstractmethod
    def spelled(self, sql: str) -> str:
        """A text of a collated column as it is spelled, for a view."""

    def wide(self, sql: str) -> str:
        """A whole number beyond 64 bits."""
        return sql

    def is_nan(self, sql: str) -> str:
        """True if a double is NaN, which is equal to itself in SQL."""
        return f"{sql} = CAST('NaN' AS {self.double})"

    def present(self, sql: str) -> str:
        """A double, with NaN as missing."""
        return f"CASE WHEN {self.is_nan(sql)} THEN NULL ELSE {sql} END"

    def settled(self, sql: str) -> str:
        """A double without digits below 2^-892: no product by a public factor can then vanish, which PostgreSQL would take
        for an error."""
        tiny = self.number(SETTLE)
        return f"({sql} + {tiny} - {tiny})"

    def divisible(self, sql: str) -> str:
        """A double that a public width can divide, where nothing of the quotient below 2^-100 is looked at."""
        return sql

    def total(self, sql: str) -> str:
        """A sum over rows as a 64-bit integer, saturated: no number of rows can make it fail."""
        return f"CAST(least(greatest(coalesce(sum({sql}), 0), {-(2**62)}), {2**62}) AS BIGINT)"

    def small_total(self, sql: str) -> str:
        """A sum over the rows of one person, of whole numbers below 2^31: what more than 2^32 rows add up to is not kept,
        and is no error."""
        return self.total(sql)

    def between_ends(self, sql: str, low: int, high: int) -> str:
        """|t - low| - |t - high| of a whole number t that a double holds: moved into the ends, twice, less both of them.
        What is beyond 2^50, where distances are rounded, is at an end, and NaN is missing."""
        start = f"abs({sql} - {self.number(float(low))})" if low else f"abs({sql})"
        near, far = f"{start} - abs({sql} - {self.number(float(high))})", self.number(float(high - low))
        # a product that is infinite from 2^50 on: to compare doubles takes longer, since NaN is equal to itself in SQL
        fits, zero = f"isfinite({sql} * {self.number(2.0**974)})", self.number(0.0)
        beyond = f"WHEN isnan({sql}) THEN NULL WHEN {sql} > {zero} THEN {far} WHEN {sql} < {zero} THEN -{far}"
        return f"CASE WHEN {fits} THEN {near} {beyond} END"

    def natural(self, sql: str) -> str:
        """A 64-bit integer that is not negative, in the type whose remainders are the fastest."""
        return sql

    def together(self, person: str) -> str:
        """The end of a query whose rows are then looked at person by person."""
        return ""

    @abstractmethod
    def divided(self, a: str, b: str) -> str:
        """The whole quotient of non-negative integers."""

    @abstractmethod
    def matches(self, sql: str, pattern: str) -> str:
        """True if a whole text has this form."""

    @abstractmethod
    def parsed(self, sql: str, type_: str) -> str:
        """A value out of a text that is known to have one."""

    def read_double(self, sql: str) -> str:
        """A double out of a text; missing where it is none."""
        text = f"trim({sql})"
        words = f"({'|'.join(INFINITE)})"  # no list of texts: DuckDB takes minutes to plan many of these in one filter
        return (
            f"CASE WHEN {self.matches(text, NUMBER)} THEN {self.parsed(text, self.double)} "
            f"WHEN {self.matches(text, f'[+]?{words}')} THEN {self.number(HUGE)} "
            f"WHEN {self.matches(text, f'-{words}')} THEN {self.number(-HUGE)} END"
        )

    def read_day(self, sql: str, raw: Raw) -> str:
        """Days since 1970, in UTC; missing where it is no day."""
        if raw == "days":
            return self.whole(sql)
        if raw != "text":
            return self.day_of(sql)
        day = self.parsed(f"substr(trim({sql}), 1, 10)", "DATE")
        return f"CASE WHEN {self.matches(f'trim({sql})', DAY)} THEN {self.day_of(day)} END"

    def read_second(self, sql: str, raw: Raw) -> str:
        """Seconds since 1970, in UTC; missing where it is no time."""
        if raw == "seconds":
            return self.whole(sql)
        day = f"({self.read_day(sql, raw)}) * 86400"
        if raw == "text":
            text = f"trim({sql})"
            written = [
                (11, 12, 3600),
                (14, 15, 60),
                (17, 18, 1),
            ]  # where each begins if a sign of its own stands before
            parts = [
                f"CASE WHEN substr({text}, {sign}, 1) IN ('T', ' ', ':') "
                f"THEN {self.parsed(f'substr({text}, {at}, 2)', 'BIGINT')} * {many} ELSE 0 END"
                for sign, at, many in written
            ]
            return f"CASE WHEN {self.matches(text, TIME)} THEN {' + '.join([day, *parts])} END"
        if raw != "time":
            return f"({day})"
        parts = [
            f"{self.time_part(part, sql)} * {many}" for part, many in (("hour", 3600), ("minute", 60), ("second", 1))
        ]
        return f"({' + '.join([day, *parts])})"

    @abstractmethod
    def time_part(self, part: str, sql: str) -> str:
        """The hour, minute or whole second of a time, in UTC."""

    @abstractmethod
    def day_of(self, sql: str) -> str:
        """Days since 1970 of a date or a time, in UTC."""

    @abstractmethod
    def day_part(self, part: str, sql: str) -> str:
        """A part of a day, given as days since 1970: year, quarter, month, week or day of the month."""

    @abstractmethod
    def digest(self, sql: str) -> str:
        """The first 60 bits of the MD5 of a text in UTF-8."""


@final
@dataclass(frozen=True)
class DuckDB(Dialect):
    """DuckDB 2 and newer.

    >>> DuckDB().divided("a", "b")
    '(a // b)'
    """

    name = "duckdb"
    double_sums = True

    def spelled(self, sql: str) -> str:
        return f'{sql} COLLATE "binary"'

    def divided(self, a: str, b: str) -> str:
        return f"({a} // {b})"

    def total(self, sql: str) -> str:
        # its sums have 128 bits: what 64 cannot hold, which the limits of a table exclude, becomes nothing and no error
        return f"coalesce(TRY_CAST(sum({sql}) AS BIGINT), 0)"

    def natural(self, sql: str) -> str:
        return f"CAST({sql} AS UBIGINT)"  # signed remainders take half as long again

    def is_nan(self, sql: str) -> str:
        # not by a comparison: those are dropped where the statistics of a file, which know no NaN, seem to decide them
        return f"isnan({sql})"

    def wide(self, sql: str) -> str:
        return f"TRY_CAST({sql} AS HUGEINT)"

    def matches(self, sql: str, pattern: str) -> str:
        return f"regexp_full_match({sql}, {self.text(pattern)})"

    def parsed(self, sql: str, type_: str) -> str:
        return f"TRY_CAST({sql} AS {type_})"

    def day_of(self, sql: str) -> str:
        day = f"TRY_CAST({sql} AS DATE)"
        return f"CASE WHEN isfinite({day}) THEN CAST(date_diff('day', DATE '1970-01-01', {day}) AS BIGINT) END"

    def day_part(self, part: str, sql: str) -> str:
        return f"CAST({part}(DATE '1970-01-01' + CAST({sql} AS INTEGER)) AS BIGINT)"

    def time_part(self, part: str, sql: str) -> str:
        return f"CAST({part}(TRY_CAST({sql} AS TIMESTAMP)) AS BIGINT)"

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
    # it would copy the mix into itself, and take twenty times as long; MATERIALIZED would write every step down
    fence = " OFFSET 0"

    def divisible(self, sql: str) -> str:
        return self.settled(sql)

    def wide(self, sql: str) -> str:
        return f"nullif({sql}, CAST('NaN' AS numeric))"

    def decimal(self, sql: str) -> str:
        # a cast of what is too large or too small for a double would fail, and tell that such a number is there
        high, low, tiny = f"CAST('{HUGE}' AS numeric)", f"CAST('{-HUGE}' AS numeric)", f"CAST('{1 / HUGE}' AS numeric)"
        return (
            f"CASE WHEN {sql} = CAST('NaN' AS numeric) THEN NULL WHEN {sql} > {high} THEN {self.number(HUGE)} "
            f"WHEN {sql} < {low} THEN {self.number(-HUGE)} WHEN abs({sql}) < {tiny} THEN {self.number(0.0)} "
            f"ELSE {self.as_double(sql)} END"
        )

    def plain_text(self, sql: str) -> str:
        return f'(CAST({sql} AS text) COLLATE "C")'

    def spelled(self, sql: str) -> str:
        return f'{sql}::text COLLATE "C"'

    def small_total(self, sql: str) -> str:
        # of 32 bits the sum has 64, of 64 it is a decimal number, which takes much longer to bring back to 64
        return f"CASE WHEN count(*) < {2**32} THEN coalesce(sum(CAST({sql} AS integer)), 0) ELSE 0 END"

    def divided(self, a: str, b: str) -> str:
        return f"({a} / {b})"

    def matches(self, sql: str, pattern: str) -> str:
        return f"({sql} ~ {self.text(f'^({pattern})$')})"

    def parsed(self, sql: str, type_: str) -> str:
        return f"CAST({sql} AS {type_})"

    def read_day(self, sql: str, raw: Raw) -> str:
        if raw != "text":
            return super().read_day(sql, raw)
        # no cast of a text to a date can be kept from failing on the 30th of February: its day is counted instead
        year, month, day = (
            f"CAST(substr(trim({sql}), {start}, {size}) AS BIGINT)" for start, size in ((1, 4), (6, 2), (9, 2))
        )
        months = f"({year} * 12 + {month} - 3)"  # since March of the year 0, so that a leap day ends its year
        years, rest = f"({months} / 12)", f"({months} % 12)"
        leap = f"({year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0))"
        short = (
            f"({month} IN (4, 6, 9, 11) AND {day} > 30 OR {month} = 2 AND {day} > CASE WHEN {leap} THEN 29 ELSE 28 END)"
        )
        count = (
            f"(365 * {years} + {years} / 4 - {years} / 100 + {years} / 400 + (153 * {rest} + 2) / 5 + {day} - 719469)"
        )
        return f"CASE WHEN {self.matches(f'trim({sql})', DAY)} THEN CASE WHEN NOT {short} THEN {count} END END"

    def day_of(self, sql: str) -> str:
        return f"CASE WHEN isfinite({sql}) THEN CAST(CAST({sql} AS date) - DATE '1970-01-01' AS BIGINT) END"

    def day_part(self, part: str, sql: str) -> str:
        return f"CAST(extract({part} FROM DATE '1970-01-01' + CAST({sql} AS integer)) AS BIGINT)"

    def time_part(self, part: str, sql: str) -> str:
        return f"CAST(floor(extract({part} FROM {sql})) AS BIGINT)"

    def digest(self, sql: str) -> str:
        return f"('x' || lpad(substr(md5({sql}), 1, 15), 16, '0'))::bit(64)::bigint"


@final
@dataclass(frozen=True)
class Spark(Dialect):
    """Spark 3.5 and newer, in ANSI mode.

    >>> Spark().quote("a`b"), Spark().text("it's")
    ('`a``b`', "'it\\\\'s'")
    """

    name = "spark"
    varchar = "STRING"
    late_keys = False

    def spelled(self, sql: str) -> str:
        return f"collate({sql}, 'UTF8_BINARY')"

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def together(self, person: str) -> str:
        # rows change their place once, by person: left to itself it moves them by person and key, and then again by person
        return f" DISTRIBUTE BY {person}"

    def divided(self, a: str, b: str) -> str:
        return f"({a} div {b})"

    def matches(self, sql: str, pattern: str) -> str:
        end = chr(92) + "z"  # Java's $ would let a line feed follow
        return f"({sql} RLIKE {self.text(f'^({pattern}){end}')})"

    def parsed(self, sql: str, type_: str) -> str:
        return f"try_cast({sql} AS {type_})"

    def day_of(self, sql: str) -> str:
        return f"CAST(datediff(CAST({sql} AS DATE), DATE'1970-01-01') AS BIGINT)"

    def day_part(self, part: str, sql: str) -> str:
        function = "weekofyear" if part == "week" else part
        return f"CAST({function}(date_add(DATE'1970-01-01', CAST({sql} AS INT))) AS BIGINT)"

    def time_part(self, part: str, sql: str) -> str:
        return f"CAST({part}({sql}) AS BIGINT)"

    def digest(self, sql: str) -> str:
        return f"CAST(conv(substr(md5({sql}), 1, 15), 16, 10) AS BIGINT)"
