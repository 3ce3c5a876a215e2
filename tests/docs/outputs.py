"""What the blocks of a page print, beside what the page says that they print.

A block ```` ```text title="Output" ```` directly after a `python` or `console` block holds what that block prints: the
same words, and numbers that agree within 1% (another machine may round the last digit otherwise). With
`title="Output, for example"` the numbers are noisy: each stands for any other. Blanks and the lines of tables do not
count. `python -m tests.docs.outputs PAGE...` writes the blocks anew.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from typer.testing import CliRunner

from privet.cli import app
from tests.docs.markdown import FENCE, ROOT, Block, blocks

EXACT, NOISY = 'text title="Output"', 'text title="Output, for example"'
WIDTH = 88  # columns of the terminal whose output is shown
# A number; a hash; a letter that stands for a choice ("A" or "B").
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![0-9a-f])|\b[0-9a-f]{16,}\b|\binf\b|∞|\b[A-Z]\b(?!\s[a-z])")
# What lies around a number may move with its length: blanks and the lines of tables.
_BLANK = re.compile(r"[\s─━═╌]+")


def words(text: str) -> tuple[str, list[str]]:
    """The text with every number as #, every run of blanks as one, and the numbers."""
    return _BLANK.sub(" ", _NUMBER.sub("#", text)).strip(), _NUMBER.findall(text)


def agree(said: str, seen: str, *, noisy: bool) -> bool:
    """Whether a page says what was seen."""
    (shape, numbers), (other, others) = words(said), words(seen)
    return shape == other and (noisy or all(map(_close, numbers, others)))


def _close(one: str, other: str) -> bool:
    try:
        a, b = (float(text.replace(",", "").rstrip(".")) for text in (one, other))
    except ValueError:
        return one == other
    return a == b or abs(a - b) <= 0.01 * max(abs(a), abs(b))


def wrapped(text: str) -> str:
    """The text as a terminal shows it: lines that are too long go on in the next one."""
    rows = []
    for row in text.strip("\n").splitlines():
        rows += textwrap.wrap(row, WIDTH, break_long_words=False) if len(row) > WIDTH else [row.rstrip()]
    return "\n".join(rows)


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> str:
    """Run a block and return what it printed."""
    # Leading empty lines make a traceback point at the line of the page.
    code = "\n" * (block.line - 1) + block.code
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, str(page), "exec"), namespace)
    return printed.getvalue()


def run_command(command: str) -> str:
    """Run a command, which must succeed, and return what it printed."""
    program, *arguments = shlex.split(command)
    assert program == "privet", f"a console block shows privet only; put {program!r} into a sh block"
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1"})
    assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"
    return result.stdout


def run_page(page: Path) -> Iterator[tuple[Block, str]]:
    """Every block of a page in order, each with what it printed; the page has a namespace of its own."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    with mock.patch.dict(os.environ, {"COLUMNS": str(WIDTH)}):
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.language == "python":
                yield block, run_python(block, page, namespace)
            elif block.language == "console":
                yield block, "".join(map(run_command, block.commands()))
            else:
                yield block, ""


def rewritten(page: Path) -> str:
    """The page with each of its outputs as it is now; a block that says it is noisy stays so."""
    text = page.read_text(encoding="utf-8")
    printed = {block.line: seen for block, seen in run_page(page)}
    last = ""

    def renewed(match: re.Match[str]) -> str:
        nonlocal last
        line = text.count("\n", 0, match.start("code")) + 1
        if match["info"] not in (EXACT, NOISY):
            last = printed.get(line, "")
            return match[0]
        return f"{match['ticks']}{match['info']}\n{wrapped(last)}\n{match['ticks']}"

    return FENCE.sub(renewed, text)


def main(names: list[str]) -> None:
    for name in names:
        page = (ROOT / name).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            page.write_text(rewritten(page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
