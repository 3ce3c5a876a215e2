"""Every code block of the README and the docs does what the page says.

The `python` blocks of one page run in order and share a namespace. In `console` blocks the lines that
start with `$ privet` run too, and must succeed. A `sh` block holds what only a reader can run; its `make`
targets must exist. Any other language is for looking at.
"""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privet.cli import app
from privet.mechanisms import mechanism
from privet.privacy import serial
from tests.docs.markdown import ROOT, Block, blocks, pages

LANGUAGES = {"python", "console", "sh", "text", "toml", "json", "sql"}


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    # Leading empty lines make a traceback point at the line of the page.
    code = "\n" * (block.line - 1) + block.code
    exec(compile(code, str(page), "exec"), namespace)


def assert_command_succeeds(command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "privet", f"a console block shows privet only; put {program!r} into a sh block"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What a page registers is forgotten at its end.
    monkeypatch.setattr(serial, "_KINDS", dict(serial._KINDS))
    monkeypatch.setattr(mechanism, "_REGISTRY", dict(mechanism._REGISTRY))
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language in LANGUAGES, f"{page.name}:{block.line}: unknown language {block.language!r}"
        if block.language == "python":
            run_python(block, page, namespace)
        elif block.language == "console":
            for command in block.commands():
                assert_command_succeeds(command)


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set()
    for page in pages():
        named |= set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert named <= targets


def test_blocks_are_found_where_they_stand():
    text = "# Page\n\n```python\nx = 1\n```\n\n!!! note\n\n    ```console\n    $ privet demo\n    output\n    ```\n"
    first, second = blocks(text)
    assert first == Block("python", "x = 1\n", 4)
    assert second.commands() == ["privet demo"]


def test_a_block_that_fails_is_noticed():
    with pytest.raises(ZeroDivisionError):
        run_python(Block("python", "1 / 0\n", 7), Path("page.md"), {})
