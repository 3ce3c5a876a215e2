"""One model of tables that were released before, by whatever mechanism: it costs nothing."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from privet._calls import door
from privet._numerics import ndtri
from privet._validate import above
from privet.errors import InvalidParameter
from privet.mechanisms import Release
from privet.synth.constraints import Constraint
from privet.synth.graph import Measurement, fitted, least_variance_total, tree_cells
from privet.synth.independent import Independent
from privet.synth.synthetic_model import SyntheticModel


@door
def reconcile(
    releases: Iterable[Any],
    schema: Any,
    *,
    rows: int | None = None,
    constraints: Sequence[Constraint] = (),
    options: Any = None,
    max_bytes: int = 10 * 2**20,
) -> SyntheticModel:
    """The model of largest entropy that fits released tables of counts best: consistent, without negative counts, and able
    to answer every other table. Nothing is paid: releases are all that it sees.

    Each of `releases` is a pair (names, release) or a triple (names, counts, deviation): the columns, an array with an axis
    for each of them in that order, and the standard deviation of its noise. Of a `Release` the deviation follows from its
    error bar. `options` are `bins` and `cuts` of the coding.

    >>> from privet.tables import Int
    >>> columns = {"a": Int(0, 1), "b": Int(0, 1)}
    >>> model = reconcile([(("a", "b"), [[30, 9], [20, 41]], 2.0), (("b",), [52.0, 50.0], 1.0)], columns)
    >>> model.marginal("a", "b").round().tolist()
    [[31.0, 9.0], [21.0, 41.0]]
    """
    task = Independent(rows=rows, constraints=constraints, **dict(options or {})).task(schema)
    found = []
    for each in releases:
        if not isinstance(each, tuple | list) or len(each) not in (2, 3):
            raise InvalidParameter("give (names, release) or (names, counts, deviation) for every table")
        names = (each[0],) if isinstance(each[0], str) else tuple(each[0])
        clique = task.clique(names)
        counts, sigma = _read(each[1]) if len(each) == 2 else (np.asarray(each[1], dtype=float), each[2])
        shape = tuple(task.sizes[task.names.index(name)] for name in names)
        if counts.shape != shape:
            raise InvalidParameter(f"the table of {', '.join(names)} must have the shape {shape}, got {counts.shape}")
        order = [names.index(task.names[i]) for i in clique]
        found.append(Measurement(clique, counts.transpose(order), above("deviation", sigma, 0.0)))
    needed = 8 * tree_cells(task.sizes, [*(m.clique for m in found), *task.allowed])
    if needed > max_bytes:
        raise InvalidParameter(f"a model of these tables needs {needed:,} bytes: allow them with max_bytes=")
    total = least_variance_total(found).value if rows is None else float(rows)
    graph = fitted(task.sizes, found, total, allowed=task.allowed)
    return SyntheticModel(task.coded.coding, graph, found, method="reconcile")


def _read(release: Any) -> tuple[Any, float]:
    """Counts of a release, and the deviation that its error bar tells."""
    bar = release.error if isinstance(release, Release) else None
    if bar is None or not isinstance(release.value, np.ndarray) or not bar.around:
        raise InvalidParameter("a release of counts needs an array and an error bar: else give its deviation")
    counts = np.asarray(release.value, dtype=float)
    tail = 1.0 - bar.confidence ** (1.0 / counts.size) if bar.joint else 1.0 - bar.confidence
    return counts, float(np.max(bar.radius)) / -ndtri(tail / 2.0)
