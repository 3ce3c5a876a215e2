"""Counts, sums and squares of columns within public bounds, class by class, in one noisy vector."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.problem import ArrayRecords, Classes, NoTarget, Records, Task
from privet.learn.problem.array_records import dense
from privet.learn.solvers.equations import reach
from privet.learn.solvers.exact_totals import STEPS, Total, whole
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.mechanisms import Algorithm, Ball, Example, Gaussian, Sensitivity, Source, register
from privet.privacy import Guarantee, PrivacyLoss, Unit

_TILE = 2**10  # rows at a time: memory and speed only


def count_weight(columns: int, unit: Unit) -> int:
    """The weight of a count beside sums and squares, a whole number.

    Everything else is divided by a count, and all columns share it. Under replace a weight of up to sqrt(d) costs nothing:
    a record that turns from one end of the bounds to the other moves as far. Under add/remove one of sqrt(d)/2 makes the
    rest noisier by an eighth.

    >>> count_weight(9, Unit("replace")), count_weight(16, Unit()), count_weight(1, Unit())
    (3, 2, 1)
    """
    return max(1, math.isqrt(columns if unit.relation == "replace" else columns // 4))


def moment_reach(columns: int, classes: int, unit: Unit) -> Sensitivity:
    """The distance by which (c, z_j, z_j^2 - 1) of all columns, each in the block of its class, moves between neighbours,
    in l2; c is `count_weight`.

    >>> float(moment_reach(4, 1, Unit())) ** 2 >= 5.0, float(moment_reach(4, 2, Unit("replace")))
    (True, 4.0)
    """
    alone = count_weight(columns, unit) ** 2 + columns
    apart = 2 * alone if classes > 1 else alone  # into another class, or to no class at all
    return reach(alone, max(apart, 4 * columns), unit)


@final
@register
@dataclass(frozen=True, kw_only=True)
class ColumnMoments(OnRecords, Algorithm[Any, Any]):
    """Noisy count, sums of z and of z^2 - 1 for every class, with columns z moved to [-1, 1] by public bounds.

    A record touches the numbers of its own class only. Records with NaN, infinity or an unknown label touch none.

    **Guarantee:** that of the one release.
    **Sensitivity:** l2, with counts times c: sqrt(c^2 + d) under add/remove; sqrt(max(2 c^2 + 2 d, 4 d)) under replace.
    **Reference:** handbooks of moments; Vaidya et al. 2013 for naive Bayes.
    **Proof:** docs/proofs/learn/column_moments.md.
    """

    name = "column_moments"
    one_pass = by_totals = True

    task: Task
    noise: Gaussian | Ball
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, Gaussian, Ball)
        if not isinstance(self.task.target, Classes | NoTarget):
            raise InvalidParameter("moments are those of classes, or of all records")
        if self.task.centers is None or self.task.scales is None:
            raise InvalidParameter("moments need public bounds of the columns: give bounds=(low, high)")
        needed = moment_reach(self.task.features, self.classes, self.task.unit)
        check_reach("noise", self.noise.sensitivity, needed)

    @classmethod
    def planned(cls, task: Task, target: Guarantee) -> "ColumnMoments":
        """The least noise for the target: normal, or for a pure epsilon that of `Ball`."""
        pure = target.epsilon is not None and target.delta == 0.0
        bound = moment_reach(task.features, _classes(task), task.unit)
        made: Gaussian | Ball = (Ball if pure else Gaussian).for_budget(
            epsilon=target.epsilon, delta=target.delta, rho=target.rho, mu=target.mu, sensitivity=bound
        )
        return cls(task=task, noise=made, at=made.at)

    @property
    def classes(self) -> int:
        """The number of blocks."""
        return _classes(self.task)

    @property
    def loss(self) -> PrivacyLoss:
        return self.noise.loss

    @property
    def spread(self) -> float:
        """The standard deviation of the noise in each sum and each sum of squares."""
        if isinstance(self.noise, Gaussian):
            return self.noise.standard_deviation
        return self.noise.scale * math.sqrt(self.classes * (1 + 2 * self.task.features) + 1)

    @property
    def count_spread(self) -> float:
        """The standard deviation of the noise in each count."""
        return self.spread / count_weight(self.task.features, self.task.unit)

    def _run(self, prepared: Records, source: Source) -> Array:
        totals = [Fraction(int(each), STEPS**2) for each in exact_moments(self.task, prepared).flat]
        noisy = np.asarray(self.noise.release(totals, source=source).value)
        noisy = noisy.reshape(self.classes, 1 + 2 * self.task.features).copy()
        noisy[:, 0] /= count_weight(self.task.features, self.task.unit)
        return noisy

    @classmethod
    def examples(cls) -> Iterable[Example]:
        one = Task(features=1, row_norm=1.0, intercept=False, centers=(0.0,), scales=(1.0,))
        plain = replace(one, target=Classes((0, 1)))
        rows, labels = np.array([[1.0], [-1.0]]), np.array([0, 1])
        pair = ArrayRecords(rows, labels), ArrayRecords(rows[:1], labels[:1])
        made = cls.planned(plain, Guarantee(1.0, 1e-5))
        yield Example(made, *pair, Guarantee(1.0, 1e-5), cost="costly", detects=0.25)
        moved = cls.planned(replace(one, unit=Unit("replace")), Guarantee(1.0))
        yield Example(
            moved, ArrayRecords(rows[:1]), ArrayRecords(rows[1:]), Guarantee(1.0), cost="costly", detects=0.25
        )


def _classes(task: Task) -> int:
    return len(task.target.labels) if isinstance(task.target, Classes) else 1


def box_tiles(task: Task, records: Records) -> Iterator[tuple[Array, Array]]:
    """Columns moved to [-1, 1] and clipped, in whole steps, with the number of their class; bad records are left out: not
    releasable."""
    centers, scales = np.array(task.centers), np.array(task.scales)
    for chunk in records.chunks():
        for start in range(0, chunk.rows.shape[0], _TILE):
            piece = slice(start, start + _TILE)
            rows = dense(chunk.rows[piece])
            with np.errstate(all="ignore"):  # a warning would tell about values
                good = np.isfinite(rows).all(axis=1)
                steps = whole((rows[good] - centers) / scales)
            places = np.zeros(len(rows), dtype=np.int64)
            if isinstance(task.target, Classes):
                encoded, unknown = task.target.encoded(np.asarray(chunk.targets[piece]))
                places = (encoded > 0.0).astype(np.int64) if len(task.target.labels) == 2 else encoded.astype(np.int64)
                steps, good = steps[~unknown[good]], good & ~unknown
            yield steps, places[good]


def exact_moments(task: Task, records: Records) -> Any:
    """Count (times its weight), sums and squares (less 1) of every class in steps of 2^-42: not releasable."""
    made = records.exact_added(lambda piece: _moments(task, piece))
    made[:, 0] *= count_weight(task.features, task.unit)  # here, where numbers are Python's: no tile gets too large
    return made


def _moments(task: Task, records: Records) -> Any:
    classes, columns = _classes(task), task.features
    total = Total((classes, 1 + 2 * columns))
    for steps, places in box_tiles(task, records):
        member = (places[:, None] == np.arange(classes)).astype(np.float64)
        counts = member.sum(axis=0) * float(STEPS**2)
        squares = member.T @ np.square(steps) - counts[:, None]
        total.add(np.concatenate([counts[:, None], member.T @ steps * STEPS, squares], axis=1))
    return total.exact_sum()
