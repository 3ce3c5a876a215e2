"""Columns of unit rows: clipped gradients whose sums are exact, second moments, and penalties."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array, root_up
from privet._validate import at_least, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn.losses import Loss
from privet.learn.problem import Interval, Records, Task
from privet.mechanisms import Gaussian
from privet.mechanisms.gaussian import analytic_noise_multiplier
from privet.mechanisms.sensitivity import Sensitivity
from privet.privacy import Guarantee

STEPS = 2**24  # one clipped contribution in whole steps: sums of 2^29 records are exact in doubles, in any order
FARTHEST = 1e6  # coefficients on unit rows are kept within this, so that margins stay finite
_BLOCK = 2**28


@final
@dataclass(frozen=True)
class Penalty:
    """What is added to the mean loss, in the units of the data: `l1` |w|_1 + `l2`/2 |w|_2^2, and a box for every w_j.

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
        """The same penalty for sums over that many records, unit rows, and targets as they are encoded."""
        per = np.full(task.features, 1.0 / task.length)  # what a coefficient on unit rows is in the units of the data
        if task.scales is not None:
            per = per / np.array(task.scales)
        half = task.target.half if isinstance(task.target, Interval) else 1.0
        one, two = records * self.l1 * per / half, records * self.l2 * per**2
        with np.errstate(invalid="ignore"):
            low, high = np.fmax(-FARTHEST, self.low / (per * half)), np.fmin(FARTHEST, self.high / (per * half))
        if task.intercept:
            one, two = np.append(one, 0.0), np.append(two, 0.0)
            low, high = np.append(low, -FARTHEST), np.append(high, FARTHEST)
        return UnitPenalty(one, two, low, high)


NO_PENALTY = Penalty()


class UnitPenalty(NamedTuple):
    """A penalty for each coefficient on unit rows, for sums over records."""

    l1: Array
    l2: Array
    low: Array
    high: Array

    def prox(self, value: Any, step: Any, j: Any = slice(None)) -> Any:
        """The minimum over v of (v - value)^2/(2 step) + the penalty of coordinate j: never moves apart two values."""
        small = np.sign(value) * np.maximum(np.abs(value) - step * self.l1[j], 0.0) / (1.0 + step * self.l2[j])
        return np.clip(small, self.low[j], self.high[j])


@final
class Columns:
    """Unit rows, one column after the other, with the margins at the current coefficients: not releasable.

    All that is computed for a record is computed element by element, from that record alone: where a record stands among
    the others, and who they are, does not change a bit of it.
    """

    def __init__(self, task: Task, loss: Loss, records: Records) -> None:
        chunks = list(task.unit_chunks(records))
        self._loss = loss
        self._targets = np.concatenate([chunk.targets for chunk in chunks]) if chunks else np.zeros(0)
        rows = [chunk.rows for chunk in chunks]
        self.count, self.size = len(self._targets), task.dimension
        self._sparse = bool(rows) and hasattr(rows[0], "tocsc")
        if self._sparse:
            from scipy import sparse

            self._held = sparse.vstack(rows, format="csc")
        else:
            self._held = np.empty((self.count, self.size), order="F")
            at = 0
            for piece in rows:
                self._held[at : at + len(piece)] = piece
                at += len(piece)
        del chunks, rows
        self._margins, self._room = np.zeros(self.count), np.empty(self.count)
        self._slopes: Array | None = None

    def _column(self, j: int) -> tuple[Any, Array]:
        """Which records, and their entries."""
        if not self._sparse:
            return slice(None), self._held[:, j]
        piece = slice(self._held.indptr[j], self._held.indptr[j + 1])
        return self._held.indices[piece], self._held.data[piece]

    def move(self, j: int, by: float) -> None:
        """Change coefficient j."""
        if by == 0.0:
            return
        where, entries = self._column(j)
        if self._sparse:
            self._margins[where] += by * entries
        else:
            np.multiply(entries, by, out=self._room)
            self._margins += self._room
        self._slopes = None

    def shrink(self, by: float) -> None:
        """Multiply all coefficients."""
        self._margins *= by
        self._slopes = None

    def place(self, coefficients: Array) -> None:
        """Start from these coefficients."""
        self._margins[:] = 0.0
        for j in np.flatnonzero(coefficients).tolist():
            self.move(j, float(coefficients[j]))
        self._slopes = None

    def _steps(self, j: int, bound: float) -> Array:
        """The contributions to the slope along j, clipped to +-bound and cut towards zero, in steps of bound/STEPS."""
        if self._slopes is None:
            self._slopes = self._loss.slope(self._margins, self._targets)
        where, entries = self._column(j)
        out = self._room if not self._sparse else None
        steps = np.multiply(self._slopes[where], entries, out=out)
        steps *= STEPS / bound
        np.clip(steps, -STEPS, STEPS, out=steps)
        return np.trunc(steps, out=steps)

    def clipped_sum(self, j: int, bound: float) -> float:
        """The sum of the clipped contributions over `bound`, exactly: one record moves it by at most 1."""
        return _exact_sum(self._steps(j, bound)) / STEPS

    def clipped_sums(self, bounds: Array) -> Array:
        """`clipped_sum` of every column."""
        return np.array([self.clipped_sum(j, float(bounds[j])) for j in range(self.size)])

    def shares_within(self, bounds: Array, share: float) -> float:
        """The sum over records of (which share of its contributions lies within the bounds) - share, exactly."""
        inside = np.zeros(self.count)
        for j in range(self.size):
            where, _ = self._column(j)
            if self._sparse:
                inside[where] -= np.abs(self._steps(j, float(bounds[j]))) >= STEPS
            else:
                inside -= np.abs(self._steps(j, float(bounds[j]))) >= STEPS
        return _exact_sum(np.trunc((inside / self.size + 1.0 - share) * STEPS)) / STEPS

    def moments(self) -> Array:
        """The sums of squares of every column, and last what is missing to 1 in each record, exactly.

        A record's part is at least 0 in every place and adds up to 1.
        """
        found = [_exact_sum(np.trunc(self._column(j)[1] ** 2 * STEPS)) for j in range(self.size)]
        return np.array([*found, self.count * float(STEPS) - sum(found)]) / STEPS


def _exact_sum(whole: Array) -> float:
    """The sum of whole numbers up to 2^24, without rounding: every partial sum of a block is below 2^53."""
    return float(sum(int(whole[start : start + _BLOCK].sum()) for start in range(0, len(whole), _BLOCK)))


def moments_reach(task: Task) -> Sensitivity:
    """l2, of `Columns.moments`: parts of records have length at most 1, and two of them are at most sqrt 2 apart.

    >>> from privet.privacy import Unit
    >>> tasks = [Task(features=3, row_norm=1.0, unit=Unit(relation)) for relation in ("add_remove", "replace")]
    >>> [round(float(moments_reach(task)), 6) for task in tasks]
    [1.0, 1.414214]
    """
    one = Fraction(root_up(2)) if task.unit.relation == "replace" else Fraction(1)
    return Sensitivity(one * task.unit.group_size, norm="l2", unit=task.unit)


def sum_reach(task: Task, norm: Any = "l2", each: Fraction = Fraction(1)) -> Sensitivity:
    """Of a sum to which a record adds at most `each` in absolute value: twice that where a record is exchanged.

    >>> from privet.privacy import Unit
    >>> float(sum_reach(Task(features=3, row_norm=1.0, unit=Unit("replace"))))
    2.0
    """
    ends = 2 if task.unit.relation == "replace" else 1
    return Sensitivity(each * ends * task.unit.group_size, norm=norm, unit=task.unit)


def gaussian_mu(target: Guarantee, name: str) -> float:
    """The mu of normal noise that keeps the promise.

    >>> round(gaussian_mu(Guarantee(1.0, 1e-6), "this"), 6)
    0.236704
    """
    if target.mu is not None:
        return target.mu * (1.0 - 1e-9)
    if target.rho is not None:
        return math.sqrt(2.0 * target.rho) * (1.0 - 1e-9)
    assert target.epsilon is not None
    if target.delta == 0.0:
        raise NoGuarantee(f"{name} has normal noise, which has no pure guarantee: give a delta > 0")
    return (1.0 - 1e-9) / analytic_noise_multiplier(target.epsilon, target.delta)


@final
@dataclass(frozen=True)
class Curvatures:
    """What is known about the columns when steps are taken: safe second moments, and how many records there are.

    >>> Curvatures.released(np.array([50.0, 1.0, 49.0]), 1.0, np.array([1.0, 0.1])).moments.round(2).tolist()
    [52.0, 1.02]
    """

    moments: Array
    records: float

    @classmethod
    def released(cls, noisy: Array, sigma: float, largest: Array) -> "Curvatures":
        """From the released sums: two standard deviations above, and at least four, so that no step is far too long; but
        no more than that many records can add up to whose entries are bounded by `largest`."""
        records = max(1.0, float(noisy.sum()))
        most = (records + sigma * math.sqrt(len(noisy))) * largest**2
        return cls(np.minimum(np.maximum(noisy[:-1] + 2.0 * sigma, 4.0 * sigma), most), records)


def clip_bounds(moments: Array, clip: float, rule: str, largest: Array) -> Array:
    """C_j: clip sqrt(M_j/sum M) (Lipschitz) or clip/sqrt p (uniform), never above what a contribution can be.

    >>> clip_bounds(np.array([3.0, 1.0]), 1.0, "uniform", np.ones(2)).round(4).tolist()
    [0.7071, 0.7071]
    """
    share = np.full(len(moments), 1.0 / len(moments)) if rule == "uniform" else moments / moments.sum()
    return np.maximum(np.minimum(clip * np.sqrt(share), largest), 1e-9 * largest)


def largest_entries(task: Task) -> Array:
    """How large an entry of a unit row can be in each column, from public facts.

    >>> largest_entries(Task(features=1, row_norm=1.0, intercept=False)).tolist()
    [1.0]
    """
    one = task.row_norm if task.scales is None else min(1.0, task.row_norm)
    entries = np.full(task.features, min(1.0, one / task.length * (1.0 + 1e-9)))
    rest = math.sqrt(max(0.0, 1.0 - (task.row_norm / task.length) ** 2)) * (1.0 + 1e-9)
    return np.append(entries, rest) if task.intercept else entries


def moments_part(task: Task, mu: float) -> Gaussian:
    """The release of the column moments at this price."""
    return Gaussian.for_budget(mu=mu, sensitivity=moments_reach(task))
