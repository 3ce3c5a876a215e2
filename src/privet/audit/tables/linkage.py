"""Linkage: rows of two tables that find each other by columns that both have, such as a time and a place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from privet.audit.tables.cells import exact_cells, row_count
from privet.audit.tables.reidentification import NOT_RELEASABLE
from privet.tables import Described


@final
@dataclass(frozen=True)
class Linkage:
    """Rows of one table that meet exactly one row of another, and are alone themselves: `linked` of `rows`.

    `right` counts links whose rows agree on a column that both tables have and that was not used, where one was named.
    Exact, for the custodian: not releasable.

    >>> Linkage(("time",), 10, 4).exact_share
    0.4
    """

    on: tuple[str, ...]
    rows: int
    linked: int
    right: int | None = None

    @property
    def exact_share(self) -> float:
        """The share of the first table's rows that are linked."""
        return self.linked / self.rows

    def explain(self) -> str:
        """Words for the custodian."""
        told = (
            f"{self.linked:,} of {self.rows:,} rows ({100 * self.exact_share:.4g}%) meet one row of the other table by "
        )
        lines = [NOT_RELEASABLE, told + f"{', '.join(self.on)}, and no other row has these values in either."]
        if self.right is not None:
            lines.append(f"{self.right:,} of these links are right.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()


def exact_linkage(left: Described, right: Described, *, on: Sequence[str], truth: str | None = None) -> Linkage:
    """The share of one table's rows that can be linked to another table: their values of some columns occur once in both.

    `truth` is a column of both that says who it really is; then right links are counted. Cells are counted where each
    table is.

    **Guarantee:** none: exact figures for the custodian, not releasable.

    >>> import privet as pv
    >>> kinds = {"hour": pv.Int(0, 23), "place": pv.Int(0, 9)}
    >>> trips = pv.Table({"hour": [8, 8, 9], "place": [1, 1, 2]}, columns=kinds)
    >>> seen = pv.Table({"hour": [9], "place": [2]}, columns=kinds, name="seen")
    >>> exact_linkage(seen, trips, on=["hour", "place"]).linked
    1
    """
    names = tuple(on)
    first, second = (_alone(table, names) for table in (left, right))
    rows = row_count(exact_cells(left, names)[1])
    both = first & second
    if truth is None:
        return Linkage(names, rows, len(both))
    known, other = (_named(table, names, truth, both) for table in (left, right))
    hits = sum(1 for key, name in known.items() if name is not None and other.get(key) == name)
    return Linkage(names, rows, len(both), hits)


def _alone(table: Described, names: tuple[str, ...]) -> set[tuple[Any, ...]]:
    """Combinations that one row has. A value that is missing meets nothing."""
    groups, counts = exact_cells(table, names)
    return {group for group, size in zip(groups, counts.tolist(), strict=True) if size == 1 and None not in group}


def _named(
    table: Described, names: tuple[str, ...], truth: str, keys: set[tuple[Any, ...]]
) -> dict[tuple[Any, ...], Any]:
    groups, _ = exact_cells(table, (*names, truth))
    return {group[:-1]: group[-1] for group in groups if group[:-1] in keys}
