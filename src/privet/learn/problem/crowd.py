"""Made-up records for examples: hundreds of ordinary ones and one that stands out."""

import numpy as np

from privet._numerics import Array
from privet.learn.problem.array_records import ArrayRecords


def crowd(*, labels: bool = False) -> tuple[ArrayRecords, ArrayRecords]:
    """Two neighbouring inputs: 300 rows of length at most .45 whose targets follow a line, with and without one of length 1
    far off the line. Numbers that steer a fit are far from the ends of their ranges here, and the last record moves them.

    `labels` gives the classes 0 and 1 in the place of targets between -1 and 1.

    >>> with_it, without = crowd()
    >>> [sum(len(chunk.rows) for chunk in each.chunks()) for each in (with_it, without)]
    [301, 300]
    """
    place = np.arange(300)
    turn = np.pi * place * (3.0 - 5.0**0.5)  # the golden angle: even in all directions, without coins
    rows = 0.45 * np.sqrt((place % 20 + 0.5) / 20.0)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    targets = rows @ [0.5, -0.3] + 0.05 * np.tile([1.0, -1.0, -1.0, 1.0], 75)
    rows, targets = np.vstack([rows, [[1.0, 0.0]]]), np.append(targets, -1.0)
    found: Array = (targets > 0.0).astype(int) if labels else targets
    return ArrayRecords(rows, found), ArrayRecords(rows[:-1], found[:-1])
