"""Re-identification: how many people are alone with what others may know of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.audit.tables.cells import IDENTIFIER, exact_cells, row_count
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace
from privet.tables import Described

SMALL = 5  # rows of a cell, below which many offices publish nothing: a word in a report, nothing is decided by it
NO_GUARANTEE = (
    "k-anonymity is a meter of this risk, not a guarantee: it says nothing about what else is known, about other "
    "releases, or about groups that share their secret."
)
NOT_RELEASABLE = "Exact figures about private rows, for the custodian alone: not releasable."


@final
@dataclass(frozen=True)
class Diversity:
    """The cover that cells give to a sensitive column.

    `least` is the smallest number of different values in a cell (l-diversity), `exact_alike` the share of rows whose
    cell has one value only, `farthest` the largest distance of a cell's shares from those of all rows (t-closeness, by
    total variation).
    """

    column: str
    least: int
    exact_alike: float
    farthest: float


@final
@dataclass(frozen=True)
class Reidentification:
    """The risk of being found by quasi-identifiers: `sizes` says how many cells have each size, and all else follows.

    `exact_unique` is the share of rows that are alone in their cell, `exact_small` that of rows in cells below 5,
    `least` the smallest cell; the prosecutor, who looks for one person, succeeds with 1/`least` at worst, the
    marketer, who looks for all, with cells/rows on average. `identifiers` are columns that name nearly every row by
    themselves.

    **Guarantee:** none: exact figures for the custodian, not releasable.

    >>> Reidentification(("age",), {1: 2, 8: 1}).exact_unique
    0.2
    """

    quasi: tuple[str, ...]
    sizes: dict[int, int]
    diversity: Diversity | None = None
    identifiers: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(size * many for size, many in self.sizes.items())

    @property
    def cells(self) -> int:
        """The number of combinations that occur."""
        return sum(self.sizes.values())

    @property
    def least(self) -> int:
        """The smallest cell: the k of k-anonymity."""
        return min(self.sizes)

    @property
    def exact_unique(self) -> float:
        """The share of rows that are alone."""
        return self.sizes.get(1, 0) / self.rows

    @property
    def exact_small(self) -> float:
        """The share of rows in cells of fewer than 5."""
        return sum(size * many for size, many in self.sizes.items() if size < SMALL) / self.rows

    @property
    def exact_prosecutor(self) -> float:
        """The largest chance of naming the right row of a person who is known to be in: 1 over the smallest cell."""
        return 1.0 / self.least

    @property
    def exact_marketer(self) -> float:
        """The share of all rows that are named rightly by guessing within cells: the mean of 1/k over rows."""
        return self.cells / self.rows

    @staticmethod
    def privately(epsilon: float = 1.0) -> str:
        """Words on what a private release of the same counts would say of a cell of one row. No data are needed for it.

        >>> print(Reidentification.privately(1.0))
        A private release of these counts at epsilon 1 is right up to 3 (95%): a cell of 1 reads as anything from -2 to 4.
        """
        radius = float(DiscreteLaplace.for_budget(epsilon=epsilon, sensitivity=1).error(0.95).radius)
        told = f"A private release of these counts at epsilon {epsilon:g} is right up to {radius:g} (95%)"
        return f"{told}: a cell of 1 reads as anything from {1 - radius:g} to {1 + radius:g}."

    def explain(self) -> str:
        """Words for the custodian."""
        unique, small = 100 * self.exact_unique, 100 * self.exact_small
        lines = [
            NOT_RELEASABLE,
            f"{self.rows:,} rows, {self.cells:,} combinations of {', '.join(self.quasi)}.",
            f"Alone with theirs: {unique:.4g}% of the rows. In cells below {SMALL}: {small:.4g}%. "
            f"Smallest cell: {self.least}.",
            f"Whoever looks for one person succeeds with {self.exact_prosecutor:.4g} at worst, whoever looks for all with "
            f"{self.exact_marketer:.4g} on average.",
        ]
        if self.diversity is not None:
            each = self.diversity
            lines.append(
                f"{each.column}: {each.least} different values in the poorest cell; {100 * each.exact_alike:.4g}% of the "
                f"rows are in cells with one value only, and so given away; shares in a cell are up to {each.farthest:.3g} "
                "from those of all."
            )
        if self.identifiers:
            lines.append(f"Nearly every row has a value of its own in {', '.join(self.identifiers)}: an identifier.")
        return "\n".join([*lines, NO_GUARANTEE, self.privately()])

    def __str__(self) -> str:
        return self.explain()


def exact_reidentification(table: Described, *, quasi: Sequence[str], sensitive: str | None = None) -> Reidentification:
    """The risk of being found again in a table by its quasi-identifiers: columns that others may know of a person.

    Cells are counted where the table is, on every engine; no row is loaded. A missing value is a value of its own. Of
    a table of persons rows are counted, since each row is a place to be found. `sensitive` is a column that should
    stay hidden.

    **Guarantee:** none: exact figures for the custodian, not releasable. **Reference:** Sweeney 2002; El Emam 2013;
    Machanavajjhala et al. 2007; Li, Li & Venkatasubramanian 2007.

    >>> import privet as pv
    >>> people = pv.Table({"age": [30, 30, 40], "ward": ["A", "B", "A"]},
    ...                   columns={"age": pv.Int(0, 110), "ward": pv.Category(["A", "B"])})
    >>> exact_reidentification(people, quasi=["age"], sensitive="ward").least
    1
    """
    names = tuple(quasi)
    if sensitive in names:
        raise InvalidParameter("the sensitive column is what should stay hidden: it is no quasi-identifier")
    _, counts = exact_cells(table, names)
    rows = row_count(counts)
    sizes = {int(size): many for size, many in sorted(Counter(counts.tolist()).items())}
    alone = [exact_cells(table, (name,))[1] for name in names] if len(names) > 1 else [counts]
    known = tuple(name for name, each in zip(names, alone, strict=True) if rows > 1 and len(each) > IDENTIFIER * rows)
    diverse = None if sensitive is None else _diversity(table, names, sensitive)
    return Reidentification(names, sizes, diverse, known)


def _diversity(table: Described, names: tuple[str, ...], sensitive: str) -> Diversity:
    groups, counts = exact_cells(table, (*names, sensitive))
    cells: dict[tuple[Any, ...], int] = {}
    values: dict[Any, int] = {}
    cell = np.array([cells.setdefault(group[:-1], len(cells)) for group in groups])
    value = np.array([values.setdefault(group[-1], len(values)) for group in groups])
    rows = np.bincount(cell, weights=counts)
    different = np.bincount(cell)
    overall = np.bincount(value, weights=counts) / counts.sum()
    return Diversity(
        column=sensitive,
        least=int(different.min()),
        exact_alike=float(rows[different == 1].sum() / rows.sum()),
        farthest=float(_distances(cell, value, counts, rows, overall).max()),
    )


def _distances(cell: Array, value: Array, counts: Array, rows: Array, overall: Array) -> Array:
    """Half of the sum of absolute differences of shares, for each cell; values that it lacks add their overall share."""
    shares = counts / rows[cell]
    differ = np.bincount(cell, weights=np.abs(shares - overall[value]))
    present = np.bincount(cell, weights=overall[value])
    return np.asarray((differ + 1.0 - present) / 2.0)
