"""The display in notebooks: small pieces of HTML in which every text is escaped, whoever wrote it."""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape

import numpy as np

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
    body = "".join("<tr>" + "".join(f"<td>{_cell(each)}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Interval(str):
    """A text of two parts in a cell: a number, and the ends of its interval, which are quieter and stay in one line."""

    __slots__ = ()


def _cell(each: object) -> str:
    number, bracket, ends = str(each).partition(" [") if isinstance(each, Interval) else (str(each), "", "")
    # by opacity: a colour would vanish on a dark page or on a light one
    quiet = f' <span style="opacity:.7;white-space:nowrap">[{escape(ends)}</span>' if bracket else ""
    return escape(number) + quiet


def note(text: str) -> str:
    """A quiet line below a table.

    >>> note("95% each")
    '<p style="opacity:.7;margin:.2em 0">95% each</p>'
    """
    return f'<p style="opacity:.7;margin:.2em 0">{escape(text)}</p>'


def short(value: float, *, up: bool) -> str:
    """A number of four digits, rounded to the safe side: up what was spent or may be lost, down what is left.

    >>> short(0.123456, up=True), short(0.123456, up=False), short(0.1, up=True)
    ('0.1235', '0.1234', '0.1')
    """
    if not math.isfinite(value):
        return "more than any finite"
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    return f"{float(Context(prec=4, rounding=rounding).create_decimal(Decimal(repr(float(value))))):g}"


def by_lines(title: str, text: str) -> str:
    """A text of lines such as `name: value` as a table; a line without a name is a note.

    >>> by_lines("Fit", "1-DP\\nsolver: noise").count("<tr>")
    3
    """
    parts = [line.partition(": ") for line in text.splitlines()]
    return facts(title, [(name, value) if colon else ("", name) for name, colon, value in parts])


def lines(text: str) -> str:
    """A text as it stands, its lines kept.

    >>> lines("a < b")
    '<pre style="white-space:pre-wrap">a &lt; b</pre>'
    """
    return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'


def told(value: object) -> str:
    """A number with its thousands apart; other values as they are.

    >>> told(1234567), told(0.5), told(None), told("A")
    ('1,234,567', '0.5', '(missing)', 'A')
    """
    if value is None or value is np.ma.masked:
        return "(missing)"
    if isinstance(value, float | np.floating):
        return f"{float(value):,.6g}"
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_):
        return f"{int(value):,}"
    return str(value)


def with_ends(value: object, low: object, high: object) -> Interval:
    """A number and its interval, as a cell.

    >>> with_ends(1025, 1014.0, 1035.0)
    '1,025 [1,014, 1,035]'
    """
    return Interval(f"{told(value)} [{told(low)}, {told(high)}]")


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
