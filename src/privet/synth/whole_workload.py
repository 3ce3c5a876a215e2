"""Every table of a workload at once: how much noise would hide, what was released, and tables made of it and a model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array, ndtr
from privet.mechanisms import DiscreteLaplace, Gaussian, Sensitivity
from privet.privacy import Guarantee
from privet.synth.graph import Clique, GraphModel, Measurement, TreePlan, combined, onto_simplex, tree_cells
from privet.synth.marginal_workload import WIDEST, MarginalWorkload
from privet.synth.money import UNITS, Noise, deviation, table_noise
from privet.synth.synthesis import exact_distance
from privet.synth.task import Task
from privet.workloads import Answers, LinearQueries, Marginals, ResidualTables

_MOST_CELLS = 2**20  # of the tables that are measured at once, the small ones first
_ENOUGH = 0.75  # of the workload's weight, which these tables must have
_LEVELS = 512  # into which the cells of a table are put, to foresee what noise does to them
_HALVINGS = 40  # of an interval, to 12 digits: normal noise and cells of nearly one size are coarser


@final
@dataclass(frozen=True)
class WholeWorkload:
    """The tables of a workload that lie in no other, as many as can be kept at once, and what they weigh in the mean, in
    whole numbers.

    >>> from privet.synth.small_examples import task_of
    >>> whole = WholeWorkload.of(MarginalWorkload((((0, 1), 1.0), ((1,), 1.0), ((1, 2), 0.5))), task_of())
    >>> whole.weights
    {(0, 1): 65536, (1, 2): 32768}
    """

    task: Task
    workload: MarginalWorkload

    @classmethod
    def of(cls, workload: MarginalWorkload, task: Task) -> "WholeWorkload":
        """The tables of a workload."""
        return cls(task, workload)

    @kept_property
    def weights(self) -> dict[Clique, int]:
        """The tables, with their weights."""
        held, found = 0, dict[Clique, int]()
        for each, weight in sorted(self._widest.items(), key=lambda item: (self.task.cells(item[0]), item[0])):
            held += self.task.cells(each)
            if held > _MOST_CELLS:
                break
            found[each] = weight
        return found

    @kept_property
    def _widest(self) -> dict[Clique, int]:
        """The tables that lie in no other."""
        asked = dict(self.workload.cliques)
        inside = {part for each in asked for many in range(len(each)) for part in combinations(each, many)}
        most = max(asked.values())
        return {each: max(1, round(WIDEST * weight / most)) for each, weight in asked.items() if each not in inside}

    @property
    def small(self) -> bool:
        """True if the tables that can be kept at once are most of the workload."""
        return sum(self.weights.values()) >= _ENOUGH * sum(self._widest.values())

    def part(self, share: Guarantee) -> LinearQueries | DiscreteLaplace:
        """The noise for all tables: residual tables where it is normal; where the promise is pure, noise by Laplace's law
        for one table, each of which gets an equal part of the share."""
        if share.epsilon is not None:
            each = table_noise(share.share(1.0 / len(self.weights)), self.task)
            assert isinstance(each, DiscreteLaplace)
            return each
        return LinearQueries.for_budget(
            workload=Marginals(self.task.sizes, tuple(self.weights)),
            strategy=ResidualTables(),
            unit=self.task.unit,
            max_rows=self.task.coded.reach.most_rows,
            **share.keywords(),
        )

    def deviations(self, part: LinearQueries | DiscreteLaplace) -> dict[Clique, float]:
        """The standard deviation of the noise on a cell of each table: all cells of a table are alike."""
        if isinstance(part, DiscreteLaplace):
            return dict.fromkeys(self.weights, deviation(part))
        design: Any = part.design
        found, groups = {}, design.groups
        for each in self.weights:
            places, weights = design.table_weights(each)
            sizes, finest = zip(*(groups[k] for k in places), strict=True)
            scales = np.repeat([part.scale / float(weight) for weight in finest], sizes)
            found[each] = math.sqrt(float(np.sum((weights * scales) ** 2)))
        return found

    def read(self, part: LinearQueries, answers: Answers) -> list[Measurement]:
        """The tables that follow from residual tables."""
        design: Any = answers.design
        far = self.deviations(part)
        return [
            Measurement(each, design.table(answers.measured, each), far[each], part_variance=self._parts(part, each))
            for each in self.weights
        ]

    def _parts(self, part: LinearQueries, clique: Clique) -> Array:
        """The variance of the noise on the parts of a table, each of which was measured by itself: columns that several
        tables have are known better, so that noise on cells belongs together."""
        design: Any = part.design
        sizes, found = [self.task.sizes[i] for i in clique], np.zeros((2,) * len(clique))
        for place in design.table_weights(clique)[0]:
            held = design.parts[place]
            rest = math.prod(size for i, size in zip(clique, sizes, strict=True) if i not in held)
            scale = part.scale / float(design.weights[place]) / math.prod(sizes)
            found[tuple(int(i in held) for i in clique)] = scale**2 * rest
        return found

    def expected(self, far: Mapping[Clique, float], answers: Mapping[Clique, Array], total: float) -> float:
        """The mean l1 distance, in rows, that tables like `answers` would have from themselves after noise of these
        deviations and the projection onto tables of `total` rows that are not negative."""
        each = (w * noisy_distance(answers[c], far[c], total) for c, w in self.weights.items())
        return math.fsum(each) / sum(self.weights.values())

    def exact_mean_distance(self, tables: Mapping[Clique, Array], answers: Mapping[Clique, Array]) -> int:
        """The weighted mean of the l1 distances of the data's tables from public ones, in whole rows, rounded down: not
        releasable. A whole number of rows moves it by no more than that number."""
        whole = sum(w * exact_distance(tables[c], answers[c]) for c, w in self.weights.items())
        return whole // (UNITS * sum(self.weights.values()))

    def distance_noise(self, share: Guarantee) -> Noise:
        """Noise for `exact_mean_distance`, one number, which moves in l2 as it does in l1."""
        if share.epsilon is not None:
            return table_noise(share, self.task)
        reach = Sensitivity(self.task.l1.value, norm="l2", unit=self.task.unit)
        return Gaussian.for_budget(sensitivity=reach, **share.keywords())

    def fitted(self, seen: Sequence[Measurement], model: GraphModel, held: Sequence[Clique], cells: float) -> list[Any]:
        """Those measurements whose tables fit into a tree of so many cells beside the cliques `held`, the ones that the
        model gets most wrong first. From releases and public sizes alone."""
        bound = [*held, *self.task.allowed]

        def wrong(each: Measurement) -> float:
            off = float(np.abs(each.values - model.marginal(each.clique)).sum())
            more = off - math.sqrt(2.0 / math.pi) * each.sigma * each.values.size
            return -self.weights[each.clique] * more / math.sqrt(each.values.size)  # many small ones, or few large ones

        found = []
        for each in sorted(seen, key=wrong):
            if self.task.cells(each.clique) <= cells and tree_cells(self.task.sizes, [*bound, each.clique]) <= cells:
                bound.append(each.clique)
                found.append(each)
        return found

    def answers(self, seen: Sequence[Measurement], model: GraphModel) -> dict[Clique, Array]:
        """The tables of the workload that noise cannot explain by the model: its own, moved toward what was measured as
        far as the noise allows (James & Stein), and onto tables that may occur. Others are the model's."""
        found, open_ = {}, self._open()
        for each, (values, precision) in combined([m for m in seen if m.clique in self.weights]).items():
            guess = model.marginal(each)
            off = values - guess
            noise, length = float(np.sum(1.0 / precision)), float(np.vdot(off, off))
            if length <= noise:
                continue
            moved = guess + (1.0 - noise / length) * off
            if open_ is None:
                found[each] = onto_simplex(moved, model.total)
            else:
                may = open_.marginal(each) > 0.0
                found[each] = np.zeros(moved.shape)
                found[each][may] = onto_simplex(moved[may], model.total)
        return found

    def _open(self) -> GraphModel | None:
        """The even distribution over what constraints leave; None where there are none."""
        if not self.task.allowed:
            return None
        return GraphModel(TreePlan(self.task.sizes, [], self.task.allowed), [], 1.0)


def noisy_distance(table: Array, sigma: float, total: float) -> float:
    """The expected l1 distance of a table from itself with normal noise, after the projection onto tables of so many rows
    that are not negative; cells of nearly one size are taken together.

    >>> round(noisy_distance(np.array([50.0, 50.0]), 1.0, 100.0), 2), round(noisy_distance(np.zeros(4), 1.0, 0.0), 2)
    (1.6, 0.0)
    """
    scaled = np.log1p(np.ravel(table) / sigma)
    counts, edges = np.histogram(scaled, bins=_LEVELS, range=(0.0, float(scaled.max()) or 1.0))
    sums, _ = np.histogram(scaled, bins=edges, weights=np.ravel(table))
    cells = sums[counts > 0] / counts[counts > 0]
    many = counts[counts > 0]
    low, high = -total / sigma - 10.0, float(cells.max()) / sigma + 10.0
    for _ in range(_HALVINGS):
        cut = (low + high) / 2.0
        kept = float(np.vdot(many, _above(cells / sigma - cut)))
        low, high = (cut, high) if kept * sigma > total else (low, cut)
    mean = -(low + high) / 2.0  # the error of a cell that stays above 0 has this mean, in units of sigma
    size = cells / sigma
    up = _above(np.array(mean))  # E max(u, 0) of u ~ N(mean, 1)
    down = _above(np.array(-mean)) - _above(-mean - size)  # E min(max(-u, 0), size)
    return sigma * float(np.vdot(many, up + down))


def _above(mean: Array) -> Array:
    """E max(u, 0) for u normal with this mean and variance 1."""
    density = np.exp(-0.5 * mean**2) / math.sqrt(2.0 * math.pi)
    return np.asarray(mean * ndtr(mean) + density)
