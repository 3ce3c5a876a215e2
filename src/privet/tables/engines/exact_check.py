"""A look at a table as its custodian: what a schema makes of its lines and values, counted exactly. Not releasable."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from privet.errors import InvalidData, InvalidParameter
from privet.tables.columns import Column, Date, as_columns
from privet.tables.dialect import DuckDB
from privet.tables.engines import duckdb
from privet.tables.engines.duckdb_files import are_texts, counted_lines, files_of
from privet.tables.engines.failing import one_failure
from privet.tables.person import Person, Rows
from privet.tables.plan import Source
from privet.tables.reading import Reader, Reading

LEFT_OUT = {
    "short": "fewer fields than the first line",
    "long": "more fields than the first line",
    "quotes": "a quote that is not closed, or more text behind it",
    "large": "longer than a row may be",
    "ends": "an end other than that of the first line, which might belong to the person's name",
    "letters": "no UTF-8, in a column that may not be asked for",
}
_HEAD = ("column", "missing", "not read", "moved")


@final
@dataclass(frozen=True)
class ColumnCheck:
    """The number of values of a column that are `missing`, are not what the schema says and count as missing
    (`not_read`), or lie beyond its bounds and are `moved` there."""

    missing: int
    not_read: int
    moved: int


@final
@dataclass(frozen=True)
class Check:
    """The result of a schema on a table, exactly: for its custodian, never releasable. `lines` are those of CSV files
    that are left out, by reason; `nobody` counts the rows without a person.

    >>> print(Check(3, {"short": 1}, {"age": ColumnCheck(0, 1, 0)}, None))
    3 rows. Exact, for the custodian alone: none of this may be released.
    1 line left out: fewer fields than the first line
    column  missing  not read  moved
    age           0         1      0
    """

    rows: int
    lines: Mapping[str, int]
    columns: Mapping[str, ColumnCheck]
    nobody: int | None

    def __str__(self) -> str:
        told = [
            f"{self.rows:,} row{'s' * (self.rows != 1)}. Exact, for the custodian alone: none of this may be released."
        ]
        told += [
            f"{many:,} line{'s' * (many != 1)} left out: {LEFT_OUT[kind]}" for kind, many in self.lines.items() if many
        ]
        if self.nobody:
            told.append(f"{self.nobody:,} row{'s' * (self.nobody != 1)} without a person: left out")
        table = [_HEAD] + [(name, *map("{:,}".format, vars(each).values())) for name, each in self.columns.items()]
        widths = [max(len(row[place]) for row in table) for place in range(4)]
        for name, *numbers in table:
            told.append(
                "  ".join([name.ljust(widths[0]), *(n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True))])
            )
        return "\n".join(told)


@one_failure
def exact_check(data: object, *, columns: Mapping[str, Column], unit: Rows | Person | None = None) -> Check:
    """The result of a schema on a table: lines that are left out, values that are missing, not read or moved to a
    bound, and rows without a person. **Guarantee:** none; the counts are exact, for the custodian, never releasable.

    >>> from privet.tables.columns import Int
    >>> exact_check({"age": [30, 300, None]}, columns={"age": Int(0, 110)}).columns["age"]
    ColumnCheck(missing=1, not_read=0, moved=1)
    """
    about = Rows() if unit is None else unit
    if not isinstance(about, Rows | Person):
        raise InvalidParameter('unit must be pv.Rows() or pv.Person("column", max_rows=...)')
    if not duckdb.DuckDBEngine().takes(data):
        raise InvalidData(
            "a table is checked in a file, a relation of DuckDB or in memory; ask a database in its own SQL"
        )
    source = Source("table", as_columns(dict(columns)), about)
    with duckdb.provided(source, data, set(source.columns)) as (connection, reading):
        counts = ["count(*)", *(each for name in source.columns for each in _counts(source, reading, name))]
        if isinstance(about, Person):
            counts.append(f"count(*) FILTER (WHERE ({Reader(DuckDB()).person(source, reading)[0]}) IS NULL)")
        found = list(connection.execute(f"SELECT {', '.join(counts)} FROM {reading.sql}").fetchone())
    nobody = found.pop() if isinstance(about, Person) else None
    made = {name: ColumnCheck(*found[1 + 3 * place : 4 + 3 * place]) for place, name in enumerate(source.columns)}
    lines: dict[str, int] = {}
    if isinstance(data, str | Path) and are_texts(data, files_of(data)):
        counted = counted_lines(source, data)
        lines = {kind: counted[kind] for kind in LEFT_OUT}
    return Check(found[0], lines, made, nobody)


def _counts(source: Source, reading: Reading, name: str) -> list[str]:
    """The number of values that are missing, not read and moved, as SQL."""
    d, column, raw = DuckDB(), source.columns[name], reading.raw[name]
    reader, held = Reader(d), d.quote(reading.called(name))
    made = reader.canonical(name, column, raw, at=reading.called(name))
    conditions = [f"{held} IS NULL", f"{held} IS NOT NULL AND ({made}) IS NULL", "false"]
    if column.numeric or isinstance(column, Date):
        low, high = map(d.number, column.span)
        value = d.read_day(held, raw) if isinstance(column, Date) else reader.number(held, raw)
        conditions[2] = f"({value}) < {low} OR ({value}) > {high}"
    return [f"count(*) FILTER (WHERE {each})" for each in conditions]
