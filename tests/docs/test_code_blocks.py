"""Every code block of the README and the docs does what the page says.

The `python` blocks of one page run in order and share a namespace. In `console` blocks the lines that
start with `$ privet` run too, and must succeed. What they print is what the block "Output" after them says. A `sh` block
holds what only a reader can run; its `make` targets must exist. `py` is the code of a peer (`test_peers.py`). Any other
language is for looking at.
"""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from privet._face import installed
from privet.mechanisms import mechanism
from privet.privacy import serial
from privet.queries import aggregate
from privet.tables.engines import engine
from tests.docs.markdown import ROOT, Block, blocks, pages
from tests.docs.outputs import EXACT, NOISY, agree, rewritten, run_page, run_python

TORCH = re.compile(r"^(import torch|from privet import .*\bdeep\b)", re.MULTILINE)
LANGUAGES = {"python", "py", "console", "sh", "text", "toml", "json", "sql"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not installed("torch") and TORCH.search(page.read_text(encoding="utf-8")):
        pytest.skip("needs torch")
    # What a page registers is forgotten at its end.
    monkeypatch.setattr(serial, "_KINDS", dict(serial._KINDS))
    monkeypatch.setattr(mechanism, "_REGISTRY", dict(mechanism._REGISTRY))
    monkeypatch.setattr(aggregate, "_SPELLINGS", aggregate.spellings())
    monkeypatch.setattr(engine.register, "_members", engine.registered_engines())
    printed = ""
    for block, seen in run_page(page):
        where = f"{page.name}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: unknown language {block.language!r}"
        if block.info in (EXACT, NOISY):
            assert agree(block.code, printed, noisy=block.info == NOISY), f"{where}: it prints\n{printed}"
        printed = seen


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=lambda page: page.stem)
def test_tutorials_show_what_they_print(page):
    listed = list(blocks(page.read_text(encoding="utf-8")))
    silent = [
        block.line
        for block, after in pairwise([*listed, Block("", "", 0)])
        if ("print(" in block.code if block.language == "python" else block.language == "console")
        and after.info not in (EXACT, NOISY)
    ]
    assert silent == [], f"{page.name}: blocks that print, and no output after them: {silent}"


def test_outputs_that_changed_are_noticed(tmp_path):
    assert agree("1.5 of 3   \n\n", "1.501  of\n3\n", noisy=False)
    assert not agree("1.5 of 3", "1.6 of 3", noisy=False)
    assert not agree("1.5 of 3", "1.5 of three", noisy=False)
    assert agree("about 12 +-3: A, wins", "about -1,204.5 +-3e-05: B, wins", noisy=True)
    assert not agree("about 12 +-3", "around 12 +-3", noisy=True)
    assert not agree("12 of 13", "12", noisy=True)
    assert agree("│ 12 │ ───── │ hash 00ff00ff00ff00ff", "│ 3,456 │ ── │ hash 123456789abcdef0", noisy=True)
    page = tmp_path / "page.md"
    page.write_text('```python\nprint(1 + 1)\n```\n\n```text title="Output"\n3\n```\n', encoding="utf-8")
    (_, printed), (said, _) = run_page(page)
    assert not agree(said.code, printed, noisy=False)
    page.write_text(rewritten(page), encoding="utf-8")
    assert agree(list(run_page(page))[1][0].code, printed, noisy=False)


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
    assert first == Block("python", "x = 1\n", 4, "python")
    assert second.commands() == ["privet demo"]


def test_a_block_that_fails_is_noticed():
    with pytest.raises(ZeroDivisionError):
        run_python(Block("python", "1 / 0\n", 7), Path("page.md"), {})
