"""The range of columns within public bounds: two noisy quantiles of each."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array, up
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.problem import ArrayRecords, NoTarget, Records, Task
from privet.learn.problem.array_records import dense
from privet.learn.solvers.on_records import OnRecords
from privet.mechanisms import Algorithm, Example, Quantile, Source, register, smallest_scale
from privet.privacy import Composed, ExponentialLoss, Guarantee, PrivacyLoss, Repeated, Unit

_BOX = (-1.0, 1.0)  # columns, after their public bounds were moved to it
_STEP = 2.0**-15  # 2^16 steps from end to end


@final
@register
@dataclass(frozen=True, kw_only=True)
class ColumnRanges(OnRecords, Algorithm[Any, Any]):
    """A low and a high quantile of every column, with columns moved to [-1, 1] by public bounds.

    What lies outside of the bounds counts as the bound; NaN is left out, or counts as the lower bound under replace.

    **Guarantee:** the composition of two quantiles for each column.
    **Sensitivity:** of a score: the larger of q and 1 - q under add/remove, 1 under replace.
    **Reference:** Smith 2011.
    **Proof:** docs/proofs/learn/column_ranges.md.
    """

    name = "column_ranges"

    task: Task
    low: Quantile
    high: Quantile
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.task.target, NoTarget) or self.task.centers is None or self.task.scales is None:
            raise InvalidParameter("ranges are those of columns with public bounds: give bounds=(low, high)")
        for part in (instance("low", self.low, Quantile), instance("high", self.high, Quantile)):
            if part.unit != self.task.unit or part.bounds != _BOX:
                raise InvalidParameter("the quantiles must be of columns within [-1, 1], and for the unit of the task")
        if not self.low.q < self.high.q:
            raise InvalidParameter("the low quantile must be below the high one")

    @classmethod
    def planned(cls, task: Task, tail: float, target: Guarantee) -> "ColumnRanges":
        """The least noise for the target, the same for all quantiles: those of shares `tail` and 1 - `tail`."""
        many = 2 * task.features
        ratio = smallest_scale(lambda ratio: Repeated(ExponentialLoss(up(2 / Fraction(ratio))), many), target)
        facts: dict[str, Any] = {"bounds": _BOX, "step": _STEP, "unit": task.unit}
        parts = [Quantile(q=q, scale=1.0, **facts) for q in (_share(tail), 1 - _share(tail))]
        scales = [up(Fraction(ratio) * part.sensitivity) for part in parts]
        low, high = (Quantile(q=part.q, scale=scale, **facts) for part, scale in zip(parts, scales, strict=True))
        return cls(task=task, low=low, high=high, at=target.delta or None)

    @property
    def loss(self) -> PrivacyLoss:
        both = (Repeated(part.loss, self.task.features) for part in (self.low, self.high))
        return Composed(tuple(both))

    def _run(self, prepared: Records, source: Source) -> Array:
        """Lows and highs, in the units of the data."""
        columns = exact_columns(self.task, prepared)
        ends = [
            [float(part.release(column, source=source).value) for column in columns] for part in (self.low, self.high)
        ]
        centers, scales = np.array(self.task.centers), np.array(self.task.scales)
        return np.asarray(centers + scales * np.sort(ends, axis=0))  # noise may have turned them around

    @classmethod
    def examples(cls) -> Iterable[Example]:
        one = Task(features=1, row_norm=1.0, intercept=False, centers=(0.0,), scales=(1.0,))
        other_unit = replace(one, unit=Unit("replace"))
        rows = np.array([[-1.0], [-1.0], [1.0]])
        pair = ArrayRecords(rows), ArrayRecords(rows[1:])
        plain = cls.planned(one, 0.25, Guarantee(1.0))
        yield Example(plain, *pair, Guarantee(1.0), cost="costly", detects=0.25)
        moved = cls.planned(other_unit, 0.25, Guarantee(rho=0.1))
        other = ArrayRecords(np.array([[1.0], [-1.0], [1.0]]))
        yield Example(moved, pair[0], other, Guarantee(rho=0.1), cost="costly", detects=0.25)
        many = np.repeat([[-0.5], [0.5]], [50, 150], axis=0)  # a quarter lies low, until one more does
        low, high = ArrayRecords(many), ArrayRecords(np.vstack([many[1:], [[0.5]]]))
        sides = cls.planned(other_unit, 0.25, Guarantee(1.0))
        yield Example(sides, low, high, Guarantee(1.0), cost="costly", detects=0.25)


def _share(tail: float) -> Fraction:
    return Fraction(tail).limit_denominator(10**6)


def exact_columns(task: Task, records: Records) -> Array:
    """The columns moved to [-1, 1], one a row; each number comes from its own record alone: not releasable."""
    centers, scales = np.array(task.centers), np.array(task.scales)
    with np.errstate(all="ignore"):  # a warning would tell about values
        parts = [((dense(chunk.rows) - centers) / scales).T for chunk in records.chunks()]
    return np.concatenate([np.empty((task.features, 0)), *parts], axis=1)
