"""What a built site must not have: broken links, missing images, examples that are no code, cut code, raw TeX.

Each finding is a line that names the page. This part needs nothing but the files; whether code is really seen whole is
measured in a browser (`tools.site.browser`) where one is installed.
"""

import html
import re
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
