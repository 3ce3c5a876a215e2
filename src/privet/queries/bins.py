"""Bins of a column: where they begin, the edges that a user gives, and the labels that people read."""

import datetime
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from privet._validate import above
from privet.errors import InvalidParameter
from privet.queries.quantile_part import bin_count
from privet.queries.selection import plain_number
from privet.tables import Bin, Column, Cut, Date, Derive, Float, Node, Ref, Where

_MOST = 2**20  # edges: each bin is a key, as for a number of bins
_EPOCH = datetime.date(1970, 1, 1).toordinal()  # days are counted from here


def bins_of(column: str, low: Any, high: Any, floats: bool, width: float | None, bins: int | None) -> Bin:
    """Bins over the bounds of a column: so many, or of such a width."""
    if (width is None) == (bins is None):
        raise InvalidParameter("give either width= or bins=")
    if bins is not None:
        bin_count(bins)
        if floats:
            step = (float(high) - float(low)) / bins or 1.0
            while float(low) + step * bins < float(high):
                step = math.nextafter(step, math.inf)
            return Bin(Ref(column), float(low), step, bins)
        return bins_of(column, low, high, floats, math.ceil((int(high) - int(low) + 1) / bins), None)
    step = _step(width)
    if floats or not float(step).is_integer():
        many = max(1, math.ceil((float(high) - float(low)) / step))
        return Bin(Ref(column), float(low), float(step), many)
    return Bin(Ref(column), int(low), int(step), max(1, math.ceil((int(high) - int(low) + 1) / int(step))))


def from_multiples(column: str, kind: Column, width: object) -> Bin:
    """Bins of a width that begin at its multiples: 10, 20, 30 and not 18, 28, 38. Days begin at the lower bound.

    >>> from privet.tables import Int
    >>> bins = from_multiples("age", Int(18, 80), 10)
    >>> bins.start, bins.count
    (10, 8)
    """
    low, high = kind.span
    step = _step(width)
    whole = not isinstance(kind, Float) and float(step).is_integer()
    start: int | float = int(low) if isinstance(kind, Date) else _multiple(low, int(step) if whole else float(step))
    many = math.ceil((float(high) - float(start) + whole) / step)
    return Bin(Ref(column), start, int(step) if whole else step, max(1, many))


def _step(width: object) -> int | float:
    """The width of a bin, of which a column can hold no more than doubles tell apart."""
    step = plain_number(width)
    above("width", step, 0.0)
    return step


def _multiple(low: Any, step: int | float) -> int | float:
    """The largest multiple of a step that is not above a number."""
    if isinstance(step, int):
        return int(low) // step * step
    start = math.floor(float(low) / step) * step
    return start if start <= float(low) else start - step


def edges_of(column: str, kind: Column, edges: Any) -> Cut:
    """The cut at the edges of a histogram, of which the last belongs to its bin.

    >>> from privet.tables import Int
    >>> edges_of("age", Int(0, 110), [18, 30, 40]).edges
    (18, 30, 40)
    """
    if isinstance(edges, str | bytes) or (not isinstance(edges, Sequence) and not hasattr(edges, "tolist")):
        raise InvalidParameter("bins must be a whole number, or a list of edges such as [18, 30, 40]")
    listed = list(edges.tolist() if hasattr(edges, "tolist") else edges)
    if not 2 <= len(listed) <= _MOST:
        raise InvalidParameter("a list of edges has two of them or more: each bin lies between two")
    return Cut(Ref(column), tuple(_edge(kind, each) for each in listed), closed=True)


def _edge(kind: Column, edge: Any) -> int | float:
    if isinstance(kind, Date):
        return int(Date(edge, edge).span[0])
    return plain_number(edge)


def bin_label(rows: Node, name: str) -> Callable[[int], str] | None:
    """The label of a bin, by its number, where a column is made of bins; else None. One by one: there may be more bins
    than anybody asks about, and this runs after the payment.

    >>> from privet.tables import Int, Rows, Source
    >>> visits = Source("visits", (("age", Int(0, 110)),), Rows())
    >>> label = bin_label(Derive(visits, "group", Cut(Ref("age"), (18, 65))), "group")
    >>> [label(each) for each in range(3)]
    ['[0, 18)', '[18, 65)', '[65, 110]']
    """
    while isinstance(rows, Derive | Where):
        if isinstance(rows, Derive) and rows.name == name:
            made = rows.expression
            if not isinstance(made, Bin | Cut):
                return None
            kind = made.of.column(rows.input.columns)
            return partial(_of_bin, made, kind) if isinstance(made, Bin) else partial(_of_cut, made, kind)
        rows = rows.input
    return None


def _of_bin(made: Bin, kind: Column, number: int) -> str:
    first, last = (_told(kind, made.start + each * made.width) for each in (number, number + 1))
    closed = isinstance(kind, Float) and number == made.count - 1
    return f"[{first}, {last}{']' if closed else ')'}"


def _of_cut(made: Cut, kind: Column, number: int) -> str:
    (low, high), edges = kind.span, made.edges
    first, last = number == 0, number == len(edges)
    if first and last:
        return f"[{_told(kind, low)}, {_told(kind, high)}]"
    if first:
        edge = _told(kind, edges[0])
        return f"[{_told(kind, low)}, {edge})" if edges[0] > low else f"below {edge}"
    edge = _told(kind, edges[number - 1])
    if last and made.closed:
        return f"above {edge}"
    if last:
        return f"[{edge}, {_told(kind, high)}]" if edges[-1] <= high else f"{edge} or more"
    return f"[{edge}, {_told(kind, edges[number])}{']' if made.closed and number == len(edges) - 1 else ')'}"


def _told(kind: Column, number: Any) -> str:
    if isinstance(kind, Date):  # a bin may end after the last day that there is
        day = min(max(math.ceil(number) + _EPOCH, 1), datetime.date.max.toordinal())
        return datetime.date.fromordinal(day).isoformat()
    return f"{number:.15g}" if isinstance(number, float) else str(number)
