"""Columns of unit rows: clipped slopes whose sums are exact, counts of sizes, and bounds of contributions."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance
from privet.learn.losses import Loss
from privet.learn.problem import Records, Task
from privet.learn.solvers.on_records import check_reach
from privet.mechanisms import Sensitivity

STEPS = 2**24  # one clipped contribution in whole steps: sums of 2^29 records are exact in doubles, in any order
LEVELS = 32  # of squares of entries, each half of the one before: entries down to 2^-16 of the largest possible one
SIZES = 64  # half octaves of contributions: 2^-16 to 2^16 of a unit, the ends take the rest
_HALF_OCTAVE = math.sqrt(0.5)  # where an octave is cut in the middle, of logarithms
_BLOCK = 2**28  # entries of at most 2^24: their sum is below 2^53


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

    def _slope(self) -> Array:
        if self._slopes is None:
            self._slopes = np.asarray(self._loss.slope(self._margins, self._targets))
        return self._slopes

    def _steps(self, j: int, bound: float) -> Array:
        """The contributions to the slope along j, clipped to +-bound and cut towards zero, in steps of bound/STEPS."""
        where, entries = self._column(j)
        out = self._room if not self._sparse else None
        steps = np.multiply(self._slope()[where], entries, out=out)
        steps *= STEPS / bound
        np.clip(steps, -STEPS, STEPS, out=steps)
        return np.trunc(steps, out=steps)

    def clipped_sum(self, j: int, bound: float) -> float:
        """The sum of the clipped contributions over `bound`, exactly: one record moves it by at most 1."""
        return _exact_sum(self._steps(j, bound)) / STEPS

    def clipped_sums(self, bounds: Array) -> Array:
        """`clipped_sum` of every column."""
        return np.array([self.clipped_sum(j, float(bounds[j])) for j in range(self.size)])

    def levels(self, largest: Array) -> Array:
        """The number of entries of each column that have a square between 2^-(b+1) and 2^-b of that of the largest
        possible entry, for b < LEVELS and the columns that `largest` names; and last, how many records there are."""
        counts = [_counted(self._column(j)[1] / top) for j, top in enumerate(largest.tolist())]
        return np.append(np.concatenate(counts), float(self.count))

    def lengths(self, shares: Array) -> Array:
        """Of each record: the root of the mean square of its entries over `shares`. Not releasable."""
        total = np.zeros(self.count)
        with np.errstate(over="ignore"):
            for j in range(self.size):
                where, entries = self._column(j)
                total[where] += (entries / shares[j]) ** 2
        return np.sqrt(total / self.size)

    def sizes(self, lengths: Array, unit: float) -> Array:
        """The number of records that have a slope times length in each half octave around `unit`: those beyond count at
        the ends."""
        with np.errstate(all="ignore"):
            parts, exponents = np.frexp(np.abs(self._slope()) * lengths / unit)
        cells = 2 * exponents - (parts < _HALF_OCTAVE) + SIZES // 2
        cells = np.where(parts > 0.0, np.clip(cells, 0, SIZES - 1), 0)
        return np.bincount(cells, minlength=SIZES).astype(np.float64)


def _counted(ratios: Array) -> Array:
    """The number of ratios that have a square in each level below 1; what is 0, or below all levels, is left out."""
    parts, exponents = np.frexp(ratios)
    levels = np.maximum(-2 * exponents + (np.abs(parts) < _HALF_OCTAVE), 0)
    return np.bincount(levels[(parts != 0.0) & (levels < LEVELS)], minlength=LEVELS).astype(np.float64)


def _exact_sum(whole: Array) -> float:
    """The sum of whole numbers up to 2^24, without rounding: every partial sum of a block is below 2^53."""
    return float(sum(int(whole[start : start + _BLOCK].sum()) for start in range(0, len(whole), _BLOCK)))


def sum_reach(task: Task, norm: Any = "l2", each: Fraction = Fraction(1)) -> Sensitivity:
    """Of a sum to which a record adds at most `each` in absolute value: twice that where a record is exchanged.

    >>> from privet.privacy import Unit
    >>> float(sum_reach(Task(features=3, row_norm=1.0, unit=Unit("replace"))))
    2.0
    """
    ends = 2 if task.unit.relation == "replace" else 1
    return Sensitivity(each * ends * task.unit.group_size, norm=norm, unit=task.unit)


def clip_bounds(moments: Array, clip: float, rule: str, largest: Array) -> Array:
    """C_j: clip sqrt(M_j/sum M) (Lipschitz) or clip/sqrt p (uniform), never above what a contribution can be.

    >>> clip_bounds(np.array([3.0, 1.0]), 1.0, "uniform", np.ones(2)).round(4).tolist()
    [0.7071, 0.7071]
    >>> clip_bounds(np.array([3.0, 1.0]), 1.0, "uniform", np.full(2, np.inf)).round(4).tolist()
    [0.7071, 0.7071]
    """
    share = np.full(len(moments), 1.0 / len(moments)) if rule == "uniform" else moments / moments.sum()
    least = 1e-9 * np.minimum(clip, largest)  # a loss without a largest slope has no largest contribution either
    return np.maximum(np.minimum(clip * np.sqrt(share), largest), least)


def largest_entries(task: Task) -> Array:
    """The largest entry of a unit row in each column, from public facts.

    >>> largest_entries(Task(features=1, row_norm=1.0, intercept=False)).tolist()
    [1.0]
    """
    one = task.row_norm if task.scales is None else min(1.0, task.row_norm)
    entries = np.full(task.features, min(1.0, one / task.length * (1.0 + 1e-9)))
    rest = math.sqrt(max(0.0, 1.0 - (task.row_norm / task.length) ** 2)) * (1.0 + 1e-9)
    return np.append(entries, rest) if task.intercept else entries


def check_parts(parts: Iterable[tuple[str, Any, type, Sensitivity]]) -> None:
    """Refuse a part of another kind, for a smaller sensitivity or for another unit than a plan has."""
    for name, part, kind, needed in parts:
        made: Any = instance(name, part, kind)
        check_reach(name, made.sensitivity, needed)
