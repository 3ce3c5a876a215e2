"""One model of tables that were released before, by whatever mechanism: it costs nothing."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from privet._calls import door
from privet._numerics import Array, ndtri
from privet._validate import above
from privet.errors import InvalidParameter
from privet.mechanisms import Release
from privet.queries import Answer
from privet.synth.constraints import Constraint
from privet.synth.graph import Measurement, fitted, least_variance_total, tree_cells
from privet.synth.independent import Independent
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task


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

    Each of `releases` is a release or an answer of `group_by(...).agg(n=pv.count())` over all combinations of its columns,
    a pair (names, release of an array), or a triple (names, counts, deviation): the columns, an array with an axis for each
    of them in that order, and the standard deviation of its noise. Of a release the deviation follows from its error bar or
    its intervals. `options` are `bins` and `cuts` of the coding.

    >>> from privet.tables import Int
    >>> columns = {"a": Int(0, 1), "b": Int(0, 1)}
    >>> model = reconcile([(("a", "b"), [[30, 9], [20, 41]], 2.0), (("b",), [52.0, 50.0], 1.0)], columns)
    >>> model.marginal("a", "b").round().tolist()
    [[31.0, 9.0], [21.0, 41.0]]
    """
    task = Independent(rows=rows, constraints=constraints, **dict(options or {})).task(schema)
    found = []
    for each in releases:
        names, counts, sigma, normal = _told(each, task)
        clique = task.clique(names)
        shape = tuple(task.sizes[task.names.index(name)] for name in names)
        if counts.shape != shape:
            raise InvalidParameter(f"the table of {', '.join(names)} must have the shape {shape}, got {counts.shape}")
        order = [names.index(task.names[i]) for i in clique]
        made = Measurement(clique, counts.transpose(order), above("deviation", sigma, 0.0), normal=normal)
        found.append(made)
    needed = 8 * tree_cells(task.sizes, [*(m.clique for m in found), *task.allowed])
    if needed > max_bytes:
        raise InvalidParameter(f"a model of these tables needs {needed:,} bytes: allow them with max_bytes=")
    total = least_variance_total(found).value if rows is None else float(rows)
    graph = fitted(task.sizes, found, total, allowed=task.allowed)
    return SyntheticModel(task.coded.coding, graph, found, method="reconcile")


def _told(each: Any, task: Task) -> tuple[tuple[str, ...], Array, float, bool]:
    """The columns of a table, its counts, their deviation, and whether their noise is normal."""
    answer = each.value if isinstance(each, Release) else each
    if isinstance(answer, Answer):
        return (*_counted(answer, task), False)
    if not isinstance(each, tuple | list) or len(each) not in (2, 3):
        raise InvalidParameter("give a release of counts by groups, (names, release) or (names, counts, deviation)")
    names = (each[0],) if isinstance(each[0], str) else tuple(each[0])
    inner = each[1].value if isinstance(each[1], Release) else each[1]
    if len(each) == 2 and isinstance(inner, Answer):
        found = _counted(inner, task)
        if found[0] != names:
            raise InvalidParameter(f"the answer is about {', '.join(found[0])}, not about {', '.join(names)}")
        return (*found, False)
    if len(each) == 2:
        return (names, *_read(each[1]), False)
    return names, np.asarray(each[1], dtype=float), each[2], True


def _counted(answer: Answer, task: Task) -> tuple[tuple[str, ...], Array, float]:
    """Counts by groups as a table over codes. An answer has no negative counts; the upper ends of its intervals are as far
    from what was measured as noise reaches, so that this comes back.
    """
    names = tuple(answer.keys)
    clique = task.clique(names)
    if len(answer.values) != 1 or any(task.coded.coding.edges[i] is not None for i in clique):
        raise InvalidParameter(
            "an answer to reconcile holds one column of counts, by columns with a code for every value"
        )
    ((column, values),) = answer.values.items()
    lower, upper = answer.interval(column)
    radius = float(max(np.max(upper - values), np.max(upper - lower) / 2.0))
    places = []
    for name in names:
        part = task.coded.coding.subset([name])
        codes = np.arange(part.sizes[0])[:, None]
        known = {value: i for i, value in enumerate(np.ma.asarray(part.decode(codes)[name]).tolist())}
        places.append([known.get(value, -1) for value in np.ma.asarray(answer.keys[name]).tolist()])
    counts = np.full([task.sizes[task.names.index(name)] for name in names], np.nan)
    cells = np.array(places).T
    if np.any(cells < 0) or len({tuple(row) for row in cells.tolist()}) != counts.size:
        raise InvalidParameter(
            f"the answer by {', '.join(names)} does not have every combination of the schema's values, each once"
        )
    counts[tuple(cells.T)] = upper - radius
    return names, counts, radius / -float(ndtri((1.0 - answer.confidence) / 2.0))


def _read(release: Any) -> tuple[Any, float]:
    """Counts of a release, and the deviation that its error bar tells."""
    bar = release.error if isinstance(release, Release) else None
    if bar is None or not isinstance(release.value, np.ndarray) or not bar.around:
        raise InvalidParameter("a release of counts needs an array and an error bar: else give its deviation")
    counts = np.asarray(release.value, dtype=float)
    tail = 1.0 - bar.confidence ** (1.0 / counts.size) if bar.joint else 1.0 - bar.confidence
    return counts, float(np.max(bar.radius)) / -ndtri(tail / 2.0)
