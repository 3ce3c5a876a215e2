"""Formulas as MathML, which browsers draw by themselves: no script, and nothing loaded from elsewhere."""

import html
import re

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

# What pymdownx.arithmatex makes of \(...\) and \[...\].
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

# Two signs that fonts without a special form for scripts draw as dots: a prime, which is raised already and so stands
# beside its letter instead of above it, and a lonely sign such as the + of a positive part, which the style sheet enlarges.
PRIME = re.compile(r"<m([io])>(?:&#x0?2032;|′|&#x27;|')</m\1>")
RAISED = re.compile(r'<msup>((?:(?!<msup>).)*?)<mo class="prime">′</mo></msup>')
SIGN = re.compile(r"(</m\w+>)<mo([^>]*)>(&#x0002B;|\+|&#x02212;|−)</mo></msub>")


def formula(tex: str, *, block: bool) -> str:
    """One formula in MathML."""
    drawn = convert(tex, display="block" if block else "inline")
    drawn = PRIME.sub('<mo class="prime">′</mo>', drawn)
    drawn = RAISED.sub(r'<mrow>\1<mo class="prime" lspace="0" rspace="0">′</mo></mrow>', drawn)
    return SIGN.sub(r'\1<mo class="sign"\2>\3</mo></msub>', drawn)


class _Formulas(Postprocessor):
    def run(self, text: str) -> str:
        return FORMULA.sub(lambda found: formula(html.unescape(found[3]), block=found[2] == "["), text)


class Formulas(Extension):
    """Runs after arithmatex has put its marks, when the raw HTML is back in its place."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.postprocessors.register(_Formulas(md), "privet-formulas", 1)


def makeExtension(**options: object) -> Formulas:
    """The name under which Markdown asks for an extension."""
    return Formulas(**options)
