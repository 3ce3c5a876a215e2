"""Families of exact sums: what is released together as one noisy vector for each group of a query."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet.mechanisms import Sensitivity
from privet.privacy import Unit
from privet.tables import Aggregates, Bounded, Derive, Reach, Ref, in_values
from privet.tables.reach import root
from privet.workloads.families.noise_law import Kind

_VALUE = "(value)"


@final
@dataclass(frozen=True)
class Family:
    """Sums that are released together as one vector for each group, in whole numbers.

    `kind` says which: "rows", "persons", "signed" (a sum of both signs), "distinct" (values of a column) or "moments":
    non-negative sums that add up to `top` for every row, so that l1 counts a row once, not once for each sum.

    **Sensitivity:** by the reach of the plan; a row moves moments by at most `top` in l1 and in l2, and brings one value.
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
        """The number of numbers that each group has."""
        return len(self.places) + self.missing if self.kind == "moments" else 1

    def exact(self, found: Aggregates) -> Array:
        """The exact vector, a row for each number: not releasable."""
        if self.kind in ("rows", "distinct"):
            return found.rows[None, :]
        if self.kind == "persons":
            return found.persons[None, :]
        if self.kind == "signed":
            return found.signed[self.places[0]][None, :]
        cells = np.stack([found.cells[place] for place in self.places])
        if not self.missing:
            return cells
        return np.concatenate([cells, (self.top * found.rows - cells.sum(axis=0))[None, :]])

    def plan_of(self, plan: Bounded) -> Bounded:
        """The plan that its sums are found by: that of the query, or of values one that keeps each of a person's once."""
        if self.kind != "distinct":
            return plan
        assert plan.keys is not None
        assert self.column is not None
        rows = Derive(in_values(plan.rows, len(plan.keys)), _VALUE, Ref(self.column))
        return Bounded(rows, (*plan.names, _VALUE), plan.keys, distinct=True)

    def sensitivity(self, reach: Reach, unit: Unit, norm: str) -> Sensitivity:
        """The distance by which one unit of privacy moves the vector."""
        if self.kind == "distinct":  # all of a unit's values may be of one group, whatever limits groups have
            reach = Reach(rows=reach.most_rows)
        if self.kind == "persons" and not reach.repeated:
            moved = Fraction(reach.persons(unit)) if norm == "l1" else root(reach.persons(unit))
        elif self.kind == "signed":
            ends = self.lower, self.upper
            moved = Fraction(reach.sums_l1(unit, *ends)) if norm == "l1" else root(reach.sums_l2_squared(unit, *ends))
        else:
            moved = self.top * (Fraction(reach.l1(unit)) if norm == "l1" else root(reach.l2_squared(unit)))
        return Sensitivity(moved, norm="l1" if norm == "l1" else "l2", unit=unit)

    @property
    def size(self) -> int:
        """The most that one row adds to the vector: noise is compared in units of it."""
        return max(abs(self.lower), abs(self.upper)) if self.kind == "signed" else self.top

    def evenly(self, rows: int) -> Array:
        """The exact vector of a group of so many rows whose values lie evenly between the bounds: what previews are about.
        The mean of each of the d + 1 moments, which are Bernstein's polynomials, is then 1/(d + 1).
        """
        if self.kind != "moments":
            return np.full((1, 1), 0.0 if self.kind == "signed" else float(rows))
        shares = [1.0 / (self.degree + 1)] * (self.degree + 1) + [0.0] * self.missing
        return float(self.top) * rows * np.array(shares)[:, None]


class Noisy(NamedTuple):
    """A family's noisy vector, and the law of its noise."""

    family: Family
    values: Array
    kind: Kind
    scale: float


class Want(NamedTuple):
    """A measurement that an aggregate needs: a kind of family, of which column, and up to which power of it."""

    kind: Literal["rows", "persons", "signed", "moments", "distinct"]
    column: str | None = None
    degree: int = 0
