"""The display in notebooks: small pieces of HTML in which every text is escaped, whoever wrote it."""

from collections.abc import Iterable, Sequence
from html import escape

from privet.errors import InvalidParameter


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> str:
    """A title and a line for each name and value.

    >>> facts("a < b", [("n", "<script>")])
    '<table><thead><tr><th colspan="2" style="text-align:left">a &lt; b</th></tr></thead><tbody><tr><td
     style="text-align:left">n</td><td style="text-align:left">&lt;script&gt;</td></tr></tbody></table>'
    """
    cell = '<td style="text-align:left">'
    rows = "".join(f"<tr>{cell}{escape(name)}</td>{cell}{escape(str(value))}</td></tr>" for name, value in pairs)
    head = f'<tr><th colspan="2" style="text-align:left">{escape(title)}</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def grid(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a heading.

    >>> grid(["n"], [[3]])
    '<table><thead><tr><th>n</th></tr></thead><tbody><tr><td>3</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(each))}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def lines(text: str) -> str:
    """A text as it stands, its lines kept.

    >>> lines("a < b")
    '<pre style="white-space:pre-wrap">a &lt; b</pre>'
    """
    return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'


def formatted(thing: object, spec: str) -> str:
    """The text of what is no number, as a format string asks.

    >>> formatted([1], ">4")
    ' [1]'
    """
    try:
        return format(str(thing), spec)
    except ValueError:
        raise InvalidParameter(f"a {type(thing).__name__} is no number: {spec!r:.40} does not format it") from None


class Shown:
    """Base of what people look at: formatted as its text, and in a notebook the same, unless a class says otherwise.

    >>> class Answer(Shown):
    ...     def __str__(self) -> str:
    ...         return "a < b"
    >>> f"{Answer():>7}", Answer()._repr_html_()
    ('  a < b', '<pre style="white-space:pre-wrap">a &lt; b</pre>')
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return formatted(self, spec)

    def _repr_html_(self) -> str:
        return lines(str(self))
