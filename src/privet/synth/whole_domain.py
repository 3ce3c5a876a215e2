"""Models of all columns together, cell by cell: for domains that can be written out."""

from collections.abc import Sequence
from math import prod

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.synth.graph import GraphModel, TreePlan
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task

MOST_CELLS = 10**7  # of a table that is written out, in every round again: memory and time only


def check_cells(sizes: Sequence[int], instead: str) -> int:
    """The number of combinations, refused where they cannot be written out.

    >>> check_cells((10, 10), "AIM()")
    100
    """
    cells = prod(sizes)
    if cells > MOST_CELLS:
        raise InvalidParameter(
            f"the columns have {cells:.3g} combinations, and at most {MOST_CELLS:,} are written out: take {instead}, which "
            "never lists them, or fewer columns"
        )
    return cells


def whole_model(task: Task, cells: Array, total: float, method: str) -> SyntheticModel:
    """The model with these shares; a combination without any stays empty."""
    shares = np.asarray(cells, dtype=float).reshape(task.sizes)
    every = tuple(range(len(task.sizes)))
    held = shares > 0.0
    plan = TreePlan(task.sizes, [every], {every: held})
    logs = np.log(np.where(held, shares, 1.0))
    return SyntheticModel(task.coded.coding, GraphModel(plan, [logs], total), method=method)
