"""Files that DuckDB reads: Parquet and CSV, one or many, by names and kinds that are in their schemas alone."""

import csv
import gzip
from collections.abc import Iterator
from contextlib import suppress
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from privet.errors import InvalidData
from privet.tables.dialect import DuckDB, Raw
from privet.tables.person import Person
from privet.tables.plan import Source
from privet.tables.reading import Reading, no_column

_LONGEST_HEADER = 2**20
_TEXT_FILES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
# Nothing is guessed from the data: separator and quotes are a rule, and every column is a text. One reader, since the
# parallel one fails on a line that is short beside one with a line feed in quotes.
_CSV = (
    "header = true, quote = '\"', escape = '\"', auto_detect = false, null_padding = true, strict_mode = false, "
    "ignore_errors = true, parallel = false"
)


def raw_kind(type_: str) -> Raw:
    """How DuckDB holds a column, by the name of its type.

    >>> raw_kind("BIGINT"), raw_kind("DECIMAL(18,3)"), raw_kind("DECIMAL(20,0)"), raw_kind("TIMESTAMP WITH TIME ZONE")
    ('int', 'decimal', 'wide', 'time')
    """
    if type_ in _WHOLE:
        return "int"
    if type_ in _WIDE or (type_.startswith("DECIMAL") and type_.endswith(",0)")):
        return "wide"
    if type_.startswith("DECIMAL"):
        return "decimal"
    if type_ == "VARCHAR" or type_.startswith("ENUM("):
        return "text"
    plain: dict[str, Raw] = {"FLOAT": "float", "DOUBLE": "float", "BOOLEAN": "bool", "DATE": "date", "UUID": "uuid"}
    if type_.startswith("TIMESTAMP") and not type_.endswith("]"):
        return "time"
    return plain.get(type_, "other")


def file_reading(connection: Any, source: Source, path: str | Path) -> Reading:
    """What stands after FROM for a file, or for all files that a pattern names."""
    files = files_of(path)
    texts = [each.lower().endswith(_TEXT_FILES) for each in files]
    if all(texts):
        return _csv(source, files)
    if any(texts):
        raise InvalidData(f"{str(path)!r} names files of both kinds, Parquet and CSV: give one kind")
    more = ", union_by_name = true" if len(files) > 1 else ""
    listed = f"[{', '.join(map(_named, files))}]{more}, hive_types_autocast = false"
    import duckdb

    described = None
    with suppress(duckdb.Error):
        described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({listed})").fetchall()
    if described is None:
        raise InvalidData(f"{str(path)!r} is no Parquet file (nor .csv), or is damaged")
    kinds = {row[0]: raw_kind(row[1]) for row in described}
    if len(files) > 1:
        _refuse_gaps(connection, source, files)
    # A text that is no UTF-8 would make the whole query fail, and tell that it is there. Two persons whose names differ in
    # such bytes alone would become one: where texts name persons, it fails.
    named_by_text = isinstance(source.about, Person) and kinds.get(source.about.column) == "text"
    if not named_by_text:
        listed += ", utf8_validation = 'replace'"
    return Reading(f"read_parquet({listed})", kinds)


def _refuse_gaps(connection: Any, source: Source, files: list[str]) -> None:
    """Refuse a file without a column that others have: its rows would count as missing, or as nobody's, in silence."""
    wanted = [*source.columns, *([source.about.column] if isinstance(source.about, Person) else [])]
    listed = ", ".join(map(_named, files))
    held: dict[str, set[str]] = {}
    for file, name in connection.execute(f"SELECT file_name, lower(name) FROM parquet_schema([{listed}])").fetchall():
        held.setdefault(file, set()).add(name)
    for name in wanted:
        short = sorted(file for file, names in held.items() if name.lower() not in names)
        if short and len(short) < len(held):  # a part of the folders' names is in no file
            raise InvalidData(f"the file {short[0]!r} has no column {name!r}", column=name)


def files_of(path: str | Path) -> list[str]:
    """The files that a path or a pattern names, in order.

    >>> files_of("no-such-file.parquet")
    Traceback (most recent call last):
    privet.errors.InvalidData: there is no file 'no-such-file.parquet'
    """
    text = str(path)
    if Path(text).is_dir():
        raise InvalidData(f"{text!r} is a folder: name its files by a pattern, such as {text + '/*.parquet'!r}")
    if Path(text).is_file():
        return [text]
    files = sorted(each for each in glob(text, recursive=True) if Path(each).is_file()) if has_magic(text) else []
    if not files:
        raise InvalidData(f"there is no file {text!r}")
    return files


def _named(path: str) -> str:
    """A path as a constant; DuckDB would take brackets and stars in a name for a pattern, and read another file."""
    return DuckDB().text("".join(f"[{letter}]" if letter in "[*?" else letter for letter in path))


def _csv(source: Source, files: list[str]) -> Reading:
    """Files are put together by the names in their first lines, in whatever order these are."""
    headers = {each: _header(each) for each in files}
    names = [name for name in headers[files[0]] if all(name in header for header in headers.values())]
    for name in source.columns:
        for each, header in headers.items():
            if name not in header:
                raise (
                    no_column(source, name)
                    if len(files) == 1
                    else InvalidData(f"the file {each!r} has no column {name!r}", column=name)
                )
    alike: dict[tuple[str, ...], list[str]] = {}
    for each, header in headers.items():
        alike.setdefault((*header, _separator(each)), []).append(each)
    parts = []
    for (*header, separator), same in alike.items():
        # by their places: DuckDB takes names that differ by upper and lower case for one
        picked = ", ".join(f"f{header.index(name)} AS c{place}" for place, name in enumerate(names))
        parts.append(f"SELECT {picked} FROM {_read_csv(len(header), separator, same)}")
    at = {name: f"c{place}" for place, name in enumerate(names)}
    return Reading(f"({' UNION ALL '.join(parts)})", dict.fromkeys(names, "text"), at=at)


def _read_csv(many: int, separator: str, files: list[str]) -> str:
    columns = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(many))
    listed = ", ".join(map(_named, files))
    return f"read_csv([{listed}], columns = {{{columns}}}, delim = {DuckDB().text(separator)}, {_CSV})"


def _separator(path: str) -> str:
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","


def _header(path: str) -> list[str]:
    names: list[str] | None = None
    opened = gzip.open if path.lower().endswith(".gz") else open
    with suppress(OSError, EOFError, UnicodeDecodeError, csv.Error), opened(path, "rb") as file:
        names = next(csv.reader(_first_lines(file), delimiter=_separator(path)), [])
    if names is None:  # out of the reach of what went wrong, which may hold a piece of the file
        raise InvalidData(f"the first line of {path!r} cannot be read")
    if not names or not all(names) or len(set(names)) != len(names):
        raise InvalidData(f"the first line of {path!r} must name the columns, each once")
    return names


def _first_lines(file: Any) -> Iterator[str]:
    """The lines of the names, and nothing beyond them: whether the rows below are texts is private."""
    marked = file.readline(_LONGEST_HEADER).decode("utf-8-sig")
    yield marked
    quotes = marked.count('"')
    while quotes % 2 and marked:  # a name in quotes goes on in the next line
        marked = file.readline(_LONGEST_HEADER).decode("utf-8")
        quotes += marked.count('"')
        yield marked
