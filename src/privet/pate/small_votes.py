"""Small tables of votes for examples and laws."""

from typing import Any

from privet.pate.votes import Votes


def moved(left: list[list[int]], right: list[list[int]]) -> tuple[Any, Any]:
    """Two tables of votes of as many teachers.

    >>> moved([[2, 1]], [[1, 2]])[0].teachers
    3
    """
    return Votes(left, teachers=sum(left[0])), Votes(right, teachers=sum(right[0]))
