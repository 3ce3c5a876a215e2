"""Lines of CSV files: a second reader of the same grammar, letter by letter, and what DuckDB makes of the rows."""

import io
import itertools
import random
from pathlib import Path

import duckdb
import pytest

import privet as pv
from privet.errors import InvalidData
from privet.tables.columns import Text
from privet.tables.engines import csv_lines
from privet.tables.engines.csv_lines import Lines
from privet.tables.engines.duckdb_files import csv_rows
from privet.tables.person import Person, Rows
from privet.tables.plan import Source

KINDS = ("row", "short", "long", "quotes", "large", "ends")


def by_letter(text: bytes, many: int, ends: int | None = None, end: bytes = b"\n") -> list[tuple[str, list[bytes]]]:
    """The records of a text, one letter after the other: (what it is, its fields)."""
    if text and not text.endswith(b"\n"):
        text += end
    made, at = [], 0
    while at < len(text):
        record = one_record(text, at)
        if record is None:
            made.append(("quotes", []))
            at = text.index(b"\n", at) + 1
            continue
        fields, returns, after = record
        fields = fields[:many] + ([] if fields[many:] == [b""] * len(fields[many:]) else fields[many:])
        kind = "row" if len(fields) == many else "short" if len(fields) < many else "long"
        if ends is not None and returns > ends:
            kind = "ends"
        if after - at > csv_lines.LONGEST:
            kind = "large"
        made.append((kind, fields if kind == "row" else []))
        at = after
    return made


def one_record(text: bytes, at: int) -> tuple[list[bytes], int, int] | None:
    fields: list[bytes] = []
    while True:
        start = at
        while text[at] == 32:
            at += 1
        if text[at] == 34:
            value, at = b"", at + 1
            while True:
                if at >= len(text):
                    return None
                if text[at] == 34 and text[at + 1 : at + 2] == b'"':
                    value, at = value + b'"', at + 2
                elif text[at] == 34:
                    at += 1
                    break
                else:
                    value, at = value + text[at : at + 1], at + 1
            while text[at] == 32:
                at += 1
            returns = 0
            while text[at] == 13:
                returns, at = returns + 1, at + 1
            if text[at] == 44 and not returns:
                fields.append(value)
                at += 1
                continue
            if text[at] == 10:
                return [*fields, value], returns, at + 1
            return None
        end = start
        while text[end] not in (10, 44):
            end += 1
        value = text[start:end]
        if text[end] == 44:
            fields.append(value)
            at = end + 1
            continue
        return [*fields, value.rstrip(b"\r")], len(value) - len(value.rstrip(b"\r")), end + 1


def counted(text: bytes, lines: Lines) -> list[str]:
    made = []
    for piece in lines.pieces(io.BytesIO(text)):
        many = (
            by_letter(piece.data, lines.many, lines.returns if lines.strict else None)
            if piece.kind == "rows"
            else [(piece.kind, [])]
        )
        made += [kind for kind, _ in many]
    return made


def random_text(rng: random.Random, many: int) -> bytes:
    """Records as writers make them, among them pieces of whatever letters."""
    pieces = []
    for _ in range(rng.randrange(12)):
        if rng.random() < 0.7:
            fields = [
                rng.choice([b"1", b"a", b"", b'"x"', b'"a,b"', b'"l\nm"', b'"q""q"', b"a\rb", b' "s" '])
                for _ in range(many)
            ]
            pieces.append(b",".join(fields) + rng.choice([b"\n", b"\r\n", b"\n", b"\r\r\n"]))
        else:
            pieces.append(b"".join(rng.choice([b'"', b",", b"\n", b"\r", b" ", b"z"]) for _ in range(rng.randrange(8))))
    return b"".join(pieces)


@pytest.mark.parametrize("size", [(2**21, 2**22), (24, 7), (24, 3)], ids=["as it is", "blocks of 7", "blocks of 3"])
def test_pieces_are_the_records_letter_by_letter(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_lines, "LONGEST", size[0])
    monkeypatch.setattr(csv_lines, "_BLOCK", size[1])
    rng, seen = random.Random(7), set()
    for _ in range(3_000):
        many, ends = rng.randrange(1, 4), rng.choice([None, 0, 1])
        text = random_text(rng, many)
        expected = [kind for kind, _ in by_letter(text, many, ends, b"\r\n" if ends == 1 else b"\n")]
        assert counted(text, Lines(many, b",", ends or 0, strict=ends is not None)) == expected, text
        seen.update(expected)
    assert seen == set(KINDS) - ({"large"} if size[0] > 24 else set())


def test_every_short_text_letter_by_letter() -> None:
    for letters in itertools.product(b'",\n\ra', repeat=6):
        text = bytes(letters)
        for many in (1, 2):
            assert counted(text, Lines(many, b",")) == [kind for kind, _ in by_letter(text, many)], text


CONNECTION = duckdb.connect()


def read(path: Path, columns: list[str], person: str | None = None) -> list[tuple[str | None, ...]]:
    about = Rows() if person is None else Person(person, max_rows=1)
    source = Source("t", tuple((name, Text()) for name in columns), about)
    (path.parent / "copies").mkdir(exist_ok=True)
    return CONNECTION.execute(csv_rows(source, path, str(path.parent / "copies"))).fetchall()


def test_duckdb_reads_the_fields_letter_by_letter(tmp_path: Path) -> None:
    rng, path = random.Random(11), tmp_path / "x.csv"
    for _ in range(250):
        many = rng.randrange(1, 4)
        names, text = [f"n{place}" for place in range(many)], random_text(rng, many)
        path.write_bytes(",".join(names).encode() + rng.choice([b"\n", b"\r\n", b"\r\r\n"]) + text)
        expected = [
            tuple(field.decode() or None for field in fields) for kind, fields in by_letter(text, many) if kind == "row"
        ]
        assert read(path, names) == expected, text


def test_an_open_quote_costs_its_own_line(tmp_path: Path) -> None:
    path, good = tmp_path / "x.csv", "".join(f"p{i},{'AB'[i % 2]},{i}\n" for i in range(20))
    for bad in ('p99,"A,1\n', 'p99,"A"x,1\n', '"p99,A,1\n'):
        for text in (bad + good, good + bad, good + bad + good):
            path.write_text("who,g,v\n" + text)
            assert len(read(path, ["who", "g", "v"])) == 20 * text.count("p19")


def test_a_long_text_costs_its_own_row(tmp_path: Path) -> None:
    """Its lines look like rows, and one text is longer than what DuckDB holds at a time."""
    path = tmp_path / "x.csv"
    for many in (2**19 - 3, 2**19, 2**20, 2**23):  # of 4 bytes each
        path.write_bytes(b'who,g\na,1\nm,"' + b"b,2\n" * many + b'"\nc,3\n')
        rows = read(path, ["who", "g"])
        assert [who for who, _ in rows] == (["a", "m", "c"] if 4 * many + 5 <= csv_lines.LONGEST else ["a", "c"])


def test_who_is_in_the_last_column(tmp_path: Path) -> None:
    """`a` at the end of a line that ends otherwise than the first may be the person `a` or the person `a` and a carriage
    return: such a line is nobody's, and no other column cares."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"v,who\n1,a\n2,a\r\n3,b\n")
    assert read(path, ["v", "who"], "who") == [("1", "a"), ("3", "b")]
    assert read(path, ["v", "who"], "v") == [("1", "a"), ("2", "a"), ("3", "b")]
    path.write_bytes(b"v,who\r\n1,a\n2,a\r\n3,a\r\r\n4,b\r\n")
    assert read(path, ["v", "who"], "who") == [("1", "a"), ("2", "a"), ("4", "b")]


def test_columns_without_a_name_and_separators_at_the_end(tmp_path: Path) -> None:
    """The numbers of rows that R and pandas write, and a comma too many."""
    path = tmp_path / "x.csv"
    path.write_bytes(b'"","who","g"\n"1","a",3\n"2","b",4\n')
    assert read(path, ["who", "g"]) == [("a", "3"), ("b", "4")]
    path.write_bytes(b"who,g\na,3,\nb,4,,\nc,5,x\n")
    assert read(path, ["who", "g"]) == [("a", "3"), ("b", "4")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"who;g;v\na;1;2\n", "names one column, 'who;g;v': its columns seem to be split at semicolons"),
        (b"who,g,v\ra,1,2\r", "must end in line feeds"),
        ("who,g,v\na,1,2\n".encode("utf-16"), "must be UTF-8"),
        (b",,\n1,2,3\n", "must name the columns"),
        (b"who,g,who\n1,2,3\n", "must name the columns"),
        (b"x" * 300 + b"\n1\n", r"xxx \.\.\."),
    ],
)
def test_first_lines_that_do_not_name_what_is_asked(content: bytes, words: str, tmp_path: Path) -> None:
    """They are public, so the sentence may say what was read; nothing is paid."""
    (tmp_path / "x.csv").write_bytes(content)
    table = pv.Table(tmp_path / "x.csv", columns={"g": pv.Int(0, 9)})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    with pytest.raises(InvalidData, match=words) as caught:
        ledger.release(table.agg(s=pv.sum("g")), epsilon=0.5)
    assert len(str(caught.value)) < 500
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def test_files_that_duckdb_reads_as_we_do_are_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"who,g\r\n" + b'a,"l\n""m"""\r\n' * 3 + b"c,3")
    assert len(read(path, ["who", "g"])) == 4
    assert not list((tmp_path / "copies").iterdir())
    path.write_bytes(b"who,g\na,1\rb,2\n")
    assert read(path, ["who", "g"]) == []
    assert list((tmp_path / "copies").iterdir())
