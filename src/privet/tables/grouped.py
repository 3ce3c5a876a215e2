"""Counts of codes by grouping sets: one query for many tables of counts, of which an engine sends the cells that it has."""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from privet._numerics import Array
from privet.tables.dialect import Dialect

_SETS = 32  # of one query: engines plan long lists slowly
_CELLS = 2**21  # that one answer may have, unless one table alone has more

Clique = tuple[int, ...]


def batches(sizes: Sequence[int], cliques: Sequence[Clique]) -> Iterator[list[Clique]]:
    """The cliques in the order that they have, cut into lists that one query counts.

    >>> [len(each) for each in batches((2, 3), [(0,)] * 40)]
    [32, 8]
    """
    held: list[Clique] = []
    cells = 0
    for clique in cliques:
        more = prod(sizes[place] for place in clique)
        if held and (len(held) == _SETS or cells + more > _CELLS):
            yield held
            held, cells = [], 0
        held.append(clique)
        cells += more
    if held:
        yield held


def grouped(dialect: Dialect, coded: str, sizes: Sequence[int], cliques: Sequence[Clique]) -> str:
    """The query that counts the rows of `coded`, a query for v0, v1, ... and `many`: which clique, which cell of it (the
    last column fastest) and how many rows, for cells that have some.

    >>> from privet.tables.dialect import DuckDB
    >>> "GROUPING SETS ((m0), (m1))" in grouped(DuckDB(), "SELECT 0 AS v0, 1 AS many", (2,), [(0,), ()])
    True
    """
    made = [f"{_cell(dialect, sizes, clique)} AS m{i}" for i, clique in enumerate(cliques)]
    cells = f"SELECT {', '.join(made)}, many FROM ({coded}) AS coded{dialect.fence}"
    # a code is never missing: the one number that is there tells the set
    names = [f"m{i}" for i in range(len(cliques))]
    which = " ".join(f"WHEN {name} IS NOT NULL THEN {i}" for i, name in enumerate(names))
    sets = ", ".join(f"({name})" for name in names)
    counted = f"SELECT {', '.join(names)}, sum(many) AS n FROM ({cells}) AS cells GROUP BY GROUPING SETS ({sets})"
    cell = f"coalesce({', '.join(names)})" if len(names) > 1 else names[0]
    return f"SELECT CASE {which} END AS which, {cell} AS cell, {dialect.whole('n')} AS n FROM ({counted}) AS counted"


def _cell(dialect: Dialect, sizes: Sequence[int], clique: Clique) -> str:
    made = dialect.number(0)
    for rank, place in enumerate(clique):
        made = f"v{place}" if not rank else f"({made} * {dialect.number(sizes[place])} + v{place})"
    return made


def placed(answer: Sequence[Sequence[int]], sizes: Sequence[int], cliques: Sequence[Clique]) -> list[Array]:
    """The answer of such a query as tables, with zeros for cells that it does not have.

    >>> [table.tolist() for table in placed([(0, 1, 5)], (2,), [(0,)])]
    [[0, 5]]
    """
    tables = [np.zeros(prod(sizes[place] for place in clique), dtype=np.int64) for clique in cliques]
    rows = np.array(answer, dtype=np.int64).reshape(-1, 3)
    for which, table in enumerate(tables):
        mine = rows[rows[:, 0] == which]
        table[mine[:, 1]] = mine[:, 2]
    return [
        table.reshape(tuple(sizes[place] for place in clique)) for table, clique in zip(tables, cliques, strict=True)
    ]
