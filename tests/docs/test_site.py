"""The tools that make the site: each fault that it is gated on is found on a page on which it was planted."""

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import griffe
import pytest
from markdown import Markdown
from typer.testing import CliRunner

from privet.cli import app
from tests.docs.markdown import ROOT
from tools.site import command_line, docstrings, formulas, reference, stage
from tools.site.browser import browser, cut
from tools.site.figures import DARK, FIGURES, dark
from tools.site.gate import faults

HEAD = '<html><head><link rel="stylesheet" href="assets/privet.css"></head><body>{}</body></html>'
CONFIGS = {"pymdownx.arithmatex": {"generic": True}, "pymdownx.highlight": {"pygments_lang_class": True}}
STYLE = (ROOT / "docs" / "assets" / "privet.css").read_text(encoding="utf-8")


def site(folder: Path, body: str, *, style: str = STYLE, head: str = HEAD) -> list[str]:
    """The faults of a site of two pages, the second of which has this body."""
    (folder / "assets").mkdir(exist_ok=True)
    (folder / "assets" / "privet.css").write_text(style, encoding="utf-8")
    (folder / "drawn.svg").write_text("<svg/>", encoding="utf-8")
    (folder / "index.html").write_text(HEAD.format('<h1 id="top">Front</h1>'), encoding="utf-8")
    (folder / "page.html").write_text(head.format(body), encoding="utf-8")
    return list(faults(folder))


def test_a_sound_page_has_no_fault(tmp_path):
    body = '<a href="index.html#top">up</a><img src="drawn.svg#only-light" alt="a curve"><pre><code>>>> 1</code></pre>'
    assert site(tmp_path, body + '<a href="https://example.org/x">elsewhere</a><blockquote>said</blockquote>') == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="gone.html">x</a>', "which does not exist"),
        ('<a href="index.html#nowhere">x</a>', "no such place"),
        ('<img src="gone.svg" alt="a curve">', "is missing"),
        ('<img src="drawn.svg">', "no text"),
        (
            "<blockquote><blockquote><blockquote><p>x = 1</p></blockquote></blockquote></blockquote>",
            "not shown as code",
        ),
        ("<p>&gt;&gt;&gt; x = 1</p>", "not shown as code"),
        (r"<p>at most \(e^\epsilon\)</p>", "a formula"),
    ],
)
def test_planted_faults_are_found(tmp_path, body, fault):
    (found,) = site(tmp_path, body)
    assert fault in found


def test_code_that_is_cut_is_found(tmp_path):
    assert any("code is cut" in line for line in site(tmp_path, "", head="<html><head></head><body>{}</body></html>"))
    assert any("lines are cut" in line for line in site(tmp_path, "", style="pre > code { white-space: pre }"))


@pytest.mark.slow
@pytest.mark.skipif(browser() is None, reason="no browser is installed")
def test_code_that_is_cut_is_measured(tmp_path):
    long = '<div class="md-typeset"><pre style="overflow: hidden"><code>' + "x = 1; " * 60 + "</code></pre></div>"
    site(tmp_path, long)
    page = tmp_path / "page.html"
    assert list(cut(browser(), tmp_path, [page, tmp_path / "index.html"])) == []
    site(tmp_path, long, style="pre > code { white-space: pre; }")
    assert list(cut(browser(), tmp_path, [page])) == [
        f"page.html: 1 blocks of code are cut at a width of {width}" for width in (1280, 390)
    ]
    site(tmp_path, '<div style="width: 700px">wide</div>')
    (wide,) = cut(browser(), tmp_path, [page])
    assert "wider than a screen of 390" in wide


def test_examples_become_code():
    text = "Sum.\n\n**Guarantee:** holds. **Error:** none.\n\n>>> 1 + 1\n2\n\nMore.\n\n>>> print()\n<BLANKLINE>"
    made = docstrings.in_lines(docstrings.fenced(text))
    assert made.count("```pycon\n>>> ") == 2
    assert made.count("```") == 4
    assert "\n\n**Error:**" in made
    assert "BLANKLINE" not in made
    html = Markdown(extensions=["pymdownx.superfences", "pymdownx.highlight"], extension_configs=CONFIGS).convert(made)
    assert "<blockquote>" not in html
    assert html.count('class="language-pycon highlight"') == 2
    assert "<blockquote>" in Markdown().convert(text)  # what it would be otherwise


def test_a_proof_that_is_named_becomes_a_link():
    told = docstrings.in_lines("**Proof:** docs/proofs/privacy/gaussian.md.")
    assert "](../proofs/privacy/gaussian.md)." in told


def test_formulas_are_drawn_by_the_browser():
    html = Markdown(extensions=["pymdownx.arithmatex", "tools.site.formulas"], extension_configs=CONFIGS).convert(
        r"Let \((dP-\gamma dQ)_+\) and $P'$."
    )
    assert html.count("<math") == 2
    assert 'class="sign"' in html
    assert '<mi>P</mi><mo class="prime"' in html
    assert "<msup>" not in html
    assert "\\(" not in html
    assert 'display="block"' in formulas.formula("x", block=True)


def test_every_public_name_is_on_its_page():
    for room in reference.rooms():
        shown = Counter(name for _, _, names in reference.grouped(room) for name in names)
        assert set(reference.public(room["module"])) <= set(shown)
        listed = [name for group in room.get("groups", []) for name in group["names"]]
        assert len(listed) == len(set(listed)), room["module"]


def test_a_name_that_no_group_lists_comes_under_more():
    room = {"module": "privet.privacy", "groups": [{"title": "First", "names": ["GaussianLoss"]}]}
    (first, more) = reference.grouped(room)
    assert first == ("First", "privet.privacy", ["GaussianLoss"])
    assert more[0] == "More"
    assert "LaplaceLoss" in more[2]


def test_a_page_by_hand_gets_the_names_of_its_room(tmp_path):
    (tmp_path / "noise.md").write_text("# Noise\n\nBy hand.\n\n::: privet.noise\n", encoding="utf-8")
    reference.write(tmp_path)
    made = (tmp_path / "noise.md").read_text(encoding="utf-8")
    assert "By hand." in made
    assert '"discrete_gaussian"' in made
    assert (tmp_path / "privacy.md").read_text(encoding="utf-8").startswith("# privet.privacy\n")


def test_common_parameters_are_described():
    """A parameter that many public calls of the first rooms take has a meaning that is written down."""
    known = docstrings.parameters()
    taken: Counter[str] = Counter()
    for room in ("privacy", "accounting", "mechanisms", "ledger"):
        module = import_module(f"privet.{room}")
        for name in reference.public(module.__name__):
            taken.update(parameters_of(getattr(module, name)))
    described = {name for table in known.values() for name in table}
    assert taken["unit"] > 20
    assert [name for name, count in taken.most_common() if count >= 5 and name not in described] == []
    assert docstrings.meaning("audit", "mechanism", "alpha") != docstrings.meaning("privacy", "RdpLoss", "alpha")
    assert docstrings.meaning("learn", "Lasso", "alpha") != docstrings.meaning("privacy", "RdpLoss", "alpha")
    assert docstrings.described("privacy", "GaussianLoss", ["noise_multiplier", "nonsense"]).count("\n    ") == 1


def test_fields_of_bases_are_described():
    with griffe.temporary_visited_module(FIELDS) as module:
        assert docstrings._fields(module["Own"]) == ["epsilon", "alpha"]


FIELDS = """
from dataclasses import dataclass
@dataclass
class Base:
    epsilon: float = 1.0
    _kept: int = 0
@dataclass
class Own(Base):
    alpha: float = 1.0
"""


def parameters_of(made: object) -> set[str]:
    try:
        return {name for name in inspect.signature(made).parameters if not name.startswith("_")}
    except (TypeError, ValueError):
        return set()


def test_every_command_and_option_is_on_the_page():
    page = command_line.page()
    paths = [path for path, _ in command_line.commands(command_line.get_command(app))]
    assert len(paths) > 20
    for path in paths:
        assert f"### `{' '.join(path[1:])}`" in page
    for path in (("price",), ("ledger", "init"), ("query",)):
        helped = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).output
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", helped)) - {"--help"}
        section = page.split(f"### `{' '.join(path)}`\n")[1].split("\n### ")[0]
        assert len(options) > 5
        assert [option for option in sorted(options) if f"`{option}" not in section and option not in section] == []


def test_tutorials_come_in_the_order_of_their_index():
    names = [path.stem for path in stage.pages_in_order(ROOT / "docs" / "tutorials")]
    assert names[:3] == ["index", "a-hospital", "first-ledger"]


def test_pages_that_an_index_does_not_name_come_last(tmp_path):
    (tmp_path / "index.md").write_text("# Index\n\n[b](b.md), [deep](deep/x.md)\n", encoding="utf-8")
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text(f"# Page {name}\n", encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "x.md").write_text("# X\n", encoding="utf-8")
    assert [path.stem for path in stage.pages_in_order(tmp_path)] == ["index", "b", "deep", "a", "c"]
    assert stage.navigation(tmp_path)[0] == {"Home": "index.md"}
    assert {"Deep": [{"X": "deep/x.md"}]} in stage.navigation(tmp_path)


def test_pictures_come_in_two_colours():
    assert stage.with_pictures("![A curve](../figures/ladder.svg)") == (
        "![A curve](../figures/ladder.svg#only-light)![A curve](../figures/ladder-dark.svg#only-dark)"
    )
    assert dark("fill: #222222; stroke: #FFFFFF") == f"fill: {DARK['#222222']}; stroke: none"


def test_every_picture_that_a_page_shows_is_drawn():
    shown = set()
    for page in (ROOT / "docs").rglob("*.md"):
        shown |= set(re.findall(r"figures/([\w-]+)\.svg\)", page.read_text(encoding="utf-8")))
    assert shown
    assert shown <= set(FIGURES)
    assert len({page for page in (ROOT / "docs" / "tutorials").glob("*.md") if "figures/" in page.read_text()}) >= 4
