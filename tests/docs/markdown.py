"""Fenced code blocks of the README and of every page under docs/."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)(?P=ticks)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its code without indentation, the line its code starts on, and its first line."""

    language: str
    code: str
    line: int
    info: str = ""

    def commands(self) -> list[str]:
        """The lines that a reader would type."""
        lines = self.code.replace("\\\n", " ").splitlines()
        return [line.removeprefix("$").strip() for line in lines if line.startswith("$")]


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    for match in FENCE.finditer(text):
        words = match["info"].split()
        line = text.count("\n", 0, match.start("code")) + 1
        yield Block(words[0] if words else "", textwrap.dedent(match["code"]), line, match["info"].strip())
