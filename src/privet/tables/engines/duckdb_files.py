"""Files that DuckDB reads: Parquet and CSV, one or many, by names and kinds that are in their schemas alone."""

import csv
import gzip
import io
import os
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from privet.errors import InvalidData
from privet.tables.csv_file import SEPARATORS, beside
from privet.tables.dialect import DuckDB, Raw
from privet.tables.engines.csv_lines import LONGEST, Lines, Piece
from privet.tables.person import Person
from privet.tables.plan import Source
from privet.tables.reading import Reading

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LONGEST_HEADER = 2**20  # bytes of a line of names: a file that is one line is not read whole for them
_LONGEST_TOLD = 200  # letters of the names of columns in a sentence
_UNPACKED = 2**22  # bytes at a time: memory and speed only
TAB = "\t"
_TEXT_FILES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zip", ".tsv.zip")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
# Nothing is guessed from the data: separator and quotes are a rule, and every column is a text. DuckDB sees rows alone,
# as `csv_lines` has them; it leaves out those that are no UTF-8. Not strict: so it would fail on
# letters that a text may hold.
_CSV = (
    "header = true, quote = '\"', escape = '\"', auto_detect = false, null_padding = false, strict_mode = false, "
    f"ignore_errors = true, parallel = false, max_line_size = {4 * LONGEST}, buffer_size = {16 * LONGEST}"
)


def raw_kind(type_: str) -> Raw:
    """The kind of a column in DuckDB, by the name of its type.

    >>> raw_kind("BIGINT"), raw_kind("DECIMAL(18,3)"), raw_kind("DECIMAL(20,0)"), raw_kind("TIMESTAMP WITH TIME ZONE")
    ('int', 'decimal', 'wide', 'time')
    """
    if type_ in _WHOLE:
        return "int"
    if type_ in _WIDE or (type_.startswith("DECIMAL") and type_.endswith(",0)")):
        return "wide"
    if type_.startswith("DECIMAL"):
        return "decimal"
    if type_ in ("VARCHAR", '"NULL"', "NULL") or type_.startswith("ENUM("):  # no value at all reads as any kind
        return "text"
    plain: dict[str, Raw] = {"FLOAT": "float", "DOUBLE": "float", "BOOLEAN": "bool", "DATE": "date", "UUID": "uuid"}
    if type_.startswith("TIMESTAMP") and not type_.endswith("]"):
        return "time"
    return plain.get(type_, "other")


def file_reading(connection: "DuckDBPyConnection", name: str, source: Source, path: str | Path) -> Reading:
    """The text after FROM for a file, or for all files that a pattern names: rows of CSV files are to be provided under
    the given name."""
    files = files_of(path)
    if are_texts(path, files):
        return _csv_reading(name, source, files)
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


def _refuse_gaps(connection: "DuckDBPyConnection", source: Source, files: list[str]) -> None:
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
        return [beside(path, text)]
    files = sorted(each for each in glob(text, recursive=True) if Path(each).is_file()) if has_magic(text) else []
    if not files:
        raise InvalidData(f"there is no file {text!r}")
    return [beside(path, each) for each in files]


def _named(path: str) -> str:
    """A path as a constant; DuckDB would take brackets and stars in a name for a pattern, and read another file."""
    return DuckDB().text("".join(f"[{letter}]" if letter in "[*?" else letter for letter in path))


def are_texts(path: str | Path, files: list[str]) -> bool:
    """True if these are CSV files, and not Parquet files.

    >>> are_texts("visits.csv", ["visits.csv"])
    True
    """
    texts = [each.lower().endswith(_TEXT_FILES) for each in files]
    if any(texts) and not all(texts):
        raise InvalidData(f"{str(path)!r} names files of both kinds, Parquet and CSV: give one kind")
    return all(texts)


def _csv_reading(name: str, source: Source, files: list[str]) -> Reading:
    """Files are put together by the names in their first lines, in whatever order these are."""
    for each in files:
        _refuse_damaged(each)
    headers = {each: first_line(each).names for each in files}
    names = _common(headers)
    for column in source.columns:
        for each, header in headers.items():
            if column not in header:
                raise _not_named(
                    f"the table {source.name!r}" if len(files) == 1 else f"the file {each!r}", column, each
                )
    return Reading(name, dict.fromkeys(names, "text"), at={each: f"c{place}" for place, each in enumerate(names)})


def _not_named(what: str, column: str, path: str) -> InvalidData:
    """The error that names a column which a first line does not have, and what it has: it is public."""
    told = ", ".join(map(repr, first_line(path).names))
    told = told if len(told) <= _LONGEST_TOLD else told[:_LONGEST_TOLD] + " ..."
    split = SEPARATORS[_separator(path)]
    return InvalidData(
        f"{what} has no column {column!r}: its first line, split at {split}, names {told}", column=column
    )


def _common(headers: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The names that all files have, in the order of the first of them; columns without a name, such as the numbers of rows
    that R and pandas write, are not read."""
    first = next(iter(headers.values()))
    return [name for name in first if name and all(name in header for header in headers.values())]


def csv_rows(source: Source, path: str | Path, folder: str) -> str:
    """A SELECT of the rows of CSV files, as a reading of them calls their columns. Where a file has lines that DuckDB
    would read in another way than `csv_lines` does, a copy of its rows in the folder is read instead."""
    firsts = {each: first_line(each) for each in files_of(path)}
    names = _common({each: first.names for each, first in firsts.items()})
    alike: dict[tuple[tuple[str, ...], str, bytes], list[str]] = {}
    for each, first in firsts.items():
        lines = lines_of(each, first, source)
        alike.setdefault((first.names, _separator(each), lines.end), []).append(_rows_of(each, first, lines, folder))
    parts = []
    for (header, separator, end), same in alike.items():
        # by their places: DuckDB takes names that differ by upper and lower case for one
        picked = ", ".join(
            f"{_number(path, source, name, f'f{header.index(name)}')} AS c{place}" for place, name in enumerate(names)
        )
        parts.append(f"SELECT {picked} FROM {_read_csv(len(header), separator, end, same)}")
    return " UNION ALL ".join(parts)


def _number(path: str | Path, source: Source, name: str, field: str) -> str:
    """A field, with a point for the decimal comma where the file has such numbers; a point of its own makes it none."""
    column = source.columns.get(name)
    if getattr(path, "decimal", ".") == "." or column is None or not column.numeric:
        return field
    return f"CASE WHEN NOT contains({field}, '.') THEN replace({field}, ',', '.') END"


def _rows_of(path: str, first: "FirstLine", lines: Lines, folder: str) -> str:
    """The file itself, or a copy of its rows; of a zip file, which DuckDB does not read, always a copy."""
    if not _is_zip(path) and first.returns <= 1 and all(piece.kind == "rows" for piece in pieces_of(path, lines)):
        return path
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".csv", delete=False) as copy:
        copy.write(lines.separator.join(b"f%d" % place for place in range(len(first.names))) + lines.end)
        for piece in pieces_of(path, lines):
            copy.write(lines.written(piece))
    return copy.name


def lines_of(path: str, first: "FirstLine", source: Source) -> Lines:
    """The rule by which the lines of a file are read. Where its last column names persons, a line that has more
    carriage returns at its end than the first one is no row: whether they belong to the name cannot be told, and two
    persons would be taken for one, or one for two."""
    about = source.about
    last = isinstance(about, Person) and about.column == first.names[-1]
    return Lines(len(first.names), _separator(path).encode(), first.returns, strict=last)


def pieces_of(path: str, lines: Lines) -> Iterator[Piece]:
    """The stretches of a file behind its first line."""
    with _opened(path) as file:
        for _ in _first_lines(file):
            pass
        yield from lines.pieces(file)


def counted_lines(source: Source, path: str | Path) -> Counter[str]:
    """The number of lines of CSV files that are left out, by reason, and how many rows are no UTF-8
    ("letters"): exact."""
    made: Counter[str] = Counter()
    for each in files_of(path):
        lines = lines_of(each, first_line(each), source)
        for piece in pieces_of(each, lines):
            if piece.kind in ("rows", "row"):
                made["letters"] += lines.unreadable(piece.data)
            else:
                made[piece.kind] += 1
    return made


def _read_csv(many: int, separator: str, end: bytes, files: list[str]) -> str:
    columns = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(many))
    listed, ended = ", ".join(map(_named, files)), "\\r\\n" if len(end) == 2 else "\\n"
    given = f"columns = {{{columns}}}, delim = {DuckDB().text(separator)}, new_line = '{ended}'"
    return f"read_csv([{listed}], {given}, {_CSV})"


def _separator(path: str) -> str:
    given = getattr(path, "separator", None)
    return given or (TAB if path.lower().endswith((".tsv", ".tsv.gz", ".tsv.zip")) else ",")


def _is_zip(path: str) -> bool:
    return path.lower().endswith(".zip")


class FirstLine(NamedTuple):
    """The names of the columns, and how many carriage returns there are before the line feed."""

    names: tuple[str, ...]
    returns: int


def _refuse_damaged(path: str) -> None:
    """Refuse a file that cannot be unpacked. It is unpacked for that, and what is in it is not looked at: whether the
    packing holds is no fact about a row, and would be found out when it had been paid for."""
    if path.lower().endswith((".gz", ".zip")):
        held = os.stat(path)
        if not _unpacks(path, held.st_ino, held.st_size, held.st_mtime_ns):
            how = "zip, or holds several files or none" if _is_zip(path) else "gzip"
            raise InvalidData(f"{str(path)!r} is damaged, or was not packed by {how}: it cannot be unpacked")


@lru_cache(maxsize=256)
def _unpacks(path: str, inode: int, size: int, changed: int) -> bool:
    """True if a file, as it was when it had this size and was changed then, can be unpacked: asked once."""
    try:
        with _opened(path) as file:
            while file.read(_UNPACKED):
                pass
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return False  # a zip file may also be locked by a password, or packed in a way that Python does not know
    return True


def _opened(path: str) -> Any:
    if _is_zip(path):
        return _zipped(path)
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")


@contextmanager
def _zipped(path: str) -> Iterator[Any]:
    """The one file in a zip file; what macOS adds for itself is none."""
    with zipfile.ZipFile(path) as packed:
        held = [each for each in packed.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX/")]
        if len(held) != 1:
            raise zipfile.BadZipFile
        with packed.open(held[0]) as file:
            yield io.BufferedReader(file)


def first_line(path: str) -> FirstLine:
    """The first line of a CSV file, which is public, and nothing of what follows it."""
    names: list[str] | None = None
    lines: list[str] = []
    wrong = (OSError, EOFError, UnicodeDecodeError, csv.Error, zipfile.BadZipFile, RuntimeError)
    with suppress(*wrong), _opened(path) as file:
        lines = list(_first_lines(file))
        names = next(csv.reader(iter(lines), delimiter=_separator(path)), [])
    if names is None:  # out of the reach of what went wrong, which may hold a piece of the file
        ends = "\r" in "".join(lines).rstrip("\r\n")
        why = "lines must end in line feeds, not in carriage returns alone" if ends else "a file must be UTF-8"
        raise InvalidData(f"the first line of {str(path)!r} cannot be read: {why}")
    named = [name for name in names if name]
    if not named or len(set(named)) != len(named):
        raise InvalidData(f"the first line of {str(path)!r} must name the columns, each once")
    if len(names) == 1 and getattr(path, "separator", None) is None:
        _refuse_other_separator(path, "".join(lines).rstrip("\r\n"))
    ended = lines[-1].removesuffix("\n")
    return FirstLine(tuple(names), len(ended) - len(ended.rstrip("\r")))


def _refuse_other_separator(path: str, line: str) -> None:
    """Refuse a first line that names one column, in which something else splits several: it is public."""
    other = next((each for each in SEPARATORS if each in line and each != _separator(path)), None)
    if other is not None:
        told = line if len(line) <= _LONGEST_TOLD else line[:_LONGEST_TOLD] + " ..."
        raise InvalidData(
            f"the first line of {str(path)!r} names one column, {told!r}: its columns seem to be split at "
            f"{SEPARATORS[other]}. Give separator={other!r}, or {_separator(path)!r} where it is one column"
        )


def _first_lines(file: Any) -> Iterator[str]:
    """The lines of the names, and nothing beyond them: whether the rows below are texts is private."""
    marked = file.readline(_LONGEST_HEADER).decode("utf-8-sig")
    yield marked
    quotes = marked.count('"')
    while quotes % 2 and marked:  # a name in quotes goes on in the next line
        marked = file.readline(_LONGEST_HEADER).decode("utf-8")
        quotes += marked.count('"')
        yield marked
