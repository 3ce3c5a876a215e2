"""Small neighbouring tables on which plans are tried by laws and audits: made up, with hundreds of rows."""

from typing import Any

import numpy as np

from privet._numerics import Array
from privet.synth.task import Task
from privet.tables import Coded, Coding, Column, Data, Int, Rows, Source


def columns_of(sizes: tuple[int, ...]) -> dict[str, Column]:
    """Columns a, b, c, ... of whole numbers from 0 on.

    >>> list(columns_of((2, 3)))
    ['a', 'b']
    """
    return {chr(ord("a") + i): Int(0, size - 1) for i, size in enumerate(sizes)}


def task_of(relation: str = "add_remove", sizes: tuple[int, ...] = (2, 2, 2), **facts: Any) -> Task:
    """The public facts of a table of small columns.

    >>> task_of().sizes
    (2, 2, 2)
    """
    listed = columns_of(sizes)
    rows = Source("people", tuple(listed.items()), Rows(relation=relation))  # type: ignore[arg-type]
    return Task(Coded(rows, Coding.of(listed)), **facts)


def data_of(codes: Any) -> Data:
    """The rows of codes as data of such a table.

    >>> data_of([[0, 1]])
    <private data: people>
    """
    rows: Array = np.asarray(codes, dtype=np.int64)
    return Data({"people": {chr(ord("a") + i): rows[:, i].copy() for i in range(rows.shape[1])}})


def pair(relation: str) -> tuple[Data, Data]:
    """Two neighbouring tables of 200 rows, between which one row decides which two columns belong together most."""
    alike = [[0, 0, 0]] * 100 + [[1, 1, 1]] * 100
    if relation == "replace":
        return data_of([*alike, [0, 0, 1]]), data_of([*alike, [0, 1, 0]])
    return data_of([*alike, [0, 0, 1], [0, 1, 0]]), data_of([*alike, [0, 0, 1]])


def rare_pair() -> tuple[Data, Data]:
    """Two tables, in one of which a single person has a value that nobody else has."""
    rows = [[0, 0, 0]] * 100 + [[0, 1, 1]] * 100
    return data_of([*rows, [1, 0, 1]]), data_of(rows)


def canaries_in(cells: int, held: int, *, pairs: bool = False) -> dict[str, Any]:
    """Worlds for an audit in one run: a column of so many values, each of which `held` rows have, and a canary for each
    value, which one row more would have. `score` is what the noisy counts of its cells say about it; with `pairs` there is
    a second column, in which all rows have the same value.

    >>> sorted(canaries_in(3, 2))
    ['canaries', 'left', 'right', 'score']
    """
    rows = [[i, 0] if pairs else [i] for i in range(cells) for _ in range(held)]
    canaries = [{"a": i, "b": 0} if pairs else {"a": i} for i in range(cells)]

    def score(model: Any, canary: dict[str, int]) -> float:
        told = 0.0
        for each in model.measurements:
            if each.values.shape[:1] == (cells,):  # no value was merged, and the column is the first of the table
                cell = (canary["a"],) + (0,) * (each.values.ndim - 1)
                told += float(np.clip(each.values[cell] - held, 0.0, 1.0)) / each.sigma
        return told

    return {"left": data_of(rows), "right": data_of(rows[1:]), "canaries": canaries, "score": score}
