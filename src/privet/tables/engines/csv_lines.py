"""Lines of a CSV file: which are rows, and a copy in which no row can reach beyond its own.

Readers of CSV differ in what ends a line and a quoted text. DuckDB ends lines at a carriage return even where a field
goes on, and an open quote swallows everybody behind it: one row would be many, or many would be none. Here is the one
grammar that counts. A *field* is a text in quotes, in which `""` is a quote, or a text without separator and line feed
that does not begin with a quote. A *record* is fields with separators between them, ended by a line feed; carriage
returns before that belong to the end of the line, all others to the text. Where no record begins, as behind an open
quote, one line is left out and reading goes on behind it. A record is a row if it has as many fields as the first line
names, or more that are empty, and at most `LONGEST` bytes.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

LONGEST = 2**21  # bytes of a row; DuckDB is told to take twice as many, since quotes are doubled in the copy
_BLOCK = 2**22  # bytes that are read at a time: changes speed only
_OPEN = 2**28  # a text in quotes that is longer is taken for one that is never closed

Kind = Literal["rows", "row", "short", "long", "quotes", "large", "ends"]


class Piece(NamedTuple):
    """A stretch of a file: `rows` as they are, a `row` to be written anew from its fields, or a line that is left out
    since it is too `short` or `long` (by its fields), has its `quotes` where they end no field, is too `large`, or `ends`
    otherwise than the first line where that would change who the row is about."""

    kind: Kind
    data: bytes
    fields: tuple[bytes, ...] = ()


class Lines:
    """The rule by which lines with so many fields are read. `returns` is how many carriage returns the first line has
    at its end; a line that has more is no row where `strict`, since they could belong to its last field.

    >>> import io
    >>> [piece.kind for piece in Lines(2, b",").pieces(io.BytesIO(b'1,2\\n3\\n4,"5\\n6,7\\n'))]
    ['rows', 'short', 'quotes', 'rows']
    """

    def __init__(self, many: int, separator: bytes, returns: int = 0, *, strict: bool = False) -> None:
        self.many, self.separator, self.returns, self.strict = many, separator, returns, strict
        self.end = (
            b"\r\n" if returns == 1 else b"\n"
        )  # of all lines that DuckDB sees: with two ends it sees empty lines
        quoted, comma = rb'"[^"]*+(?:""[^"]*+)*+"', re.escape(separator)
        plain = rb"(?:" + quoted + rb'|[^"\r\n' + comma + rb"]*+)"  # what DuckDB reads as we do
        self._field = re.compile(
            rb" *+(" + quoted + rb") *+(?=[\n" + comma + rb"]|\r*+\n)|([^\n" + comma + rb"]*+)", re.DOTALL
        )
        loose = rb"(?: *+" + quoted + rb" *+|(?! *+\")[^\n" + comma + rb"]*+)"
        self._rows = re.compile(rb"(?:" + comma.join([plain] * many) + self.end + rb")*+")
        self._record = re.compile(loose + rb"(?:" + comma + loose + rb")*+\r*+\n")

    def pieces(self, file: BinaryIO | Any) -> Iterator[Piece]:
        """The stretches of what a file still holds, in their order."""
        ahead, mixed = _Ahead(file, self.end), 0  # up to there it was seen that not all lines are alike
        while ahead.holds(2 * LONGEST):
            held, at = ahead.held, ahead.at
            last = held.rfind(b"\n", at, at + LONGEST) + 1
            if ahead.passed + at >= mixed and last > at:
                if self._alike(held[at:last]):
                    yield Piece("rows", held[at:last])
                    ahead.at = last
                    continue
                mixed = ahead.passed + last
            run = self._rows.match(held, at, at + LONGEST)
            if run is not None and run.end() > at:
                yield Piece("rows", run.group())
                ahead.at = run.end()
                continue
            yield self._one(ahead)

    def _alike(self, lines: bytes) -> bool:
        """True if all of these lines have as many fields as they should, no quotes, and no carriage return but at their
        ends. They are rows by the pattern as well: this changes speed only."""
        returns = lines.count(b"\r")
        if b'"' in lines or returns != (lines.count(b"\n") if len(self.end) == 2 else 0):
            return False
        if returns and returns != lines.count(self.end):
            return False
        read = np.frombuffer(lines, dtype=np.uint8)
        ends, between = np.flatnonzero(read == 10), np.flatnonzero(read == self.separator[0])
        if len(between) != (self.many - 1) * len(ends):
            return False
        if not len(between):
            return True
        first, last = between[:: self.many - 1], between[self.many - 2 :: self.many - 1]
        return bool((last < ends).all() and (first[1:] > ends[:-1]).all())

    def _one(self, ahead: "_Ahead") -> Piece:
        """The record that begins here, or the line where none does."""
        found = self._record.match(ahead.held, ahead.at, ahead.at + _OPEN)
        while found is None and ahead.more():
            found = self._record.match(ahead.held, ahead.at, ahead.at + _OPEN)
        if found is None:
            return Piece("quotes", ahead.taken(ahead.held.find(b"\n", ahead.at) + 1))
        data = ahead.taken(found.end())
        if len(data) > LONGEST:
            return Piece("large", data)
        if self._rows.fullmatch(data):  # longer than what was looked at together
            return Piece("rows", data)
        body = data[:-1].rstrip(b"\r")
        if self.strict and len(data) - 1 - len(body) > self.returns:
            return Piece("ends", data)
        fields = tuple(self._fields(body + b"\n"))
        if all(each in (b"", b'""') for each in fields[self.many :]):  # separators at the end of a line are no fields
            fields = fields[: self.many]
        if len(fields) != self.many:
            return Piece("short" if len(fields) < self.many else "long", data)
        return Piece("row", data, fields)

    def _fields(self, record: bytes) -> Iterator[bytes]:
        at = 0
        while True:
            found = self._field.match(record, at)
            assert found is not None
            yield found.group(1) if found.group(1) is not None else found.group(2)
            at = found.end() + 1
            if at >= len(record):
                return

    def unreadable(self, rows: bytes) -> int:
        """The number of these rows that are no UTF-8."""
        try:
            rows.decode()
        except UnicodeDecodeError:
            pass
        else:
            return 0
        parts = [found.group() for found in self._record.finditer(rows)]
        return 1 if len(parts) == 1 else sum(map(self.unreadable, parts))

    def written(self, piece: Piece) -> bytes:
        """A row as DuckDB reads it, and nothing for a line that is left out."""
        if piece.kind == "rows":
            return piece.data
        return self.separator.join(map(_quoted, piece.fields)) + self.end if piece.kind == "row" else b""


def _quoted(field: bytes) -> bytes:
    if field[:1] == b'"' or not (b'"' in field or b"\r" in field):
        return field
    return b'"' + field.replace(b'"', b'""') + b'"'


class _Ahead:
    """The part of a file that was read and not yet looked at; its last line is ended where the file does not end it."""

    def __init__(self, file: Any, end: bytes) -> None:
        self.file, self.end, self.held, self.at = file, end, b"", 0
        self.passed = 0  # bytes that are no longer held
        self._over = False

    def holds(self, many: int) -> bool:
        """True if there is anything left, with so many bytes at hand where there are as many."""
        while not self._over and len(self.held) - self.at < many:
            self._read(_BLOCK)
        return self.at < len(self.held)

    def more(self) -> bool:
        """Twice as many bytes, or False where there are no more or a quote cannot be closed any more."""
        left = len(self.held) - self.at
        if self._over or left >= _OPEN:
            return False
        self._read(max(_BLOCK, left))
        return True

    def taken(self, end: int) -> bytes:
        """The bytes up to there, which are done with."""
        data = self.held[self.at : end]
        self.at = end
        return data

    def _read(self, many: int) -> None:
        read = self.file.read(many)
        self._over = not read
        if self._over and self.held[-1:] not in (b"", b"\n"):
            read = self.end
        self.passed += self.at
        self.held, self.at = self.held[self.at :] + read, 0
