"""Private coordinate descent: noisy steps along one coordinate at a time, each with noise of its own size."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final, get_args

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array, root_up
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.losses import Huber, Loss
from privet.learn.problem import ArrayRecords, Interval, Records, Task
from privet.learn.problem.crowd import crowd
from privet.learn.solvers.budget import whole_mu
from privet.learn.solvers.columns import (
    SIZES,
    Columns,
    check_parts,
    clip_bounds,
    largest_entries,
    sum_reach,
)
from privet.learn.solvers.curvatures import (
    Curvatures,
    bought,
    check_curvatures,
    known_curvatures,
    levels_part,
)
from privet.learn.solvers.on_records import OnRecords
from privet.learn.solvers.penalty import NO_PENALTY, Penalty
from privet.learn.solvers.solver import NUMBERS, Solver, SolverExample, register_solver
from privet.mechanisms import Algorithm, Example, Gaussian, Mechanism, Sensitivity, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Repeated, Unit

Clipping = Literal["lipschitz", "uniform", "adaptive"]
Choice = Literal["random", "cyclic", "importance"]

_QUANTILE = 0.9  # of records, whose contributions adaptive clipping leaves about as they are


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class CoordinateDescent(Solver):
    """Private coordinate descent: noisy steps along one coordinate after another, each with its own clipping and length.

    `rounds` outer rounds of `steps` inner steps (None: three for each coordinate), the last one `last` times as long; the
    average of the inner iterates, without those of the first steps, starts the next round, and the last average is the
    answer. `tail` is the share of the steps of a short round that are averaged; as many as it leaves out are left out of
    the long one. Short rounds bring the coefficients near; the long one makes the noise smaller, for steps along
    one coordinate forget the noise of the step before. `last=1, tail=1` are the two loops of the lecture. It wins where
    columns have very different scales. `penalty` is applied by its proximal map, free of charge: lasso, elastic net, box.

    A step is w_j <- prox(w_j - (sum_i clip(psi_i' x_ij, C_j) + N(0, C_j^2 S/mu^2))/(beta M_j)), for S steps in all.

    `clipping` bounds what a record adds to the slope along column j: "lipschitz" by clip sqrt(M_j/sum M), "uniform" by
    clip/sqrt p, "adaptive" as the first one, with `clip` set anew in each round by a paid quantile: residuals become
    smaller, and what a record adds with them. `choice` of coordinates: "cyclic", "random" as in the lecture, or
    "importance" (in proportion to sqrt(M_j)).

    M_j, the second moment of column j, is private. It is bought for `share` of the (squared) budget, in one release, or
    given as `moments`: public sums of squares of the columns of unit rows, with `records`, their public number.

    >>> task = Task(features=2, row_norm=1.0, target=Interval(0.0, 1.0))
    >>> plan = CoordinateDescent(rounds=2, steps=10).plan(task, Huber(2.0), Guarantee(1.0, 1e-6))
    >>> plan.every, round(plan.step.sigma / 60**0.5, 2)  # sqrt(S)/mu, and a little for the moments
    (60, 4.58)
    """

    rounds: int = 5
    steps: int | None = None
    last: int = 5
    tail: float = 1.0 / 3.0
    clipping: Clipping = "adaptive"
    clip: float = 0.5
    choice: Choice = "cyclic"
    penalty: Penalty = NO_PENALTY
    share: float = 0.1
    moments: tuple[float, ...] | None = None
    records: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rules(self.clipping, self.choice)
        instance("penalty", self.penalty, Penalty)
        Curvatures.public(self.moments, self.records)

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        mu, public = whole_mu(target, "CoordinateDescent") * (1.0 - 1e-9), Curvatures.public(self.moments, self.records)
        steps = 3 * task.dimension if self.steps is None else self.steps
        extra = self.share if public is None else 0.0
        quantiles = self.share / 2.0 if self.clipping == "adaptive" else 0.0
        rest = math.sqrt((1.0 - extra - quantiles) / ((self.rounds - 1 + self.last) * steps))
        return CoordinateFit(
            task=task,
            model=loss,
            rounds=self.rounds,
            steps=steps,
            last=self.last,
            skipped=min(math.floor((1.0 - self.tail) * steps + 1e-9), steps - 1),
            clipping=self.clipping,
            clip=self.clip,
            choice=self.choice,
            penalty=self.penalty,
            curvatures=levels_part(task, mu * math.sqrt(extra)) if public is None else public,
            step=Gaussian.for_budget(mu=mu * rest, sensitivity=sum_reach(task)),
            quantile=Gaussian.for_budget(mu=mu * math.sqrt(quantiles / self.rounds), sensitivity=sizes_reach(task))
            if quantiles
            else None,
            at=target.delta or None,
        )

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(rounds=2, steps=3), NUMBERS, Huber(1.0), Guarantee(1.0, 1e-5))


def sizes_reach(task: Task) -> Sensitivity:
    """l2, of `Columns.sizes`: a record is counted once, and an exchange moves it from one place to another.

    >>> float(sizes_reach(Task(features=1, row_norm=1.0)))
    1.0
    """
    one = Fraction(root_up(2)) if task.unit.relation == "replace" else Fraction(1)
    return Sensitivity(one * task.unit.group_size, norm="l2", unit=task.unit)


def quantile_of_sizes(noisy: Array, sigma: float, unit: float) -> float | None:
    """The end of the half octave below which nine of ten sizes lie, among those that stand out of the noise; None where
    none does.

    >>> counts = np.zeros(SIZES)
    >>> counts[30:34] = 100.0
    >>> quantile_of_sizes(counts, 1.0, 0.5) == 0.5 * 2.0 ** (1 / 2)
    True
    """
    seen = np.where(noisy > sigma * math.sqrt(2.0 * math.log(len(noisy))), noisy, 0.0).cumsum()
    if seen[-1] <= 0.0:
        return None
    return float(unit * 2.0 ** ((int(np.argmax(seen >= _QUANTILE * seen[-1])) - SIZES // 2) / 2.0))


def _check_rules(clipping: str, choice: str) -> None:
    if clipping not in get_args(Clipping):
        raise InvalidParameter(f"clipping must be one of {', '.join(get_args(Clipping))}")
    if choice not in get_args(Choice):
        raise InvalidParameter(
            f"choice must be one of {', '.join(get_args(Choice))}; greedy is GreedyCoordinateDescent()"
        )


@final
@register
@dataclass(frozen=True, kw_only=True)
class CoordinateFit(OnRecords, Algorithm[Any, Any]):
    """Noisy coordinate descent with averaging.

    **Guarantee:** exact GDP: the levels of columns, every step, and where clipping is adaptive the sizes of contributions
    in each round.
    **Sensitivity:** of a step: the clipped slope along j over C_j, at most 1 (2 under replace), as whole numbers.
    **Reference:** Mangold, Bellet, Salmon & Tommasi 2022.
    **Proof:** docs/proofs/learn/coordinate_fit.md.
    """

    name = "coordinate_fit"

    task: Task
    model: Loss
    rounds: int
    steps: int
    step: Gaussian
    curvatures: Gaussian | Curvatures
    clipping: Clipping = "lipschitz"
    clip: float = 0.5
    choice: Choice = "random"
    penalty: Penalty = NO_PENALTY
    quantile: Gaussian | None = None
    at: float | None = None
    last: int = 1
    skipped: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.skipped >= self.steps:
            raise InvalidParameter("skipped must be below steps: of a round something has to be averaged")
        _check_rules(self.clipping, self.choice)
        instance("penalty", self.penalty, Penalty)
        check_curvatures(self.curvatures, self.task)
        if (self.clipping == "adaptive") != (self.quantile is not None):
            raise InvalidParameter("adaptive clipping has a paid quantile, and no other clipping has one")
        self._check_reach()

    def _check_reach(self) -> None:
        parts = [("step", self.step, Gaussian, sum_reach(self.task))]
        if self.quantile is not None:
            parts.append(("quantile", self.quantile, Gaussian, sizes_reach(self.task)))
        check_parts(parts)

    @property
    def every(self) -> int:
        """The number of steps in all rounds."""
        return (self.rounds - 1 + self.last) * self.steps

    @property
    def loss(self) -> PrivacyLoss:
        parts = [Repeated(self.step.loss, self.every), *bought(self.curvatures)]
        if self.quantile is not None:
            parts.append(Repeated(self.quantile.loss, self.rounds))
        return Composed(parts)

    def _run(self, prepared: Records, source: Source) -> Array:
        columns = Columns(self.task, self.model, prepared)
        known = known_curvatures(self.curvatures, columns, self.task, source)
        moments = np.array(known.moments)
        lengths = 1.0 / (self.model.smoothness * moments)
        penalty = self.penalty.on_unit_rows(self.task, known.records)
        records = columns.lengths(np.sqrt(moments / moments.sum())) if self.quantile is not None else None
        w, clip = np.zeros(self.task.dimension), self.clip
        for turn in range(self.rounds):
            columns.place(w)
            clip = self._moved(clip, columns, records, source)
            bounds = self._bounds(moments, clip)
            total, steps = np.zeros_like(w), self.steps * (self.last if turn == self.rounds - 1 else 1)
            for k, j in enumerate(self._coordinates(moments, steps, source)):
                slope = bounds[j] * self.step.release(columns.clipped_sum(j, float(bounds[j])), source=source).value
                new = float(penalty.prox(w[j] - lengths[j] * slope, lengths[j], j))
                columns.move(j, new - w[j])
                w[j] = new
                if k >= self.skipped:
                    total += w
            w = total / (steps - self.skipped)
        return w

    def _bounds(self, moments: Array, clip: float) -> Array:
        rule = "uniform" if self.clipping == "uniform" else "lipschitz"
        return clip_bounds(moments, clip, rule, self.model.lipschitz * largest_entries(self.task))

    def _moved(self, clip: float, columns: Columns, lengths: Array | None, source: Source) -> float:
        """The clip of this round: what most records add, as paid counts of sizes say; else as it was."""
        if self.quantile is None or lengths is None:
            return clip
        noisy = self.quantile.release(columns.sizes(lengths, self.clip), source=source).value
        found = quantile_of_sizes(np.asarray(noisy), self.quantile.sigma, self.clip)
        return clip if found is None else found

    def _coordinates(self, moments: Array, steps: int, source: Source) -> list[int]:
        p = len(moments)
        if self.choice == "cyclic":
            return [k % p for k in range(steps)]
        if self.choice == "random":
            drawn = self._coins("coordinates", lambda s: noise.uniform_int(bound=p, size=steps, source=s), source)
            return [int(j) for j in drawn]
        words = self._coins("coordinates", lambda s: noise.uniform_int(bound=2**53, size=steps, source=s), source)
        ends = np.cumsum(np.sqrt(moments))
        return [int(j) for j in np.minimum(np.searchsorted(ends / ends[-1], np.asarray(words) / 2.0**53), p - 1)]

    @classmethod
    def examples(cls) -> Iterable[Example]:
        one, target = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])
        task = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
        public = CoordinateDescent(rounds=1, steps=2, last=1, clipping="lipschitz", moments=(4.0,), records=4.0)
        made = public.plan(task, Huber(1.0), Guarantee(1.0, 1e-5))
        pair = ArrayRecords(one[:1], target[:1]), ArrayRecords(one, target)
        yield Example(made, *pair, Guarantee(1.0, 1e-5), cost="costly", detects=0.25)
        moved = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0), unit=Unit("replace"))
        solver = CoordinateDescent(rounds=2, steps=3, last=2, penalty=Penalty(l1=0.01))
        rows = np.array([[0.6, -0.8], [0.0, 1.0]])
        other = ArrayRecords(rows, target), ArrayRecords(np.array([[0.6, -0.8], [-1.0, 0.0]]), np.array([1.0, 1.0]))
        yield Example(solver.plan(moved, Huber(2.0), Guarantee(mu=0.5)), *other, Guarantee(mu=0.5), cost="costly")
        yield _steered()
        alone = Task(features=2, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
        bought = CoordinateDescent(rounds=2, steps=3, last=2).plan(alone, Huber(1.0), Guarantee(mu=8.0))
        yield Example(bought, *crowd(), Guarantee(mu=8.0), cost="costly")  # in which the curvatures matter


def _steered() -> Example:
    """A pair in which nine of ten contributions are small, without the last record, and no longer are with it: the clip of
    the first round is another one."""
    far = np.append(np.repeat([0.05, 0.8], [272, 30]), 0.8)
    rows, goals = np.tile([[0.6, 0.8], [0.6, -0.8]], (152, 1))[:303], far * np.append(np.tile([1.0, -1.0], 151), 1.0)
    task = Task(features=2, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
    solver = CoordinateDescent(rounds=2, steps=3, last=2, moments=(109.0, 193.0), records=302.0)
    made = solver.plan(task, Huber(1.0), Guarantee(mu=8.0))
    return Example(
        made, ArrayRecords(rows, goals), ArrayRecords(rows[:-1], goals[:-1]), Guarantee(mu=8.0), cost="costly"
    )
