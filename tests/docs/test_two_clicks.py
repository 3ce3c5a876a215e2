"""A reader who opens the first page finds what is wanted most within two clicks, and every lesson and how-to as well."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
WANTED = (
    "tutorials/a-hospital.md",
    "how-to/ask-in-sql.md",
    "how-to/choose-an-epsilon.md",
    "how-to/plot-a-release.md",
    "how-to/work-in-a-notebook.md",
    "how-to/after-a-mistake.md",
    "how-to/keep-a-ledger.md",
    "how-to/from-opendp.md",
    "tutorials/a-private-model.md",
    "tutorials/a-synthetic-table.md",
)
_LINK = re.compile(r"\]\(([^)#\s]+\.md)")


def links(page: str) -> set[str]:
    """The pages of the site that a page names."""
    here = (DOCS / page).parent
    found = [(here / each).resolve() for each in _LINK.findall((DOCS / page).read_text(encoding="utf-8"))]
    return {str(each.relative_to(DOCS)) for each in found if each.is_relative_to(DOCS) and each.exists()}


def within(clicks: int) -> set[str]:
    """The pages that so many clicks lead to from the first one."""
    known = {"index.md"}
    for _ in range(clicks):
        known |= {there for page in known for there in links(page)}
    return known


def test_what_is_wanted_most_is_one_click_away() -> None:
    assert set(WANTED) - within(1) == set()


def test_every_lesson_and_how_to_is_two_clicks_away() -> None:
    pages = {str(each.relative_to(DOCS)) for room in ("tutorials", "how-to") for each in (DOCS / room).glob("*.md")}
    assert len(pages) > 50
    assert pages - within(2) == set()
