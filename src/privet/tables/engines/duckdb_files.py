"""Files that DuckDB reads: Parquet and CSV, one or many, by names and kinds that are in their schemas alone."""

import csv
import gzip
from glob import glob, has_magic
from io import TextIOBase
from pathlib import Path
from typing import IO, Any, cast

from privet.errors import InvalidData
from privet.tables.dialect import DuckDB, Raw
from privet.tables.plan import Source
from privet.tables.reading import Reading, no_column

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
    sql = f"read_parquet([{', '.join(map(_named, files))}]{more}, hive_types_autocast = false)"
    import duckdb

    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
    except duckdb.Error:
        raise InvalidData(f"{str(path)!r} is no Parquet file (nor .csv), or is damaged") from None
    return Reading(sql, {row[0]: raw_kind(row[1]) for row in described})


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
    picked = ", ".join(map(DuckDB().quote, names))
    parts = [f"SELECT {picked} FROM {_read_csv(list(key[:-1]), key[-1], same)}" for key, same in alike.items()]
    return Reading(f"({' UNION ALL '.join(parts)})", dict.fromkeys(names, "text"))


def _read_csv(header: list[str], separator: str, files: list[str]) -> str:
    columns = ", ".join(f"{DuckDB().text(name)}: 'VARCHAR'" for name in header)
    listed = ", ".join(map(_named, files))
    return f"read_csv([{listed}], columns = {{{columns}}}, delim = {DuckDB().text(separator)}, {_CSV})"


def _separator(path: str) -> str:
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","


def _header(path: str) -> list[str]:
    try:
        with _opened(path) as file:
            names = next(csv.reader(cast(TextIOBase, file), delimiter=_separator(path)), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        raise InvalidData(f"the first line of {path!r} cannot be read") from None
    if not names or not all(names) or len(set(names)) != len(names):
        raise InvalidData(f"the first line of {path!r} must name the columns, each once")
    return names


def _opened(path: str) -> IO[str]:
    if path.lower().endswith(".gz"):
        return cast(IO[str], gzip.open(path, "rt", encoding="utf-8-sig"))
    return open(path, encoding="utf-8-sig")
