"""`audit.synthetic`: one record behind a synthetic table, found by many tables that were made with it and without."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from privet._numerics import Array
from privet._progress import track
from privet._validate import count
from privet.audit.claim import Claim
from privet.audit.columns import Columns, columns_of, gaps
from privet.audit.datasets import extended
from privet.audit.training import Progress, TrainingAudit, training
from privet.errors import InvalidData

Make = Callable[[Any], Any]
# Every number here changes how well the attack sees, and no guarantee: the score is fixed before the test.
_SETS = 200  # combinations of columns that are counted, at most
_NEAR = (1, 5, 25)  # nearest rows whose mean distance is a feature
_AGREES = 0.05  # of the range of a column: so near a number agrees with the target's
_FARTHEST = 8.0  # standard deviations to which features are cut: one that was never seen so large must not decide alone
_LEAST_NOISE = 0.02  # added to variances: of few shadow tables some features hardly vary
_USEFUL = 0.5  # of the strength of the best feature: weaker ones are left out


def synthetic(
    make: Make,
    records: object,
    target: dict[str, Any],
    *,
    claim: Claim,
    shadows: int = 30,
    runs: int = 100,
    alpha: float = 0.05,
    delta: float | None = None,
    seconds: float | None = None,
    jobs: int = 1,
    stop: bool = True,
    progress: Progress | None = None,
) -> TrainingAudit:
    """Audit a synthesizer by one record: tables that `make(records)` makes with and without `target` are told apart.

    `records` is a dict of columns or a data frame, `target` a record by column, the stranger the better: a rare
    value, an odd combination. From `shadows` pairs of tables a classifier learns how a table gives the target away:
    rows that agree with it in one, two or three columns, and how near rows come to it. Then `runs` further tables are
    judged by it, as by `audit.training`, which the result is of. `make` should draw a public number of rows: a table with
    as many rows as there were records says how many these were, and is rightly refuted.

    **Guarantee:** a true claim is called violated with probability at most `alpha`: the score is fixed before the
    tested tables are made. **Error:** one record and one classifier; another may leak more. **Reference:** Stadler,
    Oprisanu & Troncoso 2022; Houssiau et al. 2022 (TAPAS).

    >>> rows = {"age": [30, 40, 50] * 10}
    >>> found = synthetic(lambda table: dict(table), rows, {"age": 99}, claim=1.0, shadows=4, runs=60, alpha=1e-3)
    >>> found.verdict
    'violated'
    """
    pairs = count("shadows", shadows, 2)
    where = columns_of(records)
    if set(target) != set(where.values):
        raise InvalidData(f"the target needs a value for each of the columns {', '.join(where.values)}, and no other")
    sets = _sets(list(where.values))
    work, seen = track("shadow tables", 2 * pairs), []
    for inside in [True, False] * pairs:
        seen.append(_features(make(extended(records, [target] if inside else [])), target, where, sets))
        work.advance()
    score = _learned(np.array(seen), np.array([True, False] * pairs))
    found = training(
        make,
        [target],
        lambda table, record: score(_features(table, record, where, sets)),
        claim=claim, data=records, runs=runs, alpha=alpha, delta=delta, seconds=seconds, jobs=jobs, stop=stop,
        progress=progress,
    )  # fmt: skip
    return replace(found, trainings=found.trainings + 2 * pairs)


def _sets(names: list[str]) -> list[tuple[str, ...]]:
    """Sets of one, two and three columns, and all columns together; small ones first."""
    found = [each for size in (1, 2, 3) for each in combinations(names, size)][:_SETS]
    return found if tuple(names) in found else [*found, tuple(names)]


def _features(table: object, target: dict[str, Any], where: Columns, sets: list[tuple[str, ...]]) -> Array:
    """The features of a table: the shares of rows that agree with the target in each set of columns, and their roots (in
    which one row of many counts for more), the number of rows equal to it, how near the nearest come, and how many rows
    there are."""
    rows = columns_of(table)
    if set(rows.values) != set(where.values):
        raise InvalidData("the synthesizer must give a table with the columns of the records")
    apart = gaps(rows, target, where)
    many = max(len(next(iter(apart.values()))), 1)
    near = {name: each <= _AGREES for name, each in apart.items()}
    shares = [float(np.logical_and.reduce([near[name] for name in names]).sum()) / many for names in sets]
    exact = float(np.logical_and.reduce([each == 0.0 for each in apart.values()]).sum())
    total = np.sort(np.sum(list(apart.values()), axis=0))
    last = float(len(apart))
    nearest = [float(total[: min(k, len(total))].mean()) if total.size else last for k in _NEAR]
    return np.array([*shares, *np.sqrt(shares), exact, *nearest, float(many)])


def _learned(seen: Array, inside: Array) -> Callable[[Array], float]:
    """A linear score of features, standardised on the shadow tables and weighed by how well each tells these apart: the
    difference of its means over its variance."""
    middle, spread = seen.mean(axis=0), seen.std(axis=0)
    used = spread > 0.0
    unit = np.where(used, spread, 1.0)
    scaled = np.clip((seen - middle) / unit, -_FARTHEST, _FARTHEST) * used
    gap = scaled[inside].mean(axis=0) - scaled[~inside].mean(axis=0)
    noise = 0.5 * (scaled[inside].var(axis=0) + scaled[~inside].var(axis=0))
    strength = np.abs(gap) / np.sqrt(noise + _LEAST_NOISE)
    useful = strength >= _USEFUL * strength.max(initial=0.0)
    weights = np.where(useful, gap / (noise + _LEAST_NOISE), 0.0)
    return lambda features: float(np.clip((features - middle) / unit, -_FARTHEST, _FARTHEST) @ (weights * used))
