"""The request to an engine where a model is fitted to counts: the rows of a plan as codes, bounded for every person."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import final

from privet._cache import kept_property
from privet.errors import InvalidParameter
from privet.tables.bounded import Bounded
from privet.tables.coding import Coding
from privet.tables.plan import Derive, Node, in_one_group
from privet.tables.reach import Reach

MOST_CELLS = 2**26  # of one table of counts: half a gigabyte, more are refused

Cliques = Sequence[tuple[int, ...]]


@final
@dataclass(frozen=True)
class Coded:
    """The rows of a plan as the codes of a coding. Of a person at most `most_rows` rows are kept, the same ones in every
    table of counts: which, depends on that person's codes and on the salts alone.

    **Sensitivity:** each table of counts moves by at most `most_rows` in l1 and in l2 where a unit comes or goes; under
    replace the old rows go and the new ones come: `reach`.
    **Proof:** docs/proofs/tables/reach.md.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.person import Rows
    >>> from privet.tables.plan import Source
    >>> visits = Source("visits", (("age", Int(0, 110)),), Rows())
    >>> Coded(visits, Coding.of(visits.columns)).most_rows
    1
    """

    rows: Node
    coding: Coding

    def __post_init__(self) -> None:
        for name, column in self.coding.listed:
            if self.rows.columns.get(name) != column:
                raise InvalidParameter(f"the coding is of other columns: {name!r:.60} is not so described in the table")
        self.bounded.rows.sources  # noqa: B018 (two tables of one name are refused)

    @kept_property
    def bounded(self) -> Bounded:
        """The same rows grouped by all codes at once: what the choice of a person's rows is defined by."""
        node, names = in_one_group(self.rows), []
        for place in range(len(self.coding.names)):
            names.append(f"(code {place})")
            node = Derive(node, names[-1], self.coding.expression(place))
        return Bounded(node, tuple(names))

    @property
    def reach(self) -> Reach:
        """The most that one unit of privacy adds to a table of counts."""
        return in_one_group(self.rows).reach

    @property
    def most_rows(self) -> int:
        """The number of rows of one unit that are used."""
        return self.reach.most_rows

    def check(self, cliques: Cliques) -> None:
        """Refuse tables of counts that cannot be made, from public facts."""
        sizes = self.coding.sizes
        for clique in cliques:
            if len(set(clique)) != len(clique) or not all(0 <= place < len(sizes) for place in clique):
                raise InvalidParameter("cliques must name places of columns in the coding, each once")
            if prod(sizes[place] for place in clique) > MOST_CELLS:
                told = ", ".join(self.coding.names[place] for place in clique)
                raise InvalidParameter(f"cliques must have at most {MOST_CELLS} cells, and {told} has more")
