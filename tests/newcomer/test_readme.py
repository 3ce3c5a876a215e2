"""The front page says what comes out, shows a picture that is there, and links to what exists."""

import contextlib
import io
import re
import runpy
import tomllib

import pytest

import privet as pv
from privet.errors import MissingExtra, UnknownName
from tests.docs.markdown import ROOT, blocks

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md")


def printed(tmp_path, monkeypatch):
    """What each python block prints, beside the text that follows it on the page."""
    monkeypatch.chdir(tmp_path)
    found, namespace = [], {}
    listed = list(blocks(README))
    for block, following in zip(listed, [*listed[1:], None], strict=True):
        if block.language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block.code, "README.md", "exec"), namespace)
            found.append((out.getvalue(), following.code if following and following.language == "text" else ""))
    return found


def shape(text):
    """Numbers differ from run to run, words do not."""
    return re.sub(r"[\d,]*\.?\d+", "#", re.sub(r" +", " ", text)).strip()


def test_what_is_printed_is_what_the_page_shows(tmp_path, monkeypatch):
    outputs = printed(tmp_path, monkeypatch)
    assert len(outputs) == 2
    for out, shown in outputs:
        assert shape(out) == shape(shown)
    truth = next(line for line in outputs[0][0].splitlines() if line.startswith("truth"))
    assert truth in outputs[0][1]  # made-up data, the same on every machine
    assert outputs[1][0].split()[0] == outputs[1][1].split()[0]


def test_the_truth_lies_within_the_intervals_that_the_page_shows():
    shown = next(block.code for block in blocks(README) if block.language == "text")
    ends = [float(end.replace(",", "")) for end in re.findall(r"[\[ ]([\d,.]+)[\],]", shown.splitlines()[1])]
    truths = [float(number) for number in re.findall(r"[\d.]+", shown.splitlines()[2])]
    low_n, high_n, low_mean, high_mean = (end for end in ends if end > 0)
    assert low_n <= truths[0] <= high_n
    assert low_mean <= truths[1] <= high_mean


@pytest.mark.parametrize("page", PAGES)
def test_every_link_and_picture_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#]+)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    assert [target for target in linked if "://" not in target and not (ROOT / target).is_file()] == []


def test_the_first_screen_has_it_all():
    top = README[: README.index("## ")]
    for part in ("pip install", "docs/images/first-release.png", "first-release-dark.png", "truth:", "10_000"):
        assert part in top
    assert top.count("\n") < 60


def test_the_table_of_rooms_is_true():
    rows = re.findall(r"^\| (.+?) \|.*\| (\S.*?) \|$", README, re.MULTILINE)
    said = {room: state for rooms, state in rows for room in re.findall(r"`privet\.(\w+)`", rooms)}
    everything = {name for name in pv.__all__ if name not in pv._HOMES} - {"__version__", "errors", "testing"}
    assert set(said) == everything
    for room, state in said.items():
        assert (state == "next") == _is_empty(getattr(pv, room)), room


def _is_empty(room):
    """A room whose package is missing is not: it says so to whoever asks it for a name."""
    with pytest.raises((MissingExtra, UnknownName)) as told:
        room.no_such_name  # noqa: B018
    return told.type is UnknownName and not room.__all__


def test_the_citation_names_this_version():
    cited = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    assert cited["version"] == pv.__version__
    assert (
        cited["license"] in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"]
    )


def test_the_picture_is_drawn_by_its_script(tmp_path):
    example = runpy.run_path(str(ROOT / "examples" / "first_release.py"))
    example["main"](["--picture", str(tmp_path / "light.png")])
    example["main"](["--picture", str(tmp_path / "dark.png"), "--dark"])
    assert (tmp_path / "light.png").stat().st_size > 10_000
    assert (tmp_path / "light.png").read_bytes() != (tmp_path / "dark.png").read_bytes()
