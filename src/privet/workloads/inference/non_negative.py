"""Cells that cannot be negative, in the norm of what was asked."""

import numpy as np

from privet._numerics import Array
from privet.workloads.inference.isotonic import isotonic
from privet.workloads.prefix import Prefix
from privet.workloads.workload import Workload


def non_negative(histogram: Array, workload: Workload) -> Array:
    """The non-negative cells nearest to these in the workload's norm: the sum of squared changes of all its answers.

    Cutting cells at 0 instead makes sums of them worse: every cut only adds. In this norm the error over the workload
    never grows, if the true cells are non-negative. For prefix sums it is isotonic regression of the answers.

    **Reference:** proof note workloads/inference.

    >>> non_negative(np.array([2.0, -1.0, 3.0]), Prefix(3)).tolist()
    [1.5, 0.0, 2.5]
    """
    cells = np.asarray(histogram, dtype=float).reshape(-1)
    if isinstance(workload, Prefix):
        return np.diff(np.maximum(isotonic(np.cumsum(cells)), 0.0), prepend=0.0)
    from scipy.optimize import nnls

    values, vectors = np.linalg.eigh(workload.gram())
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return np.asarray(nnls(root, root @ cells)[0])
