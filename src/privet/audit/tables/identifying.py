"""Identifying sets: the smallest sets of columns by which rows are alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

from privet._progress import track
from privet._validate import count, open_fraction
from privet.audit.tables.cells import IDENTIFIER, column_names, exact_cells, row_count
from privet.audit.tables.reidentification import NOT_RELEASABLE
from privet.errors import InvalidParameter
from privet.tables import Described

LARGEST, _COLUMNS = 4, 40  # of a set, and of a table: sets of four of forty columns are 102,090 already


@final
@dataclass(frozen=True)
class IdentifyingSets:
    """The minimal sets of columns by which at least a share of the rows is alone: no smaller set within one is enough.

    `exact_sets` has each with its share, small ones first; `identifiers` are columns that name nearly every row by
    themselves, and are no part of any set. Sets of more than 4 columns are not looked for. Exact, for the custodian:
    not releasable.
    """

    share: float
    exact_sets: tuple[tuple[tuple[str, ...], float], ...]
    identifiers: tuple[str, ...]
    looked_at: int

    def explain(self) -> str:
        """Words for the custodian."""
        lines = [NOT_RELEASABLE, f"{self.looked_at:,} sets of columns were looked at, {LARGEST} columns at most."]
        if self.identifiers:
            lines.append(f"Identifiers by themselves: {', '.join(self.identifiers)}.")
        lines += [
            f"{100 * alone:.3g}% of the rows are alone by {', '.join(names)}." for names, alone in self.exact_sets
        ]
        if not self.exact_sets:
            lines.append(f"No such set leaves {100 * self.share:g}% of the rows alone; larger ones may.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()


def exact_identifying_sets(
    table: Described, columns: Sequence[str] | None = None, *, share: float = 0.5, largest: int = LARGEST
) -> IdentifyingSets:
    """The minimal sets of up to 4 columns by which at least a share of the rows is alone.

    **Guarantee:** none: exact figures for the custodian, not releasable.

    >>> import privet as pv
    >>> people = pv.Table({"age": [30, 30, 40, 40], "sex": ["f", "m", "f", "m"]},
    ...                   columns={"age": pv.Int(0, 110), "sex": pv.Category(["f", "m"])})
    >>> exact_identifying_sets(people).exact_sets
    ((('age', 'sex'), 1.0),)
    """
    asked = [name for name, each in table.columns.items() if each.kind != "float"] if columns is None else columns
    names, wanted, most = column_names(table, asked), open_fraction("share", share), count("largest", largest, 1)
    if most > LARGEST:
        raise InvalidParameter(f"sets of more than {LARGEST} columns are not looked for: nearly all of them identify")
    if len(names) > _COLUMNS:
        raise InvalidParameter(f"more than {_COLUMNS} columns have too many sets; name those that others may know")
    found: list[tuple[tuple[str, ...], float]] = []
    identifiers: list[str] = []
    looked = track("sets of columns", 0)
    for size in range(1, most + 1):
        left = [name for name in names if name not in identifiers]
        sets = [each for each in combinations(left, size) if not any(set(known) <= set(each) for known, _ in found)]
        looked.revise(looked.done + len(sets))
        for each in sets:
            counts = exact_cells(table, each)[1]
            rows = row_count(counts)
            looked.advance()
            if size == 1 and rows > 1 and len(counts) > IDENTIFIER * rows:
                identifiers += each
            elif (alone := float((counts == 1).sum()) / rows) >= wanted:
                found.append((each, alone))
    return IdentifyingSets(wanted, tuple(found), tuple(identifiers), looked.done)
