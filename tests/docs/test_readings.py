"""The page that says who has read which proof note: every note is on it, once. And what notes name exists."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

from tests.docs.markdown import ROOT

PROOFS = ROOT / "docs" / "proofs"
PAGE = PROOFS / "readings.md"


def notes_of(folder: Path) -> set[str]:
    found = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")}
    return found - {"index", "readings"}


def listed(page: str) -> Counter[str]:
    """The notes that a page links to, where name and link agree."""
    return Counter(name for name, link in re.findall(r"\[`([\w/-]+)`\]\(([\w/-]+)\.md\)", page) if name == link)


def test_every_note_is_listed_once():
    assert listed(PAGE.read_text(encoding="utf-8")) == Counter(notes_of(PROOFS))


def test_a_note_that_is_missing_or_listed_twice_is_seen(tmp_path):
    (tmp_path / "room").mkdir()
    for name in ("index", "readings", "room/one", "room/two"):
        (tmp_path / f"{name}.md").write_text("# Note\n", encoding="utf-8")
    assert notes_of(tmp_path) == {"room/one", "room/two"}
    line = "| [`room/one`](room/one.md) | by hand | holds |\n"
    assert listed(line) != Counter(notes_of(tmp_path))
    assert listed(2 * line)["room/one"] == 2
    assert not listed("| [`room/two`](room/one.md) |")


NAMED = re.compile(r"`([\w/.-]+\.py)(?:::(\w+\*?))?`")
FILES = {path.relative_to(ROOT).as_posix() for room in ("src", "tests") for path in (ROOT / room).rglob("*.py")}


@cache
def functions_of(file: str) -> frozenset[str]:
    return frozenset(re.findall(r"^\s*def (\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE))


def not_there(text: str) -> list[str]:
    """The files, and functions of files, that a note names and that do not exist; a name may be the end of a path."""
    missing = []
    for name, function in NAMED.findall(text):
        meant = [file for file in FILES if f"/{file}".endswith(f"/{name}")]
        if not meant or (function and not any(is_there(function, functions_of(file)) for file in meant)):
            missing.append(f"{name}::{function}" if function else name)
    return missing


def is_there(function: str, known: frozenset[str]) -> bool:
    return any(name.startswith(function[:-1]) for name in known) if function.endswith("*") else function in known


def test_files_that_notes_name_exist():
    found = {note: not_there((PROOFS / f"{note}.md").read_text(encoding="utf-8")) for note in notes_of(PROOFS)}
    assert {note: names for note, names in found.items() if names} == {}


def test_a_file_that_has_moved_is_seen():
    assert not_there("Code: `src/privet/privacy/gaussian.py`, `gaussian.py`.") == []
    assert not_there("`privacy/gaussian_law.py`, `test_readings.py::test_gone`") == [
        "privacy/gaussian_law.py",
        "test_readings.py::test_gone",
    ]
    assert not_there("`test_readings.py::test_files_*`, `test_readings.py::test_every_note_is_listed_once`") == []
