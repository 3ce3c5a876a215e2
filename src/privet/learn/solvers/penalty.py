"""Penalties of coefficients: l1, l2 and a box, with their proximal maps on unit rows."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet._validate import at_least, set_frozen
from privet.errors import InvalidParameter
from privet.learn.problem import Interval, Task

_ROUNDS = 1_000  # of post-processing: what is left by then is far below the noise
FARTHEST = 1e6  # coefficients on unit rows are kept within this, so that margins stay finite


@final
@dataclass(frozen=True)
class Penalty:
    """A penalty that is added to the mean loss, in the units of the data: `l1` |w|_1 + `l2`/2 |w|_2^2, and a box for
    every w_j.

    The intercept is free of it.

    >>> Penalty(l1=0.1).l1
    0.1
    """

    l1: float = 0.0
    l2: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        set_frozen(self, l1=at_least("l1", self.l1, 0.0), l2=at_least("l2", self.l2, 0.0))
        low, high = float(self.low), float(self.high)
        if not low <= 0.0 <= high:
            raise InvalidParameter("the box must hold 0: low <= 0 <= high")
        set_frozen(self, low=low, high=high)

    def on_unit_rows(self, task: Task, records: float) -> "UnitPenalty":
        """The same penalty for sums over that many records, unit rows, and targets as they are encoded.

        A coefficient v on unit rows is v `scale` `half` in the units of the data, where squared losses are `half`^2 times
        as large. So in units of the encoded loss l1 |v| has the factor `scale`/`half`, and l2 v^2/2 the factor `scale`^2.
        """
        scale = np.full(task.features, 1.0 / task.length)
        if task.scales is not None:
            scale = scale / np.array(task.scales)
        half = task.target.half if isinstance(task.target, Interval) else 1.0  # targets are encoded in units of it
        l1, l2 = records * self.l1 * scale / half, records * self.l2 * scale**2
        with np.errstate(invalid="ignore"):
            low, high = np.fmax(-FARTHEST, self.low / (scale * half)), np.fmin(FARTHEST, self.high / (scale * half))
        if task.intercept:
            l1, l2 = np.append(l1, 0.0), np.append(l2, 0.0)
            low, high = np.append(low, -FARTHEST), np.append(high, FARTHEST)
        return UnitPenalty(l1, l2, low, high)


NO_PENALTY = Penalty()


class UnitPenalty(NamedTuple):
    """A penalty for each coefficient on unit rows, for sums over records."""

    l1: Array
    l2: Array
    low: Array
    high: Array

    def prox(self, value: Any, step: Any, j: Any = slice(None)) -> Any:
        """The v with the least (v - value)^2/(2 step) + the penalty of coordinate j. It never moves two values further
        apart."""
        small = np.sign(value) * np.maximum(np.abs(value) - step * self.l1[j], 0.0) / (1.0 + step * self.l2[j])
        return np.clip(small, self.low[j], self.high[j])


def least_penalised(free: Array, gram: Array, penalty: UnitPenalty) -> Array:
    """The v with the least (v - free)^T gram (v - free)/2 + penalty: the penalised regression, where `free` solves the
    normal equations. Coordinate by coordinate, to nine digits or 1,000 rounds.

    A noisy Gram matrix may have eigenvalues that are negative, which no data have: those are taken to be tiny.

    >>> none, wide = np.zeros(2), np.full(2, FARTHEST)
    >>> least_penalised(np.array([2.0, 0.1]), np.diag([4.0, 4.0]), UnitPenalty(none + 2.0, none, -wide, wide)).tolist()
    [1.5, 0.0]
    """
    values, turn = np.linalg.eigh(gram)
    if values[-1] <= 0.0:  # nothing was seen: what is penalised is 0
        return np.where(penalty.l1 + penalty.l2 > 0.0, 0.0, free)
    seen = (turn * np.maximum(values, 1e-9 * values[-1])) @ turn.T
    found = np.clip(free, penalty.low, penalty.high)
    slope, steps = seen @ (found - free), 1.0 / np.diagonal(seen)
    for _ in range(_ROUNDS):
        moved = 0.0
        for j, step in enumerate(steps):
            change = penalty.prox(found[j] - step * slope[j], step, j) - found[j]
            if change != 0.0:
                found[j] += change
                slope += change * seen[j]
                moved = max(moved, abs(float(change)))
        if moved <= 1e-9 * float(np.abs(found).max(initial=0.0)):
            break
    return found
