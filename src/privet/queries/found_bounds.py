"""Bounds of a column that are found privately: which bins of a public grid have enough rows."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import (
    Algorithm,
    DiscreteLaplace,
    Example,
    Form,
    Gaussian,
    Kept,
    Mechanism,
    Sensitivity,
    Source,
    register,
    storable,
)
from privet.privacy import Guarantee, PrivacyLoss, Unit
from privet.queries.family import Family
from privet.queries.intervals import radius, spread
from privet.queries.question import TableAlgorithm
from privet.tables import (
    Bounded,
    Column,
    Cut,
    Data,
    Derive,
    Float,
    Int,
    KeySet,
    Node,
    Reach,
    Ref,
    Rows,
    Source as PrivateSource,
    in_one_group,
)

_BIN = "(grid)"
_RAREST = 1e-12  # of failing: a share of it, one for each bin, is still told from 0 beside 1
_OCTAVES = 40  # of a column of fractions: what is smaller than 2^-40 of its bounds is in one bin with 0


@final
@storable("queries.bounds")
@dataclass(frozen=True)
class FoundBounds:
    """Bounds of a column, found in its data: `table.with_bounds(found)` takes them, `lower, upper = found` gives them.

    But for a chance of `failing`, every bin of the grid that has `seen` rows or more lies inside, and both ends belong to
    bins that have rows. Where no bin had enough, `found` is False, and the bounds are those that were declared.

    >>> lower, upper = FoundBounds("cost", 0.0, 512.0, True, 37, 0.01)
    >>> lower, upper
    (0.0, 512.0)
    """

    column: str
    lower: int | float
    upper: int | float
    found: bool
    seen: int
    failing: float

    def __iter__(self) -> Iterator[int | float]:
        return iter((self.lower, self.upper))

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {name: getattr(self, name) for name in ("column", "failing", "found", "lower", "seen", "upper")}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "FoundBounds":
        """Back from `to_arrays`."""
        return cls(**arrays)

    def columns(self) -> dict[str, Any]:
        """One row: the column, its bounds, and whether they were found."""
        return {name: np.array([value]) for name, value in self.to_arrays().items()}

    def __str__(self) -> str:
        told = f"{self.column}: {self.lower:,.6g} to {self.upper:,.6g}"
        if not self.found:
            return (
                f"{told}, as declared: no bin has so many rows that it can be told from noise ({self.seen:,} are seen)"
            )
        sure = f"bins of {self.seen:,} rows or more lie inside, and no end is of a bin without rows"
        return f"{told}; {sure} (chance of failing: {self.failing:g})"


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoundsFinder(TableAlgorithm, Algorithm[Data, FoundBounds]):
    """Bounds of a column of numbers: from the first to the last bin of a public grid whose noisy count is beyond the noise
    of all of them.

    The grid has powers of two for its edges, within the bounds that the column declares: nothing of it is read from the
    data.

    **Guarantee:** that of one noisy histogram.
    **Sensitivity:** of the cells, by the reach of the plan: each row is in one of them.
    **Error:** `FoundBounds` says what is seen, and how often that fails.
    **Reference:** Wilson et al. 2020.
    **Proof:** docs/proofs/queries/found_bounds.md.
    """

    name = "bounds_finder"

    plan: Bounded
    part: Mechanism[Any, Any]
    failing: float = 0.01
    about: Unit = field(default=Unit())

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("plan", self.plan, Bounded)
        instance("about", self.about, Unit)
        set_frozen(self, failing=open_fraction("failing", self.failing))
        rows = self.plan.rows
        made = rows.expression if isinstance(rows, Derive) else None
        if not isinstance(made, Cut) or not isinstance(made.of, Ref) or self.plan.bins != len(made.edges) + 1:
            raise InvalidParameter("the plan must have a bin between any two edges that a column is cut at")
        if self.about != self.plan.rows.unit.unit:
            raise InvalidParameter("about must be the unit of the plan, whom its rows are about")
        norm = "l1" if isinstance(self.part, DiscreteLaplace) else "l2"
        if not isinstance(self.part, DiscreteLaplace | Gaussian) or (
            self.part.sensitivity.value < moved_by(self.plan.reach, self.about, norm).value
        ):
            raise InvalidParameter("the part has less noise than the reach of the plan needs")
        if self.part.sensitivity.unit != self.about:
            raise InvalidParameter("the part is priced for another unit than about=")
        if self.failing < _RAREST:
            raise InvalidParameter(f"failing must be at least {_RAREST:g}, got {self.failing:g}")

    @property
    def _cut(self) -> Cut:
        assert isinstance(self.plan.rows, Derive)
        assert isinstance(self.plan.rows.expression, Cut)
        return self.plan.rows.expression

    @property
    def edges(self) -> tuple[int | float, ...]:
        """The edges of the grid."""
        return self._cut.edges

    @property
    def column(self) -> str:
        """The column whose bounds are looked for."""
        assert isinstance(self._cut.of, Ref)
        return self._cut.of.name

    @property
    def declared(self) -> tuple[int | float, int | float]:
        """The bounds that the column has already."""
        return self._cut.of.column(self.plan.rows.columns).span

    @property
    def loss(self) -> PrivacyLoss:
        return self.part.loss

    @property
    def form(self) -> Form:
        return Kept("queries.bounds")

    def plans(self) -> tuple[Bounded, ...]:
        return (self.plan,)

    def weight(self) -> float:
        return self.plan.bins * spread(self.part)

    @property
    def beyond(self) -> int:
        """The count that no bin without rows reaches, but for the chance of failing."""
        assert isinstance(self.part, DiscreteLaplace | Gaussian)
        kind, level = isinstance(self.part, DiscreteLaplace), 1.0 - self.failing / self.plan.bins
        return math.floor(radius("laplace" if kind else "gaussian", self.part.scale, (1.0,), level)) + 1

    def _run(self, prepared: Any, source: Source) -> FoundBounds:
        rows = self._exact_sums(prepared, self.plan, source).rows
        return self._bounds(np.rint(np.asarray(self.part.release(rows, source=source).value)))

    def _bounds(self, noisy: Array) -> FoundBounds:
        """The bounds that noisy counts tell of: post-processing."""
        passed = np.flatnonzero(noisy >= self.beyond)
        seen = 2 * self.beyond - 1
        if not len(passed):
            return FoundBounds(self.column, *self.declared, False, seen, self.failing)
        low, high = self.declared
        ends = [low, *self.edges, high]
        lower, upper = ends[int(passed[0])], ends[int(passed[-1]) + 1]
        if isinstance(high, int) and int(passed[-1]) < len(self.edges):
            upper = int(upper) - 1  # the edge itself belongs to the next bin
        return FoundBounds(self.column, lower, upper, True, seen, self.failing)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows = PrivateSource("visits", (("stay", Int(0, 8)),), Rows())
        plan = grid_of(rows, "stay")
        part = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=moved_by(plan.reach, Unit(), "l1"))
        made = cls(plan=plan, part=part, failing=0.5)
        left = {"stay": np.array([0, 1, 8] + [2] * made.beyond)}  # with the last row its bin is seen
        right = {"stay": left["stay"][:-1]}
        yield Example(made, Data({"visits": left}), Data({"visits": right}), Guarantee(1.0), cost="costly")


def moved_by(reach: Reach, unit: Unit, norm: str) -> Sensitivity:
    """The distance by which one unit of privacy moves the counts of the grid."""
    return Family("rows").sensitivity(reach, unit, norm)


def grid_of(rows: Node, column: str) -> Bounded:
    """The plan that counts rows between the edges of the grid."""
    edges = edges_of(rows.columns[column])
    derived = Derive(in_one_group(rows), _BIN, Cut(Ref(column), edges))
    return Bounded(derived, (_BIN,), KeySet((), ((),)), bins=len(edges) + 1)


def edges_of(kind: Column) -> tuple[int | float, ...]:
    """Powers of two of both signs, and 0, between the bounds of a column.

    >>> edges_of(Int(-3, 9))
    (-2, -1, 0, 1, 2, 4, 8)
    """
    low, high = kind.span
    top = math.ceil(math.log2(max(abs(low), abs(high), 1 if isinstance(kind, Int) else 2.0**-500)))
    least = 0 if isinstance(kind, Int) else top - _OCTAVES
    sizes = [2**j if isinstance(kind, Int) else 2.0**j for j in range(least, top + 1)]
    zero = 0.0 if isinstance(kind, Float) else 0
    return tuple(each for each in (*(-size for size in reversed(sizes)), zero, *sizes) if low < each < high)
