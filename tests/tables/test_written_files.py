"""Neighbours as frames, written to files by whatever people write them with, and read back: one person more or less moves
every exact sum by at most what is charged, and every row is there once."""

import csv
import gzip
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from privet.tables.bounded import Bounded, Signed, Ticks
from privet.tables.columns import Category, Column, Int, Text
from privet.tables.engines import exact_aggregates
from privet.tables.expressions import Ref
from privet.tables.keys import KeySet
from privet.tables.person import Person, Rows
from privet.tables.plan import Source
from tests.effort import tries

Frame = dict[str, list[Any]]
SALTS = (1, 2, 3, 4, 5)
LETTERS = ["a", "b", '"', ",", "\n", "\r", "\r\n", "\0", "\\", ";", "\t", " ", "'", "\ufeff", "é", "1"]


def by_csv(frame: Frame, path: Path, **given: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, **given)
        writer.writerow(frame)
        writer.writerows(zip(*frame.values(), strict=True))


def by_pandas(frame: Frame, path: Path, **given: Any) -> None:
    pytest.importorskip("pandas").DataFrame(frame).to_csv(path, index=False, **given)


def by_polars(frame: Frame, path: Path, **given: Any) -> None:
    pytest.importorskip("polars").DataFrame(frame).write_csv(path, **given)


def by_duckdb(frame: Frame, path: Path, **given: Any) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow

    held = pyarrow.table(frame)
    with duckdb.connect() as connection:
        connection.register("held", held)
        connection.execute(f"COPY held TO '{path}' (HEADER {', '.join(['', *(f'{k} {v}' for k, v in given.items())])})")


def by_excel(frame: Frame, path: Path, **given: Any) -> None:
    """As Excel saves "CSV UTF-8": a mark in front, CR LF at the ends of lines, quotes where they are needed."""
    by_csv(frame, path, **given)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def by_r(frame: Frame, path: Path) -> None:
    """As `write.csv` of R: every text and name in quotes, numbers bare, a missing value is NA."""
    by_csv(frame, path, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")


WRITERS: dict[str, Callable[[Frame, Path], None]] = {
    "csv": by_csv,
    "csv, lines end in LF": lambda frame, path: by_csv(frame, path, lineterminator="\n"),
    "csv, all in quotes": lambda frame, path: by_csv(frame, path, quoting=csv.QUOTE_ALL),
    "csv, unix": lambda frame, path: by_csv(frame, path, dialect="unix"),
    "pandas": by_pandas,
    "pandas, CR LF": lambda frame, path: by_pandas(frame, path, lineterminator="\r\n"),
    "pandas, a mark in front": lambda frame, path: by_pandas(frame, path, encoding="utf-8-sig"),
    "pandas, all in quotes": lambda frame, path: by_pandas(frame, path, quoting=csv.QUOTE_ALL),
    "polars": by_polars,
    "polars, CR LF": lambda frame, path: by_polars(frame, path, line_terminator="\r\n"),
    "polars, all in quotes": lambda frame, path: by_polars(frame, path, quote_style="always"),
    "duckdb": by_duckdb,
    "duckdb, all in quotes": lambda frame, path: by_duckdb(frame, path, FORCE_QUOTE="*"),
    "excel": by_excel,
    "r": by_r,
}


def text(rng: random.Random) -> str:
    """Mostly what people write, and now and then what breaks readers."""
    return "".join(rng.choice(LETTERS) for _ in range(rng.randrange(1, 7))) if rng.random() < 0.6 else rng.choice("AB")


def frame_of(rng: random.Random, order: list[str], persons: int, rows: int) -> Frame:
    """Persons whose names are hostile, with rows of theirs; `note` and `more` are in no schema."""
    names = list(dict.fromkeys(text(rng).strip("\0") or "x" for _ in range(persons)))
    held: Frame = {name: [] for name in order}
    for _ in range(rows):
        row = {"who": rng.choice(names), "g": rng.choice("AB"), "v": rng.randrange(10), "t": text(rng)}
        row |= {"note": text(rng) + "".join(f"\rq{i},A,3" for i in range(rng.randrange(3))), "more": text(rng)}
        for name in order:
            held[name].append(row[name])
    return held


def without(frame: Frame, person: str) -> Frame:
    kept = [place for place, who in enumerate(frame["who"]) if who != person]
    return {name: [column[place] for place in kept] for name, column in frame.items()}


COLUMNS: dict[str, Column] = {"g": Category(["A", "B"]), "v": Int(0, 9), "t": Text()}


def sums(
    path: Path, about: Rows | Person, names: tuple[str, ...], keys: KeySet | None
) -> dict[Any, np.ndarray[Any, Any]]:
    """Rows, persons and the sum of `v` in each group."""
    source = Source("t", tuple(COLUMNS.items()), about)
    plan = Bounded(source, names, keys, (), (), (Signed(Ticks(Ref("v"), 0.0, 1.0), 0, 9),))
    found = exact_aggregates(plan, {"t": str(path)}, SALTS)
    groups = found.found if found.found is not None else (keys.rows if keys is not None else ())
    return {
        group: np.array([found.rows[place], found.persons[place], found.signed[0][place]])
        for place, group in enumerate(groups)
    }


def moved(one: dict[Any, Any], two: dict[Any, Any]) -> np.ndarray[Any, Any]:
    nothing = np.zeros(3, dtype=np.int64)
    return np.sum([np.abs(one.get(key, nothing) - two.get(key, nothing)) for key in {*one, *two}], axis=0)


ASKED: list[tuple[tuple[str, ...], KeySet | None]] = [
    ((), KeySet((), ((),))),
    (("g",), KeySet.of({"g": ["A", "B"]})),
    (("t",), None),
]


def moved_too_far(name: str, path: Path, turns: int) -> list[tuple[int, Any]]:
    """The turns in which one person moves more than what is charged."""
    found = []
    rng, order = random.Random(name), ["who", "g", "v", "t", "note", "more"]
    for turn in range(turns):
        rng.shuffle(order)
        frame, limit = frame_of(rng, order, 6, 14), rng.randrange(1, 4)
        person, (names, keys) = rng.choice(frame["who"]), ASKED[turn % len(ASKED)]
        made = []
        for held in (frame, without(frame, person)):
            WRITERS[name](held, path)
            made.append(sums(path, Person("who", max_rows=limit), names, keys))
        rows, persons, total = moved(*made)
        if rows > limit or persons > limit or total > 9 * limit:
            found.append((turn, names))
    return found


def misread(name: str, path: Path, turns: int) -> list[int]:
    """The turns in which a row is lost, doubled or another one."""
    found = []
    rng, order = random.Random(name), ["who", "g", "v", "t", "note", "more"]
    for turn in range(turns):
        rng.shuffle(order)
        if order[-1] in ("who", "t"):  # carriage returns at the end of a line belong to the line
            order.append(order.pop(order.index("note")))
        frame = frame_of(rng, order, 6, 14)
        WRITERS[name](frame, path)
        texts = {key: int(row[0]) for (key,), row in sums(path, Rows(), ("t",), None).items()}
        everybody = sums(path, Person("who", max_rows=100), (), KeySet((), ((),)))[()]
        if texts != Counter(frame["t"]) or everybody.tolist() != [14, len(set(frame["who"])), sum(frame["v"])]:
            found.append(turn)
    return found


@pytest.mark.parametrize("name", WRITERS)
def test_persons_and_rows_by_every_writer(name: str, tmp_path: Path) -> None:
    assert moved_too_far(name, tmp_path / "x.csv", 3) == []
    assert misread(name, tmp_path / "x.csv", 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_many_persons_and_rows_by_every_writer(name: str, tmp_path: Path) -> None:
    assert moved_too_far(name, tmp_path / "x.csv", tries(20)) == []
    assert misread(name, tmp_path / "x.csv", tries(7)) == []


def test_a_note_of_a_thousand_lines_is_one_row(tmp_path: Path) -> None:
    """pandas does not quote a carriage return: a note in no schema was a thousand persons, charged as one."""
    pandas = pytest.importorskip("pandas")
    base: Frame = {"who": [f"p{i}" for i in range(20)], "g": ["A", "B"] * 10, "note": ["ok"] * 20}
    more = {"who": ["m"], "g": ["A"], "note": ["x" + "".join(f"\rq{i}" for i in range(1000))]}
    for place, held in enumerate((base, {name: base[name] + more[name] for name in base})):
        for name in ("x.csv", "x.csv.gz"):
            pandas.DataFrame(held).to_csv(tmp_path / name, index=False)
            source = Source("t", (("g", Category(["A", "B"])),), Person("who", max_rows=1))
            plan = Bounded(source, (), KeySet((), ((),)))
            exact = exact_aggregates(plan, {"t": str(tmp_path / name)}, SALTS)
            assert (exact.rows.tolist(), exact.persons.tolist()) == ([20 + place], [20 + place])


def test_gz_files_with_hostile_texts_are_read_as_plain_ones(tmp_path: Path) -> None:
    rng = random.Random(3)
    frame = frame_of(rng, ["who", "g", "v", "t", "note", "more"], 6, 14)
    by_pandas(frame, tmp_path / "x.csv")
    with gzip.open(tmp_path / "x.csv.gz", "wb") as file:
        file.write((tmp_path / "x.csv").read_bytes())
    made = [sums(tmp_path / name, Person("who", max_rows=2), ("t",), None) for name in ("x.csv", "x.csv.gz")]
    assert moved(*made).tolist() == [0, 0, 0]
