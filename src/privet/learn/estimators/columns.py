"""The common ground of estimators on columns: public bounds as a task, and moments in the units of the data."""

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.learn.estimators.linear import facts_of_rows
from privet.learn.problem import NoTarget, Target, Task
from privet.privacy import Unit


def column_task(bounds: object, columns: int, unit: Unit, target: Target | None = None) -> Task:
    """Columns within public bounds, and what is predicted. Missing bounds are an error."""
    if bounds is None:
        raise InvalidParameter(
            "give bounds=(low, high), public bounds of the columns: read off the data they would tell"
        )
    centers, scales, norm = facts_of_rows(None, bounds, columns)
    return Task(
        features=columns,
        row_norm=norm,
        intercept=False,
        centers=centers,
        scales=scales,
        target=NoTarget() if target is None else target,
        unit=unit,
    )


def row_task(row_norm: object, bounds: object, columns: int, unit: Unit, *, intercept: bool) -> Task:
    """Rows within a ball: of `row_norm` around 0, or around the middle of a box and as large as the box. Columns keep their
    proportions."""
    if bounds is None:
        return Task(
            features=columns, row_norm=facts_of_rows(row_norm, None, columns)[2], intercept=intercept, unit=unit
        )
    centers, halves, _ = facts_of_rows(None, bounds, columns)
    norm = float(np.linalg.norm(halves)) if row_norm is None else facts_of_rows(row_norm, None, columns)[2]
    return Task(features=columns, row_norm=norm, intercept=intercept, centers=centers, unit=unit)


def moments(noisy: Array, task: Task, floor: float) -> tuple[Array, Array, Array]:
    """Counts, means and variances of each block, from noisy moments of columns in [-1, 1]: means within the bounds,
    variances between floor (a share of the squared public range) and what the bounds allow."""
    columns = task.features
    counts = np.maximum(noisy[:, 0], 1.0)
    means = np.clip(noisy[:, 1 : 1 + columns] / counts[:, None], -1.0, 1.0)
    second = noisy[:, 1 + columns :] / counts[:, None] + 1.0
    variances = np.clip(second - means**2, max(4.0 * floor, 1e-12), 1.0)
    centers, scales = np.array(task.centers), np.array(task.scales)
    return np.maximum(noisy[:, 0], 0.0), centers + scales * means, np.asarray(scales**2 * variances)
