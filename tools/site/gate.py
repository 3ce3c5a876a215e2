"""What a built site must not have: broken links, missing images, examples that are no code, cut code, raw TeX.

Each finding is a line that names the page. The static part needs nothing but the files; whether code is really seen whole
is measured in a browser where one is installed (`measure`).
"""

import html
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

STYLE = "assets/privet.css"
WRAPS = re.compile(r"pre > code\s*\{[^}]*white-space:\s*pre-wrap")
# Tags that are never closed.
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


@dataclass
class Page(HTMLParser):
    """What one page contains, read once."""

    links: list[str] = field(default_factory=list)
    images: list[tuple[str, str]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    styles: list[str] = field(default_factory=list)
    quoted_twice: int = 0
    prose: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if "id" in found:
            self.anchors.add(found["id"])
        if tag == "a":
            self.anchors.add(found.get("name", ""))
            self.links.append(found.get("href", ""))
        elif tag == "img":
            self.images.append((found.get("src", ""), found.get("alt", "")))
        elif tag == "link" and found.get("rel") == "stylesheet":
            self.styles.append(found.get("href", ""))
        elif tag == "blockquote" and self._open[-1:] == ["blockquote"]:
            self.quoted_twice += 1
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not {"pre", "code", "script", "style"} & set(self._open):
            self.prose.append(data)


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def target(site: Path, page: Path, address: str) -> tuple[Path | None, str]:
    """The file that an address on a page means, and the anchor in it; None for addresses elsewhere."""
    parts = urlsplit(html.unescape(address))
    if parts.scheme or parts.netloc:
        return None, ""
    place = (
        page
        if not parts.path
        else (site / parts.path[1:] if parts.path[0] == "/" else page.parent / unquote(parts.path))
    )
    place = place.resolve()
    return (place / "index.html" if place.is_dir() else place), unquote(parts.fragment)


def faults(site: Path) -> Iterator[str]:
    """Everything that is wrong with a built site."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    style = site / STYLE
    if not style.is_file() or not WRAPS.search(style.read_text(encoding="utf-8")):
        yield f"{STYLE}: code is not wrapped, so long lines are cut"
    for path, page in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        if page.quoted_twice:
            yield f"{name}: {page.quoted_twice} quotations inside quotations: an example that is not shown as code"
        text = " ".join(page.prose)
        if ">>> " in text:
            yield f"{name}: '>>>' in running text: an example that is not shown as code"
        if "\\(" in text or "\\[" in text:
            yield f"{name}: a formula that was not set"
        if not any(target(site, path, address)[0] == style.resolve() for address in page.styles):
            yield f"{name}: does not load {STYLE}, so its code is cut"
        for source, alt in page.images:
            file, _ = target(site, path, source)
            if file is None or not file.is_file():
                yield f"{name}: image {source!r} is missing"
            elif not alt:
                yield f"{name}: image {source!r} has no text for those who cannot see it"
        for link in page.links:
            file, anchor = target(site, path, link)
            if file is not None and not file.is_file():
                yield f"{name}: link to {link!r}, which does not exist"
            elif anchor and file in pages and anchor not in pages[file].anchors:
                yield f"{name}: link to {link!r}, which has no such place"


# Run in the page: blocks of code whose lines stick out and cannot be scrolled to.
_MEASURE = """
<script>addEventListener("load", () => {
  const cut = [...document.querySelectorAll("pre > code")].filter((code) => {
    const hidden = (box) => box.scrollWidth > box.clientWidth + 2 && getComputedStyle(box).overflowX !== "auto";
    return hidden(code) || hidden(code.parentElement);
  });
  document.documentElement.dataset.cut = cut.length;
});</script>
"""


def browser() -> str | None:
    """A browser that can be asked without a window."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


def cut_blocks(program: str, page: Path, *, width: int) -> int:
    """How many blocks of code of a page are cut at a width, as a browser lays it out."""
    text = page.read_text(encoding="utf-8").replace("</head>", _MEASURE + "</head>", 1)
    with tempfile.NamedTemporaryFile("w", suffix=".html", dir=page.parent, encoding="utf-8") as copy:
        copy.write(text)
        copy.flush()
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            "--virtual-time-budget=3000",
        ]
        command = [program, *flags, f"--window-size={width},1200", "--dump-dom", f"file://{copy.name}"]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'data-cut="(\d+)"', shown)
    if found is None:
        raise RuntimeError(f"the browser did not lay out {page}")
    return int(found[1])
