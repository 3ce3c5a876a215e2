"""Small tables of votes, and a small student, for examples and laws."""

from typing import Any

import numpy as np

from privet._numerics import Array
from privet.pate.votes import Votes


def moved(left: list[list[int]], right: list[list[int]]) -> tuple[Any, Any]:
    """Two tables of votes of as many teachers.

    >>> moved([[2, 1]], [[1, 2]])[0].teachers
    3
    """
    return Votes(left, teachers=sum(left[0])), Votes(right, teachers=sum(right[0]))


def usual_class(labels: Array) -> Array:
    """A student of two classes who looks at no row: everywhere the shares of the labels known so far.

    >>> usual_class(np.array([0, -1, 0, 1])).round(2).tolist()[0]
    [0.6, 0.4]
    """
    ones = (1.0 + (labels == 1).sum()) / (2.0 + (labels >= 0).sum())
    return np.tile([1.0 - ones, ones], (len(labels), 1))
