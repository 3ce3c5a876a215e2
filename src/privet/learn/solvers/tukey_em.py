"""TukeyEM: many models on disjoint parts, a test that they agree, and a point deep among them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array, exp_capped, ndtri, round_up, up
from privet._validate import above, count, instance, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.learn.losses import Loss, Squared
from privet.learn.problem import ArrayRecords, Interval, Records, Task
from privet.learn.problem.array_records import dense
from privet.learn.solvers.equations import check_squared
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.solver import NUMBERS, Solver, SolverExample, register_solver
from privet.mechanisms import Example, Laplace, Mechanism, Sensitivity, Source, register
from privet.privacy import ApproxLoss, Guarantee, Unit

_ROUNDING = 2.0**-20  # of the logarithm of a level's weight: far above what logarithms in doubles miss
_STEPS = (
    2.0**16
)  # of rows and targets: products are whole numbers of 2^-32, and 2^20 of them are added exactly in doubles
_ROWS = 2**20  # at a time: memory and speed only
_FINE = 2.0**-20  # the grid of coefficients
_FARTHEST = 2**40  # of its steps: coefficients beyond a million are cut, each by itself
_RIDGE = 2.0**-10  # so that every small model exists
_MOST_COLUMNS = 200  # a model needs as many rows as columns, and a test many models
_MOST_MODELS = 20_000  # that are fitted: time


@door
@final
@register_solver
@dataclass(frozen=True, kw_only=True)
class TukeyEM(Solver):
    """Least squares on disjoint parts of the data, and a point that lies deep among these models, coordinate by coordinate.

    Records go to parts at random. A test for the share `test_share` of epsilon makes sure that few records cannot move the
    region of deep points far; where it is not passed the fit fails (`ReleaseFailed`), and is paid for. No noise grows with
    the number of columns, but there must be many records: about `models` times ten for each column. `models` is chosen
    from epsilon, delta and the columns unless it is given, `least` (a quarter of them) is the depth that is asked for. A
    part with fewer records than coefficients counts against the test. `rows`, the number of records where it is
    public, says before anything is paid whether there are enough.

    >>> task = Task(features=2, row_norm=1.0, target=Interval(0.0, 1.0))
    >>> plan = TukeyEM().plan(task, Squared(), Guarantee(1.0, 1e-6))
    >>> plan.loss.approximate().epsilon <= 1.0, 200 < plan.models < 2_000
    (True, True)
    """

    models: int | None = None
    least: int | None = None
    test_share: float = 0.5
    rows: int | None = None

    def __post_init__(self) -> None:
        set_frozen(self, test_share=open_fraction("test_share", self.test_share))
        if self.models is not None:
            set_frozen(self, models=count("models", self.models, 4))
        if self.least is not None:
            set_frozen(self, least=count("least", self.least, 1))
        if self.rows is not None:
            set_frozen(self, rows=count("rows", self.rows, 0))

    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Any]":
        check_squared(task, loss)
        if target.epsilon is None or target.delta == 0.0:
            raise InvalidParameter("a test can be passed by chance: TukeyEM needs epsilon and a delta > 0")
        if task.dimension > _MOST_COLUMNS:
            raise InvalidParameter(f"TukeyEM is for at most {_MOST_COLUMNS} columns: take BoostedSSP()")
        first = target.epsilon * self.test_share
        test = Laplace.for_budget(epsilon=first, sensitivity=_models_reach(task.unit))
        rest = (target.epsilon - first) * (1.0 - 2.0**-40) - 4.0 * _ROUNDING
        if rest <= 0.0:
            raise InvalidParameter("epsilon is too small for TukeyEM")
        facts: dict[str, Any] = {"task": task, "test": test, "epsilon": rest, "delta": target.delta}
        if self.models is not None:
            least = self.models // 4 if self.least is None else self.least
            made = TukeyFit(**facts, models=self.models, least=least)
            if least - 1 < made.threshold:  # no data have a larger distance
                raise InvalidParameter("the test would hardly ever be passed: give more models=, or leave models= out")
        else:
            made = _smallest_plan(facts)
        if self.rows is not None and self.rows < made.needed:
            raise InvalidParameter(_too_few(made.needed))
        return made

    @classmethod
    def examples(cls) -> Iterable[SolverExample]:
        yield SolverExample(cls(models=16, least=4), NUMBERS, Squared(), Guarantee(4.0, 0.01), rows=64)


def _models_reach(unit: Unit) -> Sensitivity:
    """The number of models that can change between neighbours: a record is in one part, whatever it is
    exchanged for."""
    return Sensitivity(Fraction(unit.group_size), norm="l1", unit=unit)


@final
@register
@dataclass(frozen=True, kw_only=True)
class TukeyFit(OnRecords, Mechanism[Any, Any]):
    """A deep point among least-squares models of disjoint parts, if a test says that they agree; else NaN.

    **Guarantee:** (epsilon of the test + epsilon of the choice, delta), under both relations.
    **Sensitivity:** one model for each record of a person; the depth of a point, and the distance that is tested, move by
    as many.
    **Reference:** Amin, Joseph, Ribero & Vassilvitskii 2022; Dwork & Lei 2009 for the test.
    **Proof:** docs/proofs/learn/tukey_em.md.
    """

    name = "tukey_fit"

    task: Task
    test: Laplace
    epsilon: float
    delta: float
    models: int
    least: int

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, epsilon=above("epsilon", self.epsilon, 0.0), delta=open_fraction("delta", self.delta))
        if self.epsilon > 1e4:
            raise InvalidParameter("epsilon must be at most 10,000")
        if self.delta >= 0.5 or self.models > _MOST_MODELS or not self.least <= self.models // 2:
            raise InvalidParameter("delta must be below 1/2, models at most 20,000, and least at most half of them")
        check_reach("test", instance("test", self.test, Laplace).sensitivity, _models_reach(self.task.unit))

    @property
    def loss(self) -> ApproxLoss:
        exact = Fraction(self.test.loss.pure()) + Fraction(self.epsilon) + 4 * Fraction(_ROUNDING)
        return ApproxLoss(up(exact), self.delta, unit=self.task.unit)

    @property
    def at(self) -> float | None:  # type: ignore[override]
        """The delta of the price."""
        return self.delta

    @property
    def threshold(self) -> float:
        """The noisy distance must reach this: where models may not agree it does so with probability delta at most."""
        return self.task.unit.group_size - 1 - self.test.scale * math.log(2.0 * self.delta)

    @property
    def rate(self) -> float:
        """By how much the logarithm of a point's weight grows with its depth."""
        return self.epsilon / (2.0 * self.task.unit.group_size)

    @property
    def needed(self) -> int:
        """So many records at least, or most parts have fewer of them than there are coefficients."""
        return self.models * self.task.dimension

    def _admit(self, value: Any) -> None:
        super()._admit(value)
        if self.task.unit.relation == "replace" and value.length is not None and value.length < self.needed:
            raise InvalidData(_too_few(self.needed))

    def _prepare(self, value: Records) -> Array:
        """Rows with their targets in whole steps, as doubles."""
        parts = [
            np.trunc(np.column_stack([dense(chunk.rows), np.clip(chunk.targets, -1.0, 1.0)]) * _STEPS)
            for chunk in self.task.unit_chunks(value)
        ]
        return np.concatenate([np.empty((0, self.task.dimension + 1)), *parts])

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        kinds, places = np.unique(self._models(prepared, runs, source), axis=0, return_inverse=True)
        made = np.empty((runs, self.task.dimension))
        for k, kind in enumerate(kinds):  # of one run there is one; many runs on few records have many alike
            mine = np.flatnonzero(places.ravel() == k)
            boxes = Boxes(kind[:-1].reshape(self.models, -1))
            made[mine] = self._released(boxes, int(kind[-1]), len(mine), source)
        return made

    def _models(self, rows: Array, runs: int, source: Source) -> Array:
        """For each run the models of all parts, in steps of the grid and sorted, and how many parts have fewer records than
        coefficients. A record's part does not depend on what it holds, or on others."""
        drawn = noise.uniform_int(bound=self.models, size=runs * len(rows), source=source)
        parts = np.asarray(drawn, dtype=np.int64) + self.models * np.repeat(np.arange(runs), len(rows))
        order = np.argsort(parts, kind="stable")
        filled, starts = np.unique(parts[order], return_index=True)
        pieces = np.split(order % max(len(rows), 1), starts[1:]) if len(filled) else []
        grams = np.zeros((runs * self.models, rows.shape[1], rows.shape[1]))
        thin = np.ones(len(grams), dtype=bool)
        for place, piece in zip(filled, pieces, strict=True):
            grams[place], thin[place] = exact_gram(rows[piece]), len(piece) < self.task.dimension
        made = np.sort(exact_models(grams).reshape(runs, self.models, -1), axis=1)
        return np.column_stack([made.reshape(runs, -1), thin.reshape(runs, -1).sum(axis=1)])

    def _released(self, boxes: "Boxes", thin: int, runs: int, source: Source) -> Array:
        limit = Fraction(round_up(self.threshold, 8.0)) + Fraction(self.test.step) / 2  # as the noise is on a grid
        seen = self.test._protect(Fraction(self.exact_distance(boxes, thin)), runs, source)
        chosen = self._deep_points(boxes, runs, source)  # drawn in any case, so that time says less
        refused = np.full(self.task.dimension, np.nan)
        return np.array([point if near >= limit else refused for near, point in zip(seen, chosen, strict=True)])

    def exact_distance(self, boxes: "Boxes", thin: int = 0) -> int:
        """The number of models that can change before a neighbour could have too much weight on its outermost levels,
        or -1: not releasable. Each comparison is one of whole numbers, so one model moves it by at most 1. `thin`
        parts, beyond one in eight, take from it: models of too few records are near zero, and agree with each other.
        """
        low, high = -1, self.least - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._safe(boxes.counts, middle) else (low, middle - 1)
        return min(low, self.least - 1 + self.models // 8 - thin)

    def _safe(self, counts: list[int], changed: int) -> bool:
        first = self.least + self.task.unit.group_size + changed
        outer = counts[self.least - changed]
        limits = _limits(self.rate, self.delta, self.models)
        return any(
            outer * below <= above * counts[level]
            for (above, below), level in zip(limits, range(first, self.models + 1), strict=False)
        )

    def _deep_points(self, boxes: "Boxes", runs: int, source: Source) -> Array:
        """Grid points of depth `least` or more, with weights exp(rate depth) up to the rounding."""
        levels = range(self.least, self.models + 1)
        shells = [boxes.counts[k] - boxes.counts[k + 1] for k in levels]
        scores = [math.log(many) + self.rate * k if many else -math.inf for k, many in zip(levels, shells, strict=True)]
        chosen = np.asarray(noise.choice_exp(np.array(scores), scale=1, size=runs, source=source))
        return np.array([boxes.point(self.least + int(each), source) for each in chosen], dtype=np.float64) * _FINE

    def error(self, confidence: float = 0.95) -> None:
        """None: how far deep points lie from each other depends on the data."""
        return

    @classmethod
    def examples(cls) -> Iterable[Example]:
        # One model is apart from the others, all of them zero, and comes one step closer to the level that counts: that
        # shows in the test, which has half of the price.
        rows, goals = np.ones((161, 1)), np.append(np.zeros(160), 1.0)
        for unit, other in (
            (Unit(), ArrayRecords(rows[:-1], goals[:-1])),
            (Unit("replace"), ArrayRecords(rows, np.zeros(161))),
        ):
            task = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0), unit=unit)
            made = TukeyEM(models=16, least=4).plan(task, Squared(), Guarantee(4.0, 0.01))
            yield Example(made, ArrayRecords(rows, goals), other, Guarantee(4.0, 0.01), detects=0.25)


def _too_few(needed: int) -> str:
    return f"TukeyEM needs more records for this promise, {needed:,} or better ten times as many: take BoostedSSP()"


@cache
def _limits(rate: float, delta: float, many: int) -> tuple[tuple[int, int], ...]:
    """delta/2 exp(rate g) for g = 1, 2, ..., rounded down by more than exponentials in doubles miss, as fractions."""
    grown = (exp_capped(min(rate * g - 2.0 * _ROUNDING, 600.0)) for g in range(1, many + 1))
    return tuple((Fraction(each) * Fraction(delta / 2.0 * (1.0 - 2.0**-30))).as_integer_ratio() for each in grown)


def exact_gram(rows: Array) -> Array:
    """The Gram of rows in whole steps: an exact sum, rounded once. Not releasable."""
    whole = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
    for start in range(0, len(rows), _ROWS):
        piece = rows[start : start + _ROWS]
        whole += (piece.T @ piece).astype(np.int64)
    return np.asarray(whole / _STEPS**2)


def exact_models(grams: Array) -> Array:
    """Ridge regression (of next to nothing) for each Gram of rows and targets, in whole steps of the grid: not releasable.

    All is done number by number, side by side, so that a model comes from its own Gram alone.
    """
    size = grams.shape[1] - 1
    left, right = grams[:, :-1, :-1] + _RIDGE * np.eye(size), grams[:, :-1, -1].copy()
    for k in range(size):
        factors = left[:, k + 1 :, k] / left[:, k, k, None]
        left[:, k + 1 :] -= factors[:, :, None] * left[:, None, k]
        right[:, k + 1 :] -= factors * right[:, k, None]
    for k in reversed(range(size)):
        right[:, k] /= left[:, k, k]
        right[:, :k] -= left[:, :k, k] * right[:, k, None]
    steps = np.clip(np.rint(np.nan_to_num(right) / _FINE), -_FARTHEST, _FARTHEST)
    return np.asarray(steps.astype(np.int64))


@final
class Boxes:
    """The grid points of each depth among models: those of depth k and more are a box, from the k-th smallest to the k-th
    largest number of every coordinate. `counts[k]` is how many there are (`counts[0]` is not used).

    >>> Boxes(np.array([[0], [2], [5]])).counts
    [0, 6, 1, 0, 0]
    """

    def __init__(self, models: Array) -> None:
        ordered = np.sort(models, axis=0)
        self.lows, self.highs = ordered, ordered[::-1]
        widths = np.maximum(self.highs - self.lows + 1, 0)
        self.counts = [0, *(math.prod(row) for row in widths.tolist()), 0]

    def point(self, depth: int, source: Source) -> list[int]:
        """A point of exactly this depth, each with the same probability."""
        outer, inner = list(self._sides(depth)), list(self._sides(depth + 1))
        place = _below(self.counts[depth] - self.counts[depth + 1], source)
        for first in range(len(outer)):  # the first coordinate that leaves the inner box
            ways = math.prod(many for _, many in inner[:first]) * (outer[first][1] - inner[first][1])
            ways *= math.prod(many for _, many in outer[first + 1 :])
            if place < ways:
                break
            place -= ways
        chosen = [low + _below(many, source) for low, many in inner[:first]]
        (low, many), (start, inside) = outer[first], inner[first]
        step = _below(many - inside, source)
        chosen.append(low + step + (inside if inside and low + step >= start else 0))
        return [*chosen, *(low + _below(many, source) for low, many in outer[first + 1 :])]

    def _sides(self, depth: int) -> Iterator[tuple[int, int]]:
        """Where each side of the box of this depth starts, and how many points long it is."""
        if depth > len(self.lows):
            return iter([(0, 0)] * self.lows.shape[1])
        low, high = self.lows[depth - 1].tolist(), self.highs[depth - 1].tolist()
        return iter([(a, max(b - a + 1, 0)) for a, b in zip(low, high, strict=True)])


def _below(bound: int, source: Source) -> int:
    return int(noise.uniform_int(bound=bound, source=source)) if bound > 1 else 0


def _smallest_plan(facts: dict[str, Any]) -> TukeyFit:
    """As few models as pass the test where they are spread normally: from public facts alone."""
    models = 16
    while models <= _MOST_MODELS:
        made = TukeyFit(**facts, models=models, least=models // 4)
        if made.exact_distance(_normal_boxes(made)) >= made.threshold + 3.0 * made.test.scale:
            return made
        models += max(models // 8, 1)
    raise InvalidParameter("the promise is too small for TukeyEM with so many columns: take BoostedSSP()")


def _normal_boxes(plan: TukeyFit) -> Any:
    """The boxes as they would be if the models were at the quantiles of a normal law in every coordinate."""
    made = Boxes.__new__(Boxes)
    ends = [ndtri(1.0 - (k - 0.5) / plan.models) * 2.0**20 for k in range(1, plan.models // 2 + 1)]
    made.counts = [0, *(max(int(2.0 * end), 1) ** plan.task.dimension for end in ends), *[0] * (plan.models // 2 + 2)]
    return made
