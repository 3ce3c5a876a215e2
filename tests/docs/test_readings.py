"""The page that says who has read which proof note: every note is on it, once."""

import re
from collections import Counter
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
