"""Noisy Lloyd: a few rounds of k-means from a public start, one noisy vector a round."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import count, instance
from privet.errors import InvalidParameter
from privet.learn.problem import ArrayRecords, NoTarget, Records, Task
from privet.learn.solvers.budget import whole_mu
from privet.learn.solvers.equations import reach
from privet.learn.solvers.exact_totals import STEPS, Total, exact_margins, tiles
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.mechanisms import Algorithm, Ball, Example, Gaussian, Source, register
from privet.privacy import Guarantee, PrivacyLoss, Repeated, Unit

_CANDIDATES = 64  # public points for each cluster, of which starts are chosen: accuracy and time
_MOST = 2**16  # public points that all rounds together may begin from: memory and time, where no noise is small enough
_ROUNDS = 20  # of moving public points: they are even enough by then


@final
@register
@dataclass(frozen=True, kw_only=True)
class NoisyLloyd(OnRecords, Algorithm[Any, Any]):
    """Centres of clusters of unit rows. Each round counts and adds up the rows nearest to each centre, in one noisy vector.

    A cluster that looks empty starts again at a public point. Where columns were divided by public scales, the nearest
    centre is the nearest in the units of the data.

    **Guarantee:** `rounds` releases of the same noise, composed.
    **Sensitivity:** l2: a row of length at most 1 and its count: sqrt2 under add/remove; 2 under replace.
    **Reference:** Blum, Dwork, McSherry & Nissim 2005; Su et al. 2016 for the start.
    **Proof:** docs/proofs/learn/noisy_lloyd.md.
    """

    name = "noisy_lloyd"
    by_totals = True

    task: Task
    clusters: int
    rounds: int
    noise: Gaussian | Ball
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, Gaussian, Ball)
        if self.task.intercept or not isinstance(self.task.target, NoTarget):
            raise InvalidParameter("clusters are those of rows alone: a task without intercept and target")
        check_reach("noise", self.noise.sensitivity, reach(2, 4, self.task.unit))
        if self.clusters * self.rounds > _MOST:
            raise InvalidParameter(f"clusters times rounds must be at most {_MOST:,}")

    @classmethod
    def planned(cls, task: Task, clusters: int, rounds: int, target: Guarantee) -> "NoisyLloyd":
        """Equal shares for all rounds."""
        bound, many = reach(2, 4, task.unit), count("rounds", rounds, 1)
        made: Gaussian | Ball
        if target.epsilon is not None and target.delta == 0.0:
            made = Ball.for_budget(epsilon=target.share(1.0 / many).epsilon, sensitivity=bound)
        else:
            made = Gaussian.for_budget(mu=whole_mu(target, "NoisyLloyd") / math.sqrt(many), sensitivity=bound)
        return cls(task=task, clusters=clusters, rounds=many, noise=made, at=target.delta or None)

    @property
    def loss(self) -> PrivacyLoss:
        return Repeated(self.noise.loss, self.rounds)

    def _run(self, prepared: Records, source: Source) -> Array:
        columns = self.task.features
        centers = spread_points(self.clusters, columns)
        first = _CANDIDATES * self.clusters  # behind those that the centres were chosen from
        unused = list(even_points(first, first + self.clusters * self.rounds, columns))
        size = self.clusters * (1 + columns)
        blur = self.noise.scale * (1.0 if isinstance(self.noise, Gaussian) else math.sqrt(size + 1.0))
        for _ in range(self.rounds):
            totals = [Fraction(int(each), STEPS**2) for each in exact_clusters(self.task, prepared, centers).flat]
            noisy = np.asarray(self.noise.release(totals, source=source).value).reshape(self.clusters, 1 + columns)
            for k, (many, *summed) in enumerate(noisy.tolist()):
                if many <= blur:
                    centers[k] = unused.pop(0)
                else:
                    centers[k] = _inside(np.array(summed) / many, self.task)
        return centers

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows = np.array([[0.9, 0.0], [-0.9, 0.1], [0.0, 1.0]])
        task = Task(features=2, row_norm=1.0, intercept=False)
        made = cls.planned(task, 2, 2, Guarantee(1.0, 1e-5))
        yield Example(made, ArrayRecords(rows), ArrayRecords(rows[:2]), Guarantee(1.0, 1e-5), cost="costly")
        # so many records that some centre is neither at an end of the box nor at its start
        moved = cls.planned(Task(features=1, row_norm=1.0, intercept=False, unit=Unit("replace")), 1, 2, Guarantee(1.0))
        many = np.full((100, 1), 0.5)
        other = np.concatenate([many[:-1], [[-0.5]]])
        yield Example(moved, ArrayRecords(many), ArrayRecords(other), Guarantee(1.0), cost="costly")


def exact_clusters(task: Task, records: Records, centers: Array) -> Any:
    """Count and sum of the rows nearest to each centre, in steps of 2^-42: not releasable. The distance of a row comes from
    the row alone, in floats too."""
    return records.exact_added(lambda piece: _clusters(task, piece, centers))


def _clusters(task: Task, records: Records, centers: Array) -> Any:
    total = Total((len(centers), 1 + task.features))
    widths = np.ones(task.features) if task.scales is None else np.array(task.scales) / max(task.scales)
    toward = centers * widths**2
    half = 0.5 * (centers * toward).sum(axis=1)
    for rows, _ in tiles(task, records):
        scores = np.stack([exact_margins(rows, center) - lift for center, lift in zip(toward, half, strict=True)])
        member = (scores.argmax(axis=0)[:, None] == np.arange(len(centers))).astype(np.float64)
        counts = member.sum(axis=0) * float(STEPS**2)
        total.add(np.concatenate([counts[:, None], member.T @ rows * STEPS], axis=1))
    return total.exact_sum()


def spread_points(many: int, columns: int) -> Array:
    """Public points in the unit ball, far from each other: centres of the clusters of an even sequence in the box inside.

    >>> spread_points(2, 1).round(1).tolist()
    [[-0.5], [0.5]]
    """
    points = even_points(0, _CANDIDATES * many, columns)
    chosen, nearest = [1], np.square(points - points[1]).sum(axis=1)
    while len(chosen) < many:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.square(points - points[chosen[-1]]).sum(axis=1))
    centers = points[chosen]
    for _ in range(_ROUNDS):
        places = (points @ centers.T - 0.5 * np.square(centers).sum(axis=1)).argmax(axis=1)
        centers = np.stack(
            [points[places == k].mean(axis=0) if (places == k).any() else centers[k] for k in range(many)]
        )
    return centers[np.lexsort(centers.round(9).T[::-1])]  # in one order, whatever rounding did to ties


def even_points(first: int, last: int, columns: int) -> Array:
    """Points of an even sequence in the box inside the unit ball, from one number up to another.

    >>> even_points(0, 2, 1).round(3).tolist()
    [[0.0], [-0.764]]
    """
    steps = np.power(_root(columns), -(1.0 + np.arange(columns)))
    points: Array = 2.0 * np.modf(0.5 + np.outer(np.arange(first, last), steps))[0] - 1.0
    return points / math.sqrt(columns)


def _root(columns: int) -> float:
    """The root of r^(d+1) = r + 1, whose powers make the points x_j = frac(i r^-j) even."""
    r = 1.5
    for _ in range(60):
        r = (1.0 + r) ** (1.0 / (columns + 1))
    return r


def _inside(point: Array, task: Task) -> Array:
    """Where rows can be: in the box of columns within public bounds, in the unit ball."""
    if task.scales is not None:
        point = np.clip(point, -1.0 / task.length, 1.0 / task.length)
    return np.asarray(point / max(1.0, float(np.linalg.norm(point))))
