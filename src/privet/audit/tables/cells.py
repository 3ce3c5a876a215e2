"""The cells of a table: combinations of values, and how many rows have each. Exact, for the custodian."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privet._numerics import Array
from privet._validate import items
from privet.errors import InvalidData, InvalidParameter
from privet.tables import Bounded, Described, Node, Rows, Source

_SALTS = (1, 2, 3, 4, 5)  # no row is left out, so that none is chosen by them
IDENTIFIER = 0.9  # share of values that are different from which on a column is called an identifier


def exact_cells(table: Described, names: Sequence[str]) -> tuple[tuple[tuple[Any, ...], ...], Array]:
    """The combinations of values of some columns that occur, and the number of rows of each.

    A missing value is a value of its own, whatever the schema says of it. Rows are counted where the table is, and none is
    loaded. Not releasable.

    >>> import privet as pv
    >>> exact_cells(pv.Table({"age": [30, 30, 40]}, columns={"age": pv.Int(0, 110)}), ["age"])
    (((30,), (40,)), array([2, 1]))
    """
    wanted = column_names(table, names)
    plan = Bounded(_every_row(table.rows), wanted, None)
    table.data.check(plan)
    found = table.data.exact_aggregates(plan, _SALTS)
    assert found.found is not None
    return found.found, np.asarray(found.rows)


def column_names(table: Described, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns that can be grouped by, each once."""
    if not isinstance(table, Described):
        raise InvalidParameter("the table must be a pv.Table, which says what its columns are")
    wanted = items("columns", names)
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidParameter("name one column or more, each once")
    for name in wanted:
        if name not in table.columns:
            raise InvalidParameter(f"the table has no column {name!r:.60}; it has {', '.join(table.columns)}")
        if table.columns[name].kind == "float":
            raise InvalidParameter(
                f"column {name!r} holds fractions: put them into bins first, table.bin({name!r}, ...)"
            )
    return tuple(wanted)


def row_count(counts: Array) -> int:
    """The rows in all cells together; a table without any is refused.

    >>> row_count(np.array([2, 1]))
    3
    """
    if not counts.size:
        raise InvalidData("the table has no rows: there is nobody to be found")
    return int(counts.sum())


def _every_row(node: Node) -> Node:
    """The same rows with nobody's left out: each is a unit of its own, and missing values make groups."""
    if isinstance(node, Source):
        listed = tuple((name, replace(column, null=True)) for name, column in node.listed)  # type: ignore[type-var]
        return replace(node, listed=listed, about=Rows())
    inner = getattr(node, "input", None)
    if not isinstance(inner, Node):
        raise InvalidParameter("these figures are about one table, with rows kept or columns derived, not about joins")
    return replace(node, input=_every_row(inner))  # type: ignore[type-var]
