"""What is measured for a query: families of exact sums that share one noisy vector, and what follows from them."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import Sensitivity
from privet.privacy import Unit
from privet.queries.aggregates import Aggregate, Count, CountPersons, Mean, Quantile, Sum, Variance
from privet.tables.bounded import Aggregates, Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Column, Float
from privet.tables.expressions import Ref
from privet.tables.keys import KeySet
from privet.tables.plan import Node
from privet.tables.reach import Reach, root

_FINE, _COARSE = 2**20, 2**15  # steps of a column whose sums, and whose sums of squares, are taken


@final
@dataclass(frozen=True)
class Family:
    """Sums that are released together as one vector for each group, in whole numbers.

    `kind` says which: "rows", "persons", "signed" (a sum of both signs) or "moments": non-negative sums that add up to
    `top` for every row, so that l1 counts a row once, not once for each sum.

    **Sensitivity:** by the reach of the plan; a row moves moments by at most `top` in l1 and in l2.
    **Proof:** docs/proofs/queries/table_answers.md.
    """

    kind: str
    places: tuple[int, ...] = ()  # of its cells, or of its signed sum, among those of the plan
    top: int = 1
    degree: int = 0
    missing: bool = False  # whether rows without a value have a cell of their own
    column: str | None = None
    start: float = 0.0
    tick: float = 1.0
    lower: int = 0
    upper: int = 0

    @property
    def width(self) -> int:
        """How many numbers each group has."""
        return len(self.places) + self.missing if self.kind == "moments" else 1

    def exact(self, found: Aggregates) -> Array:
        """The exact vector, a row for each number: not releasable."""
        if self.kind == "rows":
            return found.rows[None, :]
        if self.kind == "persons":
            return found.persons[None, :]
        if self.kind == "signed":
            return found.signed[self.places[0]][None, :]
        cells = np.stack([found.cells[place] for place in self.places])
        if not self.missing:
            return cells
        return np.concatenate([cells, (self.top * found.rows - cells.sum(axis=0))[None, :]])

    def sensitivity(self, reach: Reach, unit: Unit, norm: str) -> Sensitivity:
        """How far one unit of privacy moves the vector."""
        if self.kind == "persons" and not reach.repeated:
            moved = Fraction(reach.persons(unit)) if norm == "l1" else root(reach.persons(unit))
        elif self.kind == "signed":
            ends = self.lower, self.upper
            moved = Fraction(reach.sums_l1(unit, *ends)) if norm == "l1" else root(reach.sums_l2_squared(unit, *ends))
        else:
            moved = self.top * (Fraction(reach.l1(unit)) if norm == "l1" else root(reach.l2_squared(unit)))
        return Sensitivity(moved, norm="l1" if norm == "l1" else "l2", unit=unit)


class Compiled(NamedTuple):
    """A bounded plan and the families that are read off it."""

    plan: Bounded
    families: tuple[Family, ...]


def compiled(rows: Node, names: tuple[str, ...], keys: KeySet | None, asked: tuple[Aggregate, ...]) -> Compiled:
    """What an engine has to add up for these requests, and in which vectors it is released.

    Requests about one column share one family, and a plain count is read off a family that is there anyway.
    """
    columns = rows.columns
    degrees: dict[str, int] = {}
    for each in asked:
        if isinstance(each, Mean | Variance) and _steps(columns[each.column], 1) > 0:
            degrees[each.column] = max(degrees.get(each.column, 0), 2 if isinstance(each, Variance) else 1)
    terms: list[Term] = []
    cells: list[Cell] = []
    signed: list[Signed] = []
    families: list[Family] = []
    counted = any(isinstance(each, Count) for each in asked)
    for name, degree in degrees.items():
        families.append(_moments(name, columns[name], degree, counted and not families, terms, cells))
    if counted and not families:
        families.append(Family("rows"))
    for each in asked:
        if isinstance(each, CountPersons) and not any(family.kind == "persons" for family in families):
            families.append(Family("persons"))
        if isinstance(each, Sum) and each.column not in degrees:
            families += _signed(each.column, columns[each.column], families, signed)
    return Compiled(Bounded(rows, names, keys, tuple(terms), tuple(cells), tuple(signed)), tuple(families))


def _steps(column: Column, degree: int) -> int:
    """How many steps a column has between its bounds."""
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

    >>> family_of(Count(), (Family("rows"),))
    0
    """
    for place, family in enumerate(families):
        if isinstance(request, Count) and (family.kind == "rows" or family.missing):
            return place
        if isinstance(request, CountPersons) and family.kind == "persons":
            return place
        about = isinstance(request, Mean | Variance | Sum) and family.column == request.column
        if about and (family.kind == "moments" or isinstance(request, Sum)):
            return place
    if isinstance(request, Quantile):
        raise InvalidParameter("a quantile is chosen, not added up")
    return None
