"""Pages for those who come from another library: the code of the peer runs where it is installed."""

import importlib

import pytest

from tests.docs.markdown import ROOT, blocks

SIDE_BY_SIDE = ("from-opendp.md", "from-diffprivlib.md")
PAGES = {
    "from-opendp.md": ("OpenDP", "opendp", 11),  # the data, and ten tasks
    "from-diffprivlib.md": ("diffprivlib", "diffprivlib", 11),
    "from-smartnoise-and-tumult.md": ("SmartNoise", "snsql", 1),
}
# What a peer says when it is installed beside versions that it does not work with.
UNSUITED = ("Installed python polars version", "iprint")


def of_the_peer(page: str) -> list[str]:
    """The blocks that hold the code of the peer."""
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    return [block.code for block in blocks(text) if block.info == f'py title="{PAGES[page][0]}"']


@pytest.mark.parametrize("page", SIDE_BY_SIDE)
def test_ten_tasks_stand_side_by_side(page):
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    tasks = text.split("\n## ")[1:]
    assert [task.split(".")[0] for task in tasks] == [str(i) for i in range(1, 11)]
    for task in tasks:
        languages = [block.language for block in blocks(task)]
        assert languages == ["python", "py"], task.splitlines()[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_the_peer_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        importlib.import_module(PAGES[page][1])
    except ImportError as missing:
        pytest.skip(f"{PAGES[page][0]} is not installed, or not with what is installed here: {missing}")
    shared: dict[str, object] = {}
    ran = 0
    for code in of_the_peer(page):
        try:
            exec(compile(code, page, "exec"), shared)
        except Exception as problem:
            if any(each in str(problem) for each in UNSUITED):
                pytest.skip(f"{PAGES[page][0]} does not work with versions that are installed here")
            raise
        ran += 1
    assert ran == PAGES[page][2]
