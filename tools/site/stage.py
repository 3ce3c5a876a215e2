"""A copy of docs/ with everything that is made: the reference, the command line, pictures, and the order of pages."""

import json
import re
import shutil
from pathlib import Path

from tools.site import command_line, figures, reference

ROOT = Path(__file__).resolve().parents[2]

# What is read first comes first; a folder that is not listed comes last.
ORDER = [
    "index.md",
    "tutorials",
    "how-to",
    "explanation",
    "sharp-edges.md",
    "reference",
    "proofs",
    "glossary.md",
    "develop",
]
LINK = re.compile(r"\]\((?!https?:)([\w./-]+\.md)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)*figures/([\w-]+))\.svg\)")


def pages_in_order(folder: Path) -> list[Path]:
    """Pages and folders of a folder: first those that its index links to, in that order, then the others by name."""
    index = folder / "index.md"
    linked = LINK.findall(index.read_text(encoding="utf-8")) if index.is_file() else []
    # A link to a page of a subfolder ranks the subfolder.
    first = [part for link in linked if (part := link.split("/")[0]) != ".."]
    rank = {name: place for place, name in reversed(list(enumerate(first)))}
    found = [path for path in folder.iterdir() if path.is_dir() or path.suffix == ".md"]
    found = [path for path in found if path.is_file() or any(path.rglob("*.md"))]
    return sorted(found, key=lambda path: (path.name != "index.md", rank.get(path.name, len(rank)), path.name))


def heading(page: Path) -> str:
    """The first heading of a page."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    raise ValueError(f"{page.name} has no heading")


def navigation(docs: Path) -> list[object]:
    """The whole tree: pages as {title: path}, folders as {title: [...]}, an index page as a bare path."""

    def entry(path: Path) -> object:
        if path.is_dir():
            title = (
                heading(path / "index.md")
                if (path / "index.md").is_file()
                else path.name.capitalize().replace("-", " ")
            )
            return {title: [entry(each) for each in pages_in_order(path)]}
        here = path.relative_to(docs).as_posix()
        return here if path.name == "index.md" and path.parent != docs else {heading(path): here}

    rank = {name: place for place, name in enumerate(ORDER)}
    top = sorted(pages_in_order(docs), key=lambda path: rank.get(path.name, len(ORDER)))
    return [{"Home": "index.md"} if path.name == "index.md" else entry(path) for path in top if path.name != "figures"]


def with_pictures(text: str) -> str:
    """Every picture in its light and its dark form; the theme shows the one that fits."""
    return PICTURE.sub(r"![\1](\2.svg#only-light)![\1](\2-dark.svg#only-dark)", text)


def as_toml(value: object) -> str:
    """Strings, lists and tables of one key, as TOML writes them."""
    if isinstance(value, dict):
        ((key, inner),) = value.items()
        return f"{{ {json.dumps(key, ensure_ascii=False)} = {as_toml(inner)} }}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def stage(target: Path, *, draw: bool = True) -> Path:
    """Fill `target` with docs/ and a configuration; the path of the configuration."""
    docs = target / "docs"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs)
    reference.write(docs / "reference")
    (docs / "reference" / "command-line.md").write_text(command_line.page(), encoding="utf-8")
    if draw:
        figures.draw(docs / "figures")
    for page in docs.rglob("*.md"):
        page.write_text(with_pictures(page.read_text(encoding="utf-8")), encoding="utf-8")
    lines = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    settings = lines.replace("nav = []", f"nav = {as_toml(navigation(docs))}")
    settings = settings.replace('paths = ["src"]', f"paths = [{json.dumps(str(ROOT / 'src'))}]")
    written = target / "zensical.toml"
    written.write_text(settings, encoding="utf-8")
    return written
