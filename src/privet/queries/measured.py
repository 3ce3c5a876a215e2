"""The measurements of a query: families of exact sums that share one noisy vector, and what follows from them."""

import math
from typing import NamedTuple

from privet.errors import InvalidParameter
from privet.queries.aggregate import Aggregate
from privet.queries.family import Family
from privet.tables import Bounded, Cell, Column, Float, KeySet, Node, Ref, Signed, Term, Ticks

_FINE, _COARSE = 2**20, 2**15  # steps of a column whose sums, and whose sums of squares, are taken


class Compiled(NamedTuple):
    """A bounded plan and the families that are read off it."""

    plan: Bounded
    families: tuple[Family, ...]


def compiled(rows: Node, names: tuple[str, ...], keys: KeySet | None, asked: tuple[Aggregate, ...]) -> Compiled:
    """The sums that an engine has to add up for these requests, and in which vectors it is released.

    Requests about one column share one family, and a plain count is read off a family that is there anyway.
    """
    columns = rows.columns
    wants = [want for each in asked if (want := each.wants()) is not None]
    degrees: dict[str, int] = {}
    for kind, column, degree in wants:
        if kind == "moments" and column is not None and _steps(columns[column], 1) > 0:
            degrees[column] = max(degrees.get(column, 0), degree)
    terms: list[Term] = []
    cells: list[Cell] = []
    signed: list[Signed] = []
    families: list[Family] = []
    counted = any(want.kind == "rows" for want in wants)
    for name, degree in degrees.items():
        families.append(_moments(name, columns[name], degree, counted and not families, terms, cells))
    if counted and not families:
        families.append(Family("rows"))
    for kind, column, _ in wants:
        if kind == "persons" and not any(family.kind == "persons" for family in families):
            families.append(Family("persons"))
        if kind == "distinct" and Family("distinct", column=column) not in families:
            families.append(Family("distinct", column=column))
        if kind == "signed" and column is not None and column not in degrees:
            families += _signed(column, columns[column], families, signed)
    return Compiled(Bounded(rows, names, keys, tuple(terms), tuple(cells), tuple(signed)), tuple(families))


def _steps(column: Column, degree: int) -> int:
    """The number of steps that a column has between its bounds."""
    tick = tick_of(column, degree)
    return math.floor((column.span[1] - column.span[0]) / tick + 0.5)


def tick_of(column: Column, degree: int) -> float:
    """The step of a column: its own, made coarser where sums of powers would leave 64 bits."""
    tick = column.tick if isinstance(column, Float) and column.tick is not None else 1.0
    limit = _COARSE if degree > 1 else _FINE
    while (column.span[1] - column.span[0]) / tick > limit * (1 if degree > 1 else 2**8):
        tick *= 2.0
    return tick


def _moments(name: str, column: Column, degree: int, missing: bool, terms: list[Term], cells: list[Cell]) -> Family:
    tick, low = tick_of(column, degree), float(column.span[0])
    n = _steps(column, degree)
    ticks, present, first = Ticks(Ref(name), low, tick), (Ref(name),), len(terms)
    terms += [Term((ticks,) * power, present) for power in range(degree + 1)]
    places = []
    for j in range(degree + 1):  # binomial(d, j) t^j (n - t)^(d - j), summed over rows
        parts = tuple(
            (first + j + i, math.comb(degree, j) * math.comb(degree - j, i) * (-1) ** i * n ** (degree - j - i))
            for i in range(degree - j + 1)
        )
        places.append(len(cells))
        cells.append(Cell(parts, n**degree))
    return Family("moments", tuple(places), n**degree, degree, missing, name, low, tick)


def _signed(name: str, column: Column, families: list[Family], signed: list[Signed]) -> list[Family]:
    if any(family.kind == "signed" and family.column == name for family in families):
        return []
    tick = tick_of(column, 1)
    lower, upper = (math.floor(end / tick + 0.5) for end in column.span)
    if lower == upper == 0:
        return []
    signed.append(Signed(Ticks(Ref(name), 0.0, tick), lower, upper))
    place = len(signed) - 1
    return [Family("signed", (place,), column=name, tick=tick, lower=lower, upper=upper)]


def family_of(request: Aggregate, families: tuple[Family, ...]) -> int | None:
    """Which family answers a request; None where the answer is public (a column with one value).

    >>> from privet.queries.aggregates import Count
    >>> family_of(Count(), (Family("rows"),))
    0
    """
    if request.wants() is None:
        raise InvalidParameter("a quantile is chosen, not added up")
    return next((place for place, family in enumerate(families) if request.read_off(family)), None)
