"""What mkdocs lacks: an order for the folders, and formulas that need no script from elsewhere."""

import html
import re
from importlib import import_module

from latex2mathml.converter import convert
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from privet._face import face

ORDER = ["index", "Tutorials", "How to", "Explanation", "sharp-edges", "Reference", "Proofs", "Develop"]

# What pymdownx.arithmatex makes of $...$ and $$...$$.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

# A reference page asks for a whole room: `::: privet.room`.
ROOM = re.compile(r"^::: (privet[\w.]+)$", re.MULTILINE)


def on_nav(nav: Navigation, **_: object) -> Navigation:
    """Sort the top level as a reader meets it; a folder that is not listed comes last."""
    rank = {name: place for place, name in enumerate(ORDER)}
    # A page has no title yet, since it has not been read; its file has a name.
    nav.items.sort(key=lambda item: rank.get(item.file.name if isinstance(item, Page) else item.title, len(ORDER)))
    return nav


def on_page_content(content: str, **_: object) -> str:
    """Turn TeX into MathML, which browsers draw by themselves."""
    return FORMULA.sub(lambda m: convert(html.unescape(m[3]), display="block" if m[2] == "[" else "inline"), content)


def on_page_markdown(markdown: str, **_: object) -> str:
    """List the public names of a room by asking the room: they are read off its imports, which no parser does."""
    return ROOM.sub(lambda m: f"{m[0]}\n    options:\n      members: {face(vars(import_module(m[1])))[0]}", markdown)
